"""Data sets as shards beside mosaicml-streaming: converting rows, shuffled passes, the start of a large epoch.

Both sides have one core (taskset), the same rows and the same files, in turns. The rows are texts of the project's
corpus of 500 to 1,500 bytes, {"text", "label"}. Everything lies in --work-dir: a folder in memory (/dev/shm) leaves
the disk out of it. script/bench shards calls this with the programs built.
"""

import argparse
import datetime
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile

from harness import cli, machine, page
from harness.intervals import bootstrap_interval, median_ratio
from harness.machine import ROOT
from harness.table import markdown_table, verdict

PEER = ROOT / "bench" / "peers" / "shards.py"
STREAMING = pathlib.Path(sys.prefix) / "apart" / "streaming" / "bin" / "python"
COLUMNS = {"text": "str", "label": "int"}


def parse_arguments():
    parser = argparse.ArgumentParser(prog="script/bench shards", description=__doc__)
    cli.add_bin_dir(parser, "assay")
    parser.add_argument("--turns", type=int, default=5, help="turns A B A B")
    parser.add_argument("--megabytes", type=int, default=200, help="of rows")
    parser.add_argument("--epoch-samples", type=int, default=10_000_000, help="of the large epoch; 0: leave it out")
    parser.add_argument("--work-dir", type=pathlib.Path, help="where rows and shards lie meanwhile")
    parser.add_argument("--output-dir", type=pathlib.Path, default=ROOT / "bench" / "results")
    return parser.parse_args()


def write_rows(path, megabytes):
    """How many rows."""
    corpus = " ".join(file.read_text(errors="ignore") for file in sorted((ROOT / "share" / "corpus").rglob("*.txt")))
    draw = random.Random(1)
    size = rows = 0
    with open(path, "w") as file:
        while size < megabytes * 1e6:
            begin = draw.randrange(len(corpus) - 2000)
            line = json.dumps({"text": corpus[begin : begin + draw.randint(500, 1500)], "label": rows}) + "\n"
            size += file.write(line)
            rows += 1
    return rows


class Sides:
    """Runs ours and theirs on the first core."""

    def __init__(self, bin_dir, folder, cores="0"):
        self.assay = bin_dir / "assay"
        self.folder = folder
        self.cores = cores

    def run(self, command, cores=None):
        environment = dict(os.environ, TMPDIR=str(self.folder), CUDA_VISIBLE_DEVICES="")
        command = ["taskset", "-c", cores or self.cores, *map(str, command)]
        done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"{' '.join(command)}: {done.stderr.strip()[-500:]}")
        return json.loads(done.stdout[done.stdout.index("{") :])

    def fresh(self, name):
        place = self.folder / name
        shutil.rmtree(place, ignore_errors=True)
        return place

    def convert_ours(self, rows, compression="", workers=1, cores=None):
        out = self.fresh("ours")
        options = ["--compression", compression, "--columns", "text:str,label:int", "--workers", workers]
        return self.run([self.assay, "data", "convert", rows, out, *options, "--output", "json"], cores)["seconds"]

    def convert_theirs(self, rows, compression=""):
        out = self.fresh("theirs")
        options = ["--columns", json.dumps(COLUMNS), "--compression", compression]
        return self.run([STREAMING, PEER, "convert", "--data", rows, "--out", out, *options])["seconds"]

    def stream_ours(self, folder, *options):
        command = [self.assay, "data", "bench", folder, "--batch", 8, "--threads", 1, "--output", "json", *options]
        return self.run(command)

    def stream_theirs(self, folder, *options):
        return self.run([STREAMING, PEER, "stream", "--data", folder, "--out", self.fresh("local"), *options])


def conversion_line(name, sides, rows, megabytes, turns, at_least, aim, compression=""):
    pairs = []
    for _ in range(turns):
        ours, theirs = sides.convert_ours(rows, compression), sides.convert_theirs(rows, compression)
        print(f"    {name}: {megabytes / ours:.0f} MB/s, peer {megabytes / theirs:.0f} MB/s", flush=True)
        pairs.append((ours, theirs))
    return line_of(name, pairs, lambda seconds: f"{megabytes / seconds:.0f} MB/s", at_least, aim)


def line_of(name, pairs, text, at_least, aim):
    ratio, interval = median_ratio(pairs), bootstrap_interval(pairs)
    ours, theirs = (sorted(side)[len(pairs) // 2] for side in zip(*pairs, strict=True))
    spread = f" ({interval[0]:.1f} to {interval[1]:.1f})" if interval else ""
    return [
        name,
        text(ours),
        text(theirs),
        f"{ratio:.1f}{spread}",
        f"{at_least:g} / {aim:g}",
        verdict(ratio, at_least, aim),
    ]


def passes_lines(sides, folder, turns, name, hash_name):
    """A first pass and a second one, all values looked at on both sides, hashes verified on both."""
    pairs = [[], []]
    for _ in range(turns):
        ours = sides.stream_ours(folder, "--decode")["passes"]
        theirs = sides.stream_theirs(folder, "--hash", hash_name)["passes"]
        for i in range(2):
            pairs[i].append((ours[i]["seconds"], theirs[i]["seconds"]))
            rate = [one[i]["samples"] / one[i]["seconds"] for one in (ours, theirs)]
            print(f"    {name}, pass {i + 1}: {rate[0]:.0f} samples/s, peer {rate[1]:.0f}", flush=True)
    samples = ours[0]["samples"]

    def text(seconds):
        return f"{samples / seconds:,.0f} samples/s"

    return [line_of(f"{name}, {which} pass", pairs[i], text, 40, 40) for i, which in enumerate(("first", "second"))]


def epoch_lines(arguments, sides, folder):
    """An epoch of many small samples: how long until its first, and how long a state takes."""
    rows = folder / "many.jsonl"
    with open(rows, "w") as file:
        file.writelines(f'{{"n": {i}}}\n' for i in range(arguments.epoch_samples))
    place = sides.fresh("many")
    sides.run([sides.assay, "data", "convert", rows, place, "--workers", 1, "--output", "json"])
    rows.unlink()
    ours = [sides.stream_ours(place, "--passes", 1) for _ in range(3)]
    theirs = sides.stream_theirs(place, "--passes", 1, "--samples", 1)
    first = sorted(one["passes"][0]["first_sample_seconds"] for one in ours)[1]
    state = sorted(one["state_seconds"] for one in ours)[1]
    peer = theirs["first_sample_seconds"]
    count = f"{arguments.epoch_samples:,}"
    return [
        [
            f"{count} samples: command to first sample",
            f"{first:.2f} s",
            f"{peer:.2f} s",
            f"{peer / first:.1f}",
            "< 1 s",
            "yes" if first < 1 else "**no**",
        ],
        ["a state saved", f"{1000 * state:.3f} ms", "-", "-", "< 10 ms", "yes" if state < 0.01 else "**no**"],
    ]


def main():
    arguments = parse_arguments()
    with tempfile.TemporaryDirectory(dir=arguments.work_dir) as name:
        folder = pathlib.Path(name)
        sides = Sides(arguments.bin_dir, folder)
        rows = folder / "rows.jsonl"
        count = write_rows(rows, arguments.megabytes)
        megabytes = rows.stat().st_size / 1e6
        lines = [
            conversion_line("convert JSONL to MDS", sides, rows, megabytes, arguments.turns, 6, 12),
            conversion_line("the same, zstd", sides, rows, megabytes, arguments.turns, 4, 4, "zstd"),
        ]
        one = [sides.convert_ours(rows) for _ in range(3)]
        two = [sides.convert_ours(rows, workers=2, cores="0,1") for _ in range(3)]
        scaling = sorted(one)[1] / sorted(two)[1]
        place = folder / "set"
        sides.run([sides.assay, "data", "convert", rows, place, "--hashes", "xxh3_64", "--output", "json"])
        lines += passes_lines(sides, place, arguments.turns, "shuffled", "xxh3_64")
        if arguments.epoch_samples:
            lines += epoch_lines(arguments, sides, folder)
    head = ["work", "ours", "mosaicml-streaming 0.13", "ratio (95 %)", "at least / aim", "reached"]
    text = (
        f"# Data sets as shards beside mosaicml-streaming, {datetime.date.today()}\n\n"
        f"One core each, in turns A B A B ({arguments.turns}), over {count:,} rows of {megabytes:.0f} MB in"
        f" {arguments.work_dir or 'the temporary folder'}. Commit {machine.git_commit()}, {machine.cpu_name()}; load"
        f" average {machine.load_average():.2f} at the end.\n\n"
        f"    {machine.command_line('shards')}\n\n"
        f"{markdown_table(head, lines)}\n\n"
        f"Conversion with --workers 2 on two cores takes 1/{scaling:.2f} of the time on one. Passes give every sample"
        " decoded on both sides, shards verified (ours by CRC32C, theirs by xxh3_64); the first pass holds the opening"
        " of the data set, and of theirs the copy into its own folder.\n"
    )
    page.publish(text, arguments.output_dir, "shards")


if __name__ == "__main__":
    cli.run(main)
