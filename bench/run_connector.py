"""The connector test: six steps of a data set in a bucket, from rows to a fine-tune, each to its end.

1 optimise, uncompressed; 2 optimise, compressed; 3 count objects; 4 total size; 5 stream; 6 stream and fine-tune with
checkpoints to the bucket. Step 6 is made of the same rows in the same order in four ways: data and checkpoints in
folders; streamed from the bucket; the same, killed and gone on with; and from a copy that is fetched first. Their
losses must be the same to the last bit. mosaicml-streaming does steps 1, 2 and 5 beside. Without --uri the bucket is
in the embedded server: figures of loopback under a modelled network, not of a cloud.
"""

import argparse
import datetime
import json
import os
import pathlib
import subprocess
import tempfile

from connector.measured import run
from connector.place import open_place
from harness import cli, machine, page
from harness.machine import ROOT
from harness.shards import PEER_COMMAND, write_rows
from harness.table import markdown_table

COLUMNS = {"prompt": "str", "completion": "str"}


def parse_arguments():
    parser = argparse.ArgumentParser(prog="script/bench connector", description=__doc__)
    cli.add_bin_dir(parser, "assay and assay-worker")
    parser.add_argument("--uri", help="an empty prefix of a bucket, reached as the environment says")
    parser.add_argument("--profile", default="oci", help="of the embedded server")
    parser.add_argument("--megabytes", type=float, default=64, help="of rows")
    parser.add_argument("--size-limit", default="4MiB", help="of a shard")
    parser.add_argument("--model", default="smollm2-135m", help="that is fine-tuned by LoRA")
    parser.add_argument("--steps", type=int, default=24)
    parser.add_argument("--checkpoint-every", type=int, default=6)
    parser.add_argument("--batch-size", type=int, default=4)
    parser.add_argument("--model-max-length", type=int, default=128)
    parser.add_argument("--peer", choices=["streaming", "none"], default="streaming")
    parser.add_argument("--work-dir", type=pathlib.Path, help="where rows and copies lie meanwhile")
    parser.add_argument("--output-dir", type=pathlib.Path, default=ROOT / "bench" / "results")
    return parser.parse_args()


def make_row(draw, corpus, number):
    begin = draw.randrange(len(corpus) - 1000)
    middle = begin + draw.randint(50, 300)
    return {"prompt": corpus[begin:middle], "completion": corpus[middle : middle + draw.randint(50, 600)]}


class Connector:
    """The steps, each a command."""

    def __init__(self, arguments, place, folder):
        self.arguments = arguments
        self.assay = arguments.bin_dir / "assay"
        self.place = place
        self.folder = folder
        self.rows = folder / "rows.jsonl"

    def run(self, *command, kill_after=None):
        return run(command, self.place, self.folder, kill_after)

    def data(self, verb, *words):
        return self.run(self.assay, "data", verb, *words, "--output", "json")

    def convert(self, name, compression=""):
        options = ["--columns", "prompt:str,completion:str", "--size-limit", self.arguments.size_limit]
        options += ["--compression", compression] if compression else []
        return self.data("convert", self.rows, f"{self.place.uri}/{name}", *options)

    def count(self, name):
        return self.data("count", f"{self.place.uri}/{name}")

    def stream(self, name):
        """One pass, shuffled, nothing kept of it before, all values decoded."""
        return self.data("bench", f"{self.place.uri}/{name}", "--passes", 1, "--decode")

    def fetch(self, name):
        return self.run(
            self.assay, "object", "cp", "--recursive", f"{self.place.uri}/{name}/", f"{self.folder / name}/"
        )

    def tune(self, data, checkpoints, *more, kill_after=None):
        given = self.arguments
        options = ["--model", given.model, "--method", "lora", "--data", data, "--shuffle", "--output", "json"]
        options += ["--max-steps", given.steps, "--batch-size", given.batch_size]
        options += ["--model-max-length", given.model_max_length]
        options += ["--save-every", given.checkpoint_every, "--output-dir", checkpoints, *more]
        return self.run(self.assay, "tune", *options, kill_after=kill_after)


class Peer:
    """mosaicml-streaming, its own writing to the bucket and reading from it."""

    def __init__(self, connector):
        self.connector = connector

    def ask(self, *words):
        environment = dict(os.environ, TMPDIR=str(self.connector.folder)) | self.connector.place.environment
        line = json.dumps([str(word) for word in words]) + "\n"
        command = PEER_COMMAND
        ended = subprocess.run(command, input=line, env=environment, capture_output=True, text=True, check=False)
        if ended.returncode != 0:
            raise RuntimeError(f"mosaicml-streaming: {ended.stderr.strip().splitlines()[-1]}")
        return json.loads(ended.stdout)

    def convert(self, name, compression=""):
        options = ["--columns", json.dumps(COLUMNS), "--compression", compression]
        options += ["--size-limit", self.connector.arguments.size_limit.replace("iB", "b").lower()]
        target = f"{self.connector.place.uri}/streaming-{name}"
        return self.ask("convert", "--data", self.connector.rows, "--out", target, *options)

    def stream(self, name):
        source = f"{self.connector.place.uri}/streaming-{name}"
        return self.ask("stream", "--data", source, "--out", self.connector.folder / "local", "--passes", 1)


def requests_text(step):
    if step.store is None:
        return "-"
    return ", ".join(f"{count} {name}" for name, count in sorted(step.store["requests"].items())) or "none"


def step_line(name, step, figures, peer="-"):
    return [
        name,
        f"{step.seconds:.2f}",
        f"{step.cpu_percent:.0f}",
        f"{step.memory_percent:.1f}",
        "-",
        figures,
        peer,
        requests_text(step),
    ]


def data_lines(connector, peer):
    """Steps 1 to 5."""
    megabytes = connector.rows.stat().st_size / 1e6
    lines = []
    for number, name, compression in ((1, "plain", ""), (2, "zstd", "zstd")):
        step = connector.convert(name, compression)
        seconds = peer.convert(name, compression)["seconds"] if peer else None
        title = f"{number} optimise, {compression or 'uncompressed'}"
        theirs = f"{seconds:.2f} s, {megabytes / seconds:.1f} MB/s" if peer else "-"
        lines.append(step_line(title, step, f"{megabytes / step.seconds:.1f} MB/s of rows", theirs))
    for name in ("plain", "zstd"):
        step = connector.count(name)
        figures = f"{step.said['objects']} objects, {step.said['bytes'] / 1e6:.1f} MB"
        lines.append(step_line(f"3, 4 count objects and their size, {name}", step, figures))
    for name in ("plain", "zstd"):
        step = connector.stream(name)
        one = step.said["passes"][0]
        figures = f"{one['samples_per_s']:,.0f} samples/s, {one['mb_per_s']:.1f} MB/s, first after"
        figures += f" {one['first_sample_seconds']:.2f} s, waited {one['stall_fraction']:.0%}"
        theirs = "-"
        if peer and name == "plain":
            other = peer.stream(name)
            rate = other["passes"][0]["samples"] / other["passes"][0]["seconds"]
            theirs = f"{rate:,.0f} samples/s, first after {other['first_sample_seconds']:.2f} s"
        lines.append(step_line(f"5 stream, {name}", step, figures, theirs))
    return lines


def tune_line(name, step):
    said = step.said
    checkpoints = said["checkpoints"]
    stall = sum(checkpoint["stall_seconds"] for checkpoint in checkpoints) / max(1, len(checkpoints))
    first = said["model_load_seconds"] + said["step_seconds"][0]
    figures = (
        f"{said['real_tokens_per_second']:,.0f} tokens/s, {said['steps']} steps, first after {first:.2f} s, waited"
    )
    figures += (
        f" {said['data']['stall_fraction']:.1%} for rows, {stall:.2f} s for each of {len(checkpoints)} checkpoints"
    )
    if "resumed" in said:
        figures += f"; went on from step {said['resumed']['step']} after {said['resumed']['seconds']:.2f} s"
    return step_line(name, step, figures)


def tune_lines(connector):
    """Step 6 in its four ways; a RuntimeError where their losses are not the same."""
    uri, folder = connector.place.uri, connector.folder
    fetched = connector.fetch("plain")
    local = connector.tune(folder / "plain", folder / "run")
    streamed = connector.tune(f"{uri}/plain", f"{uri}/run")
    copied = connector.tune(folder / "plain", f"{uri}/run-copied")
    killed = connector.tune(f"{uri}/plain", f"{uri}/run-killed", "--resume", kill_after=0.6 * streamed.seconds)
    resumed = connector.tune(f"{uri}/plain", f"{uri}/run-killed", "--resume")
    losses = local.said["losses"]
    for name, step in (("streamed", streamed), ("copied first", copied), ("killed and gone on with", resumed)):
        if step.said["losses"] != losses[len(losses) - len(step.said["losses"]) :]:
            raise RuntimeError(f"the losses of the run {name} are not those of the local run")
    return [
        tune_line("6 fine-tune, data and checkpoints local", local),
        tune_line("6 stream and fine-tune, checkpoints to the bucket", streamed),
        step_line("6 the same, killed", killed, f"after {killed.seconds:.1f} s"),
        tune_line("6 the same, gone on with", resumed),
        step_line("6 copy first: the copy", fetched, "the whole data set"),
        tune_line("6 copy first: fine-tune, checkpoints to the bucket", copied),
    ], streamed.said["real_tokens_per_second"] / local.said["real_tokens_per_second"]


def busy_text():
    """Whether times say more about others' work."""
    return ", on a machine that others kept busy: its times compare with nothing" if machine.load_average() > 2 else ""


def main():
    arguments = parse_arguments()
    with (
        tempfile.TemporaryDirectory(dir=arguments.work_dir) as name,
        open_place(arguments.bin_dir, arguments.uri, arguments.profile) as place,
    ):
        connector = Connector(arguments, place, pathlib.Path(name))
        write_rows(connector.rows, arguments.megabytes, make_row)
        lines = data_lines(connector, Peer(connector) if arguments.peer != "none" else None)
        tuned, share = tune_lines(connector)
    head = ["step", "s", "CPU %", "memory %", "GPU %", "figures", "mosaicml-streaming", "requests"]
    where = arguments.uri or f"the embedded server on loopback, profile {arguments.profile}"
    text = (
        f"# The connector test, {datetime.date.today()}\n\n"
        f"{arguments.megabytes:g} MB of rows in shards of {arguments.size_limit}; {arguments.model}, LoRA, batch"
        f" {arguments.batch_size}, {arguments.model_max_length} tokens at most. The bucket: {where}. Commit"
        f" {machine.git_commit()}, {machine.cpu_name()}; load average {machine.load_average():.2f} at the end.\n\n"
        f"    {machine.command_line('connector')}\n\n"
        f"{markdown_table(head, lines + tuned)}\n\n"
        "CPU % is of all cores, memory % of the machine's at the peak of the largest process; no GPU took part. The"
        " losses of all ways of step 6 were the same to the last bit. Streamed from the bucket, the fine-tune made"
        f" {share:.1%} of the tokens/s of the local one{busy_text()}.\n"
    )
    page.publish(text, arguments.output_dir, "connector")


if __name__ == "__main__":
    cli.run(main)
