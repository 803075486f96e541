"""Collectives between ranks of one machine, or of several that are all this one, beside c10d's gloo, in turns.

script/bench comm calls this with comm_bench built. Every turn starts the ranks anew; within a turn the ways follow each
other round by round. A row's figures are medians over the turns.
"""

import argparse
import datetime
import pathlib
import random
import socket
import statistics

from harness import choice, cli, intervals, machine, page, process
from harness.machine import ROOT
from harness.table import markdown_table

PEER = "gloo, c10d's"
WITHIN = "within a machine: "
WITHIN_PEER = WITHIN + "shm alone"
COLLECTIVES = ("all_reduce", "all_gather", "reduce_scatter")


def parse_arguments():
    parser = argparse.ArgumentParser(prog="script/bench comm", description=__doc__)
    cli.add_bin_dir(parser, "comm_bench")
    parser.add_argument("--rows", default="all_gather,reduce_scatter", help=f"of {', '.join(COLLECTIVES)}")
    parser.add_argument("--mebibytes", default="83", help="sizes of the full buffers, comma separated")
    parser.add_argument("--ranks", type=int, default=2, help="processes of one thread each")
    parser.add_argument("--machines", type=int, default=1, help="that the ranks take each other to be on")
    parser.add_argument("--turns", type=int, default=5, help="runs of the program")
    parser.add_argument("--rounds", type=int, default=15, help="collectives of each way in a turn")
    parser.add_argument("--output-dir", type=pathlib.Path, default=ROOT / "bench" / "results")
    arguments = parser.parse_args()
    arguments.rows = choice.of_names(parser, arguments.rows, COLLECTIVES)
    return arguments


def free_port():
    """The first of three ports in a row that nobody has."""
    for _ in range(100):
        port = random.randrange(20000, 60000)
        with socket.socket() as one, socket.socket() as two, socket.socket() as three:
            try:
                for place, listener in enumerate((one, two, three)):
                    listener.bind(("127.0.0.1", port + place))
                return port
            except OSError:
                continue
    raise RuntimeError("there are no three free ports in a row")


def run(arguments):
    """{(collective, size, way): milliseconds} of one turn, and what the rest of the machine did meanwhile."""
    options = {
        "ranks": arguments.ranks,
        "machines": arguments.machines,
        "rounds": arguments.rounds,
        "port": free_port(),
        "mebibytes": arguments.mebibytes,
        "collectives": ",".join(arguments.rows),
    }
    words = [word for name, value in options.items() for word in (f"--{name}", value)]
    command = [arguments.bin_dir / "comm_bench", *words]
    finished = process.run(command, {"OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""})
    if finished.exit_code != 0:
        raise RuntimeError(f"comm_bench ended with exit code {finished.exit_code}: {finished.tail()}")
    found = {}
    for line in "".join(finished.stdout).splitlines():
        cells = [cell.strip() for cell in line.strip("| \n").split("|")]
        if cells[0] in COLLECTIVES:
            found[tuple(cells[:3])] = float(cells[3])
    return found, finished.others_cores


def lines_of(turns, ways, peer):
    """Each way of these beside `peer`."""
    lines = []
    for collective, size, way in filter(ways, turns[0]):
        pairs = [(turn[collective, size, way], turn[collective, size, peer]) for turn in turns]
        milliseconds = statistics.median(pair[0] for pair in pairs)
        interval = intervals.bootstrap_interval(pairs)
        lines.append(
            [
                collective,
                size,
                way,
                f"{milliseconds:.2f}",
                f"{float(size.split()[0]) / milliseconds * 1e3:.0f}",
                f"{intervals.median_ratio(pairs):.2f}",
                f"{interval[0]:.2f} to {interval[1]:.2f}" if interval else "",
            ]
        )
    return lines


def tables(turns):
    head = ["collective", "size", "how", "ms", "MiB/s", "times c10d's gloo", "95 %"]
    text = markdown_table(head, lines_of(turns, lambda row: not row[2].startswith(WITHIN), PEER))
    inner = lines_of(turns, lambda row: row[2].startswith(WITHIN), WITHIN_PEER)
    if inner:
        text += "\n\nThe group of a machine's ranks as each communicator makes it, on all machines at once; buffers in it:\n\n"
        text += markdown_table([*head[:5], "times shm alone", "95 %"], inner)
    return text


def where(arguments):
    if arguments.machines == 1:
        return "of one machine"
    return f"of {arguments.machines} machines that are all this one (over its loopback)"


def report(turns, others, arguments):
    return (
        f"# Collectives between {arguments.ranks} ranks {where(arguments)}, {datetime.date.today()}\n\n"
        f"Commit {machine.git_commit()}, {machine.cpu_name()}; {arguments.turns} turns of {arguments.rounds} rounds, one"
        f" process of one thread a rank, float32. The rest of the machine kept {statistics.median(others):.2f} cores busy"
        " meanwhile.\n\n"
        f"    {machine.command_line('comm')}\n\n"
        f"{tables(turns)}\n\n"
        "Sizes are those of the full buffer. In it: buffers that the communicator allocated; private: any other tensor."
        " Milliseconds are medians over turns of a turn's median; the interval is a bootstrap over turns.\n"
    )


def main():
    arguments = parse_arguments()
    turns, others = [], []
    for turn in range(1, arguments.turns + 1):
        print(f"==> turn {turn}/{arguments.turns}", flush=True)
        found, busy = run(arguments)
        turns.append(found)
        others.append(busy)
    page.publish(report(turns, others, arguments), arguments.output_dir, "comm")


if __name__ == "__main__":
    cli.run(main)
