"""Whether each side reads, to the bit, what the other wrote."""

import json
import pathlib
import shutil
import subprocess
import sys

from harness.machine import ROOT

READER = ROOT / "bench" / "peers" / "same_checkpoints.py"


def check_both_ways(points, state):
    """How many tensors were compared. Both sides save the same state: stock torch reads both, and so does assay."""
    folders = []
    for client in ("assay", "torch"):
        points.measure(state, client, "disk", "save", keep_checkpoint="True", epochs=1)
        (saved,) = pathlib.Path(points.places["disk"], "checkpoint-benchmark", client).glob("*/step-1/.metadata")
        folders.append(str(saved.parent))
    difference = points.run("checkpoint", "diff", *folders, "--output", "json")
    changed = [item["name"] for item in difference["items"] if item["kind"] != "only in the first"]
    command = [sys.executable, str(READER), *folders]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"stock torch: {done.stderr.strip().splitlines()[-1]}")
    tensors = json.loads(done.stdout)["tensors"]
    if changed or difference["same"] != tensors:
        raise RuntimeError(f"{folders[0]} and {folders[1]} differ in {', '.join(changed) or 'what they hold'}")
    for folder in folders:
        shutil.rmtree(folder)
    return tensors
