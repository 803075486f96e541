"""Ranks as processes: results beside torch.distributed's, the ways ranks are lost, and meeting places."""

import json
import os
import signal
import socket
import subprocess
import sys
import time

import pytest
from nodes import NEVER
from ports import free_port
from probe import PROBE, assert_same, finish, start, start_all, torch_results, wait_until_running

BACKENDS = ["shm", "gloo"]


@pytest.mark.parametrize("size", [2, 3])
def test_results_are_those_of_torch_distributed(size):
    expected = torch_results(size)
    for backend in BACKENDS:
        ended = [finish(process) for process in start_all("check", backend, size)]
        assert [code for _, _, code in ended] == [0] * size, ended
        results = [json.loads(out) for out, _, _ in ended]
        assert {result["backend"] for result in results} == {backend}
        assert_same(results, expected)


def test_torchrun_gives_the_same_result(tmp_path):
    logs = tmp_path / "logs"
    command = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node=2", "--no-python"]
    command += [f"--master-port={free_port()}", f"--log-dir={logs}", "--redirects=3", PROBE, "check"]
    subprocess.run(command, check=True, timeout=300, env={**os.environ, "OMP_NUM_THREADS": "1"})
    by_torchrun = [json.loads(path.read_text()) for path in sorted(logs.glob("**/stdout.log"))]
    by_hand = [json.loads(finish(process)[0]) for process in start_all("check", "auto", 2)]
    assert sorted(by_torchrun, key=lambda result: result["rank"]) == by_hand
    assert by_hand[0]["backend"] == "shm"


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("victim", [0, 1])
def test_a_killed_rank_ends_the_others_before_any_deadline(backend, victim):
    processes = start_all("loop", backend, 3, ASSAY_COMM_TIMEOUT=NEVER)
    wait_until_running(processes)
    processes[victim].send_signal(signal.SIGKILL)
    others = [process for rank, process in enumerate(processes) if rank != victim]
    for process in others:
        _, err, code = finish(process)
        assert code == 1
        assert f"rank {victim}" in err and "lost in collective" in err and "all_reduce of blocks.3" in err, err
        # c10d may log about its store before our one line.
        assert len([line for line in err.splitlines() if line.startswith("comm_probe: ")]) == 1
    processes[victim].communicate()


@pytest.mark.parametrize("seed", range(3))
def test_a_rank_killed_within_a_large_transfer_is_the_one_that_is_named(seed):
    """Others wait for ranks that wait for it, not for it alone."""
    processes = start_all("large", "gloo", 4, ASSAY_COMM_TIMEOUT=NEVER)
    wait_until_running(processes)
    time.sleep(0.05 * seed)
    *others, victim = processes
    victim.kill()
    errors = [finish(process)[1] for process in others]
    lines = {line for err in errors for line in err.splitlines() if line.startswith("comm_probe: ")}
    victim.communicate()
    assert len(lines) == 1 and "rank 3 was lost in collective" in lines.pop(), errors


@pytest.mark.parametrize("victim", [0, 1])
def test_a_rank_lost_while_its_message_is_half_over_is_not_waited_for(victim):
    """gloo itself wakes whoever waits for messages that come later, not for the one on its way."""
    processes = start_all("message", "gloo", 2, ASSAY_COMM_TIMEOUT=NEVER)
    wait_until_running(processes)
    time.sleep(0.1)
    processes[victim].send_signal(signal.SIGSTOP)
    time.sleep(0.5)  # what was sent is read meanwhile
    processes[victim].kill()
    _, err, code = finish(processes[1 - victim])
    processes[victim].communicate()
    assert code == 1
    lines = [line for line in err.splitlines() if line.startswith("comm_probe: ")]
    assert len(lines) == 1 and f"comm_probe: rank {victim}" in lines[0] and "of block" in lines[0], err


@pytest.mark.parametrize("seconds", [(5, 600, 1), (1, 600, 4.5)])
def test_a_rank_that_computes_while_another_is_lost_is_not_blamed(seconds):
    """The connection is broken before anybody waits for it. One comes when the roll call of the other is over: the first
    rank, or another to the place that the first one keeps."""
    port = free_port()
    first, victim, last = ranks = [
        start("compute", "gloo", rank, 3, port, ASSAY_COMM_TIMEOUT=NEVER, COMM_PROBE_SECONDS=str(of_rank))
        for rank, of_rank in enumerate(seconds)
    ]
    wait_until_running(ranks)
    victim.kill()
    errors = [finish(process)[1] for process in (first, last)]
    lines = [line for err in errors for line in err.splitlines() if line.startswith("comm_probe: ")]
    victim.communicate()
    assert len(lines) == 2 and len(set(lines)) == 1, errors
    assert "comm_probe: rank 1 was lost in collective" in lines[0], errors


def test_a_stopped_rank_ends_the_others():
    processes = start_all("loop", "shm", 2, ASSAY_COMM_TIMEOUT=NEVER, ASSAY_COMM_STOPPED_TIMEOUT="1")
    wait_until_running(processes)
    processes[1].send_signal(signal.SIGSTOP)
    try:
        _, err, code = finish(processes[0])
    finally:
        processes[1].kill()
        processes[1].communicate()
    assert code == 1
    assert "rank 1" in err and "its process has been stopped" in err and "all_reduce of blocks.3" in err, err


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_hanging_rank_is_named_when_time_is_up(backend):
    processes = start_all("stuck", backend, 2, ASSAY_COMM_TIMEOUT="3")
    wait_until_running(processes)
    try:
        _, err, code = finish(processes[0])
    finally:
        processes[1].kill()
        processes[1].communicate()
    assert code == 1
    assert "rank 1" in err and "lost in collective" in err and "all_reduce of blocks.3" in err, err


@pytest.mark.parametrize("backend", BACKENDS)
def test_ranks_that_call_different_things_are_told_so(backend):
    for process in start_all("differ", backend, 2):
        _, err, code = finish(process)
        assert code == 1
        assert "rank 0 calls all_reduce of blocks.3" in err and "rank 1 calls broadcast of blocks.2" in err, err


def test_a_port_in_use_is_one_line():
    with socket.socket() as taken:
        taken.bind(("0.0.0.0", 0))
        taken.listen()
        _, err, code = finish(start("check", "shm", 0, 2, taken.getsockname()[1]))
    assert code == 1
    assert "the port is in use" in err and "MASTER_PORT" in err
    assert len(err.splitlines()) == 1


@pytest.fixture(params=BACKENDS)
def running_job(request):
    """Two ranks of a job named one, whose meeting place stays open, and its port."""
    port = free_port()
    processes = [start("loop", request.param, rank, 2, port, TORCHELASTIC_RUN_ID="one") for rank in range(2)]
    wait_until_running(processes)
    yield processes, port
    for process in processes:
        process.kill()
        process.communicate()


def test_who_comes_to_the_place_of_a_running_job_is_refused(running_job):
    processes, port = running_job
    refusals = {
        (1, "one"): "rank 1 is at 127.0.0.1",
        (1, "two"): "two jobs cannot meet at one place",
        (0, "two"): "the port is in use",
    }
    for (rank, job), reason in refusals.items():
        _, err, code = finish(start("check", "gloo", rank, 2, port, TORCHELASTIC_RUN_ID=job))
        assert code == 1 and reason in err, err
        assert len(err.splitlines()) == 1
    assert [process.poll() for process in processes] == [None, None]


def test_a_rank_that_does_not_come_is_named():
    _, err, code = finish(start("check", "shm", 0, 2, free_port(), ASSAY_COMM_START_TIMEOUT="2"))
    assert code == 1 and "rank 1 did not come" in err, err
    _, err, code = finish(start("check", "shm", 1, 2, free_port(), ASSAY_COMM_START_TIMEOUT="2"))
    assert code == 1 and "is rank 0 running" in err, err
    assert len(err.splitlines()) == 1
