"""What a launcher adds to a point, and how busy it keeps what it has.

script/bench launchers calls this with the programs built. Workers are stand-ins that take a known time: what is left of
the time of an exploration, by point, is the launcher's (and the store's). On Ray the cluster runs already; what starting
its one job takes is told apart. Occupation is the time that workers worked, of all slots over the whole exploration.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

from harness import cli, machine, page
from harness.machine import ROOT
from harness.table import markdown_table

sys.path[:0] = [str(ROOT / "tests" / "support"), str(ROOT / "tests" / "cli")]

MACHINES, SLOTS = 4, 8
WORK_SECONDS = 1.0


def parse_arguments():
    parser = argparse.ArgumentParser(prog="script/bench launchers", description=__doc__)
    cli.add_bin_dir(parser, "assay")
    parser.add_argument("--launchers", default="local,torchrun,ray")
    parser.add_argument("--points", type=int, default=20, help="one after the other")
    parser.add_argument("--many", type=int, default=200, help="over all slots of the Ray cluster")
    parser.add_argument("--output-dir", type=pathlib.Path, default=ROOT / "bench" / "results")
    return parser.parse_args()


class Workplace:
    def __init__(self, folder, bin_dir):
        os.environ.setdefault("ASSAY_BIN_DIR", str(bin_dir))
        import conftest  # of tests/cli

        self.folder = folder
        self.assay = bin_dir / "assay"
        (folder / "model").mkdir()
        (folder / "model" / "config.json").write_text(json.dumps(conftest.TINY_CONFIG))
        (folder / "rows.jsonl").write_text(json.dumps({"input_ids": [1, 2, 3, 4], "labels": [-100, 2, 3, 4]}) + "\n")
        self.text = conftest.SPACE.format(model=folder / "model", data=folder / "rows.jsonl", steps=8)
        worker = folder / "worker"
        program = conftest.WORKER.format(python=f"{sys.executable} -S")
        worker.write_text(program.replace("steps, rows =", f"import time\ntime.sleep({WORK_SECONDS})\nsteps, rows ="))
        worker.chmod(0o755)
        home = {"HOME": str(folder), "XDG_CACHE_HOME": f"{folder}/cache", "TMPDIR": str(folder)}
        tools = {"ASSAY_WORKER": str(worker), "ASSAY_TORCHRUN": str(pathlib.Path(sys.prefix) / "bin" / "torchrun")}
        self.environment = os.environ | home | tools

    def explore(self, name, points, *options):
        """Seconds that an exploration of so many points takes."""
        space = self.folder / f"{name}.yaml"
        text = self.text.replace("[16, 32]", "[16]").replace("[1, 2]", str(list(range(1, points + 1))))
        space.write_text(text)
        command = [self.assay, "explore", space, "--store", f"sqlite:///{self.folder}/{name}.db", *options]
        start = time.monotonic()
        finished = subprocess.run(command, env=self.environment, capture_output=True, text=True)
        if finished.returncode != 0 or f"{points} measured" not in finished.stdout:
            raise RuntimeError(f"{name}: {finished.stderr.strip().splitlines()[-1:]}")
        return time.monotonic() - start


def one_by_one(workplace, launcher, arguments, *options):
    """The time of a point that is not its worker's, by what many more points add."""
    few = workplace.explore(f"{launcher}-few", 2, "--launcher", launcher, "--workers", "1", *options)
    all_points = workplace.explore(
        f"{launcher}-all", arguments.points + 2, "--launcher", launcher, "--workers", "1", *options
    )
    each = (all_points - few) / arguments.points - WORK_SECONDS
    return [launcher, "overhead of a point", f"{each:.2f} s", f"{few - 2 * (each + WORK_SECONDS):.2f} s to start"]


def ray_lines(workplace, arguments):
    import ray_cluster

    workplace.environment |= {"ASSAY_RAY_PYTHON": str(ray_cluster.PYTHON), "RAY_AUTH_TOKEN": ray_cluster.TOKEN}
    cluster = ray_cluster.Cluster(machines=MACHINES, cpus=SLOTS // MACHINES)
    try:
        address = ["--address", cluster.address]
        lines = [one_by_one(workplace, "ray", arguments, *address)]
        if arguments.many > 0:
            seconds = workplace.explore("ray-many", arguments.many, "--launcher", "ray", *address)
            share = arguments.many * WORK_SECONDS / (SLOTS * seconds)
            what = f"{arguments.many} points of {WORK_SECONDS:g} s over {SLOTS} slots of {MACHINES} raylets"
            lines.append(["ray", what, f"{share:.0%} occupied", f"{seconds:.0f} s"])
        return lines
    finally:
        cluster.stop()


def main():
    arguments = parse_arguments()
    table, load = [], machine.load_average()
    with tempfile.TemporaryDirectory(prefix="assay-launchers-") as folder:
        workplace = Workplace(pathlib.Path(folder), arguments.bin_dir)
        for launcher in arguments.launchers.split(","):
            lines = (
                ray_lines(workplace, arguments) if launcher == "ray" else [one_by_one(workplace, launcher, arguments)]
            )
            for line in lines:
                print("    " + "  ".join(line), flush=True)
            table += lines
    text = (
        f"# Launchers\n\nCommit {machine.git_commit()}, {machine.cpu_name()}, load before {load:.2f}."
        f" {arguments.points} points one after the other, workers that take {WORK_SECONDS:g} s and their own start.\n\n"
        f"    {machine.command_line('launchers')}\n\n{markdown_table(['launcher', 'what', 'value', ''], table)}\n"
    )
    page.publish(text, arguments.output_dir, "launchers")


if __name__ == "__main__":
    cli.run(main)
