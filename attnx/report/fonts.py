"""The one font of every report, Noto Sans SC (Chinese, Latin and Cyrillic; OFL), and what it cannot draw.

WeasyPrint draws an empty box, silently, for a character without a glyph. So nothing reaches a page before
`display_label` has replaced such characters by their code points.
"""

import struct
import unicodedata
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import regex

from attnx.texts.labels import SPACE_LABEL
from attnx.texts.sentence import code_point

if TYPE_CHECKING:
    import uharfbuzz as hb
    from fontTools.ttLib import TTFont

# White space, controls, joiners and variation selectors leave no ink of their own.
INKLESS = regex.compile(r"[\p{White_Space}\p{Cc}\p{Default_Ignorable_Code_Point}]")
SUPERSCRIPT_NUMBER = regex.compile("[⁰¹²³⁴⁵⁶⁷⁸⁹]+")
PLAIN_DIGITS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")
MIDDLE_DOT = "·"
MIDDLE_DOT_WIDTH = 300  # of 1000 an em
BASIC_LATIN = "".join(map(chr, range(0x20, 0x7F)))
# What style sheets add to the text.
GENERATED = MIDDLE_DOT + "•"
FULL_WIDTH_PUNCTUATION = "‘’“”…"
OPEN_BOX = "␣"
FULL_UNICODE_FORMAT = 12
# OpenType layout and vertical writing: reports use neither, and they double the time and the size.
DROPPED_TABLES = (b"BASE", b"DSIG", b"GDEF", b"GPOS", b"GSUB", b"VORG", b"vhea", b"vmtx")

Flavor = Literal["woff", "otf"]


def font_path() -> Path:
    """Return the file of Noto Sans SC Regular."""
    import pylopdf_fonts_zh_cn

    return Path(pylopdf_fonts_zh_cn.sans_path())


@cache
def font_characters() -> frozenset[str]:
    """Return every character the font has a glyph for.

    Reads the font's full-Unicode cmap (OpenType, subtable format 12) directly: 10 ms, where fontTools takes 200 ms
    because it first names all 31,000 glyphs.
    """
    with font_path().open("rb") as file:
        table_count = struct.unpack(">4xH6x", file.read(12))[0]
        directory = struct.iter_unpack(">4s4xII", file.read(16 * table_count))
        offset, length = next((offset, length) for tag, offset, length in directory if tag == b"cmap")
        file.seek(offset)
        cmap = file.read(length)
    subtable_count = struct.unpack_from(">2xH", cmap)[0]
    starts = [struct.unpack_from(">4xI", cmap, 4 + 8 * index)[0] for index in range(subtable_count)]
    start = next(start for start in starts if struct.unpack_from(">H", cmap, start)[0] == FULL_UNICODE_FORMAT)
    size = struct.unpack_from(">4xI", cmap, start)[0]
    groups = struct.iter_unpack(">II4x", cmap[start + 16 : start + size])
    return frozenset(chr(code) for first, last in groups for code in range(first, last + 1))


def missing_characters(text: str) -> tuple[str, ...]:
    """Return the characters of `text`, each once and in order, that leave ink and have no glyph.

    Letters with accents are looked up composed (NFC), as text layout does.
    """
    composed = unicodedata.normalize("NFC", text)
    return tuple(c for c in dict.fromkeys(composed) if c not in font_characters() and not INKLESS.match(c))


def display_label(label: str) -> str:
    """Return a label that the font can draw in full.

    A run of characters without glyphs becomes the code point of the first, with an ellipsis if there are more:
    a whole family emoji is ``U+1F468…``. A part number that has no superscript glyphs follows in brackets. The
    lone ``▁`` of a space becomes ``␣``: the font draws ▁ below the line, where it seems to belong to the next row.
    """
    if label == SPACE_LABEL:
        return OPEN_BOX
    text = unicodedata.normalize("NFC", label)
    text = SUPERSCRIPT_NUMBER.sub(_drawable_number, text)
    text = "".join(" " if c.isspace() else c for c in text if c.isspace() or not INKLESS.match(c))
    missing = "".join(map(regex.escape, missing_characters(text)))
    return regex.sub(f"[{missing}]+", _named_run, text) if missing else text


def subset_font(text: str, flavor: Flavor, language: str) -> bytes:
    """Return the font cut down to basic Latin and the characters of `text`: WOFF for HTML, OTF for PDF.

    The same set of characters gives the same bytes. Layout tables, hints and subroutines go: a quarter smaller.
    Curly quotes and the ellipsis are as wide as a Han character in the font; outside Chinese (`language` zh) they take
    its proportional glyphs. The middle dot, which has none, is moved to a narrow width.
    """
    import uharfbuzz as hb
    from fontTools.ttLib import TTFont

    face = hb.Face(hb.Blob.from_file_path(str(font_path())))
    wanted = hb.SubsetInput()
    wanted.flags = hb.SubsetFlags.NO_HINTING | hb.SubsetFlags.DESUBROUTINIZE | hb.SubsetFlags.NOTDEF_OUTLINE
    wanted.drop_table_tag_set.update(int.from_bytes(tag, "big") for tag in DROPPED_TABLES)
    characters = {*BASIC_LATIN, *GENERATED} | set(text) | set(unicodedata.normalize("NFC", text))
    wanted.unicode_set.update(map(ord, characters))
    proportional = {} if language == "zh" else _proportional_punctuation(face)
    wanted.glyph_set.update(proportional.values())
    plan = hb.SubsetPlan(face, wanted)
    new_ids = plan.old_to_new_glyph_mapping
    with TTFont(BytesIO(plan.execute().blob.data), lazy=True, recalcBBoxes=False, recalcTimestamp=False) as font:
        for table in font["cmap"].tables:
            for code in table.cmap.keys() & proportional.keys():
                table.cmap[code] = font.getGlyphName(new_ids[proportional[code]])
        _narrow_middle_dot(font)
        font.flavor = "woff" if flavor == "woff" else None
        file = BytesIO()
        font.save(file, reorderTables=False)
    return file.getvalue()


def _proportional_punctuation(face: "hb.Face") -> dict[int, int]:
    """Return the glyph of the font's feature ``pwid`` (OpenType: proportional widths) for each wide mark."""
    import uharfbuzz as hb

    buffer = hb.Buffer()
    buffer.add_str(FULL_WIDTH_PUNCTUATION)
    buffer.guess_segment_properties()
    hb.shape(hb.Font(face), buffer, {"pwid": True, "liga": False})
    return {ord(mark): info.codepoint for mark, info in zip(FULL_WIDTH_PUNCTUATION, buffer.glyph_infos, strict=True)}


def _narrow_middle_dot(font: "TTFont") -> None:
    """Make the middle dot, as wide as a Han character in the font, fit ``L3·H7``."""
    from fontTools.pens.t2CharStringPen import T2CharStringPen
    from fontTools.pens.transformPen import TransformPen

    name = font.getBestCmap()[ord(MIDDLE_DOT)]
    width, left = font["hmtx"][name]
    shift = (MIDDLE_DOT_WIDTH - width) / 2
    top = font["CFF "].cff.topDictIndex[0]
    private = top.FDArray[top.FDSelect[font.getGlyphID(name)]].Private
    pen = T2CharStringPen(MIDDLE_DOT_WIDTH - private.nominalWidthX, None)
    font.getGlyphSet()[name].draw(TransformPen(pen, (1, 0, 0, 1, shift, 0)))
    top.CharStrings[name] = pen.getCharString(private, top.CharStrings.globalSubrs)
    font["hmtx"][name] = (MIDDLE_DOT_WIDTH, round(left + shift))


def _drawable_number(match: regex.Match[str]) -> str:
    number: str = match[0]
    raised = len(number) == 1 and not missing_characters(number)  # or of 10, 11, 12 only those with a 0 were bracketed
    return number if raised else f"({number.translate(PLAIN_DIGITS)})"


def _named_run(match: regex.Match[str]) -> str:
    run: str = match[0]
    return code_point(run[0]) + ("…" if len(run) > 1 else "")
