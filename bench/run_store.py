"""What the sample store's queries cost on a file of many measurements: runs store_bench and writes its table.

script/bench store calls this with the programs built.
"""

import argparse
import datetime
import pathlib
import re
import sys

from harness import cli, machine, page, process
from harness.machine import ROOT
from harness.table import markdown_table

LINE = re.compile(r"(?P<query>.+?) +(?P<rows>\d+) rows +(?P<wall>\S+ \S+) wall +(?P<cpu>\S+ \S+) CPU")


def parse_arguments():
    parser = argparse.ArgumentParser(prog="script/bench store", description=__doc__)
    cli.add_bin_dir(parser, "store_bench")
    parser.add_argument("--measurements", type=int, default=100_000)
    parser.add_argument("--output-dir", type=pathlib.Path, default=ROOT / "bench" / "results")
    return parser.parse_args()


def queries(text):
    """Cells of the table out of what store_bench prints."""
    return [list(match.groups()) for line in text.splitlines() if (match := LINE.fullmatch(line))]


def main():
    arguments = parse_arguments()
    finished = process.run([arguments.bin_dir / "store_bench", arguments.measurements])
    lines = queries(finished.stdout)
    if finished.exit_code != 0 or not lines:
        sys.exit(f"script/bench: store_bench ended with exit code {finished.exit_code}:\n{finished.tail()}")
    text = (
        f"# Sample store at {arguments.measurements:,} measurements, {datetime.date.today()}\n\n"
        f"Commit {machine.git_commit()}, {machine.cpu_name()}; load average {finished.load_before:.2f} before, others"
        f" kept {finished.others_cores:.2f} cores busy meanwhile.\n\n"
        f"    {machine.command_line('store')}\n\n"
        f"{finished.stdout.splitlines()[0]}.\n\n"
        f"{markdown_table(['query', 'rows', 'wall', 'CPU'], lines)}\n"
    )
    page.publish(text, arguments.output_dir, "samplestore")


if __name__ == "__main__":
    cli.run(main)
