"""Explorers of one space at once, one of them killed and one suspended for a while: is every point measured exactly once?

script/bench explorers calls this with the programs built. Each round is a fresh store, on SQLite or on PostgreSQL, a
space of a dozen points whose runs end within a fraction of a second, and three explorers of it. At moments that the
round's number decides, one is killed with SIGKILL, and another stopped and continued; then the two that live end by
themselves. A round is right when every point has one valid measurement, no more and no less, and no claim is left.
"""

import argparse
import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time

from harness import cli, machine, page
from harness.machine import ROOT
from harness.table import markdown_table

sys.path[:0] = [str(ROOT / "tests" / "support"), str(ROOT / "tests" / "cli")]

STORES = ("sqlite", "postgresql")
BATCHES = range(1, 13)
SUSPENDED_SECONDS = (0.1, 3.0)
ROUND_SECONDS = 120


def parse_arguments():
    parser = argparse.ArgumentParser(prog="script/bench explorers", description=__doc__)
    cli.add_bin_dir(parser, "assay")
    parser.add_argument("--stores", default=",".join(STORES), help=f"[{','.join(STORES)}]")
    parser.add_argument("--rounds", type=int, default=100, help="for each store")
    parser.add_argument(
        "--first", type=int, default=0, help="number of the first round, for those that are made in parts"
    )
    parser.add_argument("--output-dir", type=pathlib.Path, default=ROOT / "bench" / "results")
    return parser.parse_args()


class Workplace:
    """A home, a model, a space of points, and a worker whose runs end soon with made-up figures."""

    def __init__(self, folder, bin_dir):
        os.environ.setdefault("ASSAY_BIN_DIR", str(bin_dir))
        import conftest  # of tests/cli

        self.assay = bin_dir / "assay"
        (folder / "model").mkdir()
        (folder / "model" / "config.json").write_text(json.dumps(conftest.TINY_CONFIG))
        row = {"input_ids": list(range(1, 20)), "labels": [-100] * 6 + list(range(7, 20))}
        (folder / "rows.jsonl").write_text((json.dumps(row) + "\n") * 4)
        text = conftest.SPACE.format(model=folder / "model", data=folder / "rows.jsonl", steps=8)
        self.space = folder / "space.yaml"
        self.space.write_text(text.replace("[16, 32]", "[16]").replace("[1, 2]", str(list(BATCHES))))
        worker = folder / "worker"
        program = conftest.WORKER.format(python=sys.executable)
        worker.write_text(program.replace("steps, rows =", "import time\ntime.sleep(0.2)\nsteps, rows ="))
        worker.chmod(0o755)
        home = {"HOME": str(folder), "XDG_CACHE_HOME": f"{folder}/cache", "TMPDIR": str(folder)}
        self.environment = os.environ | home | {"ASSAY_WORKER": str(worker)}

    def explore(self, store):
        # A point of a run that stood still has failed, and is run again.
        command = [self.assay, "explore", self.space, "--store", store, "--retries", "5"]
        return subprocess.Popen(
            command, env=self.environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        )

    def valid_by_point(self, store):
        command = [self.assay, "results", self.space, "--store", store, "--output", "json"]
        out = subprocess.run(command, env=self.environment, capture_output=True, text=True, check=True).stdout
        counts = {}
        for measurement in json.loads(out):
            if measurement["outcome"] == "valid":
                counts[measurement["entity_id"]] = counts.get(measurement["entity_id"], 0) + 1
        return counts


def round_of(workplace, store, seed):
    """Nothing where all is right; else what is not."""
    chance = random.Random(seed)
    explorers = [workplace.explore(store) for _ in range(3)]
    killed, suspended, _ = chance.sample(explorers, 3)
    time.sleep(chance.uniform(0.2, 2.5))
    suspended.send_signal(signal.SIGSTOP)
    time.sleep(chance.uniform(0, 0.5))
    killed.kill()
    time.sleep(chance.uniform(*SUSPENDED_SECONDS))
    suspended.send_signal(signal.SIGCONT)
    for explorer in explorers:
        _, errors = explorer.communicate(timeout=ROUND_SECONDS)
        if explorer is not killed and explorer.returncode != 0:
            return f"an explorer ended with {explorer.returncode}: {errors.strip().splitlines()[-1:]}"
    counts = workplace.valid_by_point(store)
    wrong = {point: count for point, count in counts.items() if count != 1}
    return f"{len(counts)} of {len(BATCHES)} points, {wrong}" if wrong or len(counts) != len(BATCHES) else ""


def rounds_on(name, workplace, folder, arguments):
    """[(seconds, what is wrong)] of each round."""
    if name == "sqlite":
        return play(lambda seed: f"sqlite:///{folder}/{seed}.db", workplace, arguments)
    import postgres

    with postgres.Server() as server:
        return play(lambda seed: server.store(f"round{seed}"), workplace, arguments)


def play(store_of, workplace, arguments):
    played = []
    for seed in range(arguments.first, arguments.first + arguments.rounds):
        start = time.monotonic()
        wrong = round_of(workplace, store_of(seed), seed)
        played.append((time.monotonic() - start, wrong))
        if wrong:
            print(f"    round {seed}: {wrong}", file=sys.stderr, flush=True)
    return played


def main():
    arguments = parse_arguments()
    table, load = [], machine.load_average()
    for name in arguments.stores.split(","):
        with tempfile.TemporaryDirectory(prefix="assay-explorers-") as folder:
            workplace = Workplace(pathlib.Path(folder), arguments.bin_dir)
            played = rounds_on(name, workplace, folder, arguments)
        right = sum(not wrong for _, wrong in played)
        table.append([name, str(len(played)), str(right), f"{sum(s for s, _ in played):.0f}"])
        print("    " + "  ".join(table[-1]), flush=True)
    header = ["store", f"rounds from {arguments.first}", "every point exactly once", "seconds"]
    text = (
        f"# Explorers of one space, one killed and one suspended\n\nCommit {machine.git_commit()},"
        f" {machine.cpu_name()}, load before {load:.2f}. Three explorers of {len(BATCHES)} points a round; one is killed"
        f" with SIGKILL, another stopped for {SUSPENDED_SECONDS[0]} to {SUSPENDED_SECONDS[1]} s.\n\n"
        f"    {machine.command_line('explorers')}\n\n{markdown_table(header, table)}\n"
    )
    page.publish(text, arguments.output_dir, "explorers")
    return 0 if all(row[1] == row[2] for row in table) else 1


if __name__ == "__main__":
    cli.run(main)
