"""The experiential criteria of the connector test are what a run of the connectors finds."""

import connector_criteria
import pytest


def compared(row, left_out):
    """What a library says of a fault may be another thread's word each time; whether it says anything may not."""
    if row["connector"] != "assay":
        row["errors"] = [text == connector_criteria.SILENCE for text in row["errors"]]
    row["errors"] = [None if left_out[at] else told for at, told in enumerate(row["errors"])]
    return row


@pytest.mark.parametrize("name", ["assay", *connector_criteria.OTHERS])
def test_the_table_says_what_is_found(serve, tmp_path, name):
    url = serve("--root", "memory", "--bucket", "test").url
    (found,) = connector_criteria.found_of_all(url, tmp_path, [name], with_long_waits=False)
    (told,) = [row for row in connector_criteria.told() if row["connector"] == name]
    left_out = [(name, fault) in connector_criteria.LONG_WAITS for fault in connector_criteria.FAULTS]
    assert compared(found, left_out) == compared(told, left_out)


def test_of_a_long_traceback_the_end_is_kept(tmp_path):
    problem = "ValueError: nothing at FILE"
    frames = f'File "{tmp_path}/a.py", line 7, in read ' * 9
    told = connector_criteria.normal(f"Traceback (most recent call last): {frames}{problem}", tmp_path)
    assert told.endswith(problem)
    assert len(told) == connector_criteria.LONGEST_TEXT
    assert connector_criteria.normal("way " * 99, tmp_path).startswith("way way")
