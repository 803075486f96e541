"""Data sets of mosaicml-streaming: a list of jobs in, what became of each out.

{"write": rows.jsonl, "out": folder, "columns": {...}, ...}: MDSWriter's files, by their SHA-256.
{"read": folder}: the samples that StreamingDataset gives in order.
{"stream": folder, "local": folder, "batch": n, "epochs": n, ...}: those that it gives shuffled, epoch after epoch.
"""

import base64
import gzip
import hashlib
import json
import pathlib
import sys
import warnings
from decimal import Decimal

import numpy as np
import real_streaming  # noqa: F401
from streaming import MDSWriter, StreamingDataset

SCALARS = {"uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64", "float16", "float32", "float64"}


def value_of(encoding, value):
    """What a row's JSON stands for in that column."""
    base, *rest = encoding.split(":")
    if base in SCALARS:
        return np.dtype(base).type(value)
    if base == "ndarray":
        return np.array(value, rest[0] if rest else None)
    if base in ("bytes", "jpeg", "png"):
        return base64.b64decode(value)
    return Decimal(value) if base == "str_decimal" else value


def json_of(value):
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    return str(value) if isinstance(value, Decimal) else value


def files_of(folder):
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def write(job):
    columns = job["columns"]
    options = {name: job[name] for name in ("compression", "hashes", "size_limit") if name in job}
    with MDSWriter(out=job["out"], columns=columns, **options) as writer, open(job["write"]) as rows:
        for line in rows:
            row = json.loads(line)
            writer.write({name: value_of(columns[name], row[name]) for name in columns})
    return {"files": files_of(pathlib.Path(job["out"]))}


def read(job):
    dataset = StreamingDataset(local=job["read"], batch_size=1, shuffle=False)
    return {"samples": [{name: json_of(value) for name, value in sample.items()} for sample in dataset]}


def stream(job):
    shuffle = job["shuffle_algo"] != "none"
    dataset = StreamingDataset(
        local=job["local"],
        remote=job["stream"],
        batch_size=job["batch"],
        shuffle=shuffle,
        shuffle_algo=job["shuffle_algo"] if shuffle else "py1e",
        shuffle_seed=job.get("seed", 9176),
        shuffle_block_size=job.get("block"),
        num_canonical_nodes=job.get("canonical"),
    )
    epochs = range(job["epochs"])
    return {"samples": [{name: json_of(value) for name, value in sample.items()} for _ in epochs for sample in dataset]}


warnings.simplefilter("ignore")
gzip.time.time = lambda: 0  # which it writes into every file
KINDS = {"write": write, "read": read, "stream": stream}
print(json.dumps([KINDS[next(iter(job))](job) for job in json.load(sys.stdin)]))
