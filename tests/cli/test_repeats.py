"""Repeats of a point that end once its mean is known well enough."""

import pytest


@pytest.fixture
def store(tmp_path):
    return f"sqlite:///{tmp_path}/store.db"


def test_repeats_end_with_a_narrow_interval(assay, quick_worker, space, store):
    out = assay.ok("explore", space, "--store", store, "--repeats", 6, "--interval", "5%")
    assert "4 points: 12 measured, 0 replayed, 0 invalid, 0 failed, 0 not looked at" in out
    assert "4 of 4 intervals as narrow as +- 5 %, 12 runs spared" in out
    again = assay("explore", space, "--store", store, "--repeats", 6, "--interval", "5%")
    assert "4 points: 0 measured" in again.stdout
    assert again.stderr.count("% after 3 runs (95 %, looked at after each run)") == 4
    assert "real_tokens_per_second" in again.stderr


def test_a_space_says_how_often(assay, quick_worker, space, store):
    text = space.read_text()
    space.write_text(f"{text}repeats: 2\n")
    assert "4 points: 8 measured" in assay.ok("explore", space, "--store", store)
    space.write_text(f"{text}repeats: {{until: {{interval: 1%, target: train_runtime}}}}\n")
    out = assay.ok("explore", space, "--store", store)
    assert "4 points: 4 measured, 8 replayed" in out and "68 runs spared" in out
    assert "0 would be measured" in assay.ok("explore", space, "--store", store, "--dry-run")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--interval", "500%"], "'500%' is no interval"),
        (["--interval", "5%", "--interval-of", "train_runtim"], "did you mean train_runtime?"),
        (["--interval-of", "train_runtime"], "--interval-of needs --interval"),
        (["--interval", "5%", "--repeats", 2], "an interval needs 3 repeats or more, not 2"),
        (["--interval", "5%", "--again"], "leave --again"),
    ],
)
def test_mistakes_are_one_line(assay, quick_worker, space, store, options, said):
    assert said in assay.refused("explore", space, "--store", store, *options)
