"""`assay checkpoint` from outside, against stock torch, safetensors and Lightning."""

import json
import os
import pathlib
import subprocess
import sys

import pytest
import torch

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
import served  # noqa: E402

serve = served.serve
ASSAY = served.ASSAY

torch.set_num_threads(1)


class Cli:
    """Runs `assay checkpoint` with the environment of a store, if there is one."""

    def __init__(self, home, environment=None):
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "ASSAY_S"))}
        self.environment = kept | {"HOME": str(home), "XDG_CACHE_HOME": str(home / "cache")} | (environment or {})

    def command(self, *arguments):
        return [str(ASSAY), "checkpoint", *[str(argument) for argument in arguments]]

    def run(self, *arguments, code=0):
        ended = subprocess.run(
            self.command(*arguments),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            env=self.environment,
            timeout=300,
        )
        assert ended.returncode == code, (arguments, ended.returncode, ended.stdout, ended.stderr)
        return ended

    def json(self, *arguments, code=0):
        return json.loads(self.run(*arguments, "--output", "json", code=code).stdout)

    def convert(self, source, target, form, *options):
        return self.run("convert", source, target, "--format", form, *options)

    def refused(self, *arguments, code=2):
        """The one line that it ends with."""
        text = self.run(*arguments, code=code).stderr
        assert text.count("\n") == 1 and text.startswith("assay checkpoint: "), text
        return text


@pytest.fixture
def cli(tmp_path):
    return Cli(tmp_path)


@pytest.fixture
def client_of(tmp_path):
    """A client of an embedded server, which keeps conditions."""

    def make(server):
        options = {"ENDPOINT": server.url, "ANONYMOUS": "true", "REGION": "us-east-1", "CONDITIONAL_WRITES": "yes"}
        return Cli(tmp_path, {f"ASSAY_STORAGE_{name}": value for name, value in options.items()})

    return make


@pytest.fixture
def bucket(serve, client_of):
    """A client of the embedded server, and the URI of a bucket there."""
    client = client_of(serve("--root", "memory", "--bucket", "test"))
    client.uri = "s3://test"
    return client
