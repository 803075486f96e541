"""The work of the storage table, and what is run for it."""

from dataclasses import dataclass

MIB = 1 << 20


@dataclass(frozen=True)
class Work:
    name: str
    title: str
    kind: str  # of --work
    size: int
    count: int = 1
    turns: int = 3
    clients: tuple = ("boto3", "s3fs", "s3torchconnector")
    per_object: bool = False  # objects, not bytes, are what counts


WORKS = [
    Work("object-512m", "one object of 512 MiB", "object", 512 * MIB),
    Work("object-2g", "one object of 2 GiB", "object", 2048 * MIB, turns=1),
    Work("objects-1m", "1,000 objects of 1 MiB", "objects", MIB, 1000, per_object=True),
    Work("objects-16k", "10,000 objects of 16 KiB", "objects", 16 << 10, 10_000, turns=1, per_object=True),
    Work("tensors-512m", "a state of 8 tensors, 512 MiB", "tensors", 512 * MIB),
]

QUICK = [
    Work("object-64m", "one object of 64 MiB", "object", 64 * MIB, turns=1),
    Work("objects-16k", "300 objects of 16 KiB", "objects", 16 << 10, 300, turns=1, per_object=True),
    Work("tensors-64m", "a state of 8 tensors, 64 MiB", "tensors", 64 * MIB, turns=1),
]
