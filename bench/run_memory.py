"""Peaks of tensor memory of language models over ranks: foretold before anything is loaded, and measured.

script/bench memory calls this with assay and assay-worker built. The models have the shape of SmolLM2-135M with fewer
layers and a smaller vocabulary, and random weights: large enough for weights and activations, not what a run holds
beside them, to make the peak.
"""

import argparse
import dataclasses
import datetime
import json
import pathlib
import random
import subprocess
import tempfile

from harness import choice, cli, machine, page
from harness.table import markdown_table

#: A forecast further off than this is no forecast.
TOLERANCE = 0.05
VOCABULARY, STEPS = 8192, 2
SHAPE = {
    "hidden_size": 576,
    "intermediate_size": 1536,
    "num_hidden_layers": 4,
    "num_attention_heads": 9,
    "num_key_value_heads": 3,
    "vocab_size": VOCABULARY,
    "max_position_embeddings": 2048,
    "hidden_act": "silu",
    "rms_norm_eps": 1e-5,
    "tie_word_embeddings": True,
}
FAMILIES = {
    "llama": {"model_type": "llama", "architectures": ["LlamaForCausalLM"]},
    "granite": {
        "model_type": "granite",
        "architectures": ["GraniteForCausalLM"],
        "tie_word_embeddings": False,
        "embedding_multiplier": 12.0,
        "attention_multiplier": 0.125,
        "residual_multiplier": 0.22,
        "logits_scaling": 4.0,
    },
    "qwen2": {"model_type": "qwen2", "architectures": ["Qwen2ForCausalLM"]},
    "qwen3": {"model_type": "qwen3", "architectures": ["Qwen3ForCausalLM"], "head_dim": 64},
    "gpt_bigcode": {"model_type": "gpt_bigcode", "architectures": ["GPTBigCodeForCausalLM"], "n_inner": 1536},
    "bloom": {"model_type": "bloom", "architectures": ["BloomForCausalLM"]},
    "mixtral": {"model_type": "mixtral", "architectures": ["MixtralForCausalLM"], "num_local_experts": 4},
    "granitemoe": {
        "model_type": "granitemoe",
        "architectures": ["GraniteMoeForCausalLM"],
        "intermediate_size": 256,
        "num_local_experts": 8,
        "num_experts_per_tok": 4,
    },
    "granitemoehybrid": {
        "model_type": "granitemoehybrid",
        "architectures": ["GraniteMoeHybridForCausalLM"],
        "intermediate_size": 256,
        "num_local_experts": 8,
        "num_experts_per_tok": 4,
        "shared_intermediate_size": 512,
        "layer_types": ["mamba", "attention"] * 2,
        "mamba_n_heads": 8,
        "mamba_d_state": 64,
    },
}
PLUGINS = {
    "torch_ddp": {},
    "low_level_zero 1": {"zero-stage": 1},
    "low_level_zero 2": {"zero-stage": 2},
    "gemini": {},
    "FULL_SHARD": {},
    "SHARD_GRAD_OP": {},
    "HYBRID_SHARD": {},
}
METHODS = {"full": {}, "lora": {"method": "lora", "lora-rank": 8}}
#: Of families whose layers have other names than those that are adapted by default.
TARGETS = {family: {"target-modules": "all-linear"} for family in ("gpt_bigcode", "bloom")}
#: What is varied on llama alone, beyond plugins, methods and ranks.
VARIATIONS = {
    "float32": {"dtype": "float32"},
    "float16": {"dtype": "float16"},
    "checkpointed": {"gradient-checkpointing": "on"},
    "accumulated": {"gradient-accumulation-steps": 2},
    "saved": {"save": "final"},
}


@dataclasses.dataclass(frozen=True)
class Row:
    family: str
    plugin: str
    method: str
    ranks: int
    options: tuple = ()
    title: str = "bfloat16"


def rows():
    listed = [
        Row(family, plugin, method, ranks)
        for family in FAMILIES
        for plugin in PLUGINS
        for method in METHODS
        for ranks in (1, 2, 4)
    ]
    listed += [
        Row("llama", plugin, method, ranks, tuple(options.items()), title)
        for title, options in VARIATIONS.items()
        for plugin, ranks in (("torch_ddp", 1), ("torch_ddp", 2), ("low_level_zero 1", 2), ("FULL_SHARD", 2))
        for method in METHODS
    ]
    listed += [Row("llama", "HYBRID_SHARD", "full", 4, (("shard-ranks", 2),), "groups of 2")]
    tensor = (("tp-size", 3), ("pp-size", 1))
    for method in METHODS:
        listed.append(Row("llama", "hybrid_parallel", method, 3, tensor, "3 tensor ranks"))
        divided = (*tensor, ("sequence-parallel", "true"))
        listed.append(Row("llama", "hybrid_parallel", method, 3, divided, "3 tensor ranks, tokens divided"))
    return listed


def parse_arguments():
    parser = argparse.ArgumentParser(
        prog="script/bench memory", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    cli.add_bin_dir(parser, "assay and assay-worker")
    parser.add_argument("--families", default=",".join(FAMILIES), help=f"of {', '.join(FAMILIES)}")
    parser.add_argument("--every", type=int, default=1, help="only each so many-th row")
    parser.add_argument("--output-dir", type=pathlib.Path, default=machine.ROOT / "bench" / "results")
    arguments = parser.parse_args()
    arguments.families = choice.of_names(parser, arguments.families, FAMILIES)
    return arguments


def write_inputs(folder):
    """A model folder of each family, without weights, and rows of 50 to 100 token ids."""
    for name, family in FAMILIES.items():
        (folder / name).mkdir()
        (folder / name / "config.json").write_text(json.dumps(SHAPE | family))
    generator = random.Random(1)
    with open(folder / "rows.jsonl", "w") as file:
        for _ in range(64):
            ids = [generator.randrange(VOCABULARY) for _ in range(generator.randint(50, 100))]
            file.write(json.dumps({"input_ids": ids, "labels": ids}) + "\n")


def measure(bin_dir, folder, row):
    """(measured, foretold) bytes of the rank with most."""
    options = {
        "model": folder / row.family,
        "data": folder / "rows.jsonl",
        "plugin": row.plugin.split()[0],
        "number-ranks": row.ranks,
        "batch-size": 4,
        "max-steps": STEPS,
        "device": "cpu",
        "output": "json",
        **PLUGINS.get(row.plugin, {}),
        **METHODS[row.method],
        **(TARGETS.get(row.family, {}) if row.method == "lora" else {}),
        **dict(row.options),
    }
    if "save" in options:
        options["output-dir"] = tempfile.mkdtemp(dir=folder)
    command = [str(bin_dir / "assay"), "tune"]
    command += [str(word) for name, value in options.items() for word in (f"--{name}", value)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{row} ended with exit code {done.returncode}: {done.stderr.strip()[-500:]}")
    result = json.loads(done.stdout)
    return result["peak_tensor_bytes"], result["predicted_peak_bytes"]


def line(row, measured, foretold):
    off = foretold / measured - 1
    sizes = (f"{size / 2**20:.1f}" for size in (measured, foretold))
    held = "yes" if abs(off) <= TOLERANCE else "**no**"
    return [row.family, row.plugin, row.method, row.title, row.ranks, *sizes, f"{100 * off:+.1f} %", held]


def report(lines):
    head = ["family", "plugin", "method", "run", "ranks", "measured", "foretold", "difference", "within 5 %"]
    held = sum(entry[-1] == "yes" for entry in lines)
    largest = max((entry[-2] for entry in lines), key=lambda text: abs(float(text.split()[0])))
    return (
        f"# Memory of language models, foretold and measured, {datetime.date.today()}\n\n"
        f"Commit {machine.git_commit()}, {machine.cpu_name()}.\n\n    {machine.command_line('memory')}\n\n"
        f"MiB of live tensors at the peak of a run of {STEPS} steps, of the rank that has most; {held} of {len(lines)} rows"
        f" are within 5 %, the largest difference is {largest}. Models: SmolLM2-135M's shape with"
        f" {SHAPE['num_hidden_layers']} layers and a vocabulary of {VOCABULARY}, random weights; 4 rows of 50 to 100"
        " tokens a rank and micro-batch. The forecast is made before anything is loaded, by going through the steps on"
        f" shapes.\n\n{markdown_table(head, lines)}\n"
    )


def main():
    arguments = parse_arguments()
    lines = []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        write_inputs(folder)
        listed = [row for row in rows() if row.family in arguments.families]
        for row in listed[:: arguments.every]:
            lines.append(line(row, *measure(arguments.bin_dir, folder, row)))
            print("    " + ", ".join(map(str, lines[-1])), flush=True)
    page.publish(report(lines), arguments.output_dir, "memory-forecast")


if __name__ == "__main__":
    cli.run(main)
