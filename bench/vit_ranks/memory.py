"""The peak of tensor memory of every plugin: measured, and foretold without running.

Both are of the rank that has most: what the experiment measures since the start of the process (protocol published),
and what the sharding engine foretells on parameters without storage in a group that moves nothing.
"""

import dataclasses
import json
import pathlib
import subprocess
import tempfile

from harness.table import markdown_table

BATCH, STEPS = 4, 2
#: A forecast further off than this is no forecast.
TOLERANCE = 0.05
LEDGER = ("parameters", "gradients", "master", "moments", "buckets", "activations", "temporaries")
#: Knobs that are named shorter in the table.
SHORT = {"tp_size": "tp", "pp_size": "pp"}


@dataclasses.dataclass(frozen=True)
class Row:
    plugin: str
    ranks: int
    knobs: dict = dataclasses.field(default_factory=dict)

    @property
    def title(self):
        """The plugin, with what differs from its defaults."""
        return " ".join([self.plugin, *(f"{SHORT.get(name, name)}={value}" for name, value in self.knobs.items())])


def rows():
    both = [
        "torch_ddp",
        "torch_ddp_fp16",
        "low_level_zero",
        "gemini",
        "FULL_SHARD",
        "SHARD_GRAD_OP",
        "NO_SHARD",
        "HYBRID_SHARD",
        "_HYBRID_SHARD_ZERO2",
    ]
    listed = [Row(plugin, ranks) for plugin in both for ranks in (1, 2)]
    listed += [Row(plugin, 4, {"shard_ranks": 2}) for plugin in ("HYBRID_SHARD", "_HYBRID_SHARD_ZERO2")]
    listed += [Row("hybrid_parallel", tp * pp, {"tp_size": tp, "pp_size": pp}) for tp, pp in ((2, 1), (1, 2), (2, 2))]
    listed += [Row("hybrid_parallel", 4, {"tp_size": tp, "pp_size": pp}) for tp, pp in ((2, 1), (1, 2))]
    listed += [
        Row("low_level_zero", 2, {"precision": "bf16"}),
        Row("low_level_zero", 2, {"zero_stage": 2}),
        Row("gemini", 2, {"precision": "bf16"}),
        Row("gemini", 2, {"placement": "auto"}),
        Row("hybrid_parallel", 4, {"tp_size": 2, "pp_size": 2, "precision": "bf16"}),
        Row("hybrid_parallel", 2, {"tp_size": 2, "pp_size": 1, "precision": "fp32"}),
        Row("FULL_SHARD", 2, {"precision": "bf16"}),
        Row("FULL_SHARD", 2, {"precision": "fp8"}),
    ]
    return listed


def measure(bin_dir, row):
    """The row's properties, measured in a store of its own; RuntimeError where it is not valid."""
    settings = {
        "plugin": row.plugin,
        "number_ranks": row.ranks,
        "batch_size": BATCH,
        "number_gpus": 0,
        "model_name": "google/vit-base-patch16-224",
        "max_train_steps": STEPS,
        "gate_steps": 0,
        "protocol": "published",
    } | row.knobs
    with tempfile.TemporaryDirectory() as folder:
        command = [str(bin_dir / "assay"), "run", "vit_plugin_benchmark-v1.0.0", "--output", "json"]
        command += ["--store", f"sqlite:///{pathlib.Path(folder) / 'memory.db'}"]
        command += [word for name, value in settings.items() for word in ("-p", f"{name}={value}")]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(
            f"{row.title} on {row.ranks} ranks ended with exit code {done.returncode}: {done.stderr[-500:]}"
        )
    measurement = json.loads(done.stdout)
    if measurement["outcome"] != "valid":
        raise RuntimeError(f"{row.title} on {row.ranks} ranks: {measurement['reason']}")
    return measurement["properties"]


def difference(properties):
    """Of the forecast from what was measured, as a share of the latter."""
    return properties["predicted_peak_bytes"] / properties["peak_tensor_bytes"] - 1


def line(row, properties):
    off = difference(properties)
    parts = [*(f"ledger_{part}_bytes" for part in LEDGER), "host_offload_bytes"]
    return [
        row.title,
        row.ranks,
        *(f"{properties[name] / 2**20:.0f}" for name in ("peak_tensor_bytes", "predicted_peak_bytes")),
        f"{100 * off:+.1f} %",
        "yes" if abs(off) <= TOLERANCE else "**no**",
        *(f"{properties[name] / 2**20:.0f}" for name in parts),
    ]


def lines(arguments):
    made = []
    for row in rows():
        made.append(line(row, measure(arguments.bin_dir, row)))
        title, ranks, measured, foretold, off, _ = made[-1][:6]
        print(f"    {title}, {ranks} ranks: {measured} MiB, foretold {foretold} MiB, {off}", flush=True)
    return made


def section(made):
    head = ["plugin", "ranks", "measured", "foretold", "difference", "within 5 %"]
    head += ["parameters", "gradients", "masters", "moments", "buckets", "activations", "temporaries", "offloaded"]
    held = sum(entry[5] == "yes" for entry in made)
    return (
        f"\n## Memory, measured and foretold\n\n{markdown_table(head, made)}\n\n"
        f"MiB of live tensors, {held} of {len(made)} rows within 5 %. Batch size {BATCH} a data rank, {STEPS} steps,"
        " gradient checkpointing on, protocol `published`: the peak is the largest since the start of the process, of the"
        " rank that has most. The forecast runs the sharding engine on parameters without storage in a group that moves"
        " nothing. The parts are rank 0's, at the engine's own peak; on a CPU what is offloaded takes the same memory.\n"
    )
