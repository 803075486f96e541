"""From runs of command-line tools to their table."""

from dataclasses import asdict

import pytest
from storage.bare import BARE, measure_bare
from storage.tools import OURS, PEERS, WORKS, WrongContent, check_files, make_files

from storage import tool_tables, tools


def results_of(ours, theirs, turns=3):
    def row(seconds, cpu_seconds):
        return {"put": {"seconds": seconds, "cpu_seconds": cpu_seconds, "peak_rss_bytes": 30 << 20}}

    turn = {OURS: row(*ours), **{peer: row(*theirs) for peer in PEERS}}
    session = {"at": "now", "command": "script/bench storage-tools", "commit": "abc", "machine": "m", "load": 0.0}
    return {
        "date": "2026-01-02",
        "versions": {"rclone": "rclone v1"},
        "sessions": [session],
        "works": {WORKS[0].name: {"work": asdict(WORKS[0]), "turns": [turn] * turns}},
    }


@pytest.mark.parametrize(
    ("ours", "reached"),
    [((2, 1), ["yes", "yes", "yes"]), ((5, 1), ["yes", "yes", "**no**"]), ((2, 4.1), ["**no**"] * 3)],
)
def test_what_is_asked_of_both(ours, reached):
    lines = tool_tables.ratio_table(results_of(ours, (10, 10))).splitlines()[2:]
    assert [line.split(" | ")[-1].removesuffix(" |") for line in lines] == reached


def test_the_report_has_every_tool():
    text = tool_tables.report(results_of((2, 1), (10, 10)))
    assert "1 x 2 GiB" in text and all(f"| {tool} | 3 |" in text for tool in (OURS, *PEERS))


def test_a_bare_loop_moves_the_bytes_of_a_work(tmp_path):
    row = measure_bare(tools.Work("tiny", "150 x 1000 B", 1000, 150), tmp_path / "got")
    files = list((tmp_path / "got").rglob("*.bin"))
    assert len(files) == 150 and {path.stat().st_size for path in files} == {1000}
    assert row["seconds"] > 0 and row["cpu_seconds"] > 0


def test_what_a_get_costs_at_least():
    def row(cpu_seconds):
        return {"get": {"seconds": 1, "cpu_seconds": cpu_seconds, "peak_rss_bytes": 1}}

    turn = {OURS: row(2), "rclone": row(8), "s5cmd": row(3), BARE: row(1.5)}
    results = {"works": {"large": {"work": asdict(WORKS[0]), "turns": [turn]}}}
    last = tool_tables.least_table(results).splitlines()[-1]
    assert last == "| 1 x 2 GiB | 1.50 | 1.3 | 5.3 | 2.0 | - | 0.8 |"


def test_other_bytes_are_found(tmp_path):
    work = tools.Work("tiny", "3 x 1 KiB", 1024, 3)
    make_files(tmp_path / "a", work)
    make_files(tmp_path / "b", work)
    source = tmp_path / "a" / "files"
    check_files("a tool", source, source)
    with pytest.raises(WrongContent, match="other bytes"):
        check_files("a tool", source, tmp_path / "b" / "files")
    next((tmp_path / "b" / "files").rglob("*.bin")).unlink()
    with pytest.raises(WrongContent, match="2 files where there are 3"):
        check_files("a tool", source, tmp_path / "b" / "files")
