"""How checkpoints are written: beside the training, to two places, few of them kept; and runs killed at any moment."""

import itertools
import json
import os
import random
import signal
import subprocess
import time

import pytest
from nodes import wait_for
from served import ASSAY
from test_resume import EVERY, LANGUAGE, STEPS, bucket_environment, flip, language_plan, losses
from worker import WORKER, run_worker, train, write_plan

# Of each test; more of them: ASSAY_CRASH_MOMENTS=500 python -m pytest tests/train/test_checkpoint_writers.py
MOMENTS = int(os.environ.get("ASSAY_CRASH_MOMENTS", "8"))


def listed(place, environment=None):
    """Steps of the checkpoints that are offered there; every byte of them is checked."""
    run = subprocess.run(
        [ASSAY, "checkpoint", "ls", place, "--output", "json"],
        capture_output=True,
        text=True,
        check=True,
        env=environment,
    )
    found = json.loads(run.stdout)
    for checkpoint in found:
        subprocess.run([ASSAY, "checkpoint", "verify", checkpoint["uri"]], check=True, env=environment)
    return [checkpoint["step"] for checkpoint in found]


def check_what_a_kill_left(place, environment=None):
    """Whatever is offered is whole, before anybody mends or removes anything."""
    if "://" in place or os.path.isdir(place):
        listed(place, environment)


def check_same(ours, theirs):
    """To the bit."""
    same = subprocess.run([ASSAY, "checkpoint", "diff", ours, theirs], capture_output=True, text=True)
    assert same.returncode == 0, same.stdout


@pytest.mark.parametrize(
    ("writer", "kind"), [("sync", "full"), *(("async", kind) for kind in LANGUAGE if kind != "full-bfloat16")]
)
def test_writers_write_the_same(writer, kind, models, tmp_path):
    plan = language_plan(tmp_path, models, **LANGUAGE[kind])
    run = train(tmp_path, **plan, save_every=EVERY, checkpoint_writer=writer, output_dir=str(tmp_path / "out"))
    assert [event["step"] for event in run.of("checkpointed")] == [3, 6, 7]
    for event in run.of("checkpointed"):
        assert event["local_seconds"] > 0 and event["remote_seconds"] == 0 and event["bytes"] > 0
        assert writer == "async" or event["stall_seconds"] >= 0.9 * event["local_seconds"]
    # What is written beside the training stands only some steps later.
    said = [(event["event"], event.get("step")) for event in run.events]
    assert (said.index(("checkpointed", EVERY)) < said.index(("step", EVERY + 1))) == (writer == "sync")
    assert listed(tmp_path / "out") == [3, 6, 7]
    train(tmp_path, **plan, save_every=EVERY, output_dir=str(tmp_path / "other"))
    for step in (3, 6, 7):
        check_same(tmp_path / "out" / f"step-{step}", tmp_path / "other" / f"step-{step}")


def test_checkpoints_go_to_a_disk_first_and_to_a_bucket_after(serve, models, tmp_path):
    environment = bucket_environment(serve("--root", "memory", "--bucket", "runs"))
    plan = language_plan(tmp_path, models)
    local = tmp_path / "local"
    places = {"save_every": EVERY, "output_dir": "s3://runs/llama", "local_dir": str(local), "keep": 1}
    run = run_worker(write_plan(tmp_path, **plan, **places), env=environment)
    assert run.ended["kind"] == "done", run.ended
    for event in run.of("checkpointed"):
        assert event["uri"].startswith("s3://runs/llama/step-")
        assert 0 < event["local_seconds"] < event["remote_seconds"]
    assert listed(local) == [STEPS] == listed("s3://runs/llama", environment)
    # What is on the disk alone, since a run was killed in between, comes to the bucket when the run goes on.
    subprocess.run(
        [ASSAY, "object", "rm", "--recursive", f"s3://runs/llama/step-{STEPS}/"], check=True, env=environment
    )
    assert listed("s3://runs/llama", environment) == []
    ended = run_worker(write_plan(tmp_path, **plan, **places, resume=True), env=environment)
    assert ended.steps == [] and ended.ended["kind"] == "done", ended.ended
    assert [event["step"] for event in ended.of("checkpointed")] == [STEPS]
    assert listed("s3://runs/llama", environment) == [STEPS]
    # What is in the bucket alone is found too.
    longer = {**plan, "max_steps": STEPS + 1, "resume": True}
    subprocess.run(["rm", "-r", local], check=True)
    rest = run_worker(write_plan(tmp_path, **longer, **places), env=environment)
    assert rest.of("resumed")[0]["uri"] == f"s3://runs/llama/step-{STEPS}/", rest.ended
    assert listed(local) == [STEPS + 1]


@pytest.mark.parametrize("writer", ["sync", "async"])
def test_a_checkpoint_under_way_is_finished_when_the_training_diverges(writer, models, tmp_path):
    out = tmp_path / "out"
    plan = language_plan(tmp_path, models, learning_rate=1e30, lr_scheduler_type="constant")
    plan |= {"warmup_ratio": 0, "save_every": 1, "checkpoint_writer": writer}
    run = run_worker(write_plan(tmp_path, **plan, output_dir=str(out)))
    assert run.ended["kind"] == "diverged" and " of step 2 " in run.ended["reason"], run.ended
    assert listed(out) == [1]


def test_the_last_and_the_best_are_kept(models, tmp_path):
    out = tmp_path / "out"
    plan = language_plan(tmp_path, models, lr_scheduler_type="constant")
    run = train(tmp_path, **plan, save_every=1, keep=2, keep_best=1, output_dir=str(out))
    best = min(run.steps, key=lambda step: step["loss"])["step"]
    assert listed(out) == sorted({STEPS - 1, STEPS, best})


def test_what_a_killed_run_was_to_remove_goes_when_the_run_goes_on(models, tmp_path):
    out = tmp_path / "out"
    plan = language_plan(tmp_path, models)
    train(tmp_path, **plan, save_every=1, output_dir=str(out))
    flip(out / f"step-{STEPS}" / "__0_0.distcp")
    rest = train(tmp_path, **plan, save_every=100, keep=2, resume=True, output_dir=str(out))
    assert rest.of("resumed")[0]["step"] == STEPS - 1
    assert listed(out) == [STEPS - 1, STEPS]
    again = train(tmp_path, **plan, keep=1, resume=True, output_dir=str(out))
    assert again.steps == [] and listed(out) == [STEPS]


def kill_after(plan, seconds, environment=None):
    process = subprocess.Popen([WORKER, "--plan", plan], stdout=subprocess.DEVNULL, env=environment)
    time.sleep(seconds)
    process.send_signal(signal.SIGKILL)
    process.wait(timeout=300)


@pytest.mark.parametrize("place", ["folder", "bucket", "disk-and-bucket"])
def test_a_run_that_is_killed_at_any_moment_goes_on(place, serve, models, tmp_path):
    environment = bucket_environment(serve("--root", "memory", "--bucket", "runs"))
    plan = language_plan(tmp_path, models)
    plan |= {"max_steps": 20, "save_every": 1, "checkpoint_writer": "async", "keep": 2}
    start = time.monotonic()
    straight = run_worker(write_plan(tmp_path, **plan, output_dir=str(tmp_path / "straight")), env=environment)
    duration = time.monotonic() - start
    rng = random.Random(place)
    resumed = set()
    for moment in itertools.count():
        if moment >= MOMENTS and len(resumed) > 1:
            break
        assert moment < 5 * MOMENTS, resumed
        out = str(tmp_path / str(moment)) if place == "folder" else f"s3://runs/{moment}"
        local = str(tmp_path / str(moment)) if place == "disk-and-bucket" else ""
        path = write_plan(tmp_path, **plan, resume=True, output_dir=out, local_dir=local)
        kill_after(path, rng.uniform(0, duration), environment)
        for where in filter(None, (out, local)):
            check_what_a_kill_left(where, environment)
        rest = run_worker(path, env=environment)
        assert rest.ended["kind"] == "done", rest.ended
        begin = rest.of("resumed")[0]["step"] if rest.of("resumed") else 0
        assert losses(rest) == {step: row for step, row in losses(straight).items() if step > begin}
        assert listed(out, environment) == [19, 20]
        assert not local or listed(local) == [19, 20]
        resumed.add(begin)
        # What else the machine does changes how long a run takes: the next kill comes earlier, or later.
        duration *= 0.7 if begin == 20 else 1.1


@pytest.mark.parametrize("writer", ["sync", "async"])
def test_a_run_that_is_killed_while_its_checkpoint_is_copied_goes_on(writer, serve, models, tmp_path):
    environment = bucket_environment(serve("--root", "memory", "--bucket", "runs"))
    plan = language_plan(tmp_path, models, save_every=EVERY, checkpoint_writer=writer)
    straight = train(tmp_path, **plan, output_dir=str(tmp_path / "straight"))
    local = tmp_path / "local"
    path = write_plan(tmp_path, **plan, output_dir="s3://runs/llama", local_dir=str(local), resume=True)
    slow = environment | {"ASSAY_STORAGE_BANDWIDTH_BYTES_PER_S": "20000"}  # for a bucket, not for a disk
    process = subprocess.Popen([WORKER, "--plan", path], stdout=subprocess.DEVNULL, env=slow)
    wait_for((local / f"step-{EVERY}" / ".metadata").exists)
    time.sleep(0.5)
    process.send_signal(signal.SIGKILL)
    process.wait(timeout=300)
    assert EVERY in listed(local) and listed("s3://runs/llama", environment) == []
    rest = run_worker(path, env=environment)
    assert rest.ended["kind"] == "done", rest.ended
    begin = rest.of("resumed")[0]["step"]
    assert losses(rest) == {step: row for step, row in losses(straight).items() if step > begin}
    assert {begin, STEPS} <= set(listed("s3://runs/llama", environment))
