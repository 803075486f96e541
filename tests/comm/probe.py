"""Starts comm_probe as ranks, and what torch.distributed makes of the same values."""

import functools
import json
import os
import pathlib
import subprocess
import tempfile

import pytest
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from ports import free_port

PROBE = pathlib.Path(os.environ["ASSAY_BIN_DIR"]) / "comm_probe"
SHARD = 37


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


def start(mode, backend, rank, size, port, *, within=(), **more):
    """`within`: a command that the probe runs under."""
    return subprocess.Popen(
        [*within, PROBE, mode, backend],
        env=environment(rank, size, port, **more),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def start_all(mode, backend, size, **more):
    port = free_port()
    return [start(mode, backend, rank, size, port, **more) for rank in range(size)]


def start_machines(mode, ranks_of_machines, **more):
    """Ranks that take each other to be on several machines, as those that several agents start do."""
    port, size, processes = free_port(), sum(ranks_of_machines), []
    for machine, ranks in enumerate(ranks_of_machines):
        place = {"GROUP_RANK": str(machine), "LOCAL_WORLD_SIZE": str(ranks)}
        for local in range(ranks):
            rank = len(processes)
            processes.append(start(mode, "auto", rank, size, port, **place, LOCAL_RANK=str(local), **more))
    return processes


def finish(process, seconds=300):
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


@functools.cache
def torch_results(size):
    with tempfile.TemporaryDirectory() as folder:
        mp.start_processes(torch_rank, (size, free_port(), folder), nprocs=size, start_method="fork")
        return [json.loads(pathlib.Path(folder, f"{rank}.json").read_text()) for rank in range(size)]


def assert_same(results, expected):
    for ours, theirs in zip(results, expected, strict=True):
        for dtype, tolerance in (("float32", 1e-6), ("bfloat16", 0.0), ("float16", 0.0)):
            for name, want in theirs[dtype].items():
                assert ours[dtype][name] == pytest.approx(want, rel=tolerance, abs=tolerance), (dtype, name)
