"""`assay object serve` in a process of its own, for any folder's tests."""

import os
import pathlib
import re
import signal
import subprocess

import pytest

ASSAY = pathlib.Path(os.environ.get("ASSAY_BIN_DIR", "build/release/bin")) / "assay"


class Server:
    """Says its address on its first line; stop() ends it in order, kill() as a crash does."""

    def __init__(self, *arguments, environment=None):
        self.process = subprocess.Popen(
            [ASSAY, "object", "serve", *[str(argument) for argument in arguments]],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
        )
        line = self.process.stdout.readline()
        match = re.search(r"http://\S+", line)
        assert match, line + self.process.stderr.read()
        self.url = match.group()

    def stop(self):
        self.process.send_signal(signal.SIGINT)
        assert self.process.wait(timeout=300) == 0

    def kill(self):
        self.process.kill()
        self.process.wait(timeout=300)


@pytest.fixture
def serve():
    """Starts servers with the given arguments; those still running at the end are killed."""
    servers = []

    def start(*arguments, **options):
        servers.append(Server(*arguments, **options))
        return servers[-1]

    yield start
    for server in servers:
        server.kill()
