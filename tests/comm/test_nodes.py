"""Ranks of several machines, as torchrun starts them: two of its agents on this machine are two machines."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import time

import pytest
from probe import PROBE, assert_same, finish, free_port, start, start_machines, torch_results
from probe import wait_until_running as start_of_loop


class Node:
    """One agent of torchrun with its ranks, and what they wrote."""

    def __init__(self, folder, mode, number, ranks_of_nodes, port, monitor_seconds=0.5):
        self.logs = folder / f"node{number}"
        command = [sys.executable, "-m", "torch.distributed.run", f"--nnodes={len(ranks_of_nodes)}"]
        command += [f"--node-rank={number}", f"--nproc-per-node={ranks_of_nodes[number]}", "--no-python"]
        command += ["--master-addr=127.0.0.1", f"--master-port={port}", f"--monitor-interval={monitor_seconds}"]
        command += [f"--log-dir={self.logs}", "--redirects=3", PROBE, mode]
        self.agent = subprocess.Popen(
            command,
            env={**os.environ, "OMP_NUM_THREADS": "1", "ASSAY_COMM_TIMEOUT": "10"},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def workers(self):
        children = pathlib.Path(f"/proc/{self.agent.pid}/task").glob("*/children")
        return [int(pid) for path in children for pid in path.read_text().split()]

    def kill(self):
        for pid in [*self.workers(), self.agent.pid]:
            os.kill(pid, signal.SIGKILL)
        self.agent.wait()

    def texts(self, stream):
        return [path.read_text() for path in sorted(self.logs.glob(f"**/{stream}.log"))]

    def errors(self):
        """The probe's lines; c10d may write about its store before them."""
        return [line for text in self.texts("stderr") for line in text.splitlines() if line.startswith("comm_probe: ")]


@pytest.fixture
def start_nodes(tmp_path):
    nodes = []

    def start_all(mode, ranks_of_nodes, **options):
        port = free_port()
        for number in range(len(ranks_of_nodes)):
            nodes.append(Node(tmp_path, mode, number, ranks_of_nodes, port, **options))
        return nodes

    yield start_all
    for node in nodes:
        if node.agent.poll() is None:
            node.kill()


def wait_until_running(node, ranks):
    start_time = time.monotonic()
    while node.texts("stdout") != ["running\n"] * ranks:
        assert node.agent.poll() is None, node.errors()
        assert time.monotonic() - start_time < 60
        time.sleep(0.05)


def results_of(nodes):
    for node in nodes:
        assert node.agent.wait(120) == 0, node.errors()
    results = [json.loads(text) for node in nodes for text in node.texts("stdout")]
    return sorted(results, key=lambda result: result["rank"])


def assert_results(results, ranks, backend):
    assert {result["backend"] for result in results} == {backend}
    sums = [{dtype: result[dtype]["all_reduce"] for dtype in ("float32", "bfloat16")} for result in results]
    assert sums == [sums[0]] * len(sums), "the same bits on every rank"
    assert_same(results, torch_results(ranks))


def test_results_are_those_of_torch_distributed(start_nodes):
    assert_results(results_of(start_nodes("check", [2, 2])), 4, "shm+gloo")


@pytest.mark.parametrize("ranks_of_machines, backend", [([2, 1], "shm+gloo"), ([1, 1], "gloo")])
def test_unequal_and_single_ranks_give_the_same_results(ranks_of_machines, backend):
    ended = [finish(process) for process in start_machines("check", ranks_of_machines)]
    assert {code for _, _, code in ended} == {0}, ended
    assert_results([json.loads(out) for out, _, _ in ended], sum(ranks_of_machines), backend)


@pytest.fixture
def running_nodes(start_nodes):
    """Two machines of two ranks each, whose agents do not end the ranks before these have said what they saw."""
    nodes = start_nodes("loop", [2, 2], monitor_seconds=1000)
    for node in nodes:
        wait_until_running(node, 2)
    return nodes


def has_ended(pid):
    """Its agent may not have asked for its end yet."""
    stat = pathlib.Path(f"/proc/{pid}/stat")
    return not stat.exists() or stat.read_text().rpartition(")")[2].split()[0] == "Z"


def last_words(ranks, nodes, seconds=25):
    """The errors of `ranks` (process ids), which must end in time."""
    start_time = time.monotonic()
    while not all(has_ended(pid) for pid in ranks):
        assert time.monotonic() - start_time < seconds
        time.sleep(0.05)
    return [error for node in nodes for error in node.errors()]


def test_a_lost_machine_is_named_with_its_ranks(running_nodes):
    before = set(os.listdir("/dev/shm"))
    others = running_nodes[0].workers()
    running_nodes[1].kill()
    errors = last_words(others, running_nodes)
    assert len(errors) == 2 and errors[0] == errors[1], errors
    assert "machine 1 (" in errors[0] and "ranks 2 and 3) was lost in collective" in errors[0], errors
    assert "all_reduce of blocks.3" in errors[0]
    assert set(os.listdir("/dev/shm")) <= before


def lines_of(processes):
    """The one line of each, all of which fail."""
    lines = []
    for process in processes:
        _, err, code = finish(process, 30)
        assert code == 1
        lines += [line for line in err.splitlines() if line.startswith("comm_probe: ")]
    assert len(lines) == len(processes), lines
    return lines


def test_a_lost_rank_is_named_on_every_machine():
    *others, victim = ranks = start_machines("loop", [2, 2], ASSAY_COMM_TIMEOUT="10")
    start_of_loop(ranks)
    victim.kill()
    lines = lines_of(others)
    victim.communicate()
    assert set(lines) == {lines[0]}, lines
    assert f"(process {victim.pid}) was lost in collective" in lines[0] and "its process has ended" in lines[0]


def test_ranks_that_call_different_things_are_told_so():
    first, *others = lines_of(start_machines("differ", [1, 2], ASSAY_COMM_TIMEOUT="10"))
    assert "calls all_reduce of blocks.3" in first and "calls broadcast of blocks.2" in first
    # The store ends with the rank that serves it, and who comes too late says so.
    assert all(line == first or "rank 0, whose store is gone" in line for line in others), others


def by_hand(mode, rank, port, **more):
    """A rank of the first of two machines with two ranks each."""
    return start(mode, "auto", rank, 4, port, LOCAL_WORLD_SIZE="2", GROUP_RANK="0", **more)


def test_a_machine_that_never_comes_is_one_line():
    before = set(os.listdir("/dev/shm"))
    port = free_port()
    for process in [by_hand("check", rank, port, ASSAY_COMM_START_TIMEOUT="2") for rank in range(2)]:
        _, err, code = finish(process)
        assert code == 1
        lines = [line for line in err.splitlines() if line.startswith("comm_probe: ")]
        assert len(lines) == 1, err
        assert "ranks 2 and 3 did not come" in lines[0] or "rank 0 or its machine" in lines[0], err
    assert set(os.listdir("/dev/shm")) <= before


def test_ranks_that_do_not_know_who_shares_their_machine_are_told_so():
    port = free_port()
    ranks = [
        start("check", "auto", rank, 2, port, LOCAL_RANK="0", LOCAL_WORLD_SIZE="1", GROUP_RANK="0") for rank in range(2)
    ]
    for process in ranks:
        _, err, code = finish(process)
        assert code == 1
        assert "was told of 1 ranks on its machine" in err and "GROUP_RANK" in err
        assert len(err.splitlines()) == 1
