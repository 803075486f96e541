"""`assay object` from outside, against `assay object serve`."""

import os
import pathlib
import subprocess
import sys
import time

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
import served  # noqa: E402

serve = served.serve
ASSAY = served.ASSAY

KEY, SECRET = "AKIAOFTESTS", "secret/of+tests"


class Cli:
    """Runs `assay object` with a home of its own and the server's address in the environment."""

    def __init__(self, url, home):
        self.environment = {
            name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "ASSAY_S"))
        }
        self.environment |= {
            "HOME": str(home),
            "XDG_CACHE_HOME": str(home / "cache"),
            "AWS_ENDPOINT_URL": url,
            "AWS_REGION": "us-east-1",
            "AWS_ACCESS_KEY_ID": KEY,
            "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_EC2_METADATA_DISABLED": "true",
        }

    def start(self, *arguments, **changes):
        return subprocess.Popen(
            [ASSAY, "object", *[str(argument) for argument in arguments]],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=self.environment | changes,
        )

    def run(self, *arguments, code=0, stdin=None, **changes):
        ended = subprocess.run(
            [ASSAY, "object", *[str(argument) for argument in arguments]],
            input=stdin,
            stdin=subprocess.DEVNULL if stdin is None else None,
            capture_output=True,
            env=self.environment | changes,
            timeout=300,
        )
        assert ended.returncode == code, (arguments, ended.returncode, ended.stderr.decode())
        return ended

    def refused(self, *arguments, code=2, **changes):
        """The one line that it ends with."""
        text = self.run(*arguments, code=code, **changes).stderr.decode()
        assert text.count("\n") == 1 and text.endswith("\n"), text
        return text


def notes_in(folder):
    """Of puts and of gets."""
    return [path for path in folder.rglob("*") if path.suffix in (".jsonl", ".notes")]


def wait_for_notes(process, folder, count):
    """Until `process` has noted so many finished parts, or ranges, in a file of `folder`: behind a line of what."""
    deadline = time.monotonic() + 300
    while not any(note.read_bytes().count(b"\n") > count for note in notes_in(folder)):
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.02)


@pytest.fixture
def credentials(tmp_path):
    path = tmp_path / "credentials.yaml"
    path.write_text(f"keys:\n  - access_key_id: {KEY}\n    secret_access_key: '{SECRET}'\n")
    return path


@pytest.fixture
def make_cli(tmp_path):
    home = tmp_path / "home"
    home.mkdir()
    return lambda url: Cli(url, home)


@pytest.fixture
def server(serve, credentials):
    return serve("--root", "memory", "--credentials", credentials, "--bucket", "test", "--bucket", "other")


@pytest.fixture
def cli(make_cli, server):
    return make_cli(server.url)


@pytest.fixture
def open_server(serve):
    return serve("--root", "memory", "--bucket", "test", "--bucket", "other")


@pytest.fixture
def open_cli(make_cli, open_server):
    """Of a server that asks for no credentials, in every dialect."""
    cli = make_cli(open_server.url)
    cli.environment |= {
        "ASSAY_STORAGE_ENDPOINT": open_server.url,
        "ASSAY_STORAGE_ANONYMOUS": "true",
        "ASSAY_STORAGE_REGION": "us-east-1",
    }
    return cli
