"""assay explore --operation with a characterization: all points, and what they say together."""

import contextlib
import json
import sqlite3

import pytest

OPERATION = """\
operation:
  module: { operatorName: characterization }
  parameters: { repeats: 3 }
"""


@pytest.fixture
def characterize(assay, quick_worker, space, tmp_path):
    file = tmp_path / "characterize.yaml"
    file.write_text(OPERATION)
    return lambda *flags: assay.ok(
        "explore", space, "--operation", file, "--store", f"sqlite:///{tmp_path}/store.db", *flags
    )


def test_what_is_missing_is_measured_and_the_result_kept(assay, characterize, tmp_path):
    assert "12 would be measured" in characterize("--dry-run")
    out = characterize()
    assert "12 measured, 0 replayed" in out
    assert "Nothing beats in real tokens/s and tensor GiB" in out and "batch size" in out
    store = f"sqlite:///{tmp_path}/store.db"
    (operation,) = json.loads(assay.ok("operations", "--store", store, "--output", "json"))
    kept = operation["details"]["characterization"]
    assert kept["points"] == 4 and kept["comparisons"] > 0 and kept["scaling"] == []
    assert {pair["property"] for pair in kept["pairs"]} >= {"batch_size"}
    assert all(pair["adjusted_p"] >= pair["p"] for pair in kept["pairs"] if pair["p"] is not None)
    assert operation["details"]["repeats"]["maximum"] == 4
    assert "Nothing beats in real tokens/s and tensor GiB" in assay.ok("operations", operation["uid"], "--store", store)
    assert "0 measured, 12 replayed" in characterize()


def test_options_that_its_file_does_not_say_count(characterize):
    assert "12 measured" in characterize("--workers", 2, "--retries", 1)
    assert "12 measured, 0 replayed" in characterize("--again", "--workers", 2)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["--sampler", "random"], "all points of the space"),
        (["--budget", 2], "all points of the space"),
        (["--patience", 2], "all points of the space"),
        (["--seed", 3], "all points of the space"),
        (["--metric", "train_runtime:min"], "looks for no best"),
    ],
)
def test_options_that_would_not_count_are_refused(assay, quick_worker, space, tmp_path, options, reason):
    file = tmp_path / "characterize.yaml"
    file.write_text(OPERATION)
    said = assay.refused("explore", space, "--operation", file, *options)
    assert f"{options[0]} does not count beside {file}: " in said and reason in said


def test_details_that_are_no_object_are_shown_as_they_are(assay, characterize, tmp_path):
    characterize("--max-points", 1)
    store = f"sqlite:///{tmp_path}/store.db"
    (operation,) = json.loads(assay.ok("operations", "--store", store, "--output", "json"))
    for kept, shown in (("[1]", [1]), ("a note {", "a note {"), ('{"characterization": 3}', {"characterization": 3})):
        with contextlib.closing(sqlite3.connect(tmp_path / "store.db")) as connection, connection:
            connection.execute("UPDATE operations SET details = ?", (kept,))
        (read,) = json.loads(assay.ok("operations", "--store", store, "--output", "json"))
        assert read["details"] == shown
        table, details = assay.ok("operations", operation["uid"], "--store", store).split(operation["uid"])
        assert json.loads(details) == shown


def test_mistakes_name_the_file(assay, quick_worker, space, tmp_path):
    file = tmp_path / "characterize.yaml"
    file.write_text(OPERATION.replace("repeats", "repeat"))
    assert "did you mean 'repeats'" in assay.refused("explore", space, "--operation", file)
