"""Command-line tools on the same files and the same server: what is run for each, and what it leaves."""

import contextlib
import filecmp
import os
import pathlib
import shutil
from dataclasses import dataclass

from harness import process
from harness.machine import ROOT

from storage.server import BUCKET, environment

OURS = "assay"
PEERS = ("rclone", "s5cmd", "aws s3")
RCLONE = ROOT / ".venv" / "bin" / "rclone"  # tools/requirements-matrix.txt
CLIENTS = ROOT / ".venv" / "apart" / "clients" / "bin"  # tools/requirements-clients.txt

MIB = 1 << 20


@dataclass(frozen=True)
class Work:
    name: str
    title: str
    size: int
    count: int


WORKS = [
    Work("large", "1 x 2 GiB", 2048 * MIB, 1),
    Work("medium", "1,000 x 1 MiB", MIB, 1000),
    Work("small", "20,000 x 16 KiB", 16 << 10, 20_000),
]
QUICK = [Work("large", "1 x 64 MiB", 64 * MIB, 1), Work("small", "200 x 16 KiB", 16 << 10, 200)]

#: What is done, and what it says to people.
OPERATIONS = {
    "put": "put: a folder into an empty prefix",
    "get": "get: the prefix into an empty folder",
    "sync": "sync: a folder into an empty prefix",
    "again": "sync again: nothing has changed",
}


class WrongContent(Exception):
    """What a tool has written is not what was there."""


class ToolFailed(Exception):
    def __init__(self, tool, operation, finished):
        super().__init__(f"{operation} of {tool} ended with exit code {finished.exit_code}:\n{finished.tail()}")


def make_files(folder, work):
    """The work's files, 100 a folder, made once: no two have the same content."""
    if (folder / ".whole").exists():
        return
    shutil.rmtree(folder, ignore_errors=True)
    for index in range(work.count):
        path = folder / "files" / f"part-{index // 100:03}" / f"file-{index:05}.bin"
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("wb") as file:
            for _ in range(0, work.size, MIB):
                file.write(os.urandom(min(MIB, work.size)))
    (folder / ".whole").touch()


def command_of(tool, operation, here, prefix, url, bin_dir):
    """As a user of that tool would write it; as many transfers at a time as ours has, where it does not choose itself."""
    there = f"s3://{BUCKET}/{prefix}"
    ours = [bin_dir / "assay", "object"]
    s5cmd = [CLIENTS / "s5cmd", "--log", "error", "--endpoint-url", url]
    aws = CLIENTS / "aws"
    many = ["--transfers", 16, "--checkers", 16, "--config", "/dev/null"]
    commands = {
        (OURS, "put"): [*ours, "put", "-r", "-q", here, there],
        # The others do not wait for the disk.
        (OURS, "get"): [*ours, "get", "-r", "-q", "--no-sync", there, here],
        (OURS, "sync"): [*ours, "sync", "-q", here, there],
        # The others compare sizes and times.
        (OURS, "again"): [*ours, "sync", "-q", "--compare", "time", here, there],
        ("aws s3", "put"): [aws, "s3", "cp", "--recursive", "--only-show-errors", here, there],
        ("aws s3", "get"): [aws, "s3", "cp", "--recursive", "--only-show-errors", there, here],
        ("aws s3", "sync"): [aws, "s3", "sync", "--only-show-errors", here, there],
        ("rclone", "put"): [RCLONE, "copy", *many, here, f"bench:{BUCKET}/{prefix}"],
        ("rclone", "get"): [RCLONE, "copy", *many, f"bench:{BUCKET}/{prefix}", here],
        ("rclone", "sync"): [RCLONE, "sync", *many, here, f"bench:{BUCKET}/{prefix}"],
        ("s5cmd", "put"): [*s5cmd, "cp", f"{here}/", f"{there}/"],
        ("s5cmd", "get"): [*s5cmd, "cp", f"{there}/*", f"{here}/"],
        ("s5cmd", "sync"): [*s5cmd, "sync", f"{here}/", f"{there}/"],
    }
    return commands.get((tool, operation)) or commands[tool, "sync"]


def tool_environment(url, home):
    return {
        **environment(url),
        "HOME": str(home),
        "XDG_CACHE_HOME": str(home / "cache"),
        "RCLONE_CONFIG_BENCH_TYPE": "s3",
        "RCLONE_CONFIG_BENCH_PROVIDER": "Other",
        "RCLONE_CONFIG_BENCH_ENV_AUTH": "true",
        "RCLONE_CONFIG_BENCH_ENDPOINT": url,
        "RCLONE_CONFIG_BENCH_REGION": "us-east-1",
    }


def run(tool, operation, command, variables):
    finished = process.run(command, variables)
    if finished.exit_code != 0:
        raise ToolFailed(tool, operation, finished)
    return {
        "seconds": finished.wall_seconds,
        "cpu_seconds": finished.cpu_seconds,
        "peak_rss_bytes": finished.max_rss_bytes,
        "others_cores": finished.others_cores,
    }


def files_below(folder):
    return {str(path.relative_to(folder)): path for path in folder.rglob("*") if path.is_file()}


def check_files(tool, source, target):
    """Every byte of every file."""
    wanted, found = files_below(source), files_below(target)
    if wanted.keys() != found.keys():
        raise WrongContent(f"{tool} got {len(found)} files where there are {len(wanted)}")
    for name, path in wanted.items():
        if not filecmp.cmp(path, found[name], shallow=False):
            raise WrongContent(f"{tool} got other bytes of {name}")


def empty(prefix, variables, bin_dir):
    run(OURS, "rm", [bin_dir / "assay", "object", "rm", "-r", "-q", f"s3://{BUCKET}/{prefix}"], variables)


class Targets:
    """New folders to get into. Small ones stay until the end: ext4 passes by the inodes of files that were removed in
    the last minutes one by one, for each new file, which costs more than to fetch it."""

    KEPT_BYTES = 512 * MIB

    def __init__(self, data_dir):
        self.folder = data_dir / "got"
        self.made = 0

    def __enter__(self):
        shutil.rmtree(self.folder, ignore_errors=True)
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.folder, ignore_errors=True)

    @contextlib.contextmanager
    def fresh(self, work):
        """A path under which nothing is yet."""
        self.made += 1
        target = self.folder / str(self.made)
        yield target
        if work.size * work.count > self.KEPT_BYTES:
            shutil.rmtree(target)


def measure_tool(tool, work, url, bin_dir, data_dir, operations, targets):
    """{operation: row} of one tool; what it put is fetched again by ours, what it got is read from the disk."""
    source, home = data_dir / work.name / "files", data_dir / "home"
    make_files(data_dir / work.name, work)
    home.mkdir(parents=True, exist_ok=True)
    variables = tool_environment(url, home)

    def perform(operation, here, prefix):
        return run(tool, operation, command_of(tool, operation, here, prefix, url, bin_dir), variables)

    def check_objects(prefix):
        with targets.fresh(work) as target:
            command = command_of(OURS, "get", target, prefix, url, bin_dir)
            run(OURS, "get", command, variables)
            check_files(tool, source, target)

    rows = {}
    if "put" in operations or "get" in operations:
        rows["put"] = perform("put", source, "put")
        check_objects("put")
    if "get" in operations:
        with targets.fresh(work) as target:
            rows["get"] = perform("get", target, "put")
            check_files(tool, source, target)
    empty("put", variables, bin_dir)
    if "sync" in operations or "again" in operations:
        rows["sync"] = perform("sync", source, "sync")
        check_objects("sync")
        rows["again"] = perform("again", source, "sync")
        empty("sync", variables, bin_dir)
    return rows


def versions():
    """{tool: what it says of itself}"""
    asked = {
        "rclone": [RCLONE, "version"],
        "s5cmd": [CLIENTS / "s5cmd", "version"],
        "aws s3": [CLIENTS / "aws", "--version"],
    }
    found = {}
    for tool, command in asked.items():
        finished = process.run(command)
        found[tool] = finished.stdout.splitlines()[0] if finished.stdout else "unknown"
    return found


def default_data_dir():
    return pathlib.Path(ROOT) / "build" / "bench-data" / "tools"
