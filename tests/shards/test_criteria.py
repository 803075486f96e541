"""The experiential criteria of the connector test are what a run of the connectors finds."""

import concurrent.futures

import connector_criteria
import pytest
import served

# The one that waits longest, for a dead store, comes first.
NAMES = sorted(["assay", *connector_criteria.OTHERS], key=lambda name: name != "s3torchconnector")


def find(name, folder):
    server = served.Server("--root", "memory", "--bucket", "test")
    try:
        (found,) = connector_criteria.found_of_all(server.url, folder, [name], with_long_waits=False)
        return found
    finally:
        server.kill()


@pytest.fixture(scope="module")
def found(request, tmp_path_factory):
    """What is found of each connector that is asked for, two at a time: most is waiting."""
    asked = {item.callspec.params["name"] for item in request.session.items if "found" in item.fixturenames}
    with concurrent.futures.ThreadPoolExecutor(2) as threads:
        yield {name: threads.submit(find, name, tmp_path_factory.mktemp(name)) for name in NAMES if name in asked}


def compared(row, left_out):
    """What a library says of a fault may be another thread's word each time; whether it says anything may not."""
    if row["connector"] != "assay":
        row["errors"] = [text == connector_criteria.SILENCE for text in row["errors"]]
    row["errors"] = [None if left_out[at] else told for at, told in enumerate(row["errors"])]
    return row


@pytest.mark.parametrize("name", NAMES[::-1])
def test_the_table_says_what_is_found(found, name):
    (told,) = [row for row in connector_criteria.told() if row["connector"] == name]
    left_out = [(name, fault) in connector_criteria.LONG_WAITS for fault in connector_criteria.FAULTS]
    assert compared(found[name].result(), left_out) == compared(told, left_out)


def test_of_a_long_traceback_the_end_is_kept(tmp_path):
    problem = "ValueError: nothing at FILE"
    frames = f'File "{tmp_path}/a.py", line 7, in read ' * 9
    told = connector_criteria.normal(f"Traceback (most recent call last): {frames}{problem}", tmp_path)
    assert told.endswith(problem)
    assert len(told) == connector_criteria.LONGEST_TEXT
    assert connector_criteria.normal("way " * 99, tmp_path).startswith("way way")
