"""The machine and the programs that a measurement was made with."""

import json
import os
import pathlib
import platform
import subprocess

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


def describe(doctor):
    """One line out of what `assay doctor` says."""
    about = doctor["machine"]
    sets = " ".join(about["isa"])
    memory = about["memory_bytes"] / 2**30
    return (
        f"{about['cpu_model']}, {about['usable_cores']} cores, {sets}, {memory:.1f} GiB, {about['os']},"
        f" Linux {platform.release()}"
    )


def doctor(assay, folder, environment=None, measure=True):
    """What `assay doctor` measures, or only describes; its output is JSON. A failure is a RuntimeError."""
    done = subprocess.run(
        [str(assay), "doctor", "--output", "json", "--folder", str(folder), *([] if measure else ["--quick"])],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **(environment or {})},
    )
    if done.returncode != 0:
        raise RuntimeError(f"assay doctor ended with exit code {done.returncode}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def ceilings(doctor):
    """The peaks that rows are held against: TFLOP/s by dtype, and GB/s."""
    measured = doctor["ceilings"]
    return {
        "tflops": {p["dtype"]: p["tflops"] for p in measured["matrix_products"]["products"]},
        "memory_gb_per_s": max(measured["memory"][f"{kind}_gb_per_s"] for kind in ("read", "copy", "triad")),
    }


def cpu_name():
    """With the number of cores that this process may use."""
    lines = pathlib.Path("/proc/cpuinfo").read_text().splitlines()
    name = next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), "unknown CPU")
    return f"{name}, {len(os.sched_getaffinity(0))} cores"
