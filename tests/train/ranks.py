"""Starts the ranks of one plan and gathers what they say."""

import json
import os
import socket
import subprocess

from worker import WORKER


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def start_ranks(plan_file, ranks, machines=1):
    """A process for every rank, by rank; they take each other to be on so many machines, equally many on each."""
    port = free_port()
    processes = []
    for rank in range(ranks):
        variables = {
            "RANK": rank,
            "LOCAL_RANK": rank % (ranks // machines),
            "WORLD_SIZE": ranks,
            "LOCAL_WORLD_SIZE": ranks // machines,
            "MASTER_ADDR": "127.0.0.1",
            "MASTER_PORT": port,
        }
        environment = {**os.environ, **{name: str(value) for name, value in variables.items()}}
        processes.append(
            subprocess.Popen(
                [WORKER, "--plan", plan_file],
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                env=environment,
            )
        )
    return processes


def finish_ranks(processes, expect=0):
    """The events of every rank, by rank."""
    results = []
    for process in processes:
        stdout, stderr = process.communicate(timeout=120)
        assert process.returncode == expect, stderr
        results.append([json.loads(line) for line in stdout.splitlines()])
    return results


def of_kind(events, kind):
    return [event for event in events if event["event"] == kind]
