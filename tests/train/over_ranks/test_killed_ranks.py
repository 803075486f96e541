"""kill -9 of one rank, and of all, at seeded moments of saves and retention: the run goes on as if it had not been."""

import itertools
import random
import signal
import time

import pytest
import tiny
from ranks import finish_ranks, of_kind, start_ranks
from test_checkpoint_writers import MOMENTS, check_what_a_kill_left, listed
from test_resume import bucket_environment
from worker import write_plan

RANKS, STEPS = 2, 12


def plan_of(folder, models, writer):
    plan = tiny.plan_of(
        folder,
        models["llama"],
        rows=tiny.make_rows(64, longest=30),
        lr_scheduler_type="constant",
        shuffle=True,
        save="none",
        max_steps=STEPS,
        gradient_accumulation_steps=2,
    )
    plan |= {"plugin": "FULL_SHARD", "number_ranks": RANKS}
    return plan | {"save_every": 1, "checkpoint_writer": writer, "keep": 2}


def figures(events):
    return {step["step"]: (step["loss"], step["grad_norm"]) for step in of_kind(events, "step")}


def kill_some(processes, victims, seconds):
    """Those that are left end by themselves."""
    time.sleep(seconds)
    for rank in victims:
        processes[rank].send_signal(signal.SIGKILL)
    for process in processes:
        process.communicate(timeout=300)


@pytest.mark.parametrize(
    ("writer", "killed", "place"), [("sync", "one", "folder"), ("async", "one", "bucket"), ("async", "all", "folder")]
)
def test_ranks_that_are_killed_at_any_moment_go_on(writer, killed, place, serve, models, tmp_path):
    environment = bucket_environment(serve("--root", "memory", "--bucket", "runs"))
    plan = plan_of(tmp_path, models, writer)
    begin = time.monotonic()
    path = write_plan(tmp_path, **plan, output_dir=str(tmp_path / "straight"))
    straight = figures(finish_ranks(start_ranks(path, RANKS, **environment))[0])
    duration = time.monotonic() - begin
    assert len(straight) == STEPS
    # Who has not met the killed one yet waits for it as long as for one that was never started.
    impatient = environment | {"ASSAY_COMM_START_TIMEOUT": "10"}
    rng = random.Random(writer + killed)
    resumed = set()
    for moment in itertools.count():
        if moment >= MOMENTS and len(resumed) > 1:
            break
        assert moment < 5 * MOMENTS, resumed
        out = f"s3://runs/{moment}" if place == "bucket" else str(tmp_path / str(moment))
        path = write_plan(tmp_path, **plan, resume=True, output_dir=out)
        victims = [rng.randrange(RANKS)] if killed == "one" else range(RANKS)
        kill_some(start_ranks(path, RANKS, **impatient), victims, rng.uniform(0.3, 1) * duration)
        check_what_a_kill_left(out, environment)
        rest = finish_ranks(start_ranks(path, RANKS, **environment))[0]
        step = of_kind(rest, "resumed")[0]["step"] if of_kind(rest, "resumed") else 0
        assert figures(rest) == {number: row for number, row in straight.items() if number > step}
        assert listed(out, environment) == [STEPS - 1, STEPS]
        resumed.add(step)
        # What else the machine does changes how long a run takes: the next kill comes earlier, or later.
        duration *= 0.7 if step == STEPS else 1.1
