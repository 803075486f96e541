"""Sample orders of mosaicml-streaming: a list of cases in, the samples of all places (or the refusal) of each out."""

import json
import pathlib
import sys
import tempfile
import warnings

import real_streaming  # noqa: F401
import streaming.base.dataset as dataset_module
from streaming import Stream, StreamingDataset
from streaming.base.batching import generate_work
from streaming.base.world import World


class Own:
    """Of this process alone: streaming's memory has names that all programs of a machine see, and keeps files open."""

    def __init__(self, *arguments):
        self.values = {}
        self.lock = self.buf = None

    def get(self):
        return self.values["value"]

    def set(self, value):
        self.values["value"] = value

    def __setitem__(self, key, value):
        self.values[key] = value


dataset_module.get_shm_prefix = lambda *arguments: (0, Own())
dataset_module.SharedBarrier = dataset_module.SharedScalar = dataset_module.SharedArray = Own
dataset_module.SharedMemory = lambda **arguments: (_ for _ in ()).throw(FileNotFoundError)


def write_index(folder, shards):
    folder.mkdir()
    file = {"bytes": 1, "hashes": {}}
    entries = [
        {
            "column_encodings": ["int"],
            "column_names": ["x"],
            "column_sizes": [8],
            "compression": None,
            "format": "mds",
            "hashes": [],
            "raw_data": {"basename": f"shard.{i:05}.mds", **file},
            "samples": samples,
            "size_limit": 1 << 26,
            "version": 2,
            "zip_data": None,
        }
        for i, samples in enumerate(shards)
    ]
    (folder / "index.json").write_text(json.dumps({"version": 2, "shards": entries}))


def order_of(case, folder):
    streams = []
    for i, stream in enumerate(case["streams"]):
        write_index(folder / str(i), stream["shards"])
        weight = {key: stream[key] for key in ("proportion", "repeat", "choose") if key in stream}
        streams.append(Stream(local=str(folder / str(i)), **weight))
    dataset = StreamingDataset(
        streams=streams,
        epoch_size=case["epoch_size"] or None,
        sampling_method="balanced" if case["balanced"] else "fixed",
        sampling_granularity=case["granularity"],
        partition_algo="relaxed" if case["relaxed"] else "orig",
        num_canonical_nodes=case["canonical_nodes"] or None,
        batch_size=case["batch"],
        shuffle=case["shuffle"] is not None,
        shuffle_algo=case["shuffle"] or "py1e",
        shuffle_seed=case["seed"],
        shuffle_block_size=case["block"] or None,
        batching_method=case["batching"],
    )
    world = World(case["nodes"], case["ranks_per_node"], case["workers"], 0)
    dataset._resume(world, case["epoch"])  # fills in what was left to rules
    dataset.initial_physical_nodes = case["initial_nodes"] or None
    work = generate_work(case["batching"], dataset, world, case["epoch"], case["samples"])
    return work.transpose(3, 2, 0, 1, 4).flatten().tolist()


def main():
    warnings.simplefilter("ignore")
    answers = []
    for case in json.load(sys.stdin):
        with tempfile.TemporaryDirectory() as folder:
            try:
                answers.append({"samples": order_of(case, pathlib.Path(folder))})
            except (ValueError, RuntimeError) as error:
                answers.append({"error": str(error)})
    print(json.dumps(answers))


main()
