"""From turns to the file and the tables."""

import json
from dataclasses import asdict

import pytest
from fakes import make_run
from harness import page, results, rows, summary, table
from harness.flops import Work

WORK = Work(tokens=1000, supervised=600, linear=1e12, lora=0.0, attention=0.0, head=0.5e12, bytes=2e9)
LORA, START = rows.select(["lora"])[0], rows.select(["start"])[0]
CEILINGS = {"tflops": {"bfloat16": 3.0, "float32": 1.0}, "memory_gb_per_s": 40.0, "others_cores": 0.0}
SESSION = {
    "at": "2026-01-02 03:04 UTC",
    "command": "script/bench tune",
    "commit": "abc",
    "programs": "abc",
    "machine": "a machine",
    "ceilings": {"native": CEILINGS},
}


def make_turn(ours=1.0, theirs=4.0, rss=(1, 4), others=0.0, first_step=(0.5, 10.0)):
    def run(seconds, gib, first):
        return asdict(
            make_run(step_seconds=[99.0] + [seconds] * LORA.steps, rss=gib * 2**30, others=others, first_step=first)
        )

    return {
        "session": 0,
        "ours": run(ours, rss[0], first_step[0]),
        "theirs": run(theirs, rss[1], first_step[1]),
        "loss_difference": 0.001,
        "grad_norm_difference": 0.002,
    }


def make_results(row=LORA, turns=None, problem=None):
    found = results.empty("2026-01-02")
    found["sessions"].append(SESSION)
    entry = results.start_row(found, row, [WORK] * row.all_steps)
    entry["turns"] = [make_turn() for _ in range(5)] if turns is None else turns
    entry["problem"] = problem
    return found


def line_of(text, name):
    (line,) = [line for line in text.splitlines() if line.startswith(f"| {name} |")]
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_summary():
    turns = [make_turn(ours, theirs) for ours, theirs in [(1.0, 4.0), (2.0, 4.0), (1.0, 3.0)]]
    s = summary.summarise(make_results(turns=turns)["rows"]["lora"])
    assert (s.ours.seconds, s.theirs.seconds, s.ratio) == (1.0, 4.0, 4.0)
    assert s.ours.tokens_per_second == 1000
    assert s.ours.tflops == 1.5
    assert s.share(s.ours, CEILINGS) == 0.5
    assert s.share(s.theirs, CEILINGS) == 0.125
    assert s.bandwidth_share(s.ours, CEILINGS) == pytest.approx(0.05)
    assert s.memory_ratio == 0.25
    assert s.row == LORA


def test_warm_up_steps_count_for_nothing():
    s = summary.summarise(make_results()["rows"]["lora"])
    assert s.ours.seconds == 1.0


def test_the_start_row_is_about_the_first_step():
    s = summary.summarise(make_results(START)["rows"]["start"])
    assert (s.ours.seconds, s.theirs.seconds, s.ratio) == (0.5, 10.0, 20.0)


def test_speed_table():
    cells = line_of(table.speed_table(make_results()), "lora")
    assert cells[2:] == ["1000", "250", "4.00 (4.00 to 4.00)", "3 / 5", "yes", "50%", "12%"]


@pytest.mark.parametrize(("theirs", "reached"), [(2.9, "**no**"), (3.0, "yes"), (4.9, "yes"), (5.0, "aim")])
def test_what_was_asked_for_is_held_against_the_ratio(theirs, reached):
    turns = [make_turn(theirs=theirs) for _ in range(5)]
    assert line_of(table.speed_table(make_results(turns=turns)), "lora")[6] == reached


@pytest.mark.parametrize(("rss", "reached"), [((2, 3), "**no**"), ((2, 4), "yes"), ((1, 3), "aim")])
def test_memory_table(rss, reached):
    cells = line_of(table.memory_table(make_results(turns=[make_turn(rss=rss)])), "lora")
    assert cells[1:5] == [f"{rss[0]:.2f}", f"{rss[1]:.2f}", f"{rss[0] / rss[1]:.2f}", reached]


def test_rows_that_differ_have_no_ratio_and_are_named():
    found = make_results(problem="losses differ by 9%")
    assert table.speed_table(found) == ""
    assert "- **lora**: losses differ by 9%" in table.headline(found)


def test_a_busy_machine_is_said():
    assert table.busy_note(make_results()) == ""
    assert "lora (0.90 cores)" in table.busy_note(make_results(turns=[make_turn(others=0.9)]))
    (busy,) = rows.select(["lora-busy"])
    assert table.busy_note(make_results(busy, turns=[make_turn(others=0.9)])) == ""
    found = make_results()
    found["sessions"] = [{**SESSION, "ceilings": {"native": {**CEILINGS, "others_cores": 1.2}}}]
    assert "the native ceilings (1.20 cores)" in table.busy_note(found)


def test_report_has_every_turn_and_where_it_came_from():
    text = table.report(make_results())
    assert sum(line.startswith("| lora | ") for line in text.splitlines()) == 8  # 3 tables and 5 turns
    for part in ("2026-01-02", "a machine", "script/bench tune", "bfloat16 3.000", "memory 40.0 GB/s"):
        assert part in text


def test_file_round_trip_and_further_turns(tmp_path):
    path = tmp_path / "new" / "tune-2026-01-02.json"
    found = make_results()
    results.save(found, path)
    again = results.load(path, SESSION)
    assert again == json.loads(json.dumps(found))
    entry = results.start_row(again, LORA, [])
    assert len(entry["turns"]) == 5
    assert results.start_row(again, START, [WORK])["turns"] == []


def test_turns_of_another_build_or_row_are_not_mixed(tmp_path):
    path = tmp_path / "tune-2026-01-02.json"
    results.save(make_results(), path)
    for name in ("programs", "machine"):
        with pytest.raises(results.CannotAppend, match="leave --append out"):
            results.load(path, {**SESSION, name: "another"})
    with pytest.raises(results.CannotAppend, match="leave --append out"):
        results.start_row(results.load(path, SESSION), rows.shortened(LORA), [])


def test_a_row_with_a_problem_begins_anew():
    found = make_results(problem="it broke")
    assert results.start_row(found, LORA, [WORK])["turns"] == []
    assert found["rows"]["lora"]["problem"] is None


def test_page_keeps_what_is_around_the_markers():
    text = "head\n<!-- tune: begin -->\nold\n<!-- tune: end -->\ntail\n"
    assert page.replace_part(text, "tune", "new\n") == text.replace("old", "new")
    with pytest.raises(ValueError, match="needs one"):
        page.replace_part("no markers", "tune", "new")
