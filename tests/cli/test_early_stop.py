"""Runs that a search ends before their time, by their progress."""

import json
import pathlib

import pytest


@pytest.fixture
def store(tmp_path):
    return f"sqlite:///{tmp_path}/store.db"


def explore(assay, space, store, *options):
    return assay.ok("explore", space, "--store", store, "--end-early", "halving", "--end-early-from", 2, *options)


def test_a_run_that_is_behind_is_ended_and_known(assay, slow_worker, space, store):
    out = explore(assay, space, store)
    assert "4 points: 3 measured, 0 replayed, 0 invalid, 0 failed, 1 ended early, 0 not looked at" in out
    assert "0 would be measured, 4 replayed" in explore(assay, space, store, "--dry-run")
    again = assay("explore", space, "--store", store, "--end-early", "halving", "--end-early-from", 2)
    assert "4 points: 0 measured, 4 replayed" in again.stdout
    assert ".0: ended early: behind at step 2, with a rate" in again.stderr
    rows = json.loads(assay.ok("results", space, "--store", store, "--output", "json"))
    ended = [row for row in rows if "ended_early" in row["provenance"]]
    assert [row["outcome"] for row in ended] == ["failed"] and len(rows) == 4
    assert ended[0]["properties"] == {} and ended[0]["reason"].startswith("ended early: behind at step 2, with a rate")
    assert "1 of 4 configurations have no values: 1 ended early." in assay.ok(
        "report", space, "--store", store, "--output", "json"
    )
    operations = json.loads(assay.ok("operations", "--store", store, "--output", "json"))
    assert [entry["replayed"] for entry in operations[-1]["details"]["ended_early"]] == [True]
    one = assay.ok("operations", operations[0]["uid"][:12], "--store", store)
    assert operations[0]["uid"] in one and ended[0]["uid"] in one and operations[1]["uid"] not in one


def test_without_the_rule_it_is_measured(assay, slow_worker, quick_worker, space, store):
    explore(assay, space, store)
    worker = pathlib.Path(assay.env["ASSAY_WORKER"])
    worker.write_text(worker.read_text().replace("time.sleep(10000)", "pass"))
    out = assay.ok("explore", space, "--store", store, "--reuse", "machine")
    assert "4 points: 1 measured, 3 replayed" in out


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--metric", "peak_tensor_bytes"], "say --end-early-by loss or rate"),
        (["--end-early-from", 0], "--end-early-from"),
    ],
)
def test_mistakes_are_one_line(assay, quick_worker, space, store, options, said):
    result = assay("explore", space, "--store", store, "--end-early", "median", *options)
    assert result.returncode == 2 and said in result.stderr
