"""A PostgreSQL server of a test's own, on a free port of 127.0.0.1, run by an unprivileged user where the test is root."""

import glob
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time

import ports

NOBODY = 65534


def programs():
    """Where initdb and postgres are: in PATH, or where Debian has them."""
    folders = [*os.environ["PATH"].split(":"), *sorted(glob.glob("/usr/lib/postgresql/*/bin"))]
    for folder in map(pathlib.Path, folders):
        if (folder / "initdb").exists() and (folder / "postgres").exists():
            return folder
    raise AssertionError("there is no initdb in PATH or /usr/lib/postgresql (install tools/apt-postgres.txt)")


class Server:
    def __enter__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="assay-postgres-"))
        self.port = ports.free_port()
        self.schemas = 0
        if os.geteuid() == 0:
            shutil.chown(self.folder, NOBODY, NOBODY)
        arguments = ["-D", self.folder / "data", "-U", "assay_test", "--auth=trust", "--encoding=UTF8", "--locale=C"]
        made = self.run("initdb", *arguments, "--no-sync")
        out, _ = made.communicate(timeout=300)
        assert made.returncode == 0, out
        self.start()
        return self

    def __exit__(self, *_):
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def run(self, program, *arguments):
        user = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.geteuid() == 0 else {}
        command = [programs() / program, *map(str, arguments)]
        return subprocess.Popen(
            command, cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **user
        )

    def start(self):
        arguments = ["-D", self.folder / "data", "-k", self.folder, "-h", "127.0.0.1", "-p", self.port]
        settings = ["fsync=off", "logging_collector=on", "dynamic_shared_memory_type=mmap"]
        self.process = self.run("postgres", *arguments, *(word for setting in settings for word in ("-c", setting)))
        deadline = time.monotonic() + 300
        while not self.answers():
            assert self.process.poll() is None and time.monotonic() < deadline, "postgres does not answer"
            time.sleep(0.05)

    def answers(self):
        """The last line of its file says "ready" once it takes sessions."""
        state = self.folder / "data" / "postmaster.pid"
        return state.exists() and state.read_text().split("\n")[7:8] == ["ready   "]

    def stop(self, how=signal.SIGINT):
        if self.process.poll() is None:
            self.process.send_signal(how)
            self.process.wait(timeout=300)

    def store(self, schema="runs"):
        """The URL of a store of its own for each name."""
        return f"postgresql://assay_test@127.0.0.1:{self.port}/postgres?schema={schema}"

    def new_store(self):
        self.schemas += 1
        return self.store(f"runs{self.schemas}")
