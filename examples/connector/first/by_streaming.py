"""Rows to a first batch, by mosaicml-streaming."""

import json

from streaming import MDSWriter, StreamingDataset
from torch.utils.data import DataLoader

ROWS = "rows.jsonl"
URI = "s3://bucket/rows"
CACHE = "cache"


def write():
    with MDSWriter(out=URI, columns={"prompt": "str", "completion": "str"}) as writer, open(ROWS) as lines:
        for line in lines:
            writer.write(json.loads(line))


def first_batch():
    rows = StreamingDataset(remote=URI, local=CACHE, shuffle=True, batch_size=4)
    return next(iter(DataLoader(rows, batch_size=4)))


if __name__ == "__main__":
    write()
    print(first_batch())
