"""What benchmarks of data sets as shards share: rows cut out of the corpus, and mosaicml-streaming as a program."""

import json
import pathlib
import random
import sys

from .machine import ROOT

#: bench/peers/shards.py in the environment that has mosaicml-streaming: a request a line, an answer a line.
PEER_COMMAND = [
    str(pathlib.Path(sys.prefix) / "apart" / "streaming" / "bin" / "python"),
    str(ROOT / "bench" / "peers" / "shards.py"),
]


def write_rows(path, megabytes, make_row):
    """How many rows: each is `make_row(draw, corpus, number)`, the same whenever they are made."""
    corpus = " ".join(file.read_text(errors="ignore") for file in sorted((ROOT / "share" / "corpus").rglob("*.txt")))
    draw = random.Random(1)
    size = rows = 0
    with open(path, "w") as file:
        while size < megabytes * 1e6:
            size += file.write(json.dumps(make_row(draw, corpus, rows)) + "\n")
            rows += 1
    return rows
