"""Connectors of files: lines of JSON in objects of a size, each fetched whole and shuffled within.

fsspec (s3fs for buckets) as ocifs and gcsfs are used, and s3torchconnector with its data set and its checkpoints.
"""

import gzip
import io
import json
import os
import random

import torch
import zstd
from file_places import FilePlaces, below, is_bucket

PACK = {"": bytes, "gz": gzip.compress, "zstd": zstd.compress}


def parts_of(rows_file, most):
    """Lines, together at most `most` bytes."""
    part, size = [], 0
    with open(rows_file, "rb") as lines:
        for line in lines:
            if part and size + len(line) > most:
                yield part
                part, size = [], 0
            part.append(line)
            size += len(line)
    if part:
        yield part


class WholeFiles(torch.utils.data.IterableDataset):
    """Objects in a shuffled order, shared out over a loader's processes, each one's rows shuffled: by their names alone,
    so that the order is the same wherever they lie."""

    def __init__(self, names, read, seed):
        self.names, self.read, self.seed = sorted(names), read, seed

    def __iter__(self):
        worker = torch.utils.data.get_worker_info()
        names = list(self.names)
        random.Random(self.seed).shuffle(names)
        for name in names[worker.id :: worker.num_workers] if worker else names:
            lines = self.read(name).splitlines()
            random.Random(f"{self.seed} {os.path.basename(name)}").shuffle(lines)
            for line in lines:
                yield json.loads(line)


class Files:
    """What is the same of both: how rows lie in files."""

    def __init__(self, plan, folder):
        self.plan, self.folder = plan, folder

    def write(self, rows_file, uri, compression):
        rows = 0
        for number, part in enumerate(parts_of(rows_file, self.plan["shard_bytes"])):
            name = f"part-{number:05}.jsonl" + (f".{compression}" if compression else "")
            self.put(f"{uri}/{name}", PACK[compression](b"".join(part)))
            rows += len(part)
        return rows

    def put_folder(self, folder, uri):
        for name, path in below(folder).items():
            with open(path, "rb") as file:
                self.put(f"{uri}/{name}", file.read())
        return sum(os.path.getsize(path) for path in below(folder).values())

    def get_folder(self, uri, folder):
        for name in self.files(uri):
            path = os.path.join(folder, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "wb") as file:
                file.write(self.get(f"{uri}/{name}"))

    def samples(self, uri, cache):
        names = [f"{uri}/{name}" for name in self.files(uri)]
        return WholeFiles(names, self.get, self.plan["fine_tune"]["seed"])


class Fsspec(Files):
    def local(self):
        return self

    def system(self, uri):
        import fsspec

        return fsspec.filesystem("s3" if is_bucket(uri) else "file", skip_instance_cache=True, use_listings_cache=False)

    def put(self, uri, data):
        system = self.system(uri)
        if not is_bucket(uri):
            system.makedirs(os.path.dirname(uri), exist_ok=True)
        system.pipe_file(uri, data)

    def get(self, uri):
        return self.system(uri).cat_file(uri)

    def files(self, uri):
        system = self.system(uri)
        if not system.exists(uri):
            return {}
        root = system._strip_protocol(uri).rstrip("/") + "/"
        return {name.removeprefix(root): about["size"] for name, about in system.find(uri, detail=True).items()}

    def remove(self, uri):
        system = self.system(uri)
        if system.exists(uri):
            system.rm(uri, recursive=True)


class S3TorchConnector(Files, FilePlaces):
    """Its listing and its removal are boto3's: it has none."""

    def __init__(self, plan, folder):
        import places

        super().__init__(plan, folder)
        self.region, self.endpoint, self.config = places.s3_settings()

    def files(self, uri):
        return FilePlaces.files(self, uri)

    def local(self):
        return Fsspec(self.plan, self.folder)

    def put(self, uri, data):
        from s3torchconnector import S3Checkpoint

        checkpoint = S3Checkpoint(region=self.region, endpoint=self.endpoint, s3client_config=self.config)
        with checkpoint.writer(uri) as writer:
            writer.write(data)

    def get(self, uri):
        from s3torchconnector import S3MapDataset

        settings = {"region": self.region, "endpoint": self.endpoint, "s3client_config": self.config}
        return io.BytesIO(S3MapDataset.from_objects([uri], **settings)[0].read()).getvalue()
