"""Runs the clients of the storage table, in turns, against a server that stands."""

import json
import sys

from harness import process
from harness.machine import ROOT

from storage.server import BUCKET, environment
from storage.works import OURS, PEERS

PEER = ROOT / "bench" / "peers" / "object.py"


class Failed(Exception):
    def __init__(self, what, finished):
        super().__init__(f"{what} ended with exit code {finished.exit_code}:\n{finished.tail()}")


def run(command, what, variables=None):
    """The standard output of a command that must not fail."""
    finished = process.run(command, variables)
    if finished.exit_code != 0:
        raise Failed(what, finished)
    return finished.stdout


def rows_of(stdout):
    """{operation: row}; libraries may have printed something before."""
    return {row["operation"]: row for row in json.loads(stdout[stdout.index("[") :])}


def command_of(client, work, url, bin_dir):
    same = ["--work", work.kind, "--size", work.size, "--count", work.count, "--repeats", 1]
    if client == OURS:
        return [bin_dir / "assay", "object", "bench", f"s3://{BUCKET}", *same, "--output", "json"]
    return [sys.executable, PEER, "--client", client, *same, "--endpoint", url, "--bucket", BUCKET]


def run_client(client, work, url, bin_dir):
    return rows_of(run(command_of(client, work, url, bin_dir), client, environment(url)))


def empty_bucket(bin_dir, url):
    """What a client left would make the server take other memory for the next one."""
    command = [bin_dir / "assay", "object", "rm", "--recursive", "--quiet", f"s3://{BUCKET}/"]
    run(command, "emptying the bucket", environment(url))


def measure(work, url, bin_dir, turns=None, say=print):
    """Yields {client: {operation: row}} of each turn, each client with the server's memory as the last left it.

    A first run that does not count fills that memory: otherwise whoever comes first pays for the server's new pages."""
    run_client(OURS, work, url, bin_dir)
    for turn in range(turns or work.turns):
        measured = {}
        for client in (OURS, *PEERS):
            if turn < work.turns_of(client, turns):
                measured[client] = run_client(client, work, url, bin_dir)
                empty_bucket(bin_dir, url)
                rates = ", ".join(f"{name} {row['mib_per_s']:.0f} MiB/s" for name, row in measured[client].items())
                say(f"    turn {turn + 1} {client}: {rates}")
        yield measured
