"""The connector test by this program and by the libraries that it is held against, in turns: a table by step and connector.

The experiment connector_finetune_benchmark-v1.0.0 of each connector, six steps of a data set in a bucket: 1 optimise,
uncompressed; 2 optimise, compressed; 3 count objects; 4 total size; 5 stream; 6 stream and fine-tune with checkpoints to
the bucket, gone on with after a loss, with all in folders, and once more. Each step that reads has a process of its own,
whoever makes it. Without --uri the bucket is in the embedded server: figures of loopback under a modelled network, not of
a cloud.
"""

import argparse
import datetime
import json
import os
import pathlib
import subprocess
import tempfile

from connector import tables
from connector.place import open_place
from harness import cli, machine, page
from harness.machine import ROOT

EXPERIMENT = "connector_finetune_benchmark-v1.0.0"
#: So small that what is around the fine-tune takes most of the time.
TINY = "tiny-llama"
TINY_CONFIG = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "vocab_size": 8192,
    "max_position_embeddings": 512,
    "rms_norm_eps": 1e-5,
    "tie_word_embeddings": True,
}
RESULTS = ROOT / "bench" / "results"
PAGE = ROOT / "docs" / "shards.md"
CONNECTORS = "assay,assay-copy,streaming,litdata,fsspec,s3torchconnector"


def parse_arguments():
    parser = argparse.ArgumentParser(prog="script/bench connector", description=__doc__)
    cli.add_bin_dir(parser, "assay and assay-worker")
    parser.add_argument("--connectors", default=CONNECTORS, help=f"[{CONNECTORS}]")
    parser.add_argument("--turns", type=int, default=5, help="of each connector; below 3 there are no intervals")
    parser.add_argument("--uri", help="a prefix of a bucket, reached as the environment says")
    parser.add_argument("--profile", default="oci", help="of the embedded server")
    parser.add_argument("--data", default="news-chars-512-entries-4096", help="rows: a data set by id or a JSONL file")
    parser.add_argument("--shard-size", default="256KiB")
    parser.add_argument(
        "--model", default="smollm2-135m", help=f"that is fine-tuned by LoRA; {TINY}: two layers, 64 wide"
    )
    parser.add_argument("--steps", type=int, default=24)
    parser.add_argument("--checkpoint-every", type=int, default=6)
    parser.add_argument("--batch-size", type=int, default=4)
    parser.add_argument("--model-max-length", type=int, default=512)
    parser.add_argument("--output-dir", type=pathlib.Path, default=RESULTS)
    return parser.parse_args()


def model_of(arguments, folder):
    if arguments.model != TINY:
        return arguments.model
    (folder / TINY).mkdir()
    (folder / TINY / "config.json").write_text(json.dumps(TINY_CONFIG))
    return str(folder / TINY)


def space_of(arguments, uri, model):
    """Of the connectors, all else the same: JSON is YAML."""
    given = {
        "connector": arguments.connectors.split(","),
        "uri": [uri],
        "dataset_id": [arguments.data],
        "shard_size": [arguments.shard_size],
        "model_name": [model],
        "max_steps": [arguments.steps],
        "checkpoint_every": [arguments.checkpoint_every],
        "batch_size": [arguments.batch_size],
        "model_max_length": [arguments.model_max_length],
    }
    properties = [{"identifier": name, "propertyDomain": {"values": values}} for name, values in given.items()]
    return {"entitySpace": properties, "experiments": [{"experimentIdentifier": EXPERIMENT}]}


def measure(arguments, place, folder):
    """The model of a report on all turns that could be made: one that failed twice is left out."""
    space = folder / "space.yaml"
    space.write_text(json.dumps(space_of(arguments, place.uri, model_of(arguments, folder))))
    environment = os.environ | place.environment | {"TMPDIR": str(folder)}
    store = ("--store", f"sqlite:///{folder}/store.db")

    def assay(*words):
        command = [str(word) for word in (arguments.bin_dir / "assay", *words, *store)]
        return subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=False)

    explored = assay("explore", space, "--repeats", arguments.turns, "--retries", 1)
    reported = assay("report", space, "--output", "json")
    model = json.loads(reported.stdout) if reported.returncode == 0 else {"breakdowns": []}
    if not model["breakdowns"]:
        raise RuntimeError(f"nothing was measured: assay explore ended with {explored.returncode}")
    return model


def about(arguments):
    where = arguments.uri or f"the embedded server on loopback, profile {arguments.profile}"
    return (
        f"{arguments.data} in shards of {arguments.shard_size}; {arguments.model}, LoRA, {arguments.steps} steps of"
        f" {arguments.batch_size} rows, {arguments.model_max_length} tokens at most, a checkpoint every"
        f" {arguments.checkpoint_every}. The bucket: {where}. Commit {machine.git_commit()}, {machine.cpu_name()}; load"
        f" average {machine.load_average():.2f} at the end. Means of n runs, made in turns, with half of their 95 %"
        f" interval (Student's t).\n\n    {machine.command_line('connector')}"
    )


def main():
    arguments = parse_arguments()
    with (
        tempfile.TemporaryDirectory() as folder,
        open_place(arguments.bin_dir, arguments.uri, arguments.profile) as place,
    ):
        model = measure(arguments, place, pathlib.Path(folder))
    told, found = about(arguments), tables.of_model(model)
    text = f"# The connector test, {datetime.date.today()}\n\n{told}\n\n" + "\n".join(
        f"## {title}\n\n{note}\n\n{table}\n" for title, note, table in found
    )
    page.publish(text, arguments.output_dir, "connector")
    if arguments.output_dir == RESULTS:
        page.update_file(PAGE, "connector", f"{told}\n\n{found[0][2]}")


if __name__ == "__main__":
    cli.run(main)
