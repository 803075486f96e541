"""Object storage: ours beside boto3, s3fs and s3torchconnector, in turns, against the embedded server in memory.

Every read is compared with what was written. Beside the rates stand the ceilings of the same run: a copy in memory, a
raw socket between two processes, and our own client on a store within its memory. A loopback server shows what a client
costs, not what a network gives.

Writes storage-DATE.md for people and storage-DATE.json with every turn, and the figures in docs/storage.md.
script/bench storage calls this with the programs built.
"""

import argparse
import datetime
import json
import pathlib
from dataclasses import asdict

from harness import cli, machine, page, results
from harness.machine import ROOT
from storage.clients import Failed, measure, rows_of, run
from storage.parts import PARTS, WentWrong
from storage.server import serve
from storage.works import QUICK, WORKS

from storage import ceilings, tables

RESULTS = ROOT / "bench" / "results"
PAGE = ROOT / "docs" / "storage.md"
SCHEMA = 1


def parse_arguments():
    parser = argparse.ArgumentParser(
        prog="script/bench storage", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    cli.add_bin_dir(parser, "assay")
    parser.add_argument("--quick", action="store_true", help="little work: tries the benchmark, measures nothing")
    parser.add_argument("--parts", help="these, comma separated: names of work, profile, faults, crash; all without it")
    parser.add_argument("--list", action="store_true", help="print the parts and end")
    parser.add_argument("--turns", type=int, help="runs of each client a work, in place of the work's own number")
    parser.add_argument("--append", action="store_true", help="add turns and parts to today's results")
    parser.add_argument("--output-dir", type=pathlib.Path, help="of the results [bench/results]")
    arguments = parser.parse_args()
    if arguments.turns is not None and arguments.turns < 1:
        parser.error("--turns must be at least 1")
    works = {work.name: work for work in (QUICK if arguments.quick else WORKS)}
    wanted = arguments.parts.split(",") if arguments.parts else [*works, *PARTS]
    if unknown := [name for name in wanted if name not in works and name not in PARTS]:
        parser.error(f"there is no {', '.join(unknown)} (there are {', '.join([*works, *PARTS])})")
    arguments.works = [works[name] for name in wanted if name in works]
    arguments.others = [name for name in wanted if name in PARTS]
    return arguments


def measure_ceilings(bin_dir, quick):
    command = [bin_dir / "assay", "object", "bench", "mem://null", "--size", (64 if quick else 512) << 20]
    null = rows_of(run([*command, "--repeats", 3, "--output", "json"], "the null store"))
    rate, _ = ceilings.loopback(256 if quick else 4096)
    _, per_cpu = ceilings.loopback(256 if quick else 2048, source_mib=64 if quick else 512)
    return {
        "copy in memory, one thread": ceilings.copy_mib_per_s(64 if quick else 512),
        "raw loopback socket, two processes": rate,
        "raw loopback socket out of the cache, per CPU second of the sender": per_cpu,
        "null store, put": null["put"]["mib_per_s"],
        "null store, get": null["get"]["mib_per_s"],
    }


def make_session():
    return {
        "at": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "command": machine.command_line("storage"),
        "commit": machine.git_commit(),
        "machine": machine.cpu_name(),
        "load": machine.load_average(),
    }


def start_work(found, work):
    """The entry of a work, ready for more turns."""
    entry = found["works"].setdefault(work.name, {"work": asdict(work), "ceilings": [], "turns": []})
    if entry["work"] != asdict(work):
        raise results.CannotAppend(f"{work.name} was measured as {entry['work']}: leave --append out to begin anew")
    return entry


def measure_work(work, found, arguments, save):
    entry = start_work(found, work)
    entry["ceilings"].append(measure_ceilings(arguments.bin_dir, arguments.quick))
    with serve(arguments.bin_dir) as url:
        for clients in measure(work, url, arguments.bin_dir, arguments.turns, lambda text: print(text, flush=True)):
            entry["turns"].append({"session": len(found["sessions"]) - 1, "clients": clients})
            save()


def main():
    arguments = parse_arguments()
    if arguments.list:
        print("\n".join([*(f"{w.name:13} {w.title}, {w.turns} turns" for w in arguments.works), *arguments.others]))
        return
    output_dir = arguments.output_dir or (ROOT / "build" / "bench-data" / "quick" if arguments.quick else RESULTS)
    path = output_dir / f"storage-{datetime.date.today()}.json"
    session = make_session()
    empty = {"schema": SCHEMA, "date": path.stem[-10:], "sessions": [], "works": {}, "parts": {}}
    found = json.loads(path.read_text()) if arguments.append and path.exists() else empty
    found["sessions"].append(session)

    def save():
        results.save(found, path)
        path.with_suffix(".md").write_text(tables.report(found))

    for work in arguments.works:
        print(f"==> {work.name}: {work.title}", flush=True)
        measure_work(work, found, arguments, save)
    for name in arguments.others:
        print(f"==> {name}", flush=True)
        found["parts"][name] = PARTS[name](arguments.bin_dir, arguments.quick)
        save()
    if output_dir == RESULTS:
        page.update_file(PAGE, "storage", tables.headline(found))
    print(f"\n{tables.headline(found)}\n\nWritten to {path.with_suffix('.md')} and {path.name}")


if __name__ == "__main__":
    cli.run(main, Failed, WentWrong, results.CannotAppend)
