"""Ranks as processes: results beside torch.distributed's, the ways ranks are lost, and meeting places."""

import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import time

import pytest
import torch
import torch.distributed as dist
import torch.multiprocessing as mp

PROBE = pathlib.Path(os.environ["ASSAY_BIN_DIR"]) / "comm_probe"
BACKENDS = ["shm", "gloo"]
SHARD = 37


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def environment(rank, size, port, **more):
    return {
        **os.environ,
        "RANK": str(rank),
        "LOCAL_RANK": str(rank),
        "WORLD_SIZE": str(size),
        "LOCAL_WORLD_SIZE": str(size),
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port),
        "OMP_NUM_THREADS": "1",
        **more,
    }


def start(mode, backend, rank, size, port, **more):
    return subprocess.Popen(
        [PROBE, mode, backend],
        env=environment(rank, size, port, **more),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def start_all(mode, backend, size, **more):
    port = free_port()
    return [start(mode, backend, rank, size, port, **more) for rank in range(size)]


def finish(process, seconds=60):
    """Output, error and exit code; a rank that is still there when the time is up is a failure of the test."""
    try:
        out, err = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        raise
    return out, err, process.returncode


def wait_until_running(processes):
    for process in processes:
        assert process.stdout.readline() == "running\n"


def values(rank, elements, dtype):
    index = torch.arange(elements, dtype=torch.float64)
    return (torch.sin(index * 0.7 + rank * 1.3) * 3.0).to(dtype)


def torch_rank(rank, size, port, folder):
    """What torch.distributed computes on the probe's values, in float32."""
    dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=size)
    length = SHARD * size
    results = {}
    for name in ("float32", "bfloat16", "float16"):
        dtype = getattr(torch, name)
        summed = values(rank, length, dtype).float()
        dist.all_reduce(summed)
        gathered = torch.empty(length)
        dist.all_gather_into_tensor(gathered, values(rank, SHARD, dtype).float())
        sent = values(rank, length, dtype).float()
        dist.broadcast(sent, size - 1)
        own = summed[rank * SHARD : (rank + 1) * SHARD]
        results[name] = {
            "all_reduce": summed.to(dtype).tolist(),
            "reduce_scatter": own.to(dtype).tolist(),
            "all_gather": gathered.tolist(),
            "broadcast": sent.tolist(),
        }
    pathlib.Path(folder, f"{rank}.json").write_text(json.dumps(results))
    dist.destroy_process_group()


def torch_results(size, folder):
    mp.spawn(torch_rank, (size, free_port(), str(folder)), nprocs=size)
    return [json.loads(pathlib.Path(folder, f"{rank}.json").read_text()) for rank in range(size)]


def assert_same(results, expected):
    for ours, theirs in zip(results, expected, strict=True):
        for dtype, tolerance in (("float32", 1e-6), ("bfloat16", 0.0), ("float16", 0.0)):
            for name, want in theirs[dtype].items():
                assert ours[dtype][name] == pytest.approx(want, rel=tolerance, abs=tolerance), (dtype, name)


@pytest.mark.parametrize("size", [2, 3])
def test_results_are_those_of_torch_distributed(size, tmp_path):
    expected = torch_results(size, tmp_path)
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
    subprocess.run(command, check=True, timeout=120, env={**os.environ, "OMP_NUM_THREADS": "1"})
    by_torchrun = [json.loads(path.read_text()) for path in sorted(logs.glob("**/stdout.log"))]
    by_hand = [json.loads(finish(process)[0]) for process in start_all("check", "auto", 2)]
    assert sorted(by_torchrun, key=lambda result: result["rank"]) == by_hand
    assert by_hand[0]["backend"] == "shm"


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("victim", [0, 1])
def test_a_killed_rank_ends_the_others_in_seconds(backend, victim):
    before = set(os.listdir("/dev/shm"))
    processes = start_all("loop", backend, 3)
    wait_until_running(processes)
    processes[victim].send_signal(signal.SIGKILL)
    killed = time.monotonic()
    others = [process for rank, process in enumerate(processes) if rank != victim]
    for process in others:
        _, err, code = finish(process, 20)
        assert code == 1
        assert f"rank {victim}" in err and "lost in collective" in err and "all_reduce of blocks.3" in err, err
        # c10d may log about its store before our one line.
        assert len([line for line in err.splitlines() if line.startswith("comm_probe: ")]) == 1
    assert time.monotonic() - killed < 12
    processes[victim].communicate()
    assert set(os.listdir("/dev/shm")) <= before


def test_a_stopped_rank_ends_the_others():
    processes = start_all("loop", "shm", 2, ASSAY_COMM_STOPPED_TIMEOUT="1")
    wait_until_running(processes)
    processes[1].send_signal(signal.SIGSTOP)
    try:
        _, err, code = finish(processes[0], 20)
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
        _, err, code = finish(processes[0], 30)
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
    _, err, code = finish(start("check", "shm", 0, 2, free_port(), ASSAY_COMM_TIMEOUT="2"))
    assert code == 1 and "rank 1 did not come" in err, err
    _, err, code = finish(start("check", "shm", 1, 2, free_port(), ASSAY_COMM_TIMEOUT="2"))
    assert code == 1 and "is rank 0 running" in err, err
    assert len(err.splitlines()) == 1
