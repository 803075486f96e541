"""What verbs print for programs and for terminals, and what they end with."""

import json
import os
import pathlib
import pty
import re
import signal
import socket
import subprocess
import time

import pytest
from conftest import ASSAY
from sync_log import SyncLog


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"content")
    return path


def told(ended):
    return json.loads(ended.stdout)


def test_every_verb_tells_programs(cli, file, tmp_path):
    uri = "s3://test/k"
    copied = {"from": f"file://{file}", "to": uri, "bytes": 7, "resumed_bytes": 0, "outcome": "copy", "error": ""}
    assert told(cli.run("put", file, uri, "--output", "json")) == [copied]
    streamed = told(cli.run("put", "-", "s3://test/stream", "--output", "json", stdin=b"12345"))
    assert streamed == [copied | {"from": "-", "to": "s3://test/stream", "bytes": 5}]
    assert [one["outcome"] for one in told(cli.run("get", uri, tmp_path / "back", "--output", "json"))] == ["copy"]
    assert told(cli.run("cp", uri, "s3://other/k", "--dry-run", "--output", "json"))[0]["outcome"] == "(dryrun) copy"
    assert told(cli.run("stat", uri, "--output", "json"))["size"] == 7
    listed = told(cli.run("ls", "s3://test", "--output", "json"))
    assert [one["key"] for one in listed["objects"]] == ["k", "stream"] and listed["total_bytes"] == 12
    assert told(cli.run("ls", "s3://other", "--output", "json")) == {
        "objects": [],
        "prefixes": [],
        "total_bytes": 0,
        "total_objects": 0,
    }
    signed = told(cli.run("presign", uri, "--expires-in", 60, "--output", "json"))
    assert signed["uri"] == uri and signed["method"] == "GET" and signed["expires_in_seconds"] == 60
    assert signed["url"].startswith(cli.environment["AWS_ENDPOINT_URL"])
    assert told(cli.run("verify", uri, "--output", "json"))[0]["outcome"] == "ok"
    assert told(cli.run("uploads", "s3://test", "--output", "json")) == []
    assert told(cli.run("uploads", "s3://test", "--abort", "--output", "json")) == []
    removed = {"uri": uri, "outcome": "delete", "error": ""}
    assert told(cli.run("rm", uri, "--dry-run", "--output", "json")) == [removed | {"outcome": "(dryrun) delete"}]
    assert told(cli.run("rm", uri, "--output", "json")) == [removed]
    assert told(cli.run("rm", "-r", "s3://test", "--output", "json")) == [removed | {"uri": "s3://test/stream"}]
    assert "standard output" in cli.refused("get", uri, "-", "--output", "json")


def test_a_server_tells_programs_its_address():
    process = subprocess.Popen(
        [ASSAY, "object", "serve", "--root", "memory", "--dialect", "s3,gcs", "--output", "json"],
        stdout=subprocess.PIPE,
    )
    told = json.loads(process.stdout.readline())
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=300) == 0
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+", told["url"])
    assert told["dialects"] == ["s3", "gcs"] and told["anonymous"] and told["root"] == "memory"


def catches(pid, number):
    caught = re.search(r"SigCgt:\s*(\w+)", pathlib.Path(f"/proc/{pid}/status").read_text()).group(1)
    return int(caught, 16) >> (number - 1) & 1


def test_exit_codes(cli, file, tmp_path):
    cli.run("put", file, "s3://test/k", code=0)
    for mistake in (
        ("ls", "s3://nosuch"),  # no such bucket
        ("get", "s3://test/none", tmp_path / "out"),  # no such object
        ("put", tmp_path / "none", "s3://test/k"),  # no such file
        ("get", "s3://test/k", tmp_path / "out", "--anonymous"),  # no access
        ("put", file, "s3://test/k", "--if-absent"),  # a condition that does not hold
        ("put", file, "s3://test/k", "--no-such-flag"),
        ("nosuchverb",),
    ):
        cli.run(*mistake, code=2)
    with socket.create_server(("127.0.0.1", 0)) as closed:
        nobody = f"http://127.0.0.1:{closed.getsockname()[1]}"
    for verb in (("ls", "s3://test"), ("put", file, "s3://test/k"), ("rm", "s3://test/k"), ("stat", "s3://test/k")):
        cli.run(*verb, "--max-attempts", 1, code=1, AWS_ENDPOINT_URL=nobody)
    file.write_bytes(bytes(20_000_000))
    process = cli.start("put", file, "s3://test/slow", "--bandwidth", "1MiB")
    while not catches(process.pid, signal.SIGINT):
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=300) == 130
    cli.run("stat", "s3://test/slow", code=2)


def on_a_terminal(cli, *arguments):
    """Everything that the verb writes to a terminal that is its standard output and error."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [ASSAY, "object", *[str(one) for one in arguments]],
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=theirs,
        env=cli.environment,
    )
    os.close(theirs)
    text = b""
    while True:
        try:
            block = os.read(ours, 65536)
        except OSError:  # how a terminal says that nobody writes any more
            break
        if not block:
            break
        text += block
    os.close(ours)
    assert process.wait(timeout=300) == 0, text
    return text.decode()


def test_progress_on_a_terminal(cli, file):
    file.write_bytes(bytes(6_000_000))
    text = on_a_terminal(cli, "put", file, "s3://test/k", "--bandwidth", "4MiB", "--part-size", "1MiB")
    assert re.search(r"copying  [\d.]+ \w+ of [\d.]+ MiB  [\d.]+ \w+/s  [\d.]+ \w+ left", text), text
    # What the verb says stands on a line of its own.
    lines = [line.split("\x1b[K")[-1] for line in text.splitlines()]
    assert f"copy: file://{file} to s3://test/k" in lines, text


def test_no_progress_elsewhere(cli, file):
    file.write_bytes(bytes(6_000_000))
    ended = cli.run("put", file, "s3://test/k", "--bandwidth", "16MiB", "--part-size", "1MiB")
    assert ended.stderr == b"" and ended.stdout.count(b"\n") == 1


def test_files_are_synced_unless_told_otherwise(cli, tmp_path):
    noted = SyncLog(tmp_path)
    cli.run("put", "-", "s3://test/k", stdin=b"x" * 1000)

    def syncs(*arguments):
        cli.run(*arguments, **noted.environment)
        return len(noted.take())

    assert syncs("get", "s3://test/k", tmp_path / "durable") >= 2  # the file and its folder
    assert syncs("get", "s3://test/k", tmp_path / "quick", "--no-sync") == 0
    assert syncs("put", tmp_path / "quick", f"file://{tmp_path}/copy", "--no-sync") == 0
    assert (tmp_path / "copy").read_bytes() == (tmp_path / "durable").read_bytes() == b"x" * 1000
