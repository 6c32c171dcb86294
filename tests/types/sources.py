"""Which model types of the installed transformers read text, told by its mappings and its source, by no list.

The source is read, not imported: importing every model takes a minute, reading them a second.
"""

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import transformers
from transformers.models.auto import modeling_auto
from transformers.models.auto.configuration_auto import CONFIG_MAPPING_NAMES, model_type_to_module_name

CLASS = re.compile(r"^class (\w+)\(.*?\):\n(.*?)(?=^\S|\Z)", re.DOTALL | re.MULTILINE)
READS_TEXT = re.compile(r"def forward\(\s*self,\s*(?:input_ids|query_embeds)\b")
GENERATOR = re.compile(r"self\.language_model = ")
ONE_WAY = re.compile(r"causal_mask|self\.language_model = ")
SEES = re.compile(r"pixel_values|image_embeds|visual_\w+:|audio_features")
NOT_A_MODEL = re.compile(r"Decoder|Embedd(?:er|ings)$|For[A-Z]")


@dataclass(frozen=True)
class TextClass:
    """A class that takes token ids: where it is, whether its source speaks of a causal mask alone, and of pictures."""

    module: str
    name: str
    one_way: bool
    sees: bool


def text_encoder_types() -> list[str]:
    """Return every model type that is, or contains, an encoder of text, in the order of transformers."""
    names = {config: model_type for model_type, config in reversed(CONFIG_MAPPING_NAMES.items())}
    return [name for name, config in CONFIG_MAPPING_NAMES.items() if names[config] == name and reads_both_ways(name)]


def reads_both_ways(model_type: str) -> bool:
    """Tell whether the type is used where text is read in both directions, or has a class that can read it so."""
    if model_type.endswith("_text_model") or model_type in _types("TEXT_TO_SPECTROGRAM"):
        return True
    if model_type in _types("MASKED_LM", "TEXT_ENCODING", "SEQ_TO_SEQ_CAUSAL_LM") - _types("SPEECH_SEQ_2_SEQ"):
        return not GENERATOR.search(_source(model_type))
    if model_type in _types("QUESTION_ANSWERING") and "causal_mask" not in _source(model_type):
        return True
    two_way = [text.name for text in text_classes(model_type) if not text.one_way and not NOT_A_MODEL.search(text.name)]
    generates = model_type in _types("CAUSAL_LM", "MULTIMODAL_LM", "IMAGE_TEXT_TO_TEXT", "CAUSAL_IMAGE_MODELING")
    reads_otherwise = modeling_auto.MODEL_MAPPING_NAMES.get(model_type) not in (None, *two_way)
    if generates or reads_otherwise or "decoder" in model_type:
        return any("Encoder" in name for name in two_way)
    return bool(two_way)


@cache
def text_classes(model_type: str) -> tuple[TextClass, ...]:
    """Return the classes made from the type's configuration whose ``forward`` takes token ids first."""
    made_from = re.compile(rf"config(?:_class)?\s*[:=]\s*\"?{CONFIG_MAPPING_NAMES[model_type]}\b")
    return tuple(
        TextClass(
            module,
            name,
            one_way=bool(ONE_WAY.search(body)) and "bidirectional" not in body,
            sees=bool(SEES.search(body)),
        )
        for module, source in _files(model_type)
        for name, body in CLASS.findall(source)
        if made_from.search(body) and READS_TEXT.search(body)
    )


def _types(*tasks: str) -> set[str]:
    return {name for task in tasks for name in getattr(modeling_auto, f"MODEL_FOR_{task}_MAPPING_NAMES")}


def _source(model_type: str) -> str:
    return "".join(source for _, source in _files(model_type))


@cache
def _files(model_type: str) -> tuple[tuple[str, str], ...]:
    folder = model_type_to_module_name(model_type)
    files = sorted((Path(transformers.__file__).parent / "models" / folder).glob("modeling_*.py"))
    return tuple((f"transformers.models.{folder}.{file.stem}", file.read_text(encoding="utf-8")) for file in files)
