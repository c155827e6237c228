from __future__ import annotations

import numpy as np
from scipy.stats import kstest

from fsgc.random import generator, keyed_uniform, mixed

MASK = 2**64 - 1


def _split_mix(state: int, count: int) -> list[int]:
    """SplitMix64 with Python's integers, one number after the other."""
    found = []
    for _ in range(count):
        state = (state + 0x9E3779B97F4A7C15) & MASK
        z = state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        found.append(z ^ (z >> 31))
    return found


def test_keyed_numbers_are_those_of_split_mix() -> None:
    keys = np.array([0, 1, 1234567, 2**64 - 1], dtype=np.uint64)
    expected = [[((word >> 41) + 0.5) / 2**23 for word in _split_mix(int(key), 6)] for key in keys]
    np.testing.assert_array_equal(keyed_uniform(keys, 6), np.array(expected, dtype=np.float32))
    assert _split_mix(1234567, 2) == [6457827717110365317, 3203168211198807973]  # of the reference implementation


def test_keyed_numbers_are_uniform_and_streams_do_not_depend_on_their_company() -> None:
    keys = mixed(np.arange(200, dtype=np.uint64))
    numbers = keyed_uniform(keys, 500)
    assert kstest(numbers.flatten(), "uniform").pvalue > 0.01
    assert kstest(numbers[:, 0], "uniform").pvalue > 0.01
    assert abs(np.corrcoef(numbers[:-1].flatten(), numbers[1:].flatten())[0, 1]) < 0.01
    assert numbers.min() > 0
    assert numbers.max() < 1
    np.testing.assert_array_equal(keyed_uniform(keys[[7, 3]], 20), numbers[[7, 3], :20])


def test_a_block_of_a_stream_can_be_drawn_by_itself() -> None:
    first = generator("a", 1, block=3).random(4)
    generator("a", 1, block=2).random(100)
    np.testing.assert_array_equal(generator("a", 1, block=3).random(4), first)
    assert not (generator("a", 2, block=3).random(4) == first).any()
