"""The tables of script/bench connector: a column for each connector, a line for each figure."""

from connector import tables

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
