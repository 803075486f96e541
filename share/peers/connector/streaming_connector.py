"""mosaicml-streaming: MDSWriter to the place itself, StreamingDataset from it."""

import json
import shutil
import warnings

import no_torchvision  # noqa: F401
from file_places import FilePlaces
from streaming import MDSWriter, StreamingDataset
from streaming.base.util import clean_stale_shared_memory


class Streaming(FilePlaces):
    def __init__(self, plan, folder):
        warnings.simplefilter("ignore")
        self.plan, self.folder = plan, folder

    def local(self):
        return self

    def write(self, rows_file, uri, compression):
        columns = {"prompt": "str", "completion": "str"}
        settings = {"compression": compression or None, "size_limit": self.plan["shard_bytes"]}
        rows = 0
        with MDSWriter(out=uri, columns=columns, **settings) as writer, open(rows_file) as lines:
            for line in lines:
                writer.write(json.loads(line))
                rows += 1
        return rows

    def samples(self, uri, cache):
        """Of a folder the library reads where it lies."""
        clean_stale_shared_memory()  # of the data set before: a second one in a process waits for it for ever
        place = {"remote": uri, "local": cache} if "://" in uri else {"remote": None, "local": uri}
        shutil.rmtree(cache, ignore_errors=True)
        fine_tune = self.plan["fine_tune"]
        return StreamingDataset(
            **place,
            shuffle=True,
            shuffle_seed=fine_tune["seed"],
            batch_size=fine_tune["batch_size"],
            cache_limit=self.plan["cache_bytes"] or None,
        )
