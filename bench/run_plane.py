"""The object client's data plane: connections of our own beside libcurl's, plain and by TLS, by number of I/O threads.

In turns, against the embedded server in memory, every read compared with what was written. Beside the rates stands what
as many raw sockets move between as many pairs of processes. Server and client share this machine's cores: a rate says
what both cost together, and the CPU seconds beside it what the client's part is. script/bench plane calls this with the
program built.
"""

import argparse
import datetime
import pathlib
import statistics
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor

from harness import cli, machine
from harness.machine import ROOT
from harness.table import markdown_table
from storage.ceilings import loopback
from storage.clients import Failed, rows_of, run
from storage.server import BUCKET, environment, serve

MIB = 1 << 20
WORKS = {"1 x 512 MiB": (512, 1), "8 x 64 MiB": (64, 8), "64 x 8 MiB": (8, 64)}
WAYS = {
    "ours, 1 thread": {"ASSAY_STORAGE_IO_THREADS": "1"},
    "ours, 2 threads": {"ASSAY_STORAGE_IO_THREADS": "2"},
    "ours, 4 threads": {"ASSAY_STORAGE_IO_THREADS": "4"},
    "libcurl, 1 thread": {"ASSAY_STORAGE_IO_THREADS": "1", "ASSAY_STORAGE_LIBCURL": "true"},
    "libcurl, 2 threads": {"ASSAY_STORAGE_IO_THREADS": "2", "ASSAY_STORAGE_LIBCURL": "true"},
}
COMPUTED_WAY, COMPUTED_WORK = "ours, 2 threads", (32, 16)


def parse_arguments():
    parser = argparse.ArgumentParser(
        prog="script/bench plane", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    cli.add_bin_dir(parser, "assay")
    parser.add_argument("--turns", type=int, default=3, help="of each way and work")
    parser.add_argument("--output-dir", type=pathlib.Path, default=ROOT / "bench" / "results")
    return parser.parse_args()


def make_identity(folder):
    """(certificate, key) files for this machine."""
    certificate, key = folder / "certificate.pem", folder / "key.pem"
    command = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:P-256",
        "-nodes",
        "-days",
        "2",
    ]
    names = ["-subj", "/CN=bench", "-addext", "subjectAltName=IP:127.0.0.1"]
    subprocess.run([*command, *names, "-out", certificate, "-keyout", key], check=True, capture_output=True)
    return certificate, key


def turn(arguments, url, work, variables):
    mib, count = work
    kind = ["--work", "objects" if count > 1 else "object", "--size", mib * MIB, "--count", count]
    command = [
        arguments.bin_dir / "assay",
        "object",
        "bench",
        f"s3://{BUCKET}",
        *kind,
        "--repeats",
        1,
        "--output",
        "json",
    ]
    return rows_of(run(command, "object bench", {**environment(url), **variables}))


def measure_ways(arguments, url, variables, found):
    """Works in turns too: they are compared with one another, and the machine is not as fast at every time."""
    for work in WORKS.values():
        turn(arguments, url, work, variables)  # fills the server's memory
    for number in range(arguments.turns):
        for name, work in WORKS.items():
            for way, own in WAYS.items():
                rows = turn(arguments, url, work, {**variables, **own})
                for operation, row in rows.items():
                    found.setdefault((name, operation, way), []).append(row)
                print(
                    f"    turn {number + 1}, {name}, {way}: {[round(row['mib_per_s']) for row in rows.values()]}",
                    flush=True,
                )


def measure_computed(arguments, url, variables):
    """{operation: part of the rate that is left while one process computes}."""
    left = {}
    for _ in range(arguments.turns):
        alone = turn(arguments, url, COMPUTED_WORK, {**variables, **WAYS[COMPUTED_WAY]})
        caller = subprocess.Popen(["python3", "-c", "while True: pass"])
        try:
            beside = turn(arguments, url, COMPUTED_WORK, {**variables, **WAYS[COMPUTED_WAY]})
        finally:
            caller.kill()
            caller.wait()
        for operation, row in beside.items():
            left.setdefault(operation, []).append(row["mib_per_s"] / alone[operation]["mib_per_s"])
    return {operation: statistics.median(parts) for operation, parts in left.items()}


def raw_sockets(pairs):
    """MiB/s of as many connections at once, each between two processes."""
    with ThreadPoolExecutor(pairs) as pool:
        return sum(rate for rate, _ in pool.map(lambda _: loopback(2048 // pairs), range(pairs)))


def median_of(rows, field):
    return statistics.median(row[field] for row in rows)


def rate_table(plain, tls, ceilings):
    head = ["work", "", "way", "MiB/s", "MiB per CPU s", "of raw sockets", "TLS MiB/s", "per CPU s", "of plain"]
    lines = []
    for (name, operation, way), rows in plain.items():
        rate, by_tls = median_of(rows, "mib_per_s"), median_of(tls[name, operation, way], "mib_per_s")
        threads = min(int(WAYS[way]["ASSAY_STORAGE_IO_THREADS"]), max(ceilings))
        cells = [f"{rate:.0f}", f"{median_of(rows, 'mib_per_cpu_s'):.0f}", f"{rate / ceilings[threads]:.2f}"]
        cells += [
            f"{by_tls:.0f}",
            f"{median_of(tls[name, operation, way], 'mib_per_cpu_s'):.0f}",
            f"{by_tls / rate:.2f}",
        ]
        lines.append([name, operation, way, *cells])
    return markdown_table(head, lines)


def write_report(arguments, session, plain, tls, ceilings, computed):
    raw = ", ".join(f"{pairs}: {rate:.0f} MiB/s" for pairs, rate in ceilings.items())
    text = f"""# The object client's data plane, {session["date"]}

Commit {session["commit"]}, {session["machine"]}; load average {session["load"]} before. The server (`assay object serve --root memory`, two event loops) shares these cores with the client: the rate is that of both, the CPU seconds are the client's own. Medians of {arguments.turns} turns, each way once a turn; every read compared with what was written. TLS: a self-signed certificate that is verified, records encrypted on both sides.

    {session["command"]}

Raw sockets at once, a process on each side, one copy from and to the cache: {raw}.

{rate_table(plain, tls, ceilings)}

While one process computes beside it ({COMPUTED_WAY}, {COMPUTED_WORK[1]} objects of {COMPUTED_WORK[0]} MiB), of the rate alone are left: {", ".join(f"{operation} {part:.2f}" for operation, part in computed.items())}.
"""
    path = arguments.output_dir / f"storage-plane-{session['date']}.md"
    path.write_text(text)
    print(text, f"Written to {path}")


def main():
    arguments = parse_arguments()
    session = {
        "date": datetime.date.today(),
        "commit": machine.git_commit(),
        "machine": machine.cpu_name(),
        "load": machine.load_average(),
        "command": machine.command_line("plane"),
    }
    ceilings = {pairs: raw_sockets(pairs) for pairs in (1, 2)}
    plain, tls = {}, {}
    with serve(arguments.bin_dir) as url:
        measure_ways(arguments, url, {}, plain)
        computed = measure_computed(arguments, url, {})
    with tempfile.TemporaryDirectory() as folder:
        certificate, key = make_identity(pathlib.Path(folder))
        with serve(arguments.bin_dir, "--tls-cert", certificate, "--tls-key", key) as url:
            measure_ways(arguments, url, {"AWS_CA_BUNDLE": str(certificate)}, tls)
    write_report(arguments, session, plain, tls, ceilings, computed)


if __name__ == "__main__":
    cli.run(main, Failed)
