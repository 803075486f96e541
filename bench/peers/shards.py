"""mosaicml-streaming's half of bench/run_shards.py: pieces of work in, a line of JSON each, what they took out."""

import argparse
import json
import pathlib
import sys
import time
import warnings

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tests" / "shards" / "apart"))
import real_streaming  # noqa: F401
from streaming import MDSWriter, StreamingDataset


def convert(arguments):
    """Seconds of a conversion of JSONL by MDSWriter, as its documentation writes one."""
    columns = json.loads(arguments.columns)
    begin, cpu = time.perf_counter(), time.process_time()
    settings = {"compression": arguments.compression or None, "size_limit": arguments.size_limit}
    with MDSWriter(out=arguments.out, columns=columns, **settings) as writer:
        with open(arguments.data) as rows:
            for line in rows:
                writer.write(json.loads(line))
    return {"seconds": time.perf_counter() - begin, "cpu_seconds": time.process_time() - cpu}


def stream(arguments):
    """Seconds of each shuffled pass, from the data set's making on."""
    begin, cpu = time.perf_counter(), time.process_time()
    dataset = StreamingDataset(
        remote=arguments.data, local=arguments.out, shuffle=True, batch_size=8, validate_hash=arguments.hash or None
    )
    passes = []
    first = None
    for _ in range(arguments.passes):
        samples = 0
        for _sample in dataset:
            first = first or time.perf_counter() - begin
            samples += 1
            if samples == arguments.samples:
                break
        spent = {"seconds": time.perf_counter() - begin, "cpu_seconds": time.process_time() - cpu}
        passes.append({"samples": samples} | spent)
        begin, cpu = time.perf_counter(), time.process_time()
    return {"passes": passes, "first_sample_seconds": first}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("work", choices=["convert", "stream"])
    parser.add_argument("--data", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--columns")
    parser.add_argument("--compression")
    parser.add_argument("--size-limit", default=1 << 26)
    parser.add_argument("--hash")
    parser.add_argument("--passes", type=int, default=2)
    parser.add_argument("--samples", type=int, help="end a pass behind so many")
    warnings.simplefilter("ignore")
    works = {"convert": convert, "stream": stream}
    for line in sys.stdin:
        arguments = parser.parse_args(json.loads(line))
        print(json.dumps(works[arguments.work](arguments)), flush=True)


main()
