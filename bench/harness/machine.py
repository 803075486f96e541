"""The machine and the programs that a measurement was made with."""

import os
import pathlib
import shlex
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


def load_average():
    """Of the last minute."""
    return os.getloadavg()[0]


def busy_seconds():
    """CPU seconds that all cores together have worked since boot, for anyone."""
    fields = pathlib.Path("/proc/stat").read_text().splitlines()[0].split()[1:]
    user, nice, system, _idle, _iowait, irq, softirq = (int(value) for value in fields[:7])
    return (user + nice + system + irq + softirq) / os.sysconf("SC_CLK_TCK")


def git_commit():
    """Of the checkout, with "-dirty" where tracked files differ from it; "unknown" outside git."""
    command = ["git", "-C", str(ROOT), "describe", "--always", "--abbrev=12", "--exclude=*", "--dirty"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else "unknown"


def command_line(section):
    """How this process was called, as script/bench is."""
    return shlex.join(["script/bench", section, *sys.argv[1:]]).replace(f"{ROOT}/", "")


def cpu_name():
    """With the number of cores that this process may use."""
    lines = pathlib.Path("/proc/cpuinfo").read_text().splitlines()
    name = next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), "unknown CPU")
    return f"{name}, {len(os.sched_getaffinity(0))} cores"
