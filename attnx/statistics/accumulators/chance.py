"""Chance that depends on a seed and a sentence's running number alone, so not on order, batches or processes."""

import math

import numpy as np
from numpy.typing import NDArray

# What chance is used for; each has numbers of its own.
BAG, DRAW, VARIABILITY, DISTANCES, PROFILES = range(1, 6)

# The constants of splitmix64 (Steele, Lea and Flood 2014).
GOLDEN = np.uint64(0x9E3779B97F4A7C15)
FIRST, SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
# The cumulative Poisson distribution of mean 1, up to where 53 bits end.
POISSON = np.cumsum([math.exp(-1) / math.factorial(k) for k in range(18)])

Words = NDArray[np.uint64]
Numbers = NDArray[np.int64]


def hashes(seed: int, stream: int, numbers: Numbers) -> Words:
    """Return 64 random bits for each number; another `stream` gives others, independent of these."""
    start = _mixed(np.array([seed, stream], dtype=np.int64).astype(np.uint64))
    key = _mixed(start[:1] + start[1:] * GOLDEN)
    return _mixed(key + numbers.astype(np.uint64) * GOLDEN)


def uniforms(seed: int, stream: int, numbers: Numbers) -> NDArray[np.float64]:
    """Return a number in 0..1 (1 excluded) for each number."""
    return _fractions(hashes(seed, stream, numbers))


def poisson_weights(seed: int, stream: int, numbers: Numbers, replicates: int) -> NDArray[np.float64]:
    """Return how often each sentence is drawn in each bootstrap replicate, float64 ``[replicates, numbers]``.

    Poisson with mean 1: what drawing n of n with replacement tends to, with no need to know n beforehand.
    """
    words = hashes(seed, stream, numbers) + np.arange(1, replicates + 1, dtype=np.uint64)[:, None] * GOLDEN
    return np.searchsorted(POISSON, _fractions(_mixed(words)), side="right").astype(np.float64)


def _mixed(words: Words) -> Words:
    words = words ^ (words >> np.uint64(30))
    words = words * FIRST
    words ^= words >> np.uint64(27)
    words *= SECOND
    words ^= words >> np.uint64(31)
    return words


def _fractions(words: Words) -> NDArray[np.float64]:
    return (words >> np.uint64(11)).astype(np.float64) * 2.0**-53
