"""torch.distributed.checkpoint with its writers and readers, and plain files as what they are held against.

Tensors are DTensors with their rows shared out, as FSDP's sharded state dict has them.
"""

import concurrent.futures
import os

import places
import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor, Shard
from values import parse, rows_of, values


class FileSystem:
    """FileSystemWriter and FileSystemReader."""

    def __init__(self, plan):
        self.settings = {"thread_count": plan["files_per_rank"], "sync_files": plan["sync_files"]}

    def save(self, state, place):
        dcp.save(state, storage_writer=dcp.FileSystemWriter(place, **self.settings))

    def load(self, state, place):
        dcp.load(state, storage_reader=dcp.FileSystemReader(place))


class Fsspec:
    """FsspecWriter and FsspecReader, of a bucket by s3fs."""

    def __init__(self, plan):
        # Where there is no file to sync, torch syncs all file systems of the machine instead.
        synced = plan["sync_files"] and not places.is_bucket(plan["output_dir"])
        self.settings = {"thread_count": plan["files_per_rank"], "sync_files": synced}

    def save(self, state, place):
        from torch.distributed.checkpoint._fsspec_filesystem import FsspecWriter

        dcp.save(state, storage_writer=FsspecWriter(place, **self.settings))

    def load(self, state, place):
        from torch.distributed.checkpoint._fsspec_filesystem import FsspecReader

        dcp.load(state, storage_reader=FsspecReader(place))


class S3TorchConnector:
    """S3StorageWriter and S3StorageReader. They take no endpoint, so a client that has one is put in the place of
    theirs: one for the whole run, which has its threads and connections before anything is measured."""

    def __init__(self, plan):
        from s3torchconnector._s3client import S3Client

        self.prefix = self.prefix_of(plan)
        self.threads = plan["files_per_rank"]
        self.region, endpoint, self.config = places.s3_settings()
        self.client = S3Client(region=self.region, endpoint=endpoint, s3client_config=self.config)
        bucket = plan["output_dir"].removeprefix("s3://").split("/")[0]
        next(iter(self.client.list_objects(bucket, max_keys=1)), None)

    def prefix_of(self, plan):
        from s3torchconnector.dcp import s3_prefix_strategy as theirs

        if plan["prefix"] == "default":
            return theirs.DefaultPrefixStrategy()
        epoch = {"epoch_num": None if plan["prefix_epoch"] < 0 else plan["prefix_epoch"]}
        named = {"binary": theirs.BinaryPrefixStrategy, "hex": theirs.HexPrefixStrategy}
        if plan["prefix"] in named:
            return named[plan["prefix"]](**epoch)
        return theirs.RoundRobinPrefixStrategy(plan["prefix"].split(","), **epoch)

    def connect(self, side):
        """With the streams that it has by itself: a reader's are those that its authors made for this format."""
        from s3torchconnector.dcp.s3_file_system import S3FileSystem

        streams = getattr(side, "_reader_constructor", None)
        side.fs = S3FileSystem(self.region, s3_client=self.client, reader_constructor=streams)
        return side

    def save(self, state, place):
        from s3torchconnector.dcp import S3StorageWriter

        settings = {"thread_count": self.threads, "prefix_strategy": self.prefix, "s3client_config": self.config}
        dcp.save(state, storage_writer=self.connect(S3StorageWriter(region=self.region, path=place, **settings)))

    def load(self, state, place):
        from s3torchconnector.dcp import S3StorageReader

        reader = S3StorageReader(region=self.region, path=place, s3client_config=self.config)
        dcp.load(state, storage_reader=self.connect(reader))


class Raw:
    """No format: each thread of a rank writes its share of the bytes to one file, and reads them back into memory."""

    def __init__(self, plan):
        self.synced = plan["sync_files"]
        self.threads = plan["files_per_rank"]
        self.pool = concurrent.futures.ThreadPoolExecutor(self.threads)

    def path(self, place, thread):
        return os.path.join(place, f"{dist.get_rank()}-{thread}")

    def shares(self, state):
        """Of the threads, equal to a few bytes."""
        pieces = [memoryview(tensor.to_local().numpy()).cast("B") for tensor in state["model"].values() if rows(tensor)]
        share = -(-sum(map(len, pieces)) // self.threads)
        shares = [[] for _ in range(self.threads)]
        begin = 0
        for piece in pieces:
            while piece:
                part = piece[: share - begin % share]
                shares[begin // share].append(part)
                begin += len(part)
                piece = piece[len(part) :]
        return shares

    def write(self, path, pieces):
        with open(path, "wb", buffering=0) as file:
            for piece in pieces:
                while piece:
                    piece = piece[file.write(piece) :]
        if self.synced:
            places.sync_file(path)

    def read(self, path, pieces):
        with open(path, "rb", buffering=0) as file:
            for piece in pieces:
                while piece:
                    count = file.readinto(piece)
                    if count == 0:
                        raise EOFError(f"{path} ends early")
                    piece = piece[count:]

    def each(self, work, state, place):
        paths = [self.path(place, thread) for thread in range(self.threads)]
        for _ in self.pool.map(work, paths, self.shares(state)):
            pass

    def save(self, state, place):
        os.makedirs(place, exist_ok=True)
        self.each(self.write, state, place)

    def load(self, state, place):
        self.each(self.read, state, place)


CLIENTS = {"torch": FileSystem, "fsspec": Fsspec, "s3torchconnector": S3TorchConnector, "raw": Raw}


def rows(tensor):
    return tensor.to_local().shape[0]


class ShardedState:
    def __init__(self, plan):
        self.plan = plan
        self.client = CLIENTS[plan["client"]](plan)
        self.mesh = init_device_mesh("cpu", (dist.get_world_size(),))
        self.tensors = [parse(text) for text in plan["tensors"]]
        self.state = {"model": dict(self.make(values))}
        self.loaded = None
        self.bytes = sum(tensor.numel() * 4 for tensor in self.state["model"].values())

    def make(self, fill):
        for place, (name, shape) in enumerate(self.tensors):
            begin, end = rows_of(shape, dist.get_rank(), dist.get_world_size())
            columns = torch.Size(shape[1:]).numel()
            local = fill(self.plan["seed"], place, begin * columns, (end - begin) * columns)
            stride = torch.empty(shape, device="meta").stride()
            local = local.view([end - begin, *shape[1:]])
            yield (
                name,
                DTensor.from_local(
                    local, self.mesh, [Shard(0)], run_check=False, shape=torch.Size(shape), stride=stride
                ),
            )

    def place(self, step):
        return f"{self.plan['output_dir']}/step-{step}"

    def advance(self, step):
        """No training is part of this benchmark."""

    def save(self, step):
        self.client.save(self.state, self.place(step))

    def prepare_load(self):
        self.loaded = {"model": dict(self.make(lambda seed, place, begin, count: torch.zeros(count).fill_(0)))}

    def load(self, step):
        self.client.load(self.loaded, self.place(step))

    def verify(self):
        for name, tensor in self.state["model"].items():
            if not torch.equal(tensor.to_local(), self.loaded["model"][name].to_local()):
                raise RuntimeError(f"'{name}' was loaded with other values than were saved")
        self.loaded = None

    def remove(self, step):
        if dist.get_rank() == 0:
            places.remove(self.place(step))
