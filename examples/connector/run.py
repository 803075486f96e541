"""A corpus into a bucket, streamed from there into a fine-tune that is killed, gone on with, and loses nothing.

    python examples/connector/run.py

Rows are cut out of the books of share/corpus, converted into shards in the embedded object server under the model of
OCI Object Storage, and a LoRA fine-tune streams them from there, with a checkpoint in the bucket every few steps. It is
killed when its first checkpoint stands, and gone on with. Its losses are compared with those of a run whose data and
checkpoints are in folders: they are the same to the last bit, or this ends with an error. Some minutes on two cores.
"""

import argparse
import json
import os
import pathlib
import re
import signal
import subprocess
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
ROWS_OF_STEP = 2


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--assay", default=ROOT / "build" / "release" / "bin" / "assay", help="the program")
    parser.add_argument("--model", default="smollm2-135m", help="a folder or a name of assay model list")
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--steps", type=int, default=12)
    parser.add_argument("--checkpoint-every", type=int, default=4)
    return parser.parse_args()


def write_rows(path, count):
    """Prompts and completions, which follow one another in the books."""
    text = " ".join(book.read_text() for book in sorted((ROOT / "share" / "corpus").rglob("*.txt"))).split(" ")
    with open(path, "w") as file:
        for row in range(count):
            words = text[row * 60 % (len(text) - 60) :][:60]
            file.write(json.dumps({"prompt": " ".join(words[:20]), "completion": " " + " ".join(words[20:])}) + "\n")


class Example:
    def __init__(self, arguments, url):
        self.arguments = arguments
        reached = {"ENDPOINT": url, "ANONYMOUS": "true", "REGION": "us-east-1"}
        self.environment = os.environ | {f"ASSAY_STORAGE_{name}": value for name, value in reached.items()}

    def command(self, *words):
        return [str(word) for word in (self.arguments.assay, *words)]

    def run(self, *words):
        """What it says, as JSON."""
        command = self.command(*words, "--output", "json")
        print("$ assay", *command[1:-2], flush=True)
        return json.loads(subprocess.run(command, env=self.environment, check=True, stdout=subprocess.PIPE).stdout)

    def tune(self, data, output_dir, *more):
        given = self.arguments
        return [
            *("tune", "--model", given.model, "--method", "lora", "--dtype", "float32", "--data", data, "--shuffle"),
            *("--batch-size", ROWS_OF_STEP, "--model-max-length", 64, "--max-steps", given.steps),
            *("--save-every", given.checkpoint_every, "--output-dir", output_dir, *more),
        ]

    def kill_at_the_first_checkpoint(self, words, output_dir):
        """As a machine that is lost ends it, with all that it started."""
        command = self.command(*words)
        print("$ assay", *command[1:], "   # killed at its first checkpoint", flush=True)
        process = subprocess.Popen(
            command, env=self.environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
        )
        listing = self.command("checkpoint", "ls", output_dir)
        while subprocess.run(listing, env=self.environment, capture_output=True).returncode != 0:
            if process.poll() is not None:
                raise SystemExit(f"the fine-tune ended with {process.returncode} before its first checkpoint")
            time.sleep(0.2)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def main():
    arguments = parse_arguments()
    serve = [arguments.assay, "object", "serve", "--root", "memory", "--bucket", "example", "--profile", "oci"]
    server = subprocess.Popen([str(word) for word in serve], stdout=subprocess.PIPE, text=True)
    try:
        url = re.search(r"http://\S+", server.stdout.readline()).group()
        with tempfile.TemporaryDirectory(prefix="assay-connector-") as folder:
            compare(Example(arguments, url), pathlib.Path(folder))
    finally:
        server.terminate()
        server.wait()


def compare(example, folder):
    write_rows(folder / "rows.jsonl", example.arguments.rows)
    example.run("data", "convert", folder / "rows.jsonl", "s3://example/set", "--compression", "zstd")
    example.run("data", "convert", folder / "rows.jsonl", folder / "set")
    local = example.run(*example.tune(folder / "set", folder / "run"))
    streamed = example.tune("s3://example/set", "s3://example/run", "--resume")
    example.kill_at_the_first_checkpoint(streamed, "s3://example/run")
    rest = example.run(*streamed)
    step = rest["resumed"]["step"]
    if not rest["losses"] or rest["losses"] != local["losses"][step:]:
        raise SystemExit(f"the losses behind step {step} are not those of the local run")
    print(
        f"went on from step {step} of {rest['resumed']['uri']}: {len(rest['losses'])} losses, those of the local run; "
        f"steps waited {rest['data']['stall_fraction']:.1%} of their time"
    )


if __name__ == "__main__":
    main()
