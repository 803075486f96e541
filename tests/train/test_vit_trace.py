"""The merged trace of `assay tune --trace`: valid, of all ranks, nested, and in agreement with the phase times."""

import collections
import json
import os
import pathlib
import subprocess

import pytest

ASSAY = pathlib.Path(os.environ["ASSAY_BIN_DIR"]) / "assay"
CONFIG = {
    "model_type": "vit",
    "image_size": 16,
    "patch_size": 8,
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "id2label": {"0": "cat", "1": "dog", "2": "emu"},
}
STEPS, RANKS = 3, 2
#: Times in the trace are rounded to nanoseconds of a clock that counts since the machine's start.
MICROSECONDS = 0.01
PHASES = {
    "data": "data_seconds",
    "transfer": "transfer_seconds",
    "forward": "forward_seconds",
    "backward": "backward_seconds",
    "optimizer step": "optimizer_seconds",
}


@pytest.fixture(scope="module")
def traced(tmp_path_factory):
    """(what the run says, the events of its trace, the folder of the trace)"""
    folder = tmp_path_factory.mktemp("trace")
    model = folder / "model"
    model.mkdir()
    (model / "config.json").write_text(json.dumps(CONFIG))
    options = {
        "--model": model,
        "--max-steps": STEPS,
        "--number-ranks": RANKS,
        "--plugin": "FULL_SHARD",
        "--threads": 1,
        "--gradient-accumulation-steps": 2,
        "--output-dir": folder / "out",
        "--output": "json",
    }
    command = [ASSAY, "tune", "--synthetic", "--trace", *(text for pair in options.items() for text in pair)]
    finished = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=300)
    assert finished.returncode == 0, finished.stderr
    trace = json.loads((folder / "out" / "trace.json").read_text())
    return json.loads(finished.stdout), trace["traceEvents"], folder / "out"


def spans(events, **wanted):
    return [e for e in events if e["ph"] == "X" and all(e[key] == value for key, value in wanted.items())]


def inside(span, outer):
    return (
        outer["ts"] <= span["ts"] + MICROSECONDS
        and span["ts"] + span["dur"] <= outer["ts"] + outer["dur"] + MICROSECONDS
    )


def test_one_file_is_left_and_has_all_ranks(traced):
    result, events, folder = traced
    assert sorted(path.name for path in folder.iterdir()) == ["run.yaml", "trace.json"]
    assert result["trace"] == str(folder / "trace.json")
    names = {(e["pid"], e["args"]["name"]) for e in events if e["name"] == "process_name"}
    assert names == {(0, "rank 0"), (1, "rank 1")}
    for rank in range(RANKS):
        assert len(spans(events, pid=rank, cat="step")) == STEPS
        gathers = [e for e in spans(events, pid=rank, cat="collective") if e["name"] == "all_gather"]
        assert gathers and all(e["args"]["bytes"] > 0 and e["args"]["unit"] for e in gathers)


def test_spans_of_a_lane_nest_or_follow_each_other(traced):
    _, events, _ = traced
    lanes = collections.defaultdict(list)
    for span in spans(events):
        lanes[span["pid"], span["tid"]].append(span)
    assert len(lanes) == 2 * RANKS
    for lane in lanes.values():
        open_spans = []
        for span in sorted(lane, key=lambda span: (span["ts"], -span["dur"])):
            while open_spans and open_spans[-1]["ts"] + open_spans[-1]["dur"] <= span["ts"] + MICROSECONDS:
                open_spans.pop()
            assert not open_spans or inside(span, open_spans[-1])
            open_spans.append(span)


def test_phases_are_within_their_steps_and_add_up_to_the_phase_times(traced):
    result, events, _ = traced
    assert len(result["rank_steps"]) == STEPS * RANKS
    for row in result["rank_steps"]:
        of_rank = [e for e in spans(events, pid=row["rank"]) if e["args"].get("step") == row["step"]]
        (step,) = spans(of_rank, cat="step")
        assert step["dur"] == pytest.approx(row["seconds"] * 1e6, abs=0.1)
        for phase, field in PHASES.items():
            found = spans(of_rank, cat="phase", name=phase)
            assert found and all(inside(span, step) for span in found)
            assert sum(span["dur"] for span in found) == pytest.approx(row[field] * 1e6, abs=0.1)


def test_collectives_add_up_to_the_communication_times(traced):
    result, events, _ = traced
    for row in result["rank_steps"]:
        of_rank = [e for e in spans(events, pid=row["rank"]) if e["args"].get("step") == row["step"]]
        (step,) = spans(of_rank, cat="step")
        for category, field in (("collective", "communication_seconds"), ("wait", "exposed_communication_seconds")):
            found = [span for span in spans(of_rank, cat=category) if inside(span, step)]
            assert sum(span["dur"] for span in found) == pytest.approx(row[field] * 1e6, abs=1)


def test_what_phases_waited_for_is_what_was_exposed(traced):
    result, _, _ = traced
    for row in result["rank_steps"]:
        of_phases = {phase: row[f"{phase}_exposed_seconds"] for phase in ("forward", "backward", "optimizer")}
        assert all(0 <= seconds <= row[f"{phase}_seconds"] for phase, seconds in of_phases.items())
        assert sum(of_phases.values()) == pytest.approx(row["exposed_communication_seconds"], rel=0.05, abs=2e-4)
    assert any(row["backward_exposed_seconds"] > 0 for row in result["rank_steps"])


def test_ranks_share_one_clock(traced):
    """An all-gather cannot end on one rank before the other has begun it."""
    _, events, _ = traced
    ours, theirs = (
        [e for e in spans(events, pid=rank, cat="collective") if e["name"] == "all_gather"] for rank in range(RANKS)
    )
    assert len(ours) == len(theirs)
    for one, other in zip(ours, theirs, strict=True):
        assert one["args"]["unit"] == other["args"]["unit"]
        assert one["ts"] <= other["ts"] + other["dur"] and other["ts"] <= one["ts"] + one["dur"]


def test_a_trace_needs_a_folder():
    command = [ASSAY, "tune", "--model", "vit-digits", "--synthetic", "--max-steps", "1", "--trace"]
    finished = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert finished.returncode == 2
    assert "--save final, --save-every, --resume and --trace need a place" in finished.stderr
