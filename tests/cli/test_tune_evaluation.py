"""assay tune with rows that it is not trained on."""

import json

import pytest


def tune(model, rows, *more):
    return ["tune", "--model", model, "--data", rows, "--batch-size", 2, "--max-steps", 4, *more]


def test_a_share_of_the_rows_is_held_out(assay, model, rows):
    count = len(rows.read_text().splitlines())
    more = ("--eval-share", 0.25, "--eval-every", 2, "--num-train-epochs", 1, "--max-steps", 0, "--output", "json")
    result = json.loads(assay.ok(*tune(model, rows, *more)))
    held_out = round(count * 0.25)
    assert result["samples"] == count - held_out
    assert {each["rows"] for each in result["evaluations"]} == {held_out}
    assert (
        json.loads(assay.ok(*tune(model, rows, *more)))["evaluations"][-1]["loss"] == result["evaluations"][-1]["loss"]
    )
    other = json.loads(assay.ok(*tune(model, rows, *more, "--seed", 5, "--learning-rate", 0)))
    assert other["evaluations"][-1]["loss"] != result["evaluations"][-1]["loss"]


def test_evaluations_are_told_to_people(assay, model, rows):
    finished = assay(*tune(model, rows, "--eval-data", rows, "--eval-every", 3))
    assert finished.returncode == 0
    assert "step 3: held-out loss" in finished.stderr and "perplexity" in finished.stderr
    table = finished.stdout.split("\n\n")[1].splitlines()
    assert table[0].split()[:3] == ["step", "held-out", "loss"]
    assert [line.split()[0] for line in table if line.split()[0].isdigit()] == ["3", "4"]


def test_the_best_checkpoint_is_by_the_evaluation(assay, model, rows, tmp_path):
    out = tmp_path / "out"
    keeping = ("--eval-data", rows, "--eval-every", 1, "--save-every", 1, "--keep-best", 1, "--output-dir", out)
    result = json.loads(assay.ok(*tune(model, rows, *keeping, "--output", "json")))
    losses = {each["step"]: each["loss"] for each in result["evaluations"]}
    listed = json.loads(assay.ok("checkpoint", "ls", out, "--output", "json"))
    text = json.dumps(listed)
    assert f"step-{min(losses, key=losses.get)}" in text and "eval_loss" in text


@pytest.mark.parametrize(
    "options, said",
    [
        (["--eval-every", 2], "--eval-every goes with rows to evaluate on"),
        (["--early-stopping", 2], "--early-stopping goes with rows to evaluate on"),
        (["--eval-share", 0.001], "a share of 0.001 of"),
        (["--eval-share", 0.2, "--early-stopping", 2], "early_stopping needs evaluations on the way"),
        (["--eval-data", "absent.jsonl"], "absent.jsonl"),
    ],
)
def test_what_cannot_be_evaluated_is_refused(assay, model, rows, options, said):
    assert said in assay.refused(*tune(model, rows, *options))
