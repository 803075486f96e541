"""Markdown of how command-line tools compare."""

import statistics

from harness.table import markdown_table

from storage.bare import BARE
from storage.tools import OPERATIONS, OURS, PEERS

#: Times the rate, and the most of the CPU seconds.
ASKED = {"rclone": (1.5, 0.4), "s5cmd": (1.5, 0.4), "aws s3": (3.0, 0.4)}


def median(entry, tool, operation, field):
    values = [turn[tool][operation][field] for turn in entry["turns"] if operation in turn.get(tool, {})]
    return statistics.median(values) if values else None


def rate_line(entry, tool, operation):
    seconds, cpu = (median(entry, tool, operation, field) for field in ("seconds", "cpu_seconds"))
    rss = median(entry, tool, operation, "peak_rss_bytes")
    work = entry["work"]
    return [
        OPERATIONS[operation].split(":")[0],
        tool,
        sum(operation in turn.get(tool, {}) for turn in entry["turns"]),
        f"{seconds:.2f}",
        f"{cpu:.2f}",
        f"{work['size'] * work['count'] / 2**20 / seconds:.0f}",
        f"{rss / 2**20:.0f}",
    ]


def work_table(entry):
    lines = [
        rate_line(entry, tool, operation)
        for operation in OPERATIONS
        for tool in (OURS, *PEERS, BARE)
        if median(entry, tool, operation, "seconds") is not None
    ]
    return markdown_table(["", "tool", "turns", "seconds", "CPU seconds", "MiB/s", "peak MiB"], lines)


def ratio_line(entry, operation, peer):
    ours, theirs = (
        [median(entry, tool, operation, field) for field in ("seconds", "cpu_seconds")] for tool in (OURS, peer)
    )
    rate, cpu = theirs[0] / ours[0], ours[1] / theirs[1]
    least, most = ASKED[peer]
    reached = "yes" if rate >= least and cpu <= most else "**no**"
    return [
        entry["work"]["title"],
        OPERATIONS[operation].split(":")[0],
        peer,
        f"{rate:.1f}",
        f"{cpu:.2f}",
        f"{least:g} / {most:g}",
        reached,
    ]


def ratio_table(results):
    lines = [
        ratio_line(entry, operation, peer)
        for entry in results["works"].values()
        for operation in OPERATIONS
        for peer in PEERS
        if median(entry, peer, operation, "seconds") and median(entry, OURS, operation, "seconds")
    ]
    head = ["work", "", "beside", "times its rate", "share of its CPU seconds", "asked", "reached"]
    return markdown_table(head, lines)


def least_line(entry):
    """Of a get: the CPU seconds of the bare loop, those of each tool as a multiple, and what is asked of ours at most."""
    bare, ours = (median(entry, tool, "get", "cpu_seconds") for tool in (BARE, OURS))
    peers = {peer: median(entry, peer, "get", "cpu_seconds") for peer in PEERS}
    asked = min(ASKED[peer][1] * cpu for peer, cpu in peers.items() if cpu)
    multiples = [f"{cpu / bare:.1f}" if cpu else "-" for cpu in (ours, *peers.values())]
    return [entry["work"]["title"], f"{bare:.2f}", *multiples, f"{asked / bare:.1f}"]


def least_table(results):
    """What a get costs at least, and whether that leaves room for what is asked."""
    lines = [
        least_line(entry)
        for entry in results["works"].values()
        if median(entry, BARE, "get", "cpu_seconds")
        and median(entry, OURS, "get", "cpu_seconds")
        and any(median(entry, peer, "get", "cpu_seconds") for peer in PEERS)
    ]
    head = ["get", "CPU seconds of a bare loop", *(f"{tool}, times" for tool in (OURS, *PEERS)), "asked of ours, times"]
    return markdown_table(head, lines) if lines else ""


def report(results):
    session = results["sessions"][-1]
    lines = [[s["at"], s["commit"], f"{s['load']:.2f}", f"`{s['command']}`"] for s in results["sessions"]]
    text = [
        f"# Object storage from the command line, {results['date']}",
        f"{session['machine']}. Tools run one at a time, in turns, from files in the page cache against `assay object"
        " serve --root memory` on the loopback, on the same cores. Every object that was put was fetched and every file"
        " that was got was read, and all bytes compared. CPU seconds are user and system of the tool alone. Medians over"
        " turns. Ours does not wait for the disk in a get (`--no-sync`), as the others do not, and compares size and"
        " time in a second sync (`--compare time`), as they do. Small works keep what was got until they are over: ext4 passes"
        " by inodes that were removed in the last minutes one by one, for each new file.",
        "\n".join(f"- {tool}: {version}" for tool, version in results["versions"].items()),
        "\n".join(f"- {meaning}" for meaning in OPERATIONS.values()),
        markdown_table(["begun", "commit", "load before", "command"], lines),
        "## Beside the others",
        ratio_table(results),
        "The bare loop receives as many bytes from a process that only sends them, and writes them into as many new"
        " files: no request, no checksum, one thread. What is asked is 0.4 of the CPU seconds of the best of the others.",
        least_table(results),
    ]
    for entry in results["works"].values():
        text += [f"## {entry['work']['title']}", work_table(entry)]
    return "\n\n".join(text) + "\n"
