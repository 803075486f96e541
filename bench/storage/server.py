"""The embedded server for a benchmark: in memory, on a free port."""

import contextlib
import os
import re
import subprocess

BUCKET = "bench"
CREDENTIALS = {"AWS_ACCESS_KEY_ID": "AKIABENCH", "AWS_SECRET_ACCESS_KEY": "bench", "AWS_REGION": "us-east-1"}


@contextlib.contextmanager
def serve(bin_dir, *arguments):
    """Its URL while the block runs."""
    command = [bin_dir / "assay", "object", "serve", "--root", "memory", "--bucket", BUCKET, *arguments]
    process = subprocess.Popen(
        [str(part) for part in command], stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True
    )
    try:
        line = process.stdout.readline()
        match = re.search(r"https?://\S+", line)
        if match is None:
            raise RuntimeError(f"the object server did not start: {line}")
        yield match.group()
    finally:
        process.terminate()
        process.wait()


def environment(url):
    """Of every client."""
    return {
        **CREDENTIALS,
        "AWS_DEFAULT_REGION": CREDENTIALS["AWS_REGION"],
        "AWS_ENDPOINT_URL": url,
        "AWS_EC2_METADATA_DISABLED": "true",
        "NO_PROXY": "127.0.0.1",
        "PATH": os.environ["PATH"],
    }
