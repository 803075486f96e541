"""assay tune --log-dir: lines of JSON and TensorBoard's curves."""

import json
import math

import pytest
import tensorboard_file


def lines_of(folder):
    return [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]


def curves_of(folder):
    return [list(tensorboard_file.events(path)) for path in sorted(folder.glob("events.out.tfevents.*"))]


def test_steps_and_evaluations_are_lines_and_curves(assay, model, rows, tmp_path):
    log = tmp_path / "some" / "log"
    more = ["--max-steps", 4, "--eval-data", rows, "--eval-every", 2, "--log-dir", log, "--output", "json"]
    result = json.loads(assay.ok("tune", "--model", model, "--data", rows, "--batch-size", 2, *more))
    lines = lines_of(log)
    assert [line["step"] for line in lines] == [1, 2, 2, 3, 4, 4]
    steps = [line for line in lines if "loss" in line]
    assert [line["loss"] for line in steps] == result["losses"]
    assert [line["learning_rate"] for line in steps] == result["learning_rates"]
    evaluations = [line for line in lines if "eval_loss" in line]
    assert [line["eval_loss"] for line in evaluations] == [each["loss"] for each in result["evaluations"]]
    (curves,) = curves_of(log)
    assert curves[0] == (0, "brain.Event:2")
    assert [step for step, _ in curves[1:]] == [line["step"] for line in lines]
    for (_, scalars), line in zip(curves[1:], lines, strict=True):
        for tag, value in scalars.items():
            name = tag.removeprefix("train/").replace("/", "_")
            assert value == pytest.approx(line[name], rel=1e-6), tag
    assert math.exp(evaluations[0]["eval_loss"]) == pytest.approx(evaluations[0]["eval_perplexity"])


def test_a_run_that_goes_on_takes_back_what_was_lost(assay, model, rows, tmp_path):
    log, out = tmp_path / "log", tmp_path / "out"
    shared = ["tune", "--model", model, "--data", rows, "--batch-size", 2, "--output-dir", out, "--save-every", 2]
    assay.ok(*shared, "--max-steps", 2, "--log-dir", log)
    assay.ok(*shared, "--max-steps", 3, "--resume", "--log-dir", log)
    assert [line["step"] for line in lines_of(log)] == [1, 2, 3]
    first, second = curves_of(log)
    assert [step for step, _ in first] == [0, 1, 2]
    assert second[:2] == [(0, "brain.Event:2"), (3, "start")] and second[2][0] == 3


def test_a_folder_that_cannot_be_is_refused(assay, model, rows, tmp_path):
    (tmp_path / "file").write_text("")
    line = assay.refused("tune", "--model", model, "--data", rows, "--log-dir", tmp_path / "file" / "log")
    assert "file" in line
