"""Two builds of assay in turns: what a change costs or gains, on this machine.

script/bench builds --before DIR calls this with the programs of this checkout built; DIR holds the programs of another
build. Storage works run against one server, of this checkout's build; fine-tuning rows on the same model and rows of
tokens, and their losses must agree; "vit" needs bench_vit_step in both folders, else it is left out.
"""

import argparse
import pathlib
import statistics
import sys

import run_vit
from harness import choice, cli, losses, machine, page, programs, rows, workload
from harness.intervals import bootstrap_interval, median_ratio
from harness.machine import ROOT
from harness.table import markdown_table
from storage.clients import Failed, empty_bucket, run_client
from storage.server import serve
from storage.works import OURS, WORKS

STORAGE = {work.name: work for work in WORKS}
TUNE = {row.name: row for row in rows.ROWS if row.device == "cpu"}
VIT = "vit"
VIT_ROW = run_vit.ROWS[0]
DEFAULT = (*STORAGE, "lora", "full", "lora-512", VIT)
HEADER = ["row", "what", "before", "after", "after / before", "95 %", ""]


def parse_arguments():
    parser = argparse.ArgumentParser(prog="script/bench builds", description=__doc__)
    cli.add_bin_dir(parser, "this build's programs")
    parser.add_argument("--before", type=pathlib.Path, required=True, help="the folder of the other build's programs")
    parser.add_argument("--rows", default=",".join(DEFAULT), help=f"[{','.join(DEFAULT)}]")
    parser.add_argument("--turns", type=int, default=5, help="runs of each build a row")
    parser.add_argument("--output-dir", type=pathlib.Path, default=ROOT / "bench" / "results")
    cli.add_data_dir(parser)
    arguments = parser.parse_args()
    arguments.selected = choice.of_names(parser, arguments.rows, [*STORAGE, *TUNE, VIT])
    arguments.builds = [arguments.before.resolve(), arguments.bin_dir]
    return arguments


def in_turns(arguments, measure):
    """[(before, after)] of `measure(bin_dir)`; every other turn begins with the other build."""
    turns = []
    for turn in range(arguments.turns):
        order = arguments.builds if turn % 2 == 0 else arguments.builds[::-1]
        measured = {bin_dir: measure(bin_dir) for bin_dir in order}
        turns.append(tuple(measured[bin_dir] for bin_dir in arguments.builds))
        print(f"    turn {turn + 1}/{arguments.turns}", flush=True)
    return turns


def line(name, what, pairs):
    """Of pairs of rates (before, after): their medians, the ratio and its interval."""
    before, after = (statistics.median(side) for side in zip(*pairs, strict=True))
    interval = bootstrap_interval(pairs)
    between = f"{interval[0]:.2f} to {interval[1]:.2f}" if interval else ""
    return [name, what, f"{before:.4g}", f"{after:.4g}", f"{median_ratio(pairs):.2f}", between, verdict(interval)]


def verdict(interval):
    """Of an interval of the ratio of two rates."""
    if interval is None:
        return "too few turns to tell"
    low, high = interval
    return "faster" if low > 1 else "slower" if high < 1 else "no difference seen"


def storage_lines(work, arguments):
    with serve(arguments.builds[1]) as url:

        def measure(bin_dir):
            found = run_client(OURS, work, url, bin_dir)
            empty_bucket(bin_dir, url)
            return found

        measure(arguments.builds[1])  # fills the server's memory
        turns = in_turns(arguments, measure)
    unit = "objects" if work.per_object else "mib"
    fields = {f"{unit}_per_s": f"{unit}/s", f"{unit}_per_cpu_s": f"{unit} per CPU s"}
    return [
        line(
            work.name,
            f"{operation}, {title.replace('mib', 'MiB')}",
            [tuple(b[operation][field] for b in turn) for turn in turns],
        )
        for operation in ("put", "get")
        for field, title in fields.items()
    ]


def tune_lines(row, arguments):
    work = workload.prepare(row, arguments.data_dir)
    turns = in_turns(
        arguments, lambda bin_dir: programs.run_ours(row, work, programs.Places(bin_dir, arguments.data_dir))
    )
    for before, after in turns:
        losses.check(row, after, before)
    return [line(row.name, "steps/s", [tuple(row.steps / run.measured_seconds(row) for run in turn) for turn in turns])]


def vit_lines(arguments):
    missing = [bin_dir for bin_dir in arguments.builds if not (bin_dir / "bench_vit_step").exists()]
    if missing:
        print(f"    left out: {missing[0]} has no bench_vit_step", file=sys.stderr, flush=True)
        return []
    model_dir, data_file = run_vit.prepare(arguments.data_dir, max(row.batch for row in run_vit.ROWS))
    options = ["--model", model_dir, "--data", data_file, "--steps", "4", *VIT_ROW.options]
    turns = in_turns(arguments, lambda bin_dir: run_vit.run([bin_dir / "bench_vit_step", *options]))
    for before, after in turns:
        # A build of long ago tells no gradient norm: then the losses alone are compared.
        run_vit.differences(VIT_ROW, after, {"first_grad_norm": after["first_grad_norm"], **before})
    return [
        line(f"vit {VIT_ROW.name}", "images/s", [tuple(VIT_ROW.batch / run["seconds"] for run in t) for t in turns])
    ]


def lines_of(name, arguments):
    if name in STORAGE:
        return storage_lines(STORAGE[name], arguments)
    return vit_lines(arguments) if name == VIT else tune_lines(TUNE[name], arguments)


def version_of(bin_dir):
    return run_vit.process.run([bin_dir / "assay", "--version"], {}).stdout.strip()


def report(table, load, arguments):
    before, after = (version_of(bin_dir) for bin_dir in arguments.builds)
    return (
        f"# Two builds of assay in turns\n\n{machine.cpu_name()}, load before {load:.2f}. Before: {before}. After:"
        f" {after}. Rates, medians over {arguments.turns} turns; the ratio's interval is a bootstrap over turns: one that"
        " holds 1.00 shows no difference.\n\n"
        f"    {machine.command_line('builds')}\n\n{markdown_table(HEADER, table)}\n"
    )


def main():
    """A row that fails keeps no other row from the page."""
    arguments = parse_arguments()
    arguments.data_dir.mkdir(parents=True, exist_ok=True)
    load, table, failed = machine.load_average(), [], False
    for name in arguments.selected:
        print(f"==> {name}", flush=True)
        try:
            lines = lines_of(name, arguments)
        except (Failed, losses.Differ, RuntimeError, OSError) as error:
            print(f"    {error}", file=sys.stderr, flush=True)
            lines = [[name, f"failed: {str(error).splitlines()[0]}", *[""] * (len(HEADER) - 2)]]
            failed = True
        for cells in lines:
            print("    " + "  ".join(cells), flush=True)
        table += lines
    page.publish(report(table, load, arguments), arguments.output_dir, "builds")
    return 1 if failed else 0


if __name__ == "__main__":
    cli.run(main)
