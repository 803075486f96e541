"""Training steps of ViT-B/16 beside transformers: the same weights, images and settings, in turns A B A B.

script/bench vit calls this with the programs built. Losses and gradient norms of both are compared before anything else
counts.
"""

import argparse
import datetime
import json
import os
import pathlib
import statistics
import sys
from dataclasses import dataclass

from harness import choice, cli, intervals, losses, machine, page, process
from harness.machine import ROOT
from harness.table import markdown_table

PEER = ROOT / "bench" / "peers" / "vit.py"
#: Largest relative differences of losses (of any step) and of the first step's gradient norms from the peer's that were
#: measured (bench/results/vit-differences-2026-11-23.md). The peer tells losses of bf16 in that type.
MEASURED_SPREAD = {"fp32": (5.4e-7, 7.9e-5), "amp": (9.3e-3, 6.5e-5), "bf16": (1.0e-2, 4.5e-4)}
#: Times which they may differ.
TOLERANCE_FACTOR = 5
#: A step is a forward and a backward, which takes twice as much; checkpointing runs the layers' forward once more.
FORWARDS_PER_STEP = 3


@dataclass(frozen=True)
class Row:
    name: str
    batch: int
    mode: str = "amp"
    gradient_checkpointing: bool = False

    @property
    def options(self):
        checkpointing = ["--gradient-checkpointing"] if self.gradient_checkpointing else []
        return ["--batch", str(self.batch), "--mode", self.mode, *checkpointing]


ROWS = (
    Row("amp-8", 8),
    Row("amp-32", 32),
    Row("amp-8-checkpointing", 8, gradient_checkpointing=True),
    Row("bf16-8", 8, "bf16"),
    Row("fp32-8", 8, "fp32"),
)
#: What the whole section measures in a few minutes.
DEFAULT_ROWS = "amp-8,amp-32"


def parse_arguments():
    parser = argparse.ArgumentParser(prog="script/bench vit", description=__doc__)
    cli.add_bin_dir(parser, "bench_vit_step")
    parser.add_argument(
        "--rows", default=DEFAULT_ROWS, help=f"of {', '.join(row.name for row in ROWS)} [{DEFAULT_ROWS}]"
    )
    parser.add_argument("--turns", type=int, default=5, help="runs of each program a row")
    parser.add_argument("--steps", type=int, default=2, help="measured steps of a run, after one that is not")
    parser.add_argument("--output-dir", type=pathlib.Path, default=ROOT / "bench" / "results")
    cli.add_data_dir(parser)
    arguments = parser.parse_args()
    wanted = choice.of_names(parser, arguments.rows, [row.name for row in ROWS])
    arguments.selected = [row for row in ROWS if row.name in wanted]
    return arguments


def prepare(data_dir, images):
    """(model folder, data file): ViT-B/16 with random weights and random images, made once."""
    model_dir, data_file = data_dir / "vit-b16", data_dir / f"images-{images}.safetensors"
    if not (model_dir / "config.json").exists() or not data_file.exists():
        import torch
        from safetensors.torch import save_file
        from transformers import ViTConfig, ViTForImageClassification

        data_dir.mkdir(parents=True, exist_ok=True)
        torch.manual_seed(0)
        ViTForImageClassification(ViTConfig(num_labels=1000)).save_pretrained(model_dir)
        pixels, labels = torch.randn(images, 3, 224, 224), torch.randint(10, (images,))
        save_file({"pixels": pixels, "labels": labels}, data_file)
    return model_dir, data_file


def run(command):
    # Beside busy neighbours a thread that spins while it waits slows both programs down.
    finished = process.run(command, {"OMP_WAIT_POLICY": "passive", "CUDA_VISIBLE_DEVICES": ""})
    if finished.exit_code != 0:
        raise RuntimeError(f"{command[0]} ended with exit code {finished.exit_code}:\n{finished.tail()}")
    result = json.loads(finished.stdout.splitlines()[-1])
    return {
        **result,
        "seconds": statistics.median(result["step_seconds"][1:]),
        "cpu": statistics.median(result["cpu_seconds"][1:]),
        "rss": finished.max_rss_bytes,
        "finished": finished,
    }


def differences(row, ours, theirs):
    """(of losses, of the first step's gradient norms), relative; raises where one is too large: the loss hardly shows the
    gradient."""
    found = (
        losses.largest_difference(ours["losses"], theirs["losses"]),
        losses.largest_difference([ours["first_grad_norm"]], [theirs["first_grad_norm"]]),
    )
    names = ("losses", "gradient norms of the first step")
    for what, difference, spread in zip(names, found, MEASURED_SPREAD[row.mode], strict=True):
        tolerance = TOLERANCE_FACTOR * spread
        if difference > tolerance:
            raise losses.Differ(f"{row.name}: {what} differ by {difference:.2e}, at most {tolerance:.2e} is right")
    return found


def measure(row, arguments, model_dir, data_file):
    """The turns of a row: [(ours, theirs, difference of the losses)]."""
    common = ["--model", model_dir, "--data", data_file, "--steps", str(arguments.steps + 1), *row.options]
    turns = []
    for turn in range(1, arguments.turns + 1):
        ours = run([arguments.bin_dir / "bench_vit_step", *common])
        theirs = run([sys.executable, PEER, *common])
        turns.append((ours, theirs, differences(row, ours, theirs)))
        print(
            f"    turn {turn}/{arguments.turns}: {ours['seconds']:.2f} s a step, peer {theirs['seconds']:.2f} s, ratio"
            f" {theirs['seconds'] / ours['seconds']:.2f}, losses differ by {turns[-1][2][0]:.1e}, norms by"
            f" {turns[-1][2][1]:.1e}",
            flush=True,
        )
    return turns


def cells(row, turns):
    pairs = [(ours["seconds"], theirs["seconds"]) for ours, theirs, _ in turns]
    interval = intervals.bootstrap_interval(pairs)
    cpu = intervals.median_ratio([(ours["cpu"], theirs["cpu"]) for ours, theirs, _ in turns])
    mine, other = (statistics.median(side) for side in zip(*pairs, strict=True))
    flops = turns[0][0]["forward_flops_per_image"] * FORWARDS_PER_STEP * row.batch
    memory = [statistics.median(turn[side]["rss"] for turn in turns) / 2**30 for side in (0, 1)]
    busy = statistics.median(turn[side]["finished"].others_cores for turn in turns for side in (0, 1))
    return [
        row.name,
        f"{row.batch / mine:.2f}",
        f"{row.batch / other:.2f}",
        f"{intervals.median_ratio(pairs):.2f}",
        f"{interval[0]:.2f} to {interval[1]:.2f}" if interval else "",
        f"{cpu:.2f}",
        f"{flops / mine / 1e9:.0f}",
        f"{memory[0]:.2f}",
        f"{memory[1]:.2f}",
        *(f"{max(turn[2][which] for turn in turns):.1e}" for which in (0, 1)),
        f"{busy:.2f}",
    ]


HEADER = [
    "row",
    "images/s",
    "peer",
    "ratio",
    "95 %",
    "CPU ratio",
    "model GFLOP/s",
    "GiB",
    "peer GiB",
    "losses differ by",
    "norms",
    "others' cores",
]


def report(rows, versions, arguments):
    return (
        f"# ViT-B/16 training steps beside transformers, {datetime.date.today()}\n\n"
        f"Commit {machine.git_commit()}, {machine.cpu_name()}; peer: {versions}, {arguments.turns} turns of"
        f" {arguments.steps} measured steps after one that is not.\n\n"
        f"    {machine.command_line('vit')}\n\n"
        f"{markdown_table(HEADER, rows)}\n\n"
        "amp: float32 parameters, products in bfloat16. Images/s and the ratio are of median step times (data at hand,"
        " optimiser included), the interval is a bootstrap over turns;"
        " the CPU ratio is of the CPU time that all threads of a program spent on a step, which busy neighbours disturb"
        " less. Model GFLOP/s count three forward passes of the"
        " model as it is defined; GiB is the process's resident peak. Others' cores: what the rest of the machine kept"
        " busy meanwhile.\n"
    )


def main():
    arguments = parse_arguments()
    model_dir, data_file = prepare(arguments.data_dir, max(row.batch for row in ROWS))
    rows, versions, failed = [], "", False
    for row in arguments.selected:
        print(f"==> {row.name}", flush=True)
        try:
            turns = measure(row, arguments, model_dir, data_file)
        except (losses.Differ, RuntimeError) as error:
            print(f"    {error}", file=sys.stderr, flush=True)
            rows.append([row.name, f"failed: {str(error).splitlines()[0]}", *[""] * (len(HEADER) - 2)])
            failed = True
            continue
        versions = turns[0][1]["versions"]
        rows.append(cells(row, turns))
    page.publish(report(rows, versions, arguments), arguments.output_dir, "vit")
    return 1 if failed else 0


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", str(len(os.sched_getaffinity(0))))
    cli.run(main)
