"""Machines of a job: agents of torchrun, each with its ranks and a folder of its own, on this machine."""

import os
import pathlib
import signal
import subprocess
import sys
import time

NEVER = "3600"  # a deadline that no test waits for: who is lost is seen without


class Node:
    """One agent of torchrun with its ranks, and what they wrote. They run in its folder."""

    def __init__(self, folder, program, number, ranks_of_nodes, port, monitor_seconds=0.5):
        self.folder = folder / f"node{number}"
        self.folder.mkdir(exist_ok=True)
        self.logs = self.folder / "logs"
        command = [sys.executable, "-m", "torch.distributed.run", f"--nnodes={len(ranks_of_nodes)}"]
        command += [f"--node-rank={number}", f"--nproc-per-node={ranks_of_nodes[number]}", "--no-python"]
        command += ["--master-addr=127.0.0.1", f"--master-port={port}", f"--monitor-interval={monitor_seconds}"]
        command += [f"--log-dir={self.logs}", "--redirects=3", *program]
        self.agent = subprocess.Popen(
            command,
            cwd=self.folder,
            env={**os.environ, "OMP_NUM_THREADS": "1", "ASSAY_COMM_TIMEOUT": NEVER},
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
        """Of each of its ranks, in their order."""
        return [path.read_text() for path in sorted(self.logs.glob(f"**/{stream}.log"))]

    def errors(self, program):
        """The lines of `program`; c10d may write about its store before them."""
        return [line for text in self.texts("stderr") for line in text.splitlines() if line.startswith(f"{program}: ")]


def start_nodes(folder, program, ranks_of_nodes, port, **options):
    return [Node(folder, program, number, ranks_of_nodes, port, **options) for number in range(len(ranks_of_nodes))]


def end_nodes(nodes):
    for node in nodes:
        if node.agent.poll() is None:
            node.kill()


def wait_for(condition, seconds=300):
    start_time = time.monotonic()
    while not condition():
        assert time.monotonic() - start_time < seconds
        time.sleep(0.05)


def has_ended(pid):
    """Its agent may not have asked for its end yet."""
    stat = pathlib.Path(f"/proc/{pid}/stat")
    return not stat.exists() or stat.read_text().rpartition(")")[2].split()[0] == "Z"
