"""A run of `assay tune` that tells the time of its steps."""

import json
import os
import statistics
import subprocess


def start(bin_dir, settings, cores=None, flags=()):
    """A run under way with these options (underscores for dashes), on `cores` where they are given."""
    command = [bin_dir / "assay", "tune", "--output", "json", "--device", "cpu", *flags]
    command += [word for name, value in settings.items() for word in (f"--{name.replace('_', '-')}", value)]
    pin = (lambda: os.sched_setaffinity(0, cores)) if cores else None
    return subprocess.Popen(
        [str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=pin
    )


def step_seconds(process):
    """Of the median step, the first left out, when the run has ended."""
    stdout, stderr = process.communicate()
    if process.returncode != 0:
        raise RuntimeError(f"assay tune ended with exit code {process.returncode}: {stderr.strip()[-500:]}")
    return statistics.median(json.loads(stdout)["step_seconds"][1:])
