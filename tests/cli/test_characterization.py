"""assay explore --operation with a characterization: all points, and what they say together."""

import json

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


def test_mistakes_name_the_file(assay, quick_worker, space, tmp_path):
    file = tmp_path / "characterize.yaml"
    file.write_text(OPERATION.replace("repeats", "repeat"))
    assert "did you mean 'repeats'" in assay.refused("explore", space, "--operation", file)
