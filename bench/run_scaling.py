"""Weak scaling of training from one rank to two, each with a core and a thread of its own and the same rows a rank.

script/bench scaling calls this with assay and assay-worker built. A turn is the step of one rank on one core; that of
two ranks; and, as what the machine itself allows, that of two separate runs of one rank at the same time.
"""

import argparse
import dataclasses
import datetime
import os
import pathlib
import statistics

from harness import choice, cli, intervals, machine, page, rows, tune, workload
from harness.machine import ROOT
from harness.table import markdown_table

VIT = "google/vit-base-patch16-224"
IMAGES, ROWS, TOKENS = 8, 4, 512


@dataclasses.dataclass(frozen=True)
class Row:
    name: str
    title: str
    plugin: str
    at_least: float  # of the efficiency
    method: str = ""  # of a language model; none: the vision transformer


ALL = (
    Row("vit-ddp", f"ViT-B/16, {IMAGES} images a rank", "torch_ddp", 0.92),
    Row("vit-shard", f"ViT-B/16, {IMAGES} images a rank", "FULL_SHARD", 0.88),
    Row("lora-ddp", f"SmolLM2-135M, LoRA, {ROWS} rows of {TOKENS} a rank", "torch_ddp", 0.92, "lora"),
    Row("lora-shard", f"SmolLM2-135M, LoRA, {ROWS} rows of {TOKENS} a rank", "FULL_SHARD", 0.88, "lora"),
    Row("full-ddp", f"SmolLM2-135M, full, {ROWS} rows of {TOKENS} a rank", "torch_ddp", 0.92, "full"),
    Row("full-shard", f"SmolLM2-135M, full, {ROWS} rows of {TOKENS} a rank", "FULL_SHARD", 0.88, "full"),
)


def parse_arguments():
    parser = argparse.ArgumentParser(
        prog="script/bench scaling", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    cli.add_bin_dir(parser, "assay and assay-worker")
    names = [row.name for row in ALL]
    parser.add_argument("--rows", default="", help=f"of {', '.join(names)}; all without it")
    parser.add_argument("--turns", type=int, default=5, help="runs of each configuration")
    parser.add_argument("--steps", type=int, default=2, help="measured steps of a run, after one that is not")
    cli.add_data_dir(parser)
    parser.add_argument("--output-dir", type=pathlib.Path, default=ROOT / "bench" / "results")
    arguments = parser.parse_args()
    chosen = choice.of_names(parser, arguments.rows, names)
    arguments.rows = [row for row in ALL if row.name in chosen]
    return arguments


def settings_of(row, arguments):
    """(options, flags) of `assay tune` that are the same for one rank and two."""
    common = {"plugin": row.plugin, "threads": 1, "max_steps": arguments.steps + 1}
    if not row.method:
        return common | {"model": VIT, "batch_size": IMAGES, "precision": "amp_bf16"}, ("--synthetic",)
    tokens = rows.Row(
        f"scaling-{arguments.steps}", "", row.method, "", 0, 0, batch=ROWS, ranks=2, longest=TOKENS,
        steps=arguments.steps,
    )  # fmt: skip
    work = workload.prepare(tokens, arguments.data_dir)
    common |= {"model": work.model, "data": work.data, "method": row.method, "batch_size": ROWS}
    return common | {"model_max_length": TOKENS, "dtype": tokens.dtype}, ()


def measure_turn(row, arguments, cores):
    """Seconds of a step: (one rank, two ranks, the slower of two separate runs)."""
    settings, flags = settings_of(row, arguments)

    def start(ranks, on):
        return tune.start(arguments.bin_dir, settings | {"number_ranks": ranks}, on, flags)

    one = tune.step_seconds(start(1, {cores[0]}))
    two = tune.step_seconds(start(2, set(cores)))
    apart = [start(1, {core}) for core in cores]
    return one, two, max([tune.step_seconds(process) for process in apart])


def line_of(row, turns):
    pairs = [(two, one) for one, two, _ in turns]
    interval = intervals.bootstrap_interval(pairs)
    one, two, apart = (statistics.median(column) for column in zip(*turns, strict=True))
    return [
        row.title,
        row.plugin,
        f"{one:.3f}",
        f"{two:.3f}",
        f"{apart:.3f}",
        f"{intervals.median_ratio(pairs):.3f}",
        f"{interval[0]:.3f} to {interval[1]:.3f}" if interval else "",
        f"{row.at_least:g}",
        f"{statistics.median(a / t for _, t, a in turns):.3f}",
    ]


def report(lines, arguments):
    head = ["work", "plugin", "1 rank, s", "2 ranks, s", "2 runs apart, s", "efficiency", "95 %", "at least"]
    return (
        f"# Weak scaling from one rank to two, {datetime.date.today()}\n\n"
        f"Commit {machine.git_commit()}, {machine.cpu_name()}; {arguments.turns} turns, runs of {arguments.steps}"
        f" measured steps after one that is not. Load average at the end {machine.load_average():.2f}.\n\n"
        f"    {machine.command_line('scaling')}\n\n"
        f"{markdown_table([*head, 'against runs apart'], lines)}\n\n"
        "One thread a rank on two cores, shared memory between ranks; random images with float32 parameters and products"
        " in bfloat16, random tokens in bfloat16. Efficiency is the step of one rank over that of two. Two separate runs"
        " at once, one a core, share caches, memory and clocks as two ranks do but say nothing to each other: against"
        " them communication is left, and that one rank alone keeps packed copies of frozen weights.\n"
    )


def main():
    arguments = parse_arguments()
    arguments.data_dir.mkdir(parents=True, exist_ok=True)
    cores = sorted(os.sched_getaffinity(0))[:2]
    if len(cores) < 2:
        raise RuntimeError("scaling needs two cores")
    lines = []
    for row in arguments.rows:
        turns = []
        for turn in range(1, arguments.turns + 1):
            turns.append(measure_turn(row, arguments, cores))
            one, two, apart = turns[-1]
            print(
                f"    {row.name} {turn}/{arguments.turns}: {one:.2f} s, 2 ranks {two:.2f} s, apart {apart:.2f} s",
                flush=True,
            )
        lines.append(line_of(row, turns))
    page.publish(report(lines, arguments), arguments.output_dir, "scaling")


if __name__ == "__main__":
    cli.run(main)
