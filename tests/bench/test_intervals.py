import random

import pytest
from harness.intervals import bootstrap_interval, median_ratio


def test_the_ratio_is_that_of_the_medians():
    assert median_ratio([(1.0, 3.0), (2.0, 4.0), (10.0, 5.0)]) == 2.0


def test_four_turns_have_no_interval():
    assert bootstrap_interval([(1.0, 2.0), (1.0, 2.1), (1.0, 2.2), (1.0, 2.3)]) is None


def test_of_five_turns_95_percent_of_intervals_hold_the_ratio():
    generator = random.Random(1)
    held = 0
    for trial in range(400):
        pairs = [(generator.gauss(1, 0.05), generator.gauss(2, 0.1)) for _ in range(5)]
        low, high = bootstrap_interval(pairs, resamples=400, seed=trial)
        held += low <= 2 <= high
    assert held / 400 > 0.91


def test_equal_turns_have_an_interval_of_no_width():
    assert bootstrap_interval([(2.0, 5.0)] * 5) == (2.5, 2.5)


def test_the_interval_holds_the_ratio_and_is_repeatable():
    pairs = [(1.0, 3.0), (1.1, 3.1), (0.9, 3.2), (1.0, 2.9), (1.05, 3.0)]
    low, high = bootstrap_interval(pairs)
    assert low < median_ratio(pairs) < high
    assert (low, high) == bootstrap_interval(pairs)


def test_turns_are_drawn_as_pairs():
    """A machine that slows both sides of a turn alike leaves the ratio alone."""
    pairs = [(1.0, 3.0), (2.0, 6.0), (4.0, 12.0), (1.5, 4.5), (8.0, 24.0)]
    assert bootstrap_interval(pairs) == pytest.approx((3.0, 3.0))


def test_five_turns_reach_from_the_least_to_the_largest_ratio():
    """Medians of five draws are one of the five: 95 % of resamples leave out fewer than 2.5 % on either side."""
    pairs = [(1.0, ratio) for ratio in (2.0, 3.0, 4.0, 5.0, 6.0)]
    assert bootstrap_interval(pairs) == (2.0, 6.0)
