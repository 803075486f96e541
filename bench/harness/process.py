"""Runs one program to its end and says what it used."""

import contextlib
import os
import pathlib
import subprocess
import threading
import time
from dataclasses import dataclass

from harness import machine


@dataclass
class Finished:
    exit_code: int
    stdout: str
    stderr: list  # (seconds since the start, line)
    wall_seconds: float
    cpu_seconds: float  # of the program and its children
    max_rss_bytes: int  # of the largest process among them, by the kernel; or of all together (see run)
    load_before: float
    others_cores: float  # mean number of cores that everything else on the machine kept busy meanwhile

    def first_line_with(self, text):
        """Seconds until the first line on standard error that has `text`; None without one."""
        return next((seconds for seconds, line in self.stderr if text in line), None)

    def line_with(self, text):
        """The first such line; empty without one."""
        return next((line for _, line in self.stderr if text in line), "")

    def tail(self, lines=15):
        return "\n".join(line for _, line in self.stderr[-lines:])


def descendants(pid):
    """`pid` and all that came from it."""
    found = [pid]
    for process in found:
        with contextlib.suppress(OSError):
            for task in os.listdir(f"/proc/{process}/task"):
                found += map(int, pathlib.Path(f"/proc/{process}/task/{task}/children").read_text().split())
    return found


def proportional_bytes(pid):
    """Resident memory of a process, each page divided by those that map it; 0 for one that has ended."""
    try:
        lines = pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return 1024 * sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))


class PeakOfAll(threading.Thread):
    """The most memory that a process and all that came from it had together at any sample."""

    PERIOD_SECONDS = 0.25

    def __init__(self, pid):
        super().__init__(daemon=True)
        self.pid, self.peak_bytes, self.ended = pid, 0, threading.Event()

    def run(self):
        while not self.ended.wait(self.PERIOD_SECONDS):
            self.peak_bytes = max(self.peak_bytes, sum(map(proportional_bytes, descendants(self.pid))))

    def finish(self):
        self.ended.set()
        self.join()
        return self.peak_bytes


def run(command, environment=None, sum_memory=False):
    """Runs `command` with additions to the environment. `sum_memory`: max_rss_bytes is of all its processes together,
    pages that they share counted once.
    """
    load = machine.load_average()
    busy_before = machine.busy_seconds()
    start = time.monotonic()
    process = subprocess.Popen(
        [str(part) for part in command],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **(environment or {})},
    )
    stdout, stderr = [], []
    readers = [
        threading.Thread(target=lambda: stdout.extend(process.stdout)),
        threading.Thread(
            target=lambda: stderr.extend((time.monotonic() - start, line.rstrip("\n")) for line in process.stderr)
        ),
    ]
    for reader in readers:
        reader.start()
    peak = PeakOfAll(process.pid)
    if sum_memory:
        peak.start()
    try:
        _, status, usage = os.wait4(process.pid, 0)
    except KeyboardInterrupt:
        process.terminate()
        raise
    wall = time.monotonic() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    for reader in readers:
        reader.join()
    cpu = usage.ru_utime + usage.ru_stime
    return Finished(
        exit_code=process.returncode,
        stdout="".join(stdout),
        stderr=stderr,
        wall_seconds=wall,
        cpu_seconds=cpu,
        max_rss_bytes=peak.finish() if sum_memory else usage.ru_maxrss * 1024,
        load_before=load,
        others_cores=max(0.0, (machine.busy_seconds() - busy_before - cpu) / wall),
    )
