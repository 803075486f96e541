"""The work of the storage table, what is run for it, and what ours should reach beside the others."""

from dataclasses import dataclass, field

MIB = 1 << 20
OURS = "assay"
PEERS = ("boto3", "s3fs", "s3torchconnector")


@dataclass(frozen=True)
class Work:
    name: str
    title: str
    kind: str  # of --work
    size: int
    count: int = 1
    turns: int = 3
    fewer_turns: dict = field(default_factory=dict)  # of clients that take long and are never the best
    per_object: bool = False  # objects, not bytes, are what counts
    at_least: dict = field(default_factory=lambda: {"put": 3, "get": 4})  # times the best of the others
    against: str = ""  # the one client that counts; empty: the best
    only_cpu: bool = False  # `at_least` is asked of what a CPU second does alone
    socket_share: float = 0.5  # of what a raw socket moves; 0: not asked

    def turns_of(self, client, turns=None):
        return min(turns or self.turns, self.fewer_turns.get(client, 1000))


SMALL = {"per_object": True, "at_least": {"put": 4, "get": 4}, "against": "boto3", "only_cpu": True, "socket_share": 0}

WORKS = [
    Work("object-512m", "one object of 512 MiB", "object", 512 * MIB),
    Work("objects-64m", "8 objects of 64 MiB", "objects", 64 * MIB, 8),
    Work("objects-8m", "64 objects of 8 MiB", "objects", 8 * MIB, 64),
    Work("object-2g", "one object of 2 GiB", "object", 2048 * MIB, fewer_turns={"s3fs": 1}),
    Work("objects-1m", "1,000 objects of 1 MiB", "objects", MIB, 1000, **SMALL),
    Work("objects-16k", "10,000 objects of 16 KiB", "objects", 16 << 10, 10_000, turns=2, **SMALL),
    Work("tensors-512m", "a state of 8 tensors, 512 MiB", "tensors", 512 * MIB, socket_share=0),
]

QUICK = [
    Work("object-64m", "one object of 64 MiB", "object", 64 * MIB, turns=1),
    Work("objects-16k", "300 objects of 16 KiB", "objects", 16 << 10, 300, turns=1, **SMALL),
    Work("tensors-64m", "a state of 8 tensors, 64 MiB", "tensors", 64 * MIB, turns=1, socket_share=0),
]
