"""ViT-B/16 over ranks: what Low Level Zero and Gemini cost beyond Torch DDP, and the memory of every plugin beside its
forecast.

script/bench vit-ranks calls this with assay and assay-worker built. Times are measured in turns.

fixed    t = fixed + each x batch of each plugin on one rank, through two batch sizes, with gradient checkpointing as in
         the published comparison
memory   peaks of tensor memory, measured and foretold, of every plugin on one, two and four ranks; once
"""

import argparse
import datetime
import os
import pathlib
import statistics

from harness import choice, cli, machine, page, tune
from harness.machine import ROOT
from harness.table import markdown_table
from vit_ranks import memory

MODEL = "google/vit-base-patch16-224"
ROWS = ("fixed", "memory")
FIXED_PLUGINS = ("torch_ddp", "low_level_zero", "gemini")
FIXED_BATCHES = (2, 6)
#: Published on one Tesla T4: a step of Torch DDP at batch 8, and fixed costs by a line through the published table.
PUBLISHED_DDP_STEP, PUBLISHED_FIXED = 0.335, {"low_level_zero": 0.115, "gemini": 0.211}


def parse_arguments():
    parser = argparse.ArgumentParser(
        prog="script/bench vit-ranks", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    cli.add_bin_dir(parser, "assay and assay-worker")
    parser.add_argument("--rows", default=",".join(ROWS), help=f"of {', '.join(ROWS)}")
    parser.add_argument("--turns", type=int, default=5, help="runs of each configuration")
    parser.add_argument("--steps", type=int, default=2, help="measured steps of a run, after one that is not")
    parser.add_argument(
        "--fixed-precision", default="", help="of low_level_zero and gemini; their own (fp16) without it"
    )
    parser.add_argument("--output-dir", type=pathlib.Path, default=ROOT / "bench" / "results")
    arguments = parser.parse_args()
    arguments.rows = choice.of_names(parser, arguments.rows, ROWS)
    return arguments


def step_of(arguments, plugin, batch, **options):
    """Seconds of a step on one rank and all cores."""
    settings = {"model": MODEL, "plugin": plugin, "batch_size": batch, "threads": len(os.sched_getaffinity(0))}
    settings |= {"max_steps": arguments.steps + 1} | options
    return tune.step_seconds(tune.start(arguments.bin_dir, settings, flags=["--synthetic"]))


def fixed_turn(arguments):
    """{plugin: (fixed seconds, seconds each)}"""
    small, large = FIXED_BATCHES
    lines = {}
    for plugin in FIXED_PLUGINS:
        options = {"gradient_checkpointing": "on"}
        if arguments.fixed_precision and plugin != "torch_ddp":
            options["precision"] = arguments.fixed_precision
        low, high = (step_of(arguments, plugin, batch, **options) for batch in FIXED_BATCHES)
        each = (high - low) / (large - small)
        lines[plugin] = (low - small * each, each)
    return lines


def fixed_lines(arguments):
    turns = []
    for turn in range(1, arguments.turns + 1):
        turns.append(fixed_turn(arguments))
        text = ", ".join(f"{plugin} {1e3 * fixed:.0f} ms" for plugin, (fixed, _) in turns[-1].items())
        print(f"    fixed {turn}/{arguments.turns}: {text}", flush=True)
    ddp_step = statistics.median(turn["torch_ddp"][0] + 8 * turn["torch_ddp"][1] for turn in turns)
    lines = []
    for plugin in FIXED_PLUGINS:
        fixed, each = (statistics.median(turn[plugin][part] for turn in turns) for part in (0, 1))
        beyond = [turn[plugin][0] - turn["torch_ddp"][0] for turn in turns]
        published = PUBLISHED_FIXED.get(plugin)
        lines.append(
            [
                plugin,
                f"{1e3 * fixed:.0f}",
                f"{1e3 * each:.0f}",
                *(
                    [
                        f"{1e3 * statistics.median(beyond):.0f} ({1e3 * min(beyond):.0f} to {1e3 * max(beyond):.0f})",
                        f"{1e3 * published:.0f}",
                        f"{1e3 * published * ddp_step / PUBLISHED_DDP_STEP:.0f}",
                    ]
                    if published
                    else [""] * 3
                ),
            ]
        )
    return lines


def report(parts, arguments):
    timed = (
        f" {arguments.turns} turns, runs of {arguments.steps} measured steps after one that is not."
        if parts.keys() - {"memory"}
        else ""
    )
    text = (
        f"# ViT-B/16 over ranks, {datetime.date.today()}\n\n"
        f"Commit {machine.git_commit()}, {machine.cpu_name()}; random images.{timed} Load average at the end"
        f" {machine.load_average():.2f}.\n\n"
        f"    {machine.command_line('vit-ranks')}\n"
    )
    if "fixed" in parts:
        head = [
            "plugin",
            "fixed, ms",
            "each image, ms",
            "beyond torch_ddp, ms",
            "published, ms",
            "published, scaled, ms",
        ]
        precision = arguments.fixed_precision or "fp16"
        text += (
            f"\n## Fixed cost of a step\n\n{markdown_table(head, parts['fixed'])}\n\n"
            f"t = fixed + each x batch through batch sizes {FIXED_BATCHES[0]} and {FIXED_BATCHES[1]}, one rank on all"
            f" cores, gradient checkpointing on; torch_ddp in fp32, the others in {precision}. In brackets the least and"
            " the largest of the turns. Published: one Tesla T4, a line through five batch sizes; scaled by Torch DDP's"
            " step at batch size 8 here over 335 ms there.\n"
        )
    if "memory" in parts:
        text += memory.section(parts["memory"])
    return text


def main():
    arguments = parse_arguments()
    makers = {"fixed": fixed_lines, "memory": memory.lines}
    parts = {}
    for name in arguments.rows:
        print(f"==> {name}", flush=True)
        parts[name] = makers[name](arguments)
    page.publish(report(parts, arguments), arguments.output_dir, "vit-ranks")


if __name__ == "__main__":
    cli.run(main)
