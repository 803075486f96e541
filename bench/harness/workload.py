"""Models, adapters and rows of tokens, made once and kept in the data folder."""

import json
import pathlib
import random
import subprocess
import sys
from dataclasses import dataclass

from harness.flops import MASKED
from harness.machine import ROOT

MAKE_MODEL = ROOT / "bench" / "peers" / "make_model.py"


@dataclass(frozen=True)
class Workload:
    """The files that both programs read, and what is in them."""

    model: pathlib.Path
    adapter: pathlib.Path
    data: pathlib.Path
    config: dict
    rows: list  # {"input_ids", "labels"}

    def steps(self, batch):
        """The rows of each step."""
        return [self.rows[i : i + batch] for i in range(0, len(self.rows), batch)]


def make_rows(row, vocabulary, seed=0):
    """Random tokens for all steps of a table row, the same for the same arguments."""
    generator = random.Random(seed)
    rows = []
    for _ in range(row.rows_of_step * row.all_steps):
        length = generator.randint(row.shortest, row.longest)
        ids = [generator.randrange(vocabulary) for _ in range(length)]
        masked = int(length * row.masked)
        rows.append({"input_ids": ids, "labels": [MASKED] * masked + ids[masked:]})
    return rows


def make_model(model, folder):
    """Weights and adapter, by a process of its own: libtorch would make this one large."""
    config = ROOT / "share" / "models" / model.catalogue / "config.json"
    command = [sys.executable, MAKE_MODEL, "--config", config, "--layers", str(model.layers), "--output", folder]
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"making the weights of {model.name} failed:\n{done.stderr}")


def prepare(row, data_dir):
    """The Workload of a table row; what stands already is kept."""
    folder = data_dir / "models" / row.model.name
    if not folder.exists():
        make_model(row.model, folder)
    config = json.loads((folder / "model" / "config.json").read_text())
    rows = make_rows(row, config["vocab_size"])
    data = data_dir / "rows" / f"{row.name}.jsonl"
    data.parent.mkdir(parents=True, exist_ok=True)
    text = "".join(json.dumps(entry) + "\n" for entry in rows)
    if not data.exists() or data.read_text() != text:
        data.write_text(text)
    return Workload(folder / "model", folder / "adapter", data, config, rows)
