"""The checks that a saved report has to pass: what JSON holds becomes text, numbers and arrays, or a ValueError."""

import base64
import json
import math
from collections.abc import Mapping
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import NDArray

from attnx.errors import InputError
from attnx.report.document import FORMAT, Maps
from attnx.report.typography import short_text
from attnx.statistics.scores import Floats

REASON_CHARACTERS = 120
LARGEST_SEED = 2**63 - 1
LARGEST_SCORE = 1e9  # tokens, nats and shares stay far below; more cannot be written out
MAXIMUM_WEIGHTS = 2**30  # of the maps in a file: 512 tokens take 38 million for 144 heads
# What is raised where something in a file is not what it should be.
BROKEN = (LookupError, TypeError, ValueError, AttributeError, ArithmeticError)


def load_twin(text: str, *kinds: str) -> Mapping[str, Any]:
    """Return the JSON of a report of one of the `kinds`; raises InputError where it is not one."""
    try:
        twin = json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise InputError("report_not_json", reason=one_line(str(error))) from error
    if not isinstance(twin, dict) or twin.get("format") != FORMAT or twin.get("kind") not in kinds:
        raise InputError("report_unknown_format", wanted=f"format {FORMAT}, kind {' / '.join(kinds)}")
    return twin


def broken(error: Exception) -> InputError:
    """Return what to tell of a report that does not hold together."""
    return InputError("report_broken", reason=one_line(f"{type(error).__name__}: {error}"))


def read_maps(twin: Mapping[str, Any], shape: tuple[int, ...]) -> Maps:
    """Return weights as bytes, of exactly this shape."""
    require(twin["shape"] == list(shape) and twin["dtype"] == "uint8", "maps")
    require(0 < math.prod(shape) <= MAXIMUM_WEIGHTS, "maps")
    data = base64.b64decode(twin["data"], validate=True)
    require(len(data) == math.prod(shape), "maps")
    return np.frombuffer(data, np.uint8).reshape(shape)


def read_numbers(value: Any, shape: tuple[int, ...], what: str) -> Floats:  # noqa: ANN401 - what JSON holds
    """Return numbers of exactly this shape, NaN for null; `what` is what to call them in an error."""
    items = np.array(value, dtype=object)
    require(items.shape == shape and all(item is None or is_number(item) for item in items.flat), what)
    return items.astype(np.float64)


def read_indices(
    value: Any,  # noqa: ANN401 - what JSON holds
    shape: tuple[int, ...],
    bounds: tuple[int, int],
    what: str,
) -> NDArray[np.int64]:
    """Return whole numbers of exactly this shape between the bounds, both included."""
    items = np.array(value, dtype=object)
    require(items.shape == shape and all(is_index(item, *bounds) for item in items.flat), what)
    return items.astype(np.int64)


def is_text(value: object) -> TypeGuard[str]:
    """Tell whether a value is a string that can be written as UTF-8."""
    return isinstance(value, str) and not any("\ud800" <= character <= "\udfff" for character in value)


def is_number(value: object) -> bool:
    """Tell whether a value is a number that a score could be; True and False are none."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= LARGEST_SCORE


def is_index(value: object, low: int, high: float = math.inf) -> bool:
    """Tell whether a value is a whole number from `low` to `high`, both included."""
    return isinstance(value, int) and not isinstance(value, bool) and low <= value <= high


def _refuse(constant: str) -> None:
    raise ValueError(constant)  # NaN and Infinity, which Python's reader takes and JSON has not


def one_line(reason: str) -> str:
    """Return what an exception says, which may quote the file, as something a terminal can show."""
    return "".join(c if c.isprintable() else " " for c in short_text(reason, REASON_CHARACTERS))


def require(condition: bool, what: str) -> None:
    """Raise ValueError, which names `what` is wrong, unless the condition holds."""
    if not condition:
        raise ValueError(what)
