"""`assay object` beside rclone, s5cmd and aws s3: folders put, got and synchronised, in turns.

Writes storage-tools-DATE.md for people and storage-tools-DATE.json with every turn, and the ratios in docs/storage.md.
script/bench storage-tools calls this with the programs built.
"""

import argparse
import datetime
import json
import pathlib
from dataclasses import asdict

from harness import cli, machine, page, results
from harness.machine import ROOT
from storage.bare import BARE, measure_bare
from storage.server import serve
from storage.tools import (
    OPERATIONS,
    OURS,
    PEERS,
    QUICK,
    WORKS,
    Targets,
    ToolFailed,
    WrongContent,
    default_data_dir,
    measure_tool,
    versions,
)

from storage import tool_tables

RESULTS = ROOT / "bench" / "results"
PAGE = ROOT / "docs" / "storage.md"


def parse_arguments():
    parser = argparse.ArgumentParser(
        prog="script/bench storage-tools", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    cli.add_bin_dir(parser, "assay")
    parser.add_argument("--quick", action="store_true", help="little work: tries the benchmark, measures nothing")
    parser.add_argument("--works", help="these, comma separated: large, medium, small; all without it")
    parser.add_argument("--operations", default=",".join(OPERATIONS), help="of put, get, sync, again [all]")
    parser.add_argument("--tools", default=",".join((OURS, *PEERS)), help="comma separated [all]")
    parser.add_argument("--turns", type=int, default=1)
    parser.add_argument("--append", action="store_true", help="add turns to today's results")
    parser.add_argument("--output-dir", type=pathlib.Path, help="of the results [bench/results]")
    parser.add_argument(
        "--data-dir", type=cli.whole_path, default=default_data_dir(), help="of the files that are sent"
    )
    arguments = parser.parse_args()
    works = {work.name: work for work in (QUICK if arguments.quick else WORKS)}
    wanted = arguments.works.split(",") if arguments.works else list(works)
    if unknown := [name for name in wanted if name not in works]:
        parser.error(f"there is no {', '.join(unknown)} (there are {', '.join(works)})")
    arguments.works = [works[name] for name in wanted]
    return arguments


def main():
    arguments = parse_arguments()
    quick_dir = ROOT / "build" / "bench-data" / "quick"
    output_dir = arguments.output_dir or (quick_dir if arguments.quick else RESULTS)
    data_dir = quick_dir / "tools" if arguments.quick else arguments.data_dir
    path = output_dir / f"storage-tools-{datetime.date.today()}.json"
    found = {"date": path.stem[-10:], "versions": versions(), "sessions": [], "works": {}}
    if arguments.append and path.exists():
        found = json.loads(path.read_text())
    found["sessions"].append(
        {
            "at": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC"),
            "command": machine.command_line("storage-tools"),
            "commit": machine.git_commit(),
            "machine": machine.cpu_name(),
            "load": machine.load_average(),
        }
    )
    for work in arguments.works:
        entry = found["works"].setdefault(work.name, {"work": asdict(work), "turns": []})
        operations = arguments.operations.split(",")
        with serve(arguments.bin_dir) as url, Targets(data_dir) as targets:
            for turn in range(arguments.turns):
                entry["turns"].append({})
                for tool in arguments.tools.split(","):
                    rows = measure_tool(tool, work, url, arguments.bin_dir, data_dir, operations, targets)
                    entry["turns"][-1][tool] = rows
                    times = ", ".join(f"{name} {row['seconds']:.2f} s" for name, row in rows.items())
                    print(f"{work.name}, turn {turn + 1}, {tool}: {times}", flush=True)
                if "get" in operations:
                    with targets.fresh(work) as target:
                        entry["turns"][-1][BARE] = {"get": measure_bare(work, target)}
                results.save(found, path)
                path.with_suffix(".md").write_text(tool_tables.report(found))
    if output_dir == RESULTS:
        about = f"Measured on {found['date']}: [bench/results/{path.stem}.md](../bench/results/{path.stem}.md)."
        tables = f"{tool_tables.ratio_table(found)}\n\n{tool_tables.least_table(found)}"
        page.update_file(PAGE, "storage-tools", f"{about}\n\n{tables}".rstrip())
    print(f"\n{tool_tables.ratio_table(found)}\n\nWritten to {path.with_suffix('.md')}")


if __name__ == "__main__":
    cli.run(main, ToolFailed, WrongContent)
