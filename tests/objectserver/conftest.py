"""Starts `assay object serve` for tests that talk to it with the stores' own clients."""

import os
import pathlib
import re
import signal
import subprocess

import pytest

ASSAY = pathlib.Path(os.environ["ASSAY_BIN_DIR"]) / "assay"

ACCESS_KEY = "AKIAEXAMPLE"
SECRET_KEY = "secret/key+of=tests"
TOKEN = "ya29.of-tests"


class Server:
    """A server in a process of its own."""

    def __init__(self, *arguments):
        self.process = subprocess.Popen(
            [ASSAY, "object", "serve", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        line = self.process.stdout.readline()
        match = re.search(r"http://\S+", line)
        assert match, line + self.process.stderr.read()
        self.url = match.group()

    def stop(self):
        self.process.send_signal(signal.SIGINT)
        assert self.process.wait(timeout=20) == 0

    def kill(self):
        self.process.kill()
        self.process.wait(timeout=20)


@pytest.fixture
def serve():
    """Starts servers with the given arguments; those still running at the end are killed."""
    servers = []

    def start(*arguments):
        servers.append(Server(*[str(argument) for argument in arguments]))
        return servers[-1]

    yield start
    for server in servers:
        server.kill()


@pytest.fixture
def credentials(tmp_path):
    path = tmp_path / "credentials.yaml"
    path.write_text(
        f"keys:\n  - access_key_id: {ACCESS_KEY}\n    secret_access_key: '{SECRET_KEY}'\n"
        f"  - access_key_id: ASIASESSION\n    secret_access_key: other\n    session_token: session\n    expires: 1000\n"
        f"tokens: [{TOKEN}]\n"
    )
    return path
