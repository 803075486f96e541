"""`assay tune` of images: mistakes, each one line, before any worker starts; and what it makes ready for one."""

import json
import os
import pathlib
import stat
import subprocess

import pytest

ASSAY = pathlib.Path(os.environ["ASSAY_BIN_DIR"]) / "assay"
EVENTS = """#!/bin/sh
cp "$2" "$PLAN_COPY"
echo '{"event":"evaluation","epoch":1,"step":3,"loss":0.25,"accuracy":0.9,"samples":355,"seconds":0.5}'
echo '{"event":"ended","kind":"done","reason":"","stopped_by":"epochs","train_runtime":1,"warmup_steps":0,\
"warmup_seconds":0,"peak_tensor_bytes":1024,"peak_reserved_bytes":0}'
"""


@pytest.fixture
def environment(tmp_path):
    """A worker that keeps its plan and tells of one evaluation."""
    worker = tmp_path / "worker"
    worker.write_text(EVENTS)
    worker.chmod(worker.stat().st_mode | stat.S_IXUSR)
    return os.environ | {
        "ASSAY_WORKER": str(worker),
        "PLAN_COPY": str(tmp_path / "plan.json"),
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
    }


def train(environment, *arguments):
    model = [] if "--model" in arguments else ["--model", "google/vit-base-patch16-224"]
    return subprocess.run(
        [ASSAY, "tune", *model, *map(str, arguments)], capture_output=True, text=True, env=environment, timeout=300
    )


def test_digits_reach_the_worker(environment, tmp_path):
    finished = train(
        environment, "--data", "digits", "--model", "vit-digits", "--plugin", "low_level_zero", "--zero-stage", "2"
    )
    assert finished.returncode == 0, finished.stderr
    plan = json.loads((tmp_path / "plan.json").read_text())
    assert plan["kind"] == "vit"
    assert plan["num_labels"] == 10
    assert plan["knobs"]["zero_stage"] == 2
    assert (plan["precision"], plan["loss_scale"]) == ("fp16", 32)
    for part, images in (("train_file", 1442), ("eval_file", 355)):
        size = pathlib.Path(plan[part]).stat().st_size
        assert images * 3 * 32 * 32 < size < images * (3 * 32 * 32 + 8) + 500
    assert "epoch 1: loss 0.2500, accuracy 90.00 % of 355 images" in finished.stderr


def test_evaluations_are_in_the_json(environment):
    finished = train(environment, "--synthetic", "--max-steps", 2, "--output", "json")
    assert finished.returncode == 0, finished.stderr
    result = json.loads(finished.stdout)
    assert result["outcome"] == "done"
    assert result["evaluations"][0]["accuracy"] == 0.9
    assert result["plan"]["model_dir"].endswith("google/vit-base-patch16-224")


def test_what_both_kinds_share_reaches_either_with_its_own_defaults(environment, tmp_path):
    rows = tmp_path / "rows.jsonl"
    rows.write_text('{"input_ids": [1, 2, 3]}\n' * 9)
    shared = ["--stop-after-seconds", 7, "--lr-scheduler-type", "linear", "--memory-cap", "1GiB", "--max-steps", 0]
    shared += ["--save", "final", "--output-dir", tmp_path / "out", "--max-shard-mib", 7]
    plans = []
    for own in (["--model", "vit-digits", "--data", "digits"], ["--model", "smollm2-135m", "--data", rows]):
        finished = train(environment, *own, *shared)
        assert finished.returncode == 0, finished.stderr
        plans.append(json.loads((tmp_path / "plan.json").read_text()))
    for plan in plans:
        assert (plan["stop_after_seconds"], plan["lr_scheduler_type"], plan["max_steps"]) == (7, "linear", -1)
        assert (plan["memory_budget_bytes"], plan["max_shard_mib"]) == (1 << 30, 7)
    assert [plan["batch_size"] for plan in plans] == [8, 4]
    assert [plan["learning_rate"] for plan in plans] == [3e-4, 1e-5]
    assert [plan["shuffle"] for plan in plans] == [True, False]


def test_every_knob_has_an_option_and_its_help(environment, tmp_path):
    text = " ".join(train(environment, "--help").stdout.split())
    for option in ("--tp-size INT", "--pp-size INT", "--microbatches INT", "--offload-optim-frac FLOAT"):
        assert option in text
    assert "hybrid_parallel, FULL_SHARD, SHARD_GRAD_OP: tensor ranks" in text
    mesh = ["--tp-size", 1, "--pp-size", 2, "--microbatches", 4, "--overlap", "false"]
    finished = train(
        environment, "--synthetic", "--max-steps", 2, "--plugin", "hybrid_parallel", "--number-ranks", 2, *mesh
    )
    assert finished.returncode == 0, finished.stderr
    knobs = json.loads((tmp_path / "plan.json").read_text())["knobs"]
    assert (knobs["tp_size"], knobs["pp_size"], knobs["microbatches"], knobs["overlap"]) == (1, 2, 4, False)


MISTAKES = [
    ([], "there is no data: give --data DIR"),
    (["--synthetic"], "max_steps must say how many"),
    (["--synthetic", "--data", "digits"], "--synthetic takes no --data"),
    (["--data", "/nowhere"], "there is no folder /nowhere"),
    (["--data", "digits", "--model", "vit-digit"], "did you mean 'vit-digits'?"),
    (["--data", "digits", "--zero", "1"], "--zero"),
    (["--data", "digits", "--zero-stage", "x"], "Could not convert: --zero-stage = x"),
    (["--data", "digits", "--model", "vit-digits", "--tp-size", "2"], "torch_ddp does not read tp_size"),
    (
        ["--data", "digits", "--model", "vit-digits", "--plugin", "hybrid_parallel", "--number-ranks", "6"],
        "6 ranks do not divide into tp_size 2 x pp_size 2",
    ),
    (["--data", "digits", "--save", "final"], "add --output-dir DIR"),
    (["--data", "digits", "--memory-cap", "much"], "much"),
    (["--data", "digits", "--max-shard-mib", "9"], "--max-shard-mib goes with --save final"),
    (
        ["--model", "vit-digits", "--data", "digits", "--lora-rank", "8", "--dtype", "float32"],
        "vit-digits is a vision transformer, not a language model: leave --dtype and --lora-rank out",
    ),
    (["--model", "smollm2-135m", "--skip-corrupt"], "smollm2-135m is no vision transformer: leave --skip-corrupt out"),
    (["--model", "smollm2-135m"], "there is no data: give --data FILE"),
]


@pytest.mark.parametrize("arguments, message", MISTAKES)
def test_mistakes_are_one_line(environment, tmp_path, arguments, message):
    finished = train(environment, *arguments)
    assert finished.returncode == 2
    assert message in finished.stderr.splitlines()[-1]
    assert not (tmp_path / "plan.json").exists()


def test_a_corrupt_image_is_named_and_left_out_when_asked(environment, tmp_path):
    for name in ("a", "b"):
        (tmp_path / "data" / name).mkdir(parents=True)
    sheet = pathlib.Path(__file__).resolve().parents[2] / "share/digits/digits.png"
    (tmp_path / "data/a/1.png").write_bytes(sheet.read_bytes())
    (tmp_path / "data/b/2.png").write_bytes(sheet.read_bytes()[:1000])
    arguments = ["--data", tmp_path / "data", "--model", "vit-digits"]
    refused = train(environment, *arguments)
    assert refused.returncode == 2
    assert "b/2.png" in refused.stderr.splitlines()[-1]
    taken = train(environment, *arguments, "--skip-corrupt")
    assert taken.returncode == 0, taken.stderr
    assert "left out: cannot read image" in taken.stderr
