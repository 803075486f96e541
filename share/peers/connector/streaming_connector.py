"""mosaicml-streaming: MDSWriter to the place itself, StreamingDataset from it."""

import contextlib
import json
import shutil
import tempfile
import warnings

import no_torchvision  # noqa: F401
from file_places import FilePlaces
from streaming import MDSWriter, StreamingDataset


@contextlib.contextmanager
def locks_in(folder):
    """The library leaves its locks where temporary files go as a data set is opened. Sockets, whose names may not be as
    long as a folder's, stay where they were."""
    before, tempfile.tempdir = tempfile.gettempdir(), folder
    try:
        yield
    finally:
        tempfile.tempdir = before


class Streaming(FilePlaces):
    SENDS_BY_BOTOCORE = True

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
        """Of a folder the library reads where it lies. Of more canonical nodes each would repeat rows, so that all have
        as many."""
        place = {"remote": uri, "local": cache} if "://" in uri else {"remote": None, "local": uri}
        shutil.rmtree(cache, ignore_errors=True)
        fine_tune = self.plan["fine_tune"]
        with locks_in(self.folder):
            rows = StreamingDataset(
                **place,
                shuffle=True,
                shuffle_seed=fine_tune["seed"],
                num_canonical_nodes=1,
                batch_size=fine_tune["batch_size"],
                cache_limit=self.plan["cache_bytes"] or None,
            )
        # The client that fetched the index has a connection open. A loader's processes, forks of this one, would ask over
        # it all at once and take each other's answers for theirs: shards of other rows, without an error.
        for stream in rows.streams:
            stream._downloader.clean_up()
        return rows
