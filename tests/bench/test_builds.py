"""Two builds in turns: who begins, and what a line of the table says."""

import pathlib
from types import SimpleNamespace

import run_builds

BEFORE, AFTER = pathlib.Path("before"), pathlib.Path("after")


def test_builds_take_turns_at_beginning_and_stand_in_their_order():
    called = []

    def measure(bin_dir):
        called.append(bin_dir)
        return len(called), bin_dir

    turns = run_builds.in_turns(SimpleNamespace(turns=2, builds=[BEFORE, AFTER]), measure)
    assert called == [BEFORE, AFTER, AFTER, BEFORE]
    assert turns == [((1, BEFORE), (2, AFTER)), ((4, BEFORE), (3, AFTER))]


def test_a_ratio_above_one_says_that_the_new_build_is_faster():
    assert run_builds.line("a row", "MiB/s", [(100, 150), (110, 165), (90, 135)]) == [
        "a row",
        "MiB/s",
        "100",
        "150",
        "1.50",
        "1.50 to 1.50",
    ]


def test_fewer_than_three_turns_have_no_interval():
    assert run_builds.line("a row", "MiB/s", [(100, 100)])[-1] == ""
