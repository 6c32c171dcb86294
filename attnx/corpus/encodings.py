"""The encoding of a text file: named, Unicode, or clear from its bytes; never guessed where it could be another."""

import codecs
from dataclasses import dataclass
from typing import TYPE_CHECKING

from attnx.errors import InputError

if TYPE_CHECKING:
    from charset_normalizer import CharsetMatches

SAMPLE_BYTES = 1 << 20
# UTF-32 first: its little-endian mark begins with that of UTF-16.
MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
WIDE = ("utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be")
ESCAPED = {b"\x1b$B": "iso2022-jp", b"\x1b$@": "iso2022-jp", b"\x1b$)C": "iso2022-kr"}  # ASCII bytes, other text
# Codecs of Python's own that are no encoding of a file.
NOT_FOR_FILES = frozenset({"idna", "punycode", "undefined", "unicode-escape", "raw-unicode-escape"})
# What is taken without being named; the others are there because their bytes look like one of these.
TRUSTED = ("gb18030", "big5", "cp932", "euc_jp", "cp949", "cp1251", "koi8_r", "cp866")
LOOKALIKES = (
    *("koi8_u", "cp1125", "mac_cyrillic", "iso8859_5", "cp1250", "iso8859_2", "cp1252", "cp1253", "iso8859_7"),
    *("cp1254", "cp1255", "cp1256", "cp1257", "cp874"),
)
# Tried on 1,812 texts of 1 to 40 lines in 21 languages and 24 encodings: none was taken for what it is not; of 540
# texts of three lines or more in a trusted encoding, 522 were known.
MINIMUM_BYTES = 64  # outside ASCII: less says too little
MAXIMUM_CHAOS = 0.1  # the share of odd neighbors (charset-normalizer) in text of the right encoding
MINIMUM_MARGIN = 0.03  # by which any other encoding has to look worse
PLAUSIBLE_CHAOS = 0.5
LISTED = 6  # candidates in a message
MAXIMUM_NULS = 0.01  # share of null bytes: in UTF-16 every space and line end has one, in a damaged file few are


@dataclass(frozen=True)
class Encoding:
    """The name of a codec, and whether it was found by the look of the text."""

    name: str
    detected: bool = False


def find_encoding(path: str, head: bytes, named: str | None) -> Encoding:
    """Return the encoding of a file that begins with the bytes `head` (up to SAMPLE_BYTES): `named` if there is one.

    Raises InputError for a name that is no encoding, and for bytes that could be in several or in none.
    """
    if named is not None:
        return Encoding(_known(named))
    for mark, name in MARKS:
        if head.startswith(mark):
            return Encoding(name)
    wrong = _first_wrong(head, "utf-8")
    escaped = [name for escape, name in ESCAPED.items() if escape in head]
    if wrong is None and not escaped and head.count(0) <= MAXIMUM_NULS * len(head):
        return Encoding("utf-8")
    matches = _matches(head)
    clear = _clear(head, matches) if matches else None
    if clear and not escaped:
        return Encoding(clear, detected=True)
    candidates = escaped or _candidates(head, matches)
    key = "encoding_unclear" if candidates else "encoding_none"
    raise InputError(key, path=path, position=wrong or 0, candidates=", ".join(candidates[:LISTED]))


def wrong_encoding(path: str, encoding: str, head: bytes, position: int) -> InputError:
    """Return the error for a byte at `position` that does not belong to `encoding`, with what it could be instead."""
    others = ["utf-8"] if _first_wrong(head, "utf-8") is None else _candidates(head, _matches(head))
    others = [name for name in others if codecs.lookup(name).name != codecs.lookup(encoding).name]
    key = "encoding_wrong_try" if others else "encoding_wrong"
    values = {"path": path, "encoding": encoding, "position": position}
    return InputError(key, **values, candidates=", ".join(others[:LISTED]))


def _known(name: str) -> str:
    """Return the codec's own name for what the user calls it."""
    try:
        codec = codecs.lookup(name)
        "".encode(codec.name)  # refuses codecs that are not from bytes to text
    except (LookupError, ValueError) as error:
        raise InputError("encoding_unknown", encoding=name) from error
    if codec.name in NOT_FOR_FILES:
        raise InputError("encoding_unknown", encoding=name)
    return codec.name


def _first_wrong(head: bytes, encoding: str) -> int | None:
    """Return the place of the first byte that `encoding` does not have; a character cut at the end is none."""
    try:
        codecs.getincrementaldecoder(encoding)().decode(head)
    except UnicodeDecodeError as error:
        return error.start
    return None


def _matches(head: bytes) -> "CharsetMatches | None":
    """Return the encodings that the bytes can be in, the likeliest first; None where there are null bytes."""
    from charset_normalizer import from_bytes

    if 0 in head:
        return None
    whole = head[: head.rfind(b"\n") + 1] or head  # the last character may be cut
    return from_bytes(whole, cp_isolation=[*TRUSTED, *LOOKALIKES], threshold=1, preemptive_behaviour=False)


def _clear(head: bytes, matches: "CharsetMatches") -> str | None:
    """Return the encoding that looks right where no other looks nearly as right."""
    if sum(byte > 0x7F for byte in head) < MINIMUM_BYTES:
        return None
    best, *others = matches
    names = [name for name in TRUSTED if name in best.could_be_from_charset]
    alone = all(other.chaos - best.chaos >= MINIMUM_MARGIN for other in others)
    if len(names) != 1 or best.chaos > MAXIMUM_CHAOS or not alone or _first_wrong(head, names[0]) is not None:
        return None
    return names[0].replace("_", "-")


def _candidates(head: bytes, matches: "CharsetMatches | None") -> list[str]:
    """Return the encodings that the bytes could be in, the likeliest first."""
    if matches is not None:
        found = [name for match in matches if match.chaos < PLAUSIBLE_CHAOS for name in match.could_be_from_charset]
        return [name.replace("_", "-") for name in dict.fromkeys(found) if _first_wrong(head, name) is None]
    return [name for name in WIDE if _first_wrong(head, name) is None and "\0" not in head.decode(name, "ignore")]
