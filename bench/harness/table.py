"""Markdown of the fine-tuning results."""

from harness import rows
from harness.summary import summarise, turn_seconds

#: Above this many cores of work by others, a turn's times say more about them.
BUSY_CORES = 0.15


def markdown_table(head, lines):
    ruler = ["---"] * len(head)
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in [head, ruler, *lines])


def verdict(value, at_least, aim, larger_is_better=True):
    sign = 1 if larger_is_better else -1
    if sign * value >= sign * aim:
        return "aim"
    return "yes" if sign * value >= sign * at_least else "**no**"


def ratio_text(summary):
    if summary.interval is None:
        return f"{summary.ratio:.2f}"
    low, high = summary.interval
    return f"{summary.ratio:.2f} ({low:.2f} to {high:.2f})"


def measured(results):
    """(name, entry, Summary) of the rows that have turns and no problem, in the table's order."""
    known = [row.name for row in rows.ROWS]
    entries = sorted(results["rows"].items(), key=lambda item: known.index(item[0]) if item[0] in known else 99)
    return [(name, entry, summarise(entry)) for name, entry in entries if entry["turns"] and not entry["problem"]]


def ceilings_of(results, entry, row):
    """Of the last session that measured the row."""
    return results["sessions"][entry["turns"][-1]["session"]]["ceilings"][row.ceilings]


def speed_table(results):
    lines = []
    for name, entry, s in measured(results):
        if s.row.measures == "start":
            continue
        ceilings = ceilings_of(results, entry, s.row)
        lines.append(
            [
                name,
                s.row.title,
                f"{s.ours.tokens_per_second:.0f}",
                f"{s.theirs.tokens_per_second:.0f}",
                ratio_text(s),
                f"{s.row.at_least:g} / {s.row.aim:g}",
                verdict(s.ratio, s.row.at_least, s.row.aim),
                f"{s.share(s.ours, ceilings):.0%}",
                f"{s.share(s.theirs, ceilings):.0%}",
            ]
        )
    head = ["row", "work", "ours, tokens/s", "peer, tokens/s", "ratio (95 %)", "at least / aim", "reached"]
    return markdown_table([*head, "ours, share of product peak", "peer, share"], lines) if lines else ""


def start_table(results):
    lines = [
        [
            name,
            s.row.title,
            f"{s.ours.seconds:.2f}",
            f"{s.theirs.seconds:.2f}",
            ratio_text(s),
            f"{s.row.at_least:g} / {s.row.aim:g}",
            verdict(s.ratio, s.row.at_least, s.row.aim),
        ]
        for name, _, s in measured(results)
        if s.row.measures == "start"
    ]
    head = ["row", "work", "ours, s", "peer, s", "ratio (95 %)", "at least / aim", "reached"]
    return markdown_table(head, lines) if lines else ""


def memory_table(results):
    lines = [
        [
            name,
            f"{s.ours.peak_gib:.2f}",
            f"{s.theirs.peak_gib:.2f}",
            f"{s.memory_ratio:.2f}",
            verdict(s.memory_ratio, rows.MEMORY_AT_LEAST, rows.MEMORY_AIM, larger_is_better=False),
            entry["turns"][-1]["theirs"]["extra"].get("peer", s.row.peer),
            s.turns,
            f"{s.loss_difference:.4%}",
        ]
        for name, entry, s in measured(results)
    ]
    reached = f"at most {rows.MEMORY_AT_LEAST:g}, aim {rows.MEMORY_AIM:g}"
    head = ["row", "ours, peak GiB", "peer, GiB", "ratio", reached, "peer", "turns", "largest loss difference"]
    return markdown_table(head, lines)


def work_table(results):
    lines = []
    for name, entry, s in measured(results):
        if s.row.measures == "start":
            continue
        ceilings = ceilings_of(results, entry, s.row)
        bandwidth = s.bandwidth_share(s.ours, ceilings)
        lines.append(
            [
                name,
                f"{s.tokens:.0f}",
                f"{s.flops / 1e12:.3f}",
                f"{s.ours.seconds:.3f}",
                f"{s.theirs.seconds:.3f}",
                f"{s.ours.tflops:.3f}",
                f"{s.theirs.tflops:.3f}",
                f"{ceilings['tflops'][s.row.dtype]:.3f} ({s.row.dtype}, {s.row.ceilings})",
                "" if bandwidth is None else f"{bandwidth:.1%}",
            ]
        )
    head = ["row", "real tokens a step", "TFLOP needed", "ours, s/step", "peer, s/step", "ours, TFLOP/s"]
    head += ["peer, TFLOP/s", "product peak, TFLOP/s", "ours, share of memory bandwidth (weights and states)"]
    return markdown_table(head, lines) if lines else ""


def turns_table(results):
    lines = []
    for name, entry, s in measured(results):
        for number, turn in enumerate(entry["turns"], 1):
            ours, theirs = turn["ours"], turn["theirs"]
            mine, other = turn_seconds(s.row, ours), turn_seconds(s.row, theirs)
            lines.append(
                [
                    name,
                    number,
                    f"{mine:.3f}",
                    f"{other:.3f}",
                    f"{other / mine:.2f}",
                    f"{ours['cpu_seconds']:.1f} / {theirs['cpu_seconds']:.1f}",
                    f"{ours['load_before']:.2f} / {theirs['load_before']:.2f}",
                    f"{ours['others_cores']:.2f} / {theirs['others_cores']:.2f}",
                ]
            )
    head = ["row", "turn", "ours, s", "peer, s", "ratio", "CPU s of the run", "load average before"]
    return markdown_table([*head, "cores busy with others"], lines)


def busy_note(results):
    """A warning when others used the machine in rows that ask for a quiet one; empty otherwise."""
    busiest = {
        name: max(turn[side]["others_cores"] for turn in entry["turns"] for side in ("ours", "theirs"))
        for name, entry, s in measured(results)
        if not s.row.neighbour
    }
    for session in results["sessions"]:
        for isa, ceilings in session["ceilings"].items():
            name = f"the {isa} ceilings"
            busiest[name] = max(busiest.get(name, 0), ceilings["others_cores"])
    loud = [f"{name} ({cores:.2f} cores)" for name, cores in busiest.items() if cores > BUSY_CORES]
    return f"**Other programs kept the machine busy** during: {', '.join(loud)}.\n" if loud else ""


def problems(results):
    return "".join(f"- **{name}**: {e['problem']}\n" for name, e in results["rows"].items() if e["problem"])


def sessions(results):
    lines = []
    for number, session in enumerate(results["sessions"], 1):
        peaks = "; ".join(
            f"{isa}: " + ", ".join(f"{dtype} {tflops:.3f}" for dtype, tflops in c["tflops"].items()) + " TFLOP/s, "
            f"memory {c['memory_gb_per_s']:.1f} GB/s"
            for isa, c in session["ceilings"].items()
        )
        lines.append(
            f"{number}. {session['at']}, programs of commit {session['programs']}, script of {session['commit']}.\n"
            f"   `{session['command']}`\n"
            f"   Ceilings by `assay doctor` in this run: {peaks}."
        )
    return "\n".join(lines) + "\n"


def headline(results):
    """The tables that the docs page shows."""
    machine = results["sessions"][-1]["machine"] if results["sessions"] else ""
    programs = results["sessions"][-1]["programs"] if results["sessions"] else ""
    parts = [f"Measured on {results['date']}, commit {programs}, on {machine}.\n"]
    parts += [busy_note(results)]
    failed = problems(results)
    parts += [f"Rows without a result:\n\n{failed}"] if failed else []
    parts += [speed_table(results), start_table(results), memory_table(results)]
    return "\n\n".join(part.rstrip("\n") for part in parts if part) + "\n"


def report(results):
    """The whole dated file."""
    return (
        f"# Fine-tune against transformers, {results['date']}\n\n"
        f"{headline(results)}\n"
        "Method, formula and caveats: [docs/benchmarks.md](../../docs/benchmarks.md).\n\n"
        f"## Work and ceilings\n\n{work_table(results)}\n\n"
        f"## Every turn\n\nSeconds are those of a measured step (of the `start` row: until the first step); each pair"
        f" is ours / the peer's.\n\n{turns_table(results)}\n\n"
        f"## Invocations\n\n{sessions(results)}"
    )
