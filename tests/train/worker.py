"""Runs assay-worker on a plan and reads its events."""

import json
import os
import pathlib
import struct
import subprocess
from dataclasses import dataclass

WORKER = pathlib.Path(os.environ["ASSAY_BIN_DIR"]) / "assay-worker"
MASKED = -100
#: Where plans run that name none: cuda on a machine that has a GPU (docs/cuda.md).
DEVICE = os.environ.get("ASSAY_TEST_DEVICE", "cpu")


def write_token_file(path, rows, vocab_size):
    """Writes `rows` (dicts with input_ids and labels) in the layout of src/data/token_file.h."""
    offsets = [0]
    with open(path, "wb") as out:
        out.write(b"ASSAYTOK" + struct.pack("<II", 1, 0))
        for row in rows:
            ids, labels = row["input_ids"], row["labels"]
            out.write(struct.pack(f"<{2 * len(ids)}i", *ids, *labels))
            offsets.append(offsets[-1] + len(ids))
        out.write(struct.pack(f"<{len(offsets)}q", *offsets))
        out.write(struct.pack(f"<{len(rows)}q", *range(1, len(rows) + 1)))
        out.write(struct.pack("<QQq", len(rows), offsets[-1], vocab_size) + b"ASSAYEND")


def write_plan(folder, **fields):
    path = pathlib.Path(folder) / "plan.json"
    path.write_text(json.dumps({"schema": 1, "threads": 1, **fields}))
    return path


@dataclass
class Run:
    events: list
    returncode: int
    stderr: str

    def of(self, kind):
        return [event for event in self.events if event["event"] == kind]

    @property
    def steps(self):
        return self.of("step")

    @property
    def ended(self):
        assert self.events[-1]["event"] == "ended", self.events
        return self.events[-1]

    def column(self, name):
        return [step[name] for step in self.steps]


def run_worker(plan, **subprocess_options):
    """Runs the worker to its end; every line it prints must be an event."""
    done = subprocess.run(
        [WORKER, "--plan", plan], check=False, capture_output=True, text=True, timeout=300, **subprocess_options
    )
    return Run([json.loads(line) for line in done.stdout.splitlines()], done.returncode, done.stderr)


def train(folder, **fields):
    """A run that must succeed."""
    run = run_worker(write_plan(folder, **fields))
    assert run.returncode == 0 and run.ended["kind"] == "done", (run.ended, run.stderr)
    return run
