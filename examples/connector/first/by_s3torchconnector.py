"""Rows to a first batch, by s3torchconnector: how rows lie in files, and their order within them, is this program's."""

import json
import os
import random

from s3torchconnector import S3Checkpoint, S3ClientConfig, S3IterableDataset
from torch.utils.data import DataLoader, IterableDataset

ROWS = "rows.jsonl"
URI = "s3://bucket/rows"
ROWS_OF_FILE = 1000
STORE = {
    "region": os.environ["AWS_REGION"],
    "endpoint": os.environ.get("AWS_ENDPOINT_URL"),
    "s3client_config": S3ClientConfig(force_path_style=True),
}


def write():
    with open(ROWS) as lines:
        rows = [json.dumps(json.loads(line)) + "\n" for line in lines]
    for begin in range(0, len(rows), ROWS_OF_FILE):
        with S3Checkpoint(**STORE).writer(f"{URI}/{begin:09}.jsonl") as file:
            file.write("".join(rows[begin : begin + ROWS_OF_FILE]).encode())


class Rows(IterableDataset):
    def __iter__(self):
        for file in S3IterableDataset.from_prefix(f"{URI}/", **STORE):
            lines = file.read().splitlines()
            random.shuffle(lines)
            yield from map(json.loads, lines)


def first_batch():
    return next(iter(DataLoader(Rows(), batch_size=4)))


if __name__ == "__main__":
    write()
    print(first_batch())
