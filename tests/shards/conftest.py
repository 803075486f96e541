"""`assay data` from outside, against the real mosaicml-streaming."""

import json
import os
import pathlib
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
import apart  # noqa: E402
import served  # noqa: E402

serve = served.serve
MDS = pathlib.Path(__file__).parent / "apart" / "mds.py"


class Cli:
    """Runs `assay data` with the environment of a store, if there is one."""

    def __init__(self, home, environment=None):
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "ASSAY_S"))}
        self.environment = kept | {"HOME": str(home), "XDG_CACHE_HOME": str(home / "cache")} | (environment or {})

    def command(self, *arguments):
        return [str(served.ASSAY), "data", *[str(argument) for argument in arguments]]

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

    def rows(self, *arguments):
        return [json.loads(line) for line in self.run("cat", *arguments).stdout.splitlines()]

    def refused(self, *arguments, code=2):
        """The one line that it ends with."""
        text = self.run(*arguments, code=code).stderr
        assert text.count("\n") == 1 and text.startswith("assay data: "), text
        return text


@pytest.fixture
def cli(tmp_path):
    return Cli(tmp_path)


@pytest.fixture
def bucket(serve, tmp_path):
    """A client of an embedded server, and the URI of a bucket there."""
    server = serve("--root", "memory", "--bucket", "test")
    options = {"ENDPOINT": server.url, "ANONYMOUS": "true", "REGION": "us-east-1", "CONDITIONAL_WRITES": "yes"}
    client = Cli(tmp_path, {f"ASSAY_STORAGE_{name}": value for name, value in options.items()})
    client.uri = "s3://test"
    return client


@pytest.fixture
def real(tmp_path):
    """What the real mosaicml-streaming makes of jobs (apart/mds.py)."""
    return lambda *jobs: apart.answer(MDS, list(jobs), tmp_path)


def write_rows(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


def put_folder(cli, folder, uri):
    """Copies the files of a folder into a bucket."""
    command = [served.ASSAY, "object", "cp", "--recursive", f"{folder}/", f"{uri}/"]
    subprocess.run(command, env=cli.environment, check=True, capture_output=True)
