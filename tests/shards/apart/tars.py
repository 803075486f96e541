"""Tar files of the webdataset package: a list of jobs in, what became of each out.

{"read": tars}: the samples that WebDataset gives, decoded as it does by itself; bytes as base64.
{"write": rows.jsonl, "out": tar}: those that TarWriter writes, where `jpg` and `bin` are base64.
"""

import base64
import json
import sys

import webdataset

FILES = {"jpg", "bin"}


def json_of(value):
    return base64.b64encode(value).decode() if isinstance(value, bytes) else value


def read(job):
    samples = webdataset.WebDataset(job["read"], shardshuffle=False).decode()
    return {
        "samples": [
            {name: json_of(value) for name, value in sample.items() if not name.startswith("__")} for sample in samples
        ]
    }


def write(job):
    with webdataset.TarWriter(job["out"]) as writer, open(job["write"]) as rows:
        for number, line in enumerate(rows):
            row = {
                name: base64.b64decode(value) if name in FILES else value for name, value in json.loads(line).items()
            }
            writer.write({"__key__": f"part/sample{number:05}"} | row)
    return {}


KINDS = {"read": read, "write": write}
print(json.dumps([KINDS[next(iter(job))](job) for job in json.load(sys.stdin)]))
