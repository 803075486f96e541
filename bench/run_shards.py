"""Data sets as shards beside mosaicml-streaming: converting rows, shuffled passes, the start of a large epoch.

Both sides have one core (taskset), the same rows and the same files, in turns. Beside the time that passed stands the
CPU time that was spent, which says the same on a machine that has other work. The rows are texts of the project's
corpus of 500 to 1,500 bytes, {"text", "label"}. Everything lies in --work-dir: a folder in memory (/dev/shm) leaves
the disk out of it. script/bench shards calls this with the programs built.
"""

import argparse
import datetime
import itertools
import json
import os
import pathlib
import resource
import shutil
import subprocess
import tempfile

from harness import cli, machine, page
from harness.intervals import bootstrap_interval, median_ratio
from harness.machine import ROOT
from harness.shards import PEER_COMMAND, write_rows
from harness.table import markdown_table, verdict

COLUMNS = {"text": "str", "label": "int"}


def parse_arguments():
    parser = argparse.ArgumentParser(prog="script/bench shards", description=__doc__)
    cli.add_bin_dir(parser, "assay")
    parser.add_argument("--turns", type=int, default=5, help="turns A B A B")
    parser.add_argument("--megabytes", type=int, default=400, help="of rows that are converted")
    parser.add_argument("--stream-megabytes", type=int, default=40, help="of rows that are streamed")
    parser.add_argument("--epoch-samples", type=int, default=10_000_000, help="of the large epoch; 0: leave it out")
    parser.add_argument("--work-dir", type=pathlib.Path, help="where rows and shards lie meanwhile")
    parser.add_argument("--output-dir", type=pathlib.Path, default=ROOT / "bench" / "results")
    return parser.parse_args()


def make_row(draw, corpus, number):
    begin = draw.randrange(len(corpus) - 2000)
    return {"text": corpus[begin : begin + draw.randint(500, 1500)], "label": number}


class Sides:
    """Runs ours and theirs on the first core."""

    def __init__(self, bin_dir, folder, cores="0"):
        self.assay = bin_dir / "assay"
        self.folder = folder
        self.cores = cores
        self.numbers = itertools.count()  # a folder of its own for each data set of the one program
        environment = dict(os.environ, TMPDIR=str(folder), CUDA_VISIBLE_DEVICES="")
        command = ["taskset", "-c", cores, *PEER_COMMAND]  # one program, which is imported once
        self.peer = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.peer.stdin.close()
        self.peer.wait()

    def ask_peer(self, *words):
        self.peer.stdin.write(json.dumps([str(word) for word in words]) + "\n")
        self.peer.stdin.flush()
        answer = self.peer.stdout.readline()
        if not answer:
            raise RuntimeError(f"mosaicml-streaming ended at {words}")
        return json.loads(answer)

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
        """{"seconds", "cpu_seconds"}"""
        out = self.fresh("ours")
        options = ["--compression", compression, "--columns", "text:str,label:int", "--workers", workers]
        begin = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = self.run([self.assay, "data", "convert", rows, out, *options, "--output", "json"], cores)
        end = resource.getrusage(resource.RUSAGE_CHILDREN)
        return done | {"cpu_seconds": end.ru_utime - begin.ru_utime + end.ru_stime - begin.ru_stime}

    def convert_theirs(self, rows, compression=""):
        out = self.fresh("theirs")
        options = ["--columns", json.dumps(COLUMNS), "--compression", compression]
        return self.ask_peer("convert", "--data", rows, "--out", out, *options)

    def stream_ours(self, folder, *options):
        command = [self.assay, "data", "bench", folder, "--batch", 8, "--threads", 1, "--output", "json", *options]
        return self.run(command)

    def stream_theirs(self, folder, *options):
        return self.ask_peer("stream", "--data", folder, "--out", self.fresh(f"local{next(self.numbers)}"), *options)


def conversions(sides, rows, turns, compression=""):
    """Pairs of ours and theirs."""
    pairs = []
    for _ in range(turns):
        pairs.append((sides.convert_ours(rows, compression), sides.convert_theirs(rows, compression)))
        megabytes = rows.stat().st_size / 1e6
        ours, theirs = (megabytes / side["cpu_seconds"] for side in pairs[-1])
        print(f"    convert {compression}: {ours:.0f} MB/s, peer {theirs:.0f} MB/s", flush=True)
    return pairs


def two_workers(sides, rows, pairs, compression=""):
    """The time of two workers on two cores, as the part of that which `pairs` took on one: ours, theirs."""
    two = median([sides.convert_ours(rows, compression, workers=2, cores="0,1")["seconds"] for _ in pairs])
    return [two / median([pair[side]["seconds"] for pair in pairs]) for side in (0, 1)]


def median(values):
    return sorted(values)[len(values) // 2]


def line_of(name, pairs, text, at_least, aim):
    """Of pairs of {"seconds", "cpu_seconds"}; what was asked for is held against the CPU time, which is of one core."""
    passed, spent = ([(ours[key], theirs[key]) for ours, theirs in pairs] for key in ("seconds", "cpu_seconds"))
    ours, theirs = (median(side) for side in zip(*spent, strict=True))
    ratio = median_ratio(spent)
    asked = [f"{at_least:g} / {aim:g}", verdict(ratio, at_least, aim)]
    return [name, text(ours), text(theirs), ratio_text(spent), ratio_text(passed), *asked]


def ratio_text(pairs):
    interval = bootstrap_interval(pairs)
    return f"{median_ratio(pairs):.1f}" + (f" ({interval[0]:.1f} to {interval[1]:.1f})" if interval else "")


def passes_lines(sides, folder, turns, name, hash_name):
    """A first pass and a second one, all values looked at on both sides, hashes verified on both."""
    pairs = [[], []]
    for _ in range(turns):
        ours = sides.stream_ours(folder, "--decode")["passes"]
        theirs = sides.stream_theirs(folder, "--hash", hash_name)["passes"]
        for i in range(2):
            pairs[i].append((ours[i], theirs[i]))
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
    first = median([one["passes"][0]["first_sample_seconds"] for one in ours])
    state = median([one["state_seconds"] for one in ours])
    peer = theirs["first_sample_seconds"]
    name = f"{arguments.epoch_samples:,} samples: command to first sample"
    epoch = [f"{first:.2f} s", f"{peer:.2f} s", "-", f"{peer / first:.1f}", "< 1 s", "yes" if first < 1 else "**no**"]
    saved = [f"{1000 * state:.3f} ms", "-", "-", "-", "< 10 ms", "yes" if state < 0.01 else "**no**"]
    return [[name, *epoch], ["a state saved", *saved]]


def main():
    arguments = parse_arguments()
    with (
        tempfile.TemporaryDirectory(dir=arguments.work_dir) as name,
        Sides(arguments.bin_dir, pathlib.Path(name)) as sides,
    ):
        folder = pathlib.Path(name)
        rows = folder / "rows.jsonl"
        count = write_rows(rows, arguments.megabytes, make_row)
        megabytes = rows.stat().st_size / 1e6
        plain, packed = (conversions(sides, rows, arguments.turns, compression) for compression in ("", "zstd"))

        def rate(seconds):
            return f"{megabytes / seconds:.0f} MB/s"

        lines = [
            line_of("convert JSONL to MDS", plain, rate, 6, 12),
            line_of("the same, zstd", packed, rate, 4, 4),
        ]
        two = two_workers(sides, rows, plain)
        two_packed = two_workers(sides, rows, packed, "zstd")
        for name in ("ours", "theirs"):
            sides.fresh(name)
        streamed = write_rows(rows, arguments.stream_megabytes, make_row)
        place = folder / "set"
        options = ["--hashes", "xxh3_64", "--size-limit", "4MiB", "--output", "json"]
        sides.run([sides.assay, "data", "convert", rows, place, *options])
        lines += passes_lines(sides, place, arguments.turns, "shuffled", "xxh3_64")
        if arguments.epoch_samples:
            lines += epoch_lines(arguments, sides, folder)
    head = ["work", "ours, by CPU time", "mosaicml-streaming 0.13, by CPU time", "ratio (95 %)", "by time passed"]
    head += ["at least / aim", "reached"]
    text = (
        f"# Data sets as shards beside mosaicml-streaming, {datetime.date.today()}\n\n"
        f"One core each, in turns A B A B ({arguments.turns}); {count:,} rows of {megabytes:.0f} MB are converted,"
        f" {streamed:,} of {arguments.stream_megabytes} MB in shards of 4 MiB streamed, in"
        f" {arguments.work_dir or 'the temporary folder'}. Commit {machine.git_commit()}, {machine.cpu_name()}; load"
        f" average {machine.load_average():.2f} at the end.\n\n"
        f"    {machine.command_line('shards')}\n\n"
        f"{markdown_table(head, lines)}\n\n"
        f"Conversion with --workers 2 on two cores takes {two[0]:.2f} of the time on one, with zstd {two_packed[0]:.2f};"
        f" mosaicml-streaming, which has no workers, takes {1 / two[1]:.1f} and with zstd {1 / two_packed[1]:.1f} times"
        " as long. Passes give every sample"
        " decoded on both sides, shards verified (ours by CRC32C, theirs by xxh3_64); the first pass holds the opening"
        " of the data set, and of theirs the copy into its own folder.\n"
    )
    page.publish(text, arguments.output_dir, "shards")


if __name__ == "__main__":
    cli.run(main)
