"""litdata: optimize() into chunks, StreamingDataset over them."""

import json
import shutil

import no_torchvision  # noqa: F401
from file_places import FilePlaces
from litdata import StreamingDataset, optimize


def same(row):
    return row


class Litdata(FilePlaces):
    def __init__(self, plan, folder):
        self.plan, self.folder = plan, folder

    def local(self):
        return self

    def write(self, rows_file, uri, compression):
        with open(rows_file) as lines:
            rows = [json.loads(line) for line in lines]
        settings = {"chunk_bytes": self.plan["shard_bytes"], "compression": compression or None}
        optimize(fn=same, inputs=rows, output_dir=uri, num_workers=1, reorder_files=False, **settings)
        return len(rows)

    def samples(self, uri, cache):
        shutil.rmtree(cache, ignore_errors=True)
        settings = {"max_cache_size": self.plan["cache_bytes"]} if self.plan["cache_bytes"] else {}
        return StreamingDataset(
            uri, cache_dir=cache, shuffle=True, seed=self.plan["fine_tune"]["seed"], drop_last=False, **settings
        )
