"""Object storage: ours beside boto3, s3fs and s3torchconnector, in turns, against the embedded server in memory.

Every read is compared with what was written. Beside the rates stand the ceilings of the same run: a copy in memory, a raw
socket between two processes, and our own client on a store within its memory. A loopback server shows what a client
costs, not what a network gives.

script/bench storage calls this with the programs built.
"""

import argparse
import datetime
import json
import pathlib
import statistics
import sys

from harness import machine, page, process
from harness.machine import ROOT
from harness.table import markdown_table
from storage.server import BUCKET, environment, serve
from storage.works import QUICK, WORKS

from storage import ceilings, crash

PEER = ROOT / "bench" / "peers" / "object.py"
OURS = "assay"
PROFILE = "same-region-s3"
MIXED_OPERATIONS, KILLS = 10_000, 200


def parse_arguments():
    parser = argparse.ArgumentParser(prog="script/bench storage", description=__doc__)
    parser.add_argument("--bin-dir", type=pathlib.Path, required=True, help="the folder of assay")
    parser.add_argument("--quick", action="store_true", help="little work: tries the benchmark, measures nothing")
    parser.add_argument("--only", help="these parts, comma separated: names of work, profile, faults, crash")
    parser.add_argument("--output-dir", type=pathlib.Path, default=ROOT / "bench" / "results")
    return parser.parse_args()


def fail(what, finished):
    sys.exit(f"script/bench: {what} ended with exit code {finished.exit_code}:\n{finished.tail()}")


def our_command(bin_dir, work):
    command = [bin_dir / "assay", "object", "bench", f"s3://{BUCKET}", "--work", work.kind, "--size", work.size]
    return [*command, "--count", work.count, "--repeats", 1, "--output", "json"]


def peer_command(client, work, url):
    command = [sys.executable, PEER, "--client", client, "--work", work.kind, "--size", work.size]
    return [*command, "--count", work.count, "--endpoint", url, "--bucket", BUCKET]


def run_client(command, url, name):
    finished = process.run(command, environment(url))
    if finished.exit_code != 0:
        fail(name, finished)
    return {row["operation"]: row for row in json.loads(finished.stdout[finished.stdout.index("[") :])}


def empty_bucket(bin_dir, url):
    """What a client left would make the server take other memory for the next one."""
    command = [bin_dir / "assay", "object", "rm", "--recursive", "--quiet", f"s3://{BUCKET}/"]
    finished = process.run(command, environment(url))
    if finished.exit_code != 0:
        fail("emptying the bucket", finished)


def measure(work, url, bin_dir, say=print):
    """{client: {operation: [row of each turn]}}, the clients in turns, each with the server's memory as the last left it.

    A first run that does not count fills that memory: otherwise whoever comes first pays for the server's new pages."""
    run_client(our_command(bin_dir, work), url, OURS)
    measured = {client: {"put": [], "get": []} for client in (OURS, *work.clients)}
    for turn in range(work.turns):
        for client, rows in measured.items():
            command = our_command(bin_dir, work) if client == OURS else peer_command(client, work, url)
            for operation, row in run_client(command, url, client).items():
                rows[operation].append(row)
            empty_bucket(bin_dir, url)
            say(
                f"    turn {turn + 1}/{work.turns} {client}: put {rows['put'][-1]['mib_per_s']:.0f} MiB/s, "
                f"get {rows['get'][-1]['mib_per_s']:.0f} MiB/s"
            )
    return measured


def median(rows, field):
    return statistics.median(row[field] for row in rows)


def work_table(work, measured):
    """One line a client and direction, with what ours is of the best of the others."""
    rate, per_cpu = ("objects_per_s", "objects_per_cpu_s") if work.per_object else ("mib_per_s", "mib_per_cpu_s")
    unit = "objects" if work.per_object else "MiB"
    lines = []
    for operation in ("put", "get"):
        best = {
            field: max(median(rows[operation], field) for client, rows in measured.items() if client != OURS)
            for field in (rate, per_cpu)
        }
        for client, rows in measured.items():
            values = {field: median(rows[operation], field) for field in (rate, per_cpu)}
            ratios = [f"{values[field] / best[field]:.1f}" if client == OURS else "" for field in (rate, per_cpu)]
            beyond = max(row["peak_rss_beyond_bytes"] for row in rows[operation]) / 2**20
            lines.append([operation, client, f"{values[rate]:.0f}", f"{values[per_cpu]:.0f}", *ratios, f"{beyond:.0f}"])
    head = [
        "",
        "client",
        f"{unit}/s",
        f"{unit} per CPU s",
        "ours to the best, rate",
        "per CPU s",
        "MiB of memory beyond",
    ]
    return markdown_table(head, lines)


def null_store(bin_dir, size):
    """Our client's own code on a store within its memory: no request, no socket."""
    command = [bin_dir / "assay", "object", "bench", "mem://null", "--size", size, "--repeats", 3, "--output", "json"]
    finished = process.run(command)
    if finished.exit_code != 0:
        fail("the null store", finished)
    return {row["operation"]: row["mib_per_s"] for row in json.loads(finished.stdout)}


def ceiling_table(bin_dir, quick):
    null = null_store(bin_dir, (64 if quick else 512) << 20)
    lines = [
        ["copy in memory, one thread", f"{ceilings.copy_mib_per_s(64 if quick else 1024):.0f}"],
        ["raw loopback socket, two processes", f"{ceilings.loopback_mib_per_s(256 if quick else 4096):.0f}"],
        ["null store, put", f"{null['put']:.0f}"],
        ["null store, get", f"{null['get']:.0f}"],
    ]
    return markdown_table(["ceiling", "MiB/s"], lines)


def profile_part(bin_dir, quick):
    """A get under a modelled network."""
    total = profile_total_mib_per_s()
    size = (256 if quick else 2048) << 20
    with serve(bin_dir, "--profile", PROFILE) as url:
        command = [bin_dir / "assay", "object", "bench", f"s3://{BUCKET}", "--size", size, "--repeats", 1]
        for _ in range(2):  # the first fills the server's memory
            rows = run_client([*command, "--output", "json"], url, "the profile's run")
    lines = [
        [name, f"{row['mib_per_s']:.0f}", f"{total:.0f}", f"{row['mib_per_s'] / total:.0%}"]
        for name, row in rows.items()
    ]
    return markdown_table([f"{size >> 20} MiB under {PROFILE}", "MiB/s", "modelled total, MiB/s", "reached"], lines)


def profile_total_mib_per_s():
    import yaml

    profile = yaml.safe_load((ROOT / "share" / "profiles" / f"{PROFILE}.yaml").read_text())
    text = str(profile["bandwidth"]["total"])
    units = {"KiB": 1 / 1024, "MiB": 1, "GiB": 1024, "kB": 1e3 / 2**20, "MB": 1e6 / 2**20, "GB": 1e9 / 2**20}
    for unit, mib in units.items():
        if text.endswith(unit):
            return float(text.removesuffix(unit)) * mib
    return float(text) / 2**20


def fault_part(bin_dir, quick):
    operations = 500 if quick else MIXED_OPERATIONS
    with serve(bin_dir, "--profile", "bad-day", "--seed", 7) as url:
        command = [bin_dir / "assay", "object", "bench", f"s3://{BUCKET}", "--work", "mixed", "--count", operations]
        finished = process.run([*command, "--stall-timeout", 2, "--output", "json"], environment(url))
    if finished.exit_code != 0:
        fail("the run with faults", finished)
    found = json.loads(finished.stdout)
    line = [operations, found["right"], found["errors"], found["wrong"], found["first_error"] or "-"]
    return markdown_table(["operations, profile bad-day", "right", "clear errors", "wrong", "the first error"], [line])


def crash_part(bin_dir, quick):
    found = crash.run(bin_dir, 10 if quick else KILLS)
    if found["mixed"]:
        sys.exit(f"script/bench: a killed put left a mixture: {found}")
    return markdown_table(["kill -9 within a put", "old", "new", "mixed"], [[sum(found.values()), *found.values()]])


PARTS = {"profile": profile_part, "faults": fault_part, "crash": crash_part}


def main():
    arguments = parse_arguments()
    bin_dir = arguments.bin_dir.resolve()
    works = {work.name: work for work in (QUICK if arguments.quick else WORKS)}
    wanted = arguments.only.split(",") if arguments.only else [*works, *PARTS]
    if unknown := [name for name in wanted if name not in works and name not in PARTS]:
        sys.exit(f"script/bench: there is no {', '.join(unknown)} (there are {', '.join([*works, *PARTS])})")
    load = machine.load_average()
    parts = [f"## Ceilings\n\n{ceiling_table(bin_dir, arguments.quick)}"]
    with serve(bin_dir) as url:
        for name in wanted:
            if name in works:
                print(f"{works[name].title}", flush=True)
                parts.append(f"## {works[name].title}\n\n{work_table(works[name], measure(works[name], url, bin_dir))}")
    for name in wanted:
        if name in PARTS:
            print(name, flush=True)
            parts.append(f"## {name}\n\n{PARTS[name](bin_dir, arguments.quick)}")
    body = "\n\n".join(parts)
    text = (
        f"# Object storage, {datetime.date.today()}\n\n"
        f"Commit {machine.git_commit()}, {machine.cpu_name()}; load average {load:.2f} before. Clients run one at a time"
        " against `assay object serve --root memory` on the loopback, with the server on the same cores: the rates say what"
        " a client costs, not what a network gives. CPU seconds are the client's own. Medians over turns.\n\n"
        f"    {machine.command_line('storage')}\n\n{body}\n"
    )
    page.publish(text, arguments.output_dir, "storage")


if __name__ == "__main__":
    main()
