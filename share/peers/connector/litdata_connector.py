"""litdata: optimize() into chunks, StreamingDataset over them."""

import json
import os
import shutil

from file_places import FilePlaces
from litdata import StreamingDataset, optimize
from litdata.streaming import downloader

if os.environ.get("AWS_ENDPOINT_URL", "").startswith("http://"):
    # It has no option for this; its own processes import this file, a loader's are forks.
    downloader._OBSTORE_CLIENT_OPTIONS["allow_http"] = True


def same(row):
    return row


class Litdata(FilePlaces):
    def __init__(self, plan, folder):
        self.plan, self.folder = plan, folder
        os.environ["DATA_OPTIMIZER_CACHE_FOLDER"] = f"{folder}/chunks"
        os.environ["DATA_OPTIMIZER_DATA_CACHE_FOLDER"] = f"{folder}/data"

    def local(self):
        return self

    def write(self, rows_file, uri, compression):
        with open(rows_file) as lines:
            rows = [json.loads(line) for line in lines]
        settings = {"chunk_bytes": self.plan["shard_bytes"], "compression": compression or None}
        settings |= {"compression_level": "chunk"} if compression else {}
        optimize(fn=same, inputs=rows, output_dir=uri, num_workers=1, reorder_files=False, **settings)
        return len(rows)

    def samples(self, uri, cache):
        shutil.rmtree(cache, ignore_errors=True)
        settings = {"max_cache_size": self.plan["cache_bytes"]} if self.plan["cache_bytes"] else {}
        return StreamingDataset(
            uri, cache_dir=cache, shuffle=True, seed=self.plan["fine_tune"]["seed"], drop_last=False, **settings
        )
