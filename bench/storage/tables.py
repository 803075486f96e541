"""Markdown of the storage results."""

import math
import statistics

from harness.intervals import bootstrap_interval, median_ratio
from harness.table import markdown_table

from storage import works
from storage.works import OURS, PEERS

OPERATIONS = ("put", "get")
BUDGET_MIB = 256  # of --memory-budget, as it is without the flag


def rows_of(entry, client, operation):
    return [turn["clients"][client][operation] for turn in entry["turns"] if client in turn["clients"]]


def median(rows, field):
    return statistics.median(row[field] for row in rows)


def fields_of(work):
    return ("objects_per_s", "objects_per_cpu_s") if work["per_object"] else ("mib_per_s", "mib_per_cpu_s")


def best_peer(entry, operation, field):
    against = entry["work"]["against"]
    return against or max(PEERS, key=lambda client: median(rows_of(entry, client, operation), field))


def ratio_to(entry, client, operation, field):
    """Of medians over turns, with its 95 % interval; (ratio, text)."""
    pairs = [
        (turn["clients"][client][operation][field], turn["clients"][OURS][operation][field])
        for turn in entry["turns"]
        if client in turn["clients"]
    ]
    ratio, interval = median_ratio(pairs), bootstrap_interval(pairs)
    return ratio, f"{ratio:.1f}" + (f" ({interval[0]:.1f} to {interval[1]:.1f})" if interval else "")


def memory_beyond_mib(rows):
    """Infinite where the system did not tell."""
    told = [row["peak_rss_beyond_bytes"] for row in rows]
    return math.inf if None in told else max(told) / 2**20


def ceilings_of(results, entry=None):
    """Medians over those that were measured before the turns of a work, or before all."""
    entries = [entry] if entry else list(results["works"].values())
    found = [ceilings for each in entries for ceilings in each["ceilings"]]
    return {name: statistics.median(one[name] for one in found) for name in found[0]} if found else {}


def ceiling_table(results):
    lines = [[name, f"{value:.0f}"] for name, value in ceilings_of(results).items()]
    return markdown_table(["ceiling, median of those before each work", "MiB/s"], lines)


def work_table(entry):
    """One line a client and direction."""
    rate, per_cpu = fields_of(entry["work"])
    unit = "objects" if entry["work"]["per_object"] else "MiB"
    lines = []
    for operation in OPERATIONS:
        for client in (OURS, *PEERS):
            rows = rows_of(entry, client, operation)
            values = [f"{median(rows, field):.0f}" for field in (rate, per_cpu)]
            lines.append([operation, client, len(rows), *values, f"{memory_beyond_mib(rows):.0f}"])
    head = ["", "client", "turns", f"{unit}/s", f"{unit} per CPU s", "MiB of memory beyond"]
    return markdown_table(head, lines)


def reached(work, operation, rate, per_cpu, share, beyond):
    """Whether all that the project asks of itself holds."""
    least = work["at_least"][operation]
    fast = per_cpu >= least and (work["only_cpu"] or rate >= least)
    return "yes" if fast and (share is None or share >= work["socket_share"]) and beyond <= BUDGET_MIB else "**no**"


def goal_line(results, entry, operation):
    work = entry["work"]
    rate, per_cpu = fields_of(work)
    ours = rows_of(entry, OURS, operation)
    (rate_ratio, rate_text), (cpu_ratio, cpu_text) = (
        ratio_to(entry, best_peer(entry, operation, field), operation, field) for field in (rate, per_cpu)
    )
    socket = ceilings_of(results, entry)["raw loopback socket, two processes"]
    share = median(ours, "mib_per_s") / socket
    asked = share if work["socket_share"] else None
    return [
        work["title"],
        operation,
        f"{median(ours, 'mib_per_s'):.0f}",
        f"{share:.0%}",
        f"{rate_text} {best_peer(entry, operation, rate)}",
        f"{cpu_text} {best_peer(entry, operation, per_cpu)}",
        f"{memory_beyond_mib(ours):.0f}",
        f"{work['at_least'][operation]}x" + (" per CPU s" if work["only_cpu"] else ""),
        reached(work, operation, rate_ratio, cpu_ratio, asked, memory_beyond_mib(ours)),
    ]


def goal_table(results):
    head = [
        "work",
        "",
        "ours, MiB/s",
        "of the raw socket",
        "rate to the best peer (95 %)",
        "per CPU s to the best (95 %)",
        "MiB of memory beyond",
        "at least",
        "reached",
    ]
    entries = [results["works"][work.name] for work in [*works.WORKS, *works.QUICK] if work.name in results["works"]]
    unique = {entry["work"]["name"]: entry for entry in entries}
    return markdown_table(
        head, [goal_line(results, entry, operation) for entry in unique.values() for operation in OPERATIONS]
    )


def profile_table(found):
    lines = [
        [name, f"{found[name]:.0f}", f"{found['total']:.0f}", f"{found[name] / found['total']:.0%}"]
        for name in OPERATIONS
    ]
    head = [f"{found['mib']} MiB under {found['profile']}", "MiB/s", "modelled total, MiB/s", "reached"]
    return markdown_table(head, lines)


def fault_table(found):
    line = [found["operations"], found["right"], found["errors"], found["wrong"], found["first_error"] or "-"]
    return markdown_table(["operations, profile bad-day", "right", "clear errors", "wrong", "the first error"], [line])


def crash_table(found):
    line = [sum(found.values()), *found.values()]
    return markdown_table(["kill -9 within a put", "old", "new", "mixed"], [line])


PART_TABLES = {"profile": profile_table, "faults": fault_table, "crash": crash_table}


def part_tables(results):
    return {name: PART_TABLES[name](results["parts"][name]) for name in PART_TABLES if name in results["parts"]}


def sessions(results):
    lines = [[s["at"], s["commit"], f"{s['load']:.2f}", f"`{s['command']}`"] for s in results["sessions"]]
    return markdown_table(["begun", "commit", "load before", "command"], lines)


def headline(results):
    """What the documentation shows."""
    file = f"bench/results/storage-{results['date']}.md"
    machine = results["sessions"][-1]["machine"]
    about = f"Measured on {results['date']} on {machine}; every figure: [{file}](../{file})."
    tables = [goal_table(results)] if results["works"] else []
    return "\n\n".join([about, *tables, *part_tables(results).values()])


def report(results):
    """The whole page of results."""
    text = [
        f"# Object storage, {results['date']}",
        f"{results['sessions'][-1]['machine']}. Clients run one at a time against `assay object serve --root memory` on"
        " the loopback, with the server on the same cores: the rates say what a client costs, not what a network gives."
        " CPU seconds are the client's own. Medians over turns; ratios with the 95 % interval of a bootstrap over turns"
        " where there are three.",
        sessions(results),
    ]
    if results["works"]:
        text += ["## Ceilings", ceiling_table(results), "## Beside the others", goal_table(results)]
    for entry in results["works"].values():
        text += [f"## {entry['work']['title']}", work_table(entry)]
    for name, table in part_tables(results).items():
        text += [f"## {name}", table]
    return "\n\n".join(text) + "\n"
