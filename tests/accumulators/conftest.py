"""What the tests of accumulators share."""

import numpy as np
import pytest

from tests.accumulators.made_up import Stream, framed, random_maps


@pytest.fixture(scope="session")
def random_stream() -> Stream:
    """60 sentences of two files, 4 to 14 tokens with special ones, random maps of 2 layers with 3 heads."""
    rng = np.random.default_rng(1)
    lengths = [*rng.integers(4, 15, 58), 40, 70]
    return Stream([(3 * i, i % 2, framed(rng, n), random_maps(rng, 2, 3, n)) for i, n in enumerate(lengths)])
