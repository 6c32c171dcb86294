"""Work on the many small parts of a long text's attention, side by side."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import torch

Part = TypeVar("Part")
Result = TypeVar("Result")


def side_by_side(function: Callable[[Part], Result], parts: Sequence[Part]) -> list[Result]:
    """Return the function's results for all parts, worked on by as many threads as torch takes, a part by one.

    torch's own threads share every operation and wait for each other at its end. With thousands of operations, other
    programs on the machine make these waits many times as long as the work.
    """
    threads = torch.get_num_threads()
    if threads == 1 or len(parts) < 2:
        return [function(part) for part in parts]
    torch.set_num_threads(1)
    try:
        with ThreadPoolExecutor(threads) as pool:
            return list(pool.map(function, parts))
    finally:
        torch.set_num_threads(threads)
