"""Rows to a first batch, by fsspec: how rows lie in files, and their order, is this program's."""

import json
import random

import fsspec
from torch.utils.data import DataLoader, IterableDataset

ROWS = "rows.jsonl"
URI = "s3://bucket/rows"
ROWS_OF_FILE = 1000


def write():
    with open(ROWS) as lines:
        rows = [json.dumps(json.loads(line)) + "\n" for line in lines]
    for begin in range(0, len(rows), ROWS_OF_FILE):
        with fsspec.open(f"{URI}/{begin:09}.jsonl", "w") as file:
            file.writelines(rows[begin : begin + ROWS_OF_FILE])


class Rows(IterableDataset):
    def __iter__(self):
        files = fsspec.open_files(f"{URI}/*.jsonl")
        random.shuffle(files)
        for opened in files:
            with opened as file:
                lines = list(file)
            random.shuffle(lines)
            yield from map(json.loads, lines)


def first_batch():
    return next(iter(DataLoader(Rows(), batch_size=4)))


if __name__ == "__main__":
    write()
    print(first_batch())
