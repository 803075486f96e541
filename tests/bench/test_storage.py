"""From turns of the storage benchmark to its tables."""

from dataclasses import asdict

import pytest
from harness import page
from storage.works import OURS, PEERS, WORKS

from storage import tables

LARGE, SMALL = (next(work for work in WORKS if work.name == name) for name in ("object-512m", "objects-1m"))


def row(rate, per_cpu, beyond_mib=10):
    return {
        "mib_per_s": rate,
        "mib_per_cpu_s": per_cpu,
        "objects_per_s": rate,
        "objects_per_cpu_s": per_cpu,
        "peak_rss_beyond_bytes": beyond_mib << 20,
    }


def results_of(work, ours, theirs=(500, 400), turns=3):
    clients = {OURS: ours, **{peer: row(*theirs) for peer in PEERS}}
    turn = {"session": 0, "clients": {name: {"put": one, "get": one} for name, one in clients.items()}}
    entry = {
        "work": asdict(work),
        "ceilings": [{"raw loopback socket, two processes": 4000.0}],
        "turns": [turn] * turns,
    }
    session = {"at": "now", "command": "script/bench storage", "commit": "abc", "machine": "a machine", "load": 0.0}
    return {"date": "2026-01-02", "sessions": [session], "works": {work.name: entry}, "parts": {}}


@pytest.mark.parametrize(
    ("ours", "reached"),
    [
        (row(2100, 1700), "yes"),
        (row(1900, 1700), "**no**"),  # below half of the raw socket
        (row(2100, 1500), "**no**"),  # a get wants four times what a CPU second does
        (row(2100, 1700, beyond_mib=300), "**no**"),
    ],
)
def test_a_large_object_reaches_its_goal_in_all_or_not_at_all(ours, reached):
    line = tables.goal_line(results_of(LARGE, ours), results_of(LARGE, ours)["works"][LARGE.name], "get")
    assert line[-1] == reached


def test_small_objects_are_held_against_boto3_per_cpu_second():
    found = results_of(SMALL, row(100, 1700))
    found["works"][SMALL.name]["turns"][0]["clients"]["s3fs"]["put"] = row(9000, 9000)
    line = tables.goal_line(found, found["works"][SMALL.name], "put")
    assert line[-1] == "yes"
    assert line[5].endswith("boto3")


def test_the_pages_have_every_client_and_fit_the_documentation():
    found = results_of(LARGE, row(2100, 1700), turns=5)
    found["parts"]["crash"] = {"old": 3, "new": 2, "mixed": 0}
    assert "| put | s3fs | 5 | 500 | 400 | 10 |" in tables.report(found)
    assert "| 5 | 3 | 2 | 0 |" in tables.headline(found)
    text = page.replace_part("<!-- storage: begin -->\n<!-- storage: end -->\n", "storage", tables.headline(found))
    assert "4.2 (4.2 to 4.2)" in text
