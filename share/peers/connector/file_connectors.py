"""Connectors of files: lines of JSON in objects of a size, each fetched whole and shuffled within.

fsspec (s3fs for buckets) as ocifs and gcsfs are used, and s3torchconnector with its data set and its checkpoints.
"""

import contextlib
import gzip
import json
import os
import random

import torch
import zstd
from file_places import FilePlaces, below, is_bucket


def zstd_by_one_thread(data):
    return zstd.compress(data, 3, 1)


PACK = {"": bytes, "gz": gzip.compress, "zstd": zstd_by_one_thread}
UNPACK = {".jsonl": bytes, ".gz": gzip.decompress, ".zstd": zstd.decompress}


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
    """Objects shared out over a loader's processes, each process's in another order every time that it goes round them,
    and each one's rows shuffled: by their names alone, so that the order is the same wherever they lie."""

    def __init__(self, names, read, seed):
        self.names, self.read, self.seed, self.epoch = sorted(names), read, seed, 0

    def __iter__(self):
        epoch, self.epoch = f"{self.seed} {self.epoch}", self.epoch + 1
        worker = torch.utils.data.get_worker_info()
        names = list(self.names)
        random.Random(self.seed).shuffle(names)
        names = names[worker.id :: worker.num_workers] if worker else names
        random.Random(epoch).shuffle(names)
        for name in names:
            lines = UNPACK[os.path.splitext(name)[1]](self.read(name)).splitlines()
            random.Random(f"{epoch} {os.path.basename(name)}").shuffle(lines)
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
    SENDS_BY_BOTOCORE = True

    def local(self):
        return self

    def system(self, uri):
        """One for all calls of a process, with its connections: the library keeps it."""
        import fsspec

        if is_bucket(uri):
            return fsspec.filesystem("s3", use_listings_cache=False)
        return fsspec.filesystem("file", auto_mkdir=True)

    def put(self, uri, data):
        self.system(uri).pipe_file(uri, data)

    def get(self, uri):
        return self.system(uri).cat_file(uri)

    def files(self, uri):
        system = self.system(uri)
        root = system._strip_protocol(uri).rstrip("/") + "/"
        return {name.removeprefix(root): about["size"] for name, about in system.find(uri, detail=True).items()}

    def put_folder(self, folder, uri):
        """All files at once, as the library does."""
        files = below(folder)
        self.system(uri).put(list(files.values()), [f"{uri}/{name}" for name in files])
        return sum(os.path.getsize(path) for path in files.values())

    def get_folder(self, uri, folder):
        names = list(self.files(uri))
        self.system(uri).get([f"{uri}/{name}" for name in names], [os.path.join(folder, name) for name in names])

    def remove(self, uri):
        system = self.system(uri)
        if system.exists(uri):
            system.rm(uri, recursive=True)
        if is_bucket(uri):
            self.end_uploads(system, *system._strip_protocol(uri).split("/", 1))

    def end_uploads(self, system, bucket, folder):
        """What an ended process has left of uploads in parts."""
        for upload in system.call_s3("list_multipart_uploads", Bucket=bucket, Prefix=f"{folder}/").get("Uploads", []):
            with contextlib.suppress(FileNotFoundError):
                system.call_s3("abort_multipart_upload", Bucket=bucket, Key=upload["Key"], UploadId=upload["UploadId"])


class S3TorchConnector(Files, FilePlaces):
    """Its listing and its removal are boto3's: it has none. One S3Checkpoint and one data set, whose clients, with their
    connections, the library keeps in each process."""

    def __init__(self, plan, folder):
        import places
        from s3torchconnector import S3Checkpoint

        super().__init__(plan, folder)
        region, endpoint, config = places.s3_settings()
        self.settings = {"region": region, "endpoint": endpoint, "s3client_config": config}
        self.checkpoint = S3Checkpoint(**self.settings)

    def files(self, uri):
        return FilePlaces.files(self, uri)

    def local(self):
        return Fsspec(self.plan, self.folder)

    def put(self, uri, data):
        with self.checkpoint.writer(uri) as writer:
            writer.write(data)

    def get(self, uri):
        return bytes(self.checkpoint.reader(uri).read())

    def samples(self, uri, cache):
        from s3torchconnector import S3MapDataset

        names = [f"{uri}/{name}" for name in self.files(uri)]
        objects = S3MapDataset.from_objects(names, **self.settings)
        place = {name: at for at, name in enumerate(names)}
        return WholeFiles(names, lambda name: bytes(objects[place[name]].read()), self.plan["fine_tune"]["seed"])
