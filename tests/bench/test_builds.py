"""Two builds in turns: who begins, and what a line of the table says."""

import pathlib
from types import SimpleNamespace

import run_builds
from harness import page

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
    assert run_builds.line("a row", "MiB/s", [(100, 150), (110, 165), (90, 135), (102, 153), (98, 147)]) == [
        "a row",
        "MiB/s",
        "100",
        "150",
        "1.50",
        "1.50 to 1.50",
        "faster",
    ]


def test_what_is_slower_and_what_shows_no_difference():
    slower = [(100, 90), (101, 91), (99, 88), (100, 89), (102, 93)]
    assert run_builds.line("a row", "MiB/s", slower)[-1] == "slower"
    open_yet = [(100, 90), (101, 111), (99, 100), (100, 99), (102, 101)]
    assert run_builds.line("a row", "MiB/s", open_yet)[-1] == "no difference seen"


def test_fewer_than_five_turns_have_no_interval():
    assert run_builds.line("a row", "MiB/s", [(100, 100)] * 4)[-2:] == ["", "too few turns to tell"]


def test_a_row_that_fails_keeps_no_other_from_the_page(monkeypatch, tmp_path):
    def lines_of(name, arguments):
        if name == "full":
            raise run_builds.losses.Differ("losses differ")
        return [[name, "steps/s", "1", "2", "2.00", "", ""]]

    published = []
    monkeypatch.setattr(run_builds, "lines_of", lines_of)
    monkeypatch.setattr(run_builds, "version_of", str)
    monkeypatch.setattr(page, "publish", lambda text, *_: published.append(text))
    options = ["--bin-dir", "a", "--before", "b", "--rows", "lora,full,vit", "--data-dir", str(tmp_path)]
    monkeypatch.setattr("sys.argv", ["builds", *options])
    assert run_builds.main() == 1
    (text,) = published
    assert "failed: losses differ" in text and text.count("2.00") == 2
