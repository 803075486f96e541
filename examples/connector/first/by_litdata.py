"""Rows to a first batch, by litdata."""

import json

from litdata import StreamingDataLoader, StreamingDataset, optimize

ROWS = "rows.jsonl"
URI = "s3://bucket/rows"
CACHE = "cache"


def write():
    with open(ROWS) as lines:
        optimize(fn=json.loads, inputs=list(lines), output_dir=URI, chunk_bytes="64MB", num_workers=1)


def first_batch():
    rows = StreamingDataset(URI, cache_dir=CACHE, shuffle=True)
    return next(iter(StreamingDataLoader(rows, batch_size=4)))


if __name__ == "__main__":
    write()
    print(first_batch())
