"""assay tune against transformers (and peft) on one machine: the same weights, rows and settings, in turns A B A B.

script/bench tune calls this with the programs built; see docs/benchmarks.md for what is measured and how.
"""

import argparse
import datetime
import pathlib
import sys

from harness import cli, doctor, flops, losses, machine, page, programs, results, rows, table, turns, workload
from harness.machine import ROOT

RESULTS = ROOT / "bench" / "results"
PAGE = ROOT / "docs" / "benchmarks.md"


def parse_arguments():
    parser = argparse.ArgumentParser(
        prog="script/bench tune", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    cli.add_bin_dir(parser, "assay and assay-worker")
    parser.add_argument("--rows", default="", help="names, comma separated; all without it")
    parser.add_argument("--list", action="store_true", help="print the rows and end")
    parser.add_argument("--turns", type=int, default=5, help="runs of each program a row")
    parser.add_argument("--quick", action="store_true", help="one turn, one measured step, written to the data folder")
    parser.add_argument("--append", action="store_true", help="add rows and turns to today's results of this build")
    parser.add_argument("--output-dir", type=pathlib.Path, help="of the table and its data [bench/results]")
    cli.add_data_dir(parser)
    arguments = parser.parse_args()
    if arguments.turns < 1:
        parser.error("--turns must be at least 1")
    try:
        arguments.selected = rows.select([name for name in arguments.rows.split(",") if name])
    except ValueError as error:
        parser.error(str(error))
    return arguments


def measure_ceilings(selected, places):
    """What `assay doctor` says, once for each instruction set that the rows keep to; (about the machine, ceilings)."""
    environments = {row.ceilings: row.process_environment for row in selected}
    ceilings, about = {}, None
    for name, environment in environments.items():
        print(f"==> assay doctor ({name})", flush=True)
        about = doctor.examine(places.bin_dir / "assay", places.data_dir, environment)
        ceilings[name] = doctor.ceilings(about)
    return about, ceilings


def runnable(arguments, places):
    """The selected rows that this machine can run; a row asked for by name that it cannot is a RuntimeError."""
    gpu = bool(doctor.examine(places.bin_dir / "assay", places.data_dir, measure=False)["machine"]["gpus"])
    left_out = [row.name for row in arguments.selected if row.device == "cuda" and not gpu]
    if left_out and arguments.rows:
        raise RuntimeError(f"{', '.join(left_out)}: this machine has no GPU")
    if left_out:
        print(f"==> Left out, as this machine has no GPU: {', '.join(left_out)}", flush=True)
    return [row for row in arguments.selected if row.name not in left_out]


def make_session(selected, places):
    about, ceilings = measure_ceilings(selected, places)
    return {
        "at": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "command": machine.command_line("tune"),
        "commit": machine.git_commit(),
        "programs": about["versions"]["commit"],
        "machine": doctor.describe(about),
        "ceilings": ceilings,
    }


def measure_row(row, entry, places, count, session):
    """Adds turns to the entry; what goes wrong becomes its problem."""
    try:
        work = workload.prepare(row, places.data_dir)
        for turn in turns.run_turns(
            row,
            lambda: programs.run_ours(row, work, places),
            lambda: programs.run_peer(row, work),
            count,
            say=lambda text: print(text, flush=True),
        ):
            entry["turns"].append({"session": session, **turn})
    except (losses.Differ, RuntimeError, OSError) as error:
        entry["problem"] = str(error)
        print(f"    {error}", file=sys.stderr, flush=True)


def work_of(row, data_dir):
    work = workload.prepare(row, data_dir)
    shape = flops.Shape.from_config(work.config)
    return [flops.step_work(shape, step, row.method, row.dtype) for step in work.steps(row.rows_of_step)]


def main():
    arguments = parse_arguments()
    if arguments.list:
        for row in arguments.selected:
            print(f"{row.name:10} {row.title} (peer: {row.peer}; {row.warmup} + {row.steps} steps a turn)")
        return 0
    places = programs.Places(arguments.bin_dir, arguments.data_dir)
    places.data_dir.mkdir(parents=True, exist_ok=True)
    selected, count = runnable(arguments, places), arguments.turns
    output_dir = arguments.output_dir or RESULTS
    if arguments.quick:
        selected, count = [rows.shortened(row) for row in selected], 1
        output_dir = arguments.output_dir or places.data_dir / "quick"
    session = make_session(selected, places)
    path = output_dir / f"tune-{datetime.date.today()}.json"
    found = results.load(path, session) if arguments.append and path.exists() else results.empty(path.stem[-10:])
    found["sessions"].append(session)
    entries = [results.start_row(found, row, work_of(row, places.data_dir)) for row in selected]
    for entry in entries:
        entry["problem"] = None if entry["turns"] else "not measured: the run ended before its turn came"
    for row, entry in zip(selected, entries, strict=True):
        print(f"==> {row.name}: {row.title}", flush=True)
        entry["problem"] = None
        measure_row(row, entry, places, count, len(found["sessions"]) - 1)
        results.save(found, path)
        path.with_suffix(".md").write_text(table.report(found))
    if output_dir == RESULTS:
        page.update_file(PAGE, "tune", table.headline(found))
    print(f"\n{table.headline(found)}\nWritten to {path.with_suffix('.md')} and {path.name}")
    return 1 if any(found["rows"][row.name]["problem"] for row in selected) else 0


if __name__ == "__main__":
    cli.run(main, results.CannotAppend)
