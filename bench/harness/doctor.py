"""The machine and its ceilings, as `assay doctor` tells them."""

import json
import platform

from harness import process


def examine(assay, folder, environment=None, measure=True):
    """What `assay doctor` measures, or only describes, with "others_cores" beside it: how busy others kept the machine
    meanwhile. A failure is a RuntimeError."""
    command = [assay, "doctor", "--output", "json", "--folder", folder, *([] if measure else ["--quick"])]
    finished = process.run(command, environment)
    if finished.exit_code != 0:
        raise RuntimeError(f"assay doctor ended with exit code {finished.exit_code}: {finished.tail()}")
    return {**json.loads(finished.stdout), "others_cores": finished.others_cores}


def describe(examined):
    """The machine in one line."""
    about = examined["machine"]
    sets = " ".join(about["isa"])
    memory = about["memory_bytes"] / 2**30
    return (
        f"{about['cpu_model']}, {about['usable_cores']} cores, {sets}, {memory:.1f} GiB, {about['os']},"
        f" Linux {platform.release()}"
    )


def ceilings(examined):
    """The peaks that results are held against: TFLOP/s by dtype, and GB/s."""
    measured = examined["ceilings"]
    return {
        "tflops": {p["dtype"]: p["tflops"] for p in measured["matrix_products"]["products"]},
        "memory_gb_per_s": max(measured["memory"][f"{kind}_gb_per_s"] for kind in ("read", "copy", "triad")),
        "others_cores": examined["others_cores"],
    }
