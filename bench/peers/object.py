"""One Python client on one piece of work against an S3 endpoint; prints what `assay object bench --output json` does.

Objects lie in memory before a put and arrive in memory with a get, as each client's users do it; what was read is
compared with what was written, outside of the time.
"""

import argparse
import concurrent.futures
import ctypes
import io
import json
import mmap
import os
import resource
import statistics
import time

THREADS = 16


def rss_bytes(field):
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith(field))


class Boto3:
    """upload_fileobj and download_fileobj with their defaults; small objects with put_object on a pool of threads."""

    def __init__(self, options):
        import boto3
        import botocore.config

        config = botocore.config.Config(max_pool_connections=THREADS)
        self.client = boto3.client("s3", endpoint_url=options.endpoint, config=config)
        self.bucket = options.bucket
        self.pool = concurrent.futures.ThreadPoolExecutor(THREADS)

    def put(self, key, content):
        self.client.upload_fileobj(io.BytesIO(content), self.bucket, key)

    def get(self, key):
        into = io.BytesIO()
        self.client.download_fileobj(self.bucket, key, into)
        return into.getbuffer()

    def put_many(self, contents):
        list(
            self.pool.map(lambda item: self.client.put_object(Bucket=self.bucket, Key=item[0], Body=item[1]), contents)
        )

    def get_many(self, keys):
        return list(self.pool.map(lambda key: self.client.get_object(Bucket=self.bucket, Key=key)["Body"].read(), keys))

    def save(self, key, state):
        import torch

        file = io.BytesIO()
        torch.save(state, file)
        file.seek(0)
        self.client.upload_fileobj(file, self.bucket, key)

    def load(self, key):
        import torch

        file = io.BytesIO()
        self.client.download_fileobj(self.bucket, key, file)
        file.seek(0)
        return torch.load(file)


class S3fs:
    def __init__(self, options):
        import s3fs

        self.fs = s3fs.S3FileSystem(endpoint_url=options.endpoint, use_listings_cache=False)
        self.bucket = options.bucket

    def path(self, key):
        return f"{self.bucket}/{key}"

    def put(self, key, content):
        self.fs.pipe_file(self.path(key), content)

    def get(self, key):
        return self.fs.cat_file(self.path(key))

    def put_many(self, contents):
        self.fs.pipe({self.path(key): content for key, content in contents})

    def get_many(self, keys):
        got = self.fs.cat([self.path(key) for key in keys])
        return [got[self.path(key)] for key in keys]

    def save(self, key, state):
        import torch

        with self.fs.open(self.path(key), "wb") as file:
            torch.save(state, file)

    def load(self, key):
        import torch

        with self.fs.open(self.path(key), "rb") as file:
            return torch.load(file)


class S3TorchConnector:
    def __init__(self, options):
        from s3torchconnector import S3Checkpoint, S3ClientConfig

        config = S3ClientConfig(force_path_style=True)
        self.checkpoint = S3Checkpoint(
            region=os.environ["AWS_REGION"], endpoint=options.endpoint, s3client_config=config
        )
        self.bucket = options.bucket
        self.pool = concurrent.futures.ThreadPoolExecutor(THREADS)

    def uri(self, key):
        return f"s3://{self.bucket}/{key}"

    def put(self, key, content):
        with self.checkpoint.writer(self.uri(key)) as writer:
            writer.write(content)

    def get(self, key):
        with self.checkpoint.reader(self.uri(key)) as reader:
            return reader.read()

    def put_many(self, contents):
        list(self.pool.map(lambda item: self.put(*item), contents))

    def get_many(self, keys):
        return list(self.pool.map(self.get, keys))

    def save(self, key, state):
        import torch

        with self.checkpoint.writer(self.uri(key)) as writer:
            torch.save(state, writer)

    def load(self, key):
        import torch

        with self.checkpoint.reader(self.uri(key)) as reader:
            return torch.load(reader)


CLIENTS = {"boto3": Boto3, "s3fs": S3fs, "s3torchconnector": S3TorchConnector}


class ObjectWork:
    def __init__(self, client, options):
        self.client, self.key = client, "peer-object"
        self.content = os.urandom(options.size)
        self.bytes, self.objects = options.size, 1

    def put(self):
        self.client.put(self.key, self.content)

    def get(self):
        self.got = self.client.get(self.key)

    def same(self):
        same, self.got = self.got == self.content, None
        return same


class ObjectsWork:
    def __init__(self, client, options):
        self.client = client
        self.contents = [(f"peer/{i:06}", os.urandom(options.size)) for i in range(options.count)]
        self.bytes, self.objects = options.size * options.count, options.count

    def put(self):
        self.client.put_many(self.contents)

    def get(self):
        self.got = self.client.get_many([key for key, _ in self.contents])

    def same(self):
        same = all(got == content for got, (_, content) in zip(self.got, self.contents, strict=True))
        self.got = None
        return same


class TensorsWork:
    def __init__(self, client, options):
        import torch

        self.client, self.key = client, "peer-state.pt"
        self.state = {f"t{i}": torch.randn(options.size // 32) for i in range(8)}
        self.bytes, self.objects = options.size // 32 * 32, 1

    def put(self):
        self.client.save(self.key, self.state)

    def get(self):
        self.got = self.client.load(self.key)

    def same(self):
        import torch

        same = all(torch.equal(self.state[name], self.got[name]) for name in self.state)
        self.got = None
        return same


WORKS = {"object": ObjectWork, "objects": ObjectsWork, "tensors": TensorsWork}


def cpu_seconds():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def warm_memory(size):
    """Takes new memory and gives it back: the same as `assay object bench` does before each measured part."""
    with mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as memory:
        memory.madvise(mmap.MADV_HUGEPAGE)
        view = ctypes.c_char.from_buffer(memory)
        ctypes.memset(ctypes.addressof(view), 1, size)
        del view


class Row:
    def __init__(self, operation, work):
        self.operation, self.work = operation, work
        self.seconds, self.cpu, self.beyond = [], [], 0

    def measure(self, act, new_bytes):
        warm_memory(self.work.bytes + min(self.work.bytes, 1 << 30))
        with open("/proc/self/clear_refs", "w") as file:
            file.write("5")
        before, cpu, start = rss_bytes("VmRSS"), cpu_seconds(), time.perf_counter()
        act()
        self.seconds.append(time.perf_counter() - start)
        self.cpu.append(cpu_seconds() - cpu)
        self.beyond = max(self.beyond, rss_bytes("VmHWM") - before - new_bytes)

    def json(self):
        mib = self.work.bytes / 2**20
        seconds, cpu = statistics.median(self.seconds), statistics.median(self.cpu)
        return {
            "operation": self.operation,
            "bytes": self.work.bytes,
            "objects": self.work.objects,
            "seconds": self.seconds,
            "cpu_seconds": self.cpu,
            "mib_per_s": mib / seconds,
            "mib_per_cpu_s": mib / cpu,
            "objects_per_s": self.work.objects / seconds,
            "objects_per_cpu_s": self.work.objects / cpu,
            "peak_rss_beyond_bytes": self.beyond,
        }


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--client", choices=CLIENTS, required=True)
    parser.add_argument("--work", choices=WORKS, required=True)
    parser.add_argument("--endpoint", required=True)
    parser.add_argument("--bucket", required=True)
    parser.add_argument("--size", type=int, required=True)
    parser.add_argument("--count", type=int, default=1)
    parser.add_argument("--repeats", type=int, default=1)
    options = parser.parse_args()
    work = WORKS[options.work](CLIENTS[options.client](options), options)
    put, get = Row("put", work), Row("get", work)
    for _ in range(options.repeats):
        put.measure(work.put, 0)
        get.measure(work.get, work.bytes)
        if not work.same():
            raise SystemExit(f"{options.client} read other bytes than it wrote")
    print(json.dumps([put.json(), get.json()]))


if __name__ == "__main__":
    main()
