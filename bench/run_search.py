"""Searching a recorded space: after how many points has a sampler met the best one?

script/bench search calls this with the programs built. `--record` measures a space of 512 points of a small fine-tune
once, into a store that is kept; then every sampler explores that store, where each point is replayed, and what is
counted is the place of the best point in its order. The share is of the median over seeds. Optuna searches the same
recorded values, a point counting once however often it asks for it.
"""

import argparse
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys

from harness import cli, machine, page
from harness.machine import ROOT
from harness.table import markdown_table

SAMPLERS = ("random", "latin-hypercube", "model")
METRICS = ("real_tokens_per_second:max", "train_samples_per_second:max", "train_steps_per_second:max")
OPTUNA = pathlib.Path(sys.prefix) / "apart" / "search" / "bin" / "python"
LINE = re.compile(r"^\[\d+/\d+\] \S+  (\S+): ")
CONFIG = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 64,
    "intermediate_size": 160,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "vocab_size": 8192,
    "max_position_embeddings": 1024,
    "rms_norm_eps": 1e-5,
    "rope_theta": 10000.0,
    "hidden_act": "silu",
    "initializer_range": 0.02,
    "tie_word_embeddings": True,
}
SPACE = """\
entitySpace:
  - {{ identifier: model_name, propertyDomain: {{ values: [{model}] }} }}
  - {{ identifier: dataset_id, propertyDomain: {{ values: [{data}] }} }}
  - {{ identifier: number_gpus, propertyDomain: {{ values: [0] }} }}
  - {{ identifier: model_max_length, propertyDomain: {{ values: [16, 32, 48, 64, 96, 128, 192, 256] }} }}
  - {{ identifier: batch_size, propertyDomain: {{ values: [1, 2, 3, 4, 6, 8, 12, 16] }} }}
  - {{ identifier: torch_dtype, propertyDomain: {{ values: [bfloat16, float32] }} }}
  - {{ identifier: gradient_checkpointing, propertyDomain: {{ values: [True, False] }} }}
  - {{ identifier: gradient_accumulation_steps, propertyDomain: {{ values: [1, 2] }} }}
experiments:
  - experimentIdentifier: finetune_full_benchmark-v1.0.0
    parameterization: [{{ property: {{ identifier: max_steps }}, value: 4 }}]
"""


def parse_arguments():
    parser = argparse.ArgumentParser(prog="script/bench search", description=__doc__)
    cli.add_bin_dir(parser, "assay")
    cli.add_data_dir(parser)
    parser.add_argument("--record", action="store_true", help="measure what the store of the space has not yet")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--metrics", default=",".join(METRICS))
    parser.add_argument("--output-dir", type=pathlib.Path, default=ROOT / "bench" / "results")
    return parser.parse_args()


class Recorded:
    def __init__(self, arguments):
        self.assay = arguments.bin_dir / "assay"
        self.folder = arguments.data_dir / "search"
        (self.folder / "model").mkdir(parents=True, exist_ok=True)
        (self.folder / "model" / "config.json").write_text(json.dumps(CONFIG))
        rows = [{"input_ids": [(7 * i + 13 * k) % 8192 for k in range(300)]} for i in range(64)]
        text = "".join(json.dumps(row | {"labels": row["input_ids"]}) + "\n" for row in rows)
        (self.folder / "rows.jsonl").write_text(text)
        self.space = self.folder / "space.yaml"
        self.space.write_text(SPACE.format(model=self.folder / "model", data=self.folder / "rows.jsonl"))
        self.store = f"sqlite:///{self.folder}/recorded.db"
        self.environment = os.environ | {"XDG_CACHE_HOME": str(self.folder / "cache")}

    def command(self, *options):
        return [self.assay, "explore", self.space, "--store", self.store, "--reuse", "anywhere", *options]

    def record(self):
        finished = subprocess.run(self.command(), env=self.environment, capture_output=True, text=True)
        if finished.returncode != 0:
            raise RuntimeError(finished.stderr.strip().splitlines()[-1])
        return finished.stdout.splitlines()[-1]

    def valid(self):
        command = [self.assay, "results", self.space, "--store", self.store, "--output", "json"]
        out = subprocess.run(command, env=self.environment, capture_output=True, text=True, check=True).stdout
        return [measurement for measurement in json.loads(out) if measurement["outcome"] == "valid"]

    def looks(self, sampler, metric, seed, best):
        """The place of the point `best` in the order of a sampler, which is asked no further."""
        command = self.command("--sampler", sampler, "--metric", metric, "--seed", str(seed), "--workers", "1")
        looked, said = 0, ""
        with subprocess.Popen(
            command, env=self.environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        ) as explorer:
            for said in explorer.stderr:
                match = LINE.match(said)
                looked += match is not None
                if match and match[1] == best:
                    explorer.terminate()
                    return looked
        raise RuntimeError(f"{sampler} ended before the best: {said.strip()}")


def looks_of_optuna(valid, metric, way, seeds):
    """By search, a number a seed."""
    names = sorted(valid[0]["entity"])
    choices = {name: sorted({m["entity"][name] for m in valid}) for name in names}
    axes = [name for name in names if len(choices[name]) > 1]
    recorded = {
        "axes": [[name, choices[name]] for name in axes],
        "values": [[[m["entity"][name] for name in axes], m["properties"][metric]] for m in valid],
        "maximize": way == "max",
        "seeds": seeds,
    }
    program = ROOT / "bench" / "optuna_search.py"
    out = subprocess.run([OPTUNA, program], input=json.dumps(recorded), capture_output=True, text=True, check=True)
    return json.loads(out.stdout)


def main():
    arguments = parse_arguments()
    recorded = Recorded(arguments)
    if arguments.record:
        print(recorded.record(), flush=True)
    valid = recorded.valid()
    table = []
    for metric in arguments.metrics.split(","):
        name, way = metric.split(":")
        values = {m["entity_id"]: m["properties"][name] for m in valid}
        best = (max if way == "max" else min)(values, key=values.get)
        looks = {
            sampler: [recorded.looks(sampler, metric, seed, best) for seed in range(arguments.seeds)]
            for sampler in SAMPLERS
        }
        looks |= looks_of_optuna(valid, name, way, arguments.seeds)
        of_random = statistics.median(looks["random"])
        for sampler, counts in looks.items():
            median = statistics.median(counts)
            table.append(
                [metric, sampler, str(len(values)), f"{median:g}", str(max(counts)), f"{median / of_random:.2f}"]
            )
            print("    " + "  ".join(table[-1]), flush=True)
    header = ["metric", "sampler", "points", "looked at until the best, median", "at most", "of random"]
    text = (
        f"# Searching a recorded space\n\nCommit {machine.git_commit()}, {machine.cpu_name()}. {arguments.seeds} seeds;"
        f" the space: {len(valid)} points of a fine-tune of a 4-layer model, measured here.\n\n"
        f"    {machine.command_line('search')}\n\n{markdown_table(header, table)}\n"
    )
    page.publish(text, arguments.output_dir, "search")


if __name__ == "__main__":
    cli.run(main)
