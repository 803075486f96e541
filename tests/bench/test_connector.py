"""The tables of script/bench connector: a column for each connector, a line for each figure."""

import argparse
import json
import stat

import pytest
import run_connector
from connector import tables
from connector.place import Place

MODEL = {
    "axes": [{"name": "batch_size", "values": [4]}, {"name": "connector", "values": ["assay", "litdata", "fsspec"]}],
    "configurations": {"axes": {"batch_size": [0, 0, 0], "connector": [0, 2, 1]}},
    "breakdowns": [
        {
            "title": "The six steps",
            "text": "Seconds.",
            "columns": [
                {
                    "label": "count",
                    "unit": "s",
                    "values": [0.25, None, 1234.4],
                    "low": [0.2, None, None],
                    "n": [3, None, 2],
                },
                {"label": "objects", "unit": "", "values": [12.0, None, None], "low": None, "n": [3, None, None]},
            ],
        }
    ],
}


def test_a_connector_that_was_not_measured_has_no_column():
    ((title, text, table),) = tables.of_model(MODEL)
    assert (title, text) == ("The six steps", "Seconds.")
    assert table.splitlines() == [
        "|  | assay, n = 3 | litdata, n = 2 |",
        "| --- | --- | --- |",
        "| count, s | 0.250 ± 0.0500 | 1,234 |",
        "| objects | 12.0 | - |",
    ]


#: Explores, of which a point failed, and reports what stands in a file.
ASSAY = """#!/bin/sh
[ "$1" = report ] || exit 1
cat "$TMPDIR/model.json"
"""


def measured(folder, model):
    (folder / "model.json").write_text(json.dumps(model))
    program = folder / "assay"
    program.write_text(ASSAY)
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    point = {"data": "rows", "shard_size": "1MiB", "model": "m", "steps": 4, "checkpoint_every": 2, "batch_size": 1}
    arguments = argparse.Namespace(connectors="assay,litdata", turns=3, bin_dir=folder, model_max_length=64, **point)
    return run_connector.measure(arguments, Place("s3://b", {}), folder)


def test_a_failed_run_takes_no_others_with_it(tmp_path):
    assert measured(tmp_path, MODEL) == MODEL


def test_nothing_measured_is_an_error(tmp_path):
    with pytest.raises(RuntimeError, match="nothing was measured: assay explore ended with 1"):
        measured(tmp_path, MODEL | {"breakdowns": []})
