"""Starts the ranks of one plan and gathers what they say."""

import concurrent.futures
import json
import os
import subprocess

import pytest
from ports import free_port
from worker import WORKER


def start_ranks(
    plan_file,
    ranks,
    machines=1,
    *,
    port=None,
    only=None,
    within=None,
    plan_of_rank=None,
    environment_of_rank=None,
    **environment,
):
    """A process for every rank, or for those in `only`, by rank; they take each other to be on so many machines,
    equally many on each. `within`: for each machine the command that its ranks run under; `plan_of_rank`: the plans of ranks that have another one; `environment_of_rank`: what those of
    ranks have besides."""
    port = port or free_port()
    processes = []
    for rank in only or range(ranks):
        variables = {
            "RANK": rank,
            "LOCAL_RANK": rank % (ranks // machines),
            "WORLD_SIZE": ranks,
            "LOCAL_WORLD_SIZE": ranks // machines,
            "MASTER_ADDR": "10.77.0.1" if within else "127.0.0.1",
            "MASTER_PORT": port,
        }
        processes.append(
            subprocess.Popen(
                [
                    *(within[rank * machines // ranks] if within else []),
                    WORKER,
                    "--plan",
                    (plan_of_rank or {}).get(rank, plan_file),
                ],
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                env={
                    **os.environ,
                    **environment,
                    **{name: str(value) for name, value in variables.items()},
                    **(environment_of_rank or {}).get(rank, {}),
                },
            )
        )
    return processes


def finish_ranks(processes, expect=0):
    """The events of every rank, by rank."""
    # All at once: one whose pipe is full waits for its reader, and the others wait for it.
    with concurrent.futures.ThreadPoolExecutor(len(processes)) as readers:
        outputs = list(readers.map(lambda process: process.communicate(timeout=300), processes))
    for process, (_, stderr) in zip(processes, outputs, strict=True):
        assert process.returncode == expect, stderr
    return [[json.loads(line) for line in stdout.splitlines()] for stdout, _ in outputs]


def of_kind(events, kind):
    return [event for event in events if event["event"] == kind]


def column(events, name):
    return [step[name] for step in of_kind(events, "step")]


def assert_same_course(events, alone):
    """The counts are those of the same rows; losses differ by the order of sums alone."""
    for name in ("samples", "real_tokens", "supervised_tokens", "learning_rate"):
        assert column(events, name) == column(alone, name), name
    assert column(events, "loss") == pytest.approx(column(alone, "loss"), rel=1e-5)
    assert column(events, "grad_norm") == pytest.approx(column(alone, "grad_norm"), rel=1e-4)
