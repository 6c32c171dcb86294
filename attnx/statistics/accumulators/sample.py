"""A uniform sample of sentences that does not depend on their order and can be merged."""

from collections.abc import Iterator
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from attnx.statistics.accumulators.chance import hashes

Item = TypeVar("Item")


class Sample(Generic[Item]):
    """The items of the `size` sentences whose numbers have the smallest hashes (a bottom-k sample)."""

    def __init__(self, size: int, seed: int, stream: int) -> None:
        self.size, self.seed, self.stream = size, seed, stream
        self._items: dict[int, Item] = {}

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[tuple[int, Item]]:
        """Yield numbers and items, by ascending number, so that sums over them do not depend on the order."""
        return iter(sorted(self._items.items(), key=lambda pair: pair[0]))

    def accepts(self, numbers: NDArray[np.int64], eligible: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return which of the eligible new sentences would be in the sample once all of them are known."""
        fresh = numbers[eligible]
        return eligible & np.isin(numbers, self._lowest(np.concatenate([self.numbers(), fresh])))

    def add(self, number: int, item: Item) -> None:
        """Take an item; `trim` once all are there."""
        self._items[number] = item

    def trim(self) -> None:
        """Drop what is beyond the size."""
        self._items = {number: self._items[number] for number in self._lowest(self.numbers()).tolist()}

    def merge(self, other: "Sample[Item]") -> None:
        """Take the items of another sample of other sentences; the items themselves are shared."""
        self._items |= other._items
        self.trim()

    def numbers(self) -> NDArray[np.int64]:
        """Return the numbers in the order of iteration."""
        return np.array(sorted(self._items), dtype=np.int64)

    def _lowest(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        if len(numbers) <= self.size:
            return numbers
        return numbers[np.lexsort((numbers, hashes(self.seed, self.stream, numbers)))[: self.size]]
