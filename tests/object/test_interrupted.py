"""What kill -9 and Ctrl-C leave."""

import contextlib
import json
import os
import pathlib
import re
import signal
import socket
import threading
import time
import urllib.request

import pytest
from conftest import KEY, SECRET, wait_for_notes
from nodes import wait_for
from tls import Gate

MIB = 1 << 20
BYTES = 64 * MIB
PARTS = ("--part-size", "5MiB", "--connections", 2)


@pytest.fixture
def big(tmp_path):
    path = tmp_path / "big"
    path.write_bytes(os.urandom(BYTES))
    return path


def uploads(cli, bucket="s3://test"):
    return json.loads(cli.run("uploads", bucket, "--output", "json").stdout)


@contextlib.contextmanager
def put_in_the_middle(cli, big, *options, bucket="s3://test"):
    """A put that has finished two parts and cannot send a third of the file before its gate is opened."""
    with contextlib.closing(Gate(cli.environment["AWS_ENDPOINT_URL"], BYTES // 3)) as gate:
        process = cli.start("put", big, bucket + "/big", *options, *PARTS, **through(gate))
        gate.wait_until_shut(process)
        if bucket.startswith("gs:") and "--if-absent" in options:  # one after the other: the service alone knows them
            wait_for(lambda: received(cli) > BYTES // 3 - MIB)
        else:
            wait_for_notes(process, pathlib.Path(cli.environment["XDG_CACHE_HOME"]), 2)
        yield process, gate


def through(gate):
    """The environment of who is behind it, and is patient."""
    variables = {name: gate.url for name in ("AWS_ENDPOINT_URL", "ASSAY_STORAGE_ENDPOINT")}
    return variables | {"ASSAY_STORAGE_STALL_TIMEOUT_SECONDS": "3600"}


@pytest.mark.parametrize("service", ["s3", "gs with HMAC keys"])
def test_a_put_goes_on_after_a_kill(cli, big, service):
    bucket = "s3://test"
    if service != "s3":
        bucket = "gs://test"
        cli.environment |= {
            "GCS_HMAC_ACCESS_KEY_ID": KEY,
            "GCS_HMAC_SECRET_ACCESS_KEY": SECRET,
            "ASSAY_STORAGE_ENDPOINT": cli.environment["AWS_ENDPOINT_URL"],
        }
    with put_in_the_middle(cli, big, bucket=bucket) as (process, _):
        process.kill()
        process.wait()
    assert len(uploads(cli, bucket)) == 1
    again = json.loads(cli.run("put", big, bucket + "/big", "--output", "json").stdout)
    assert again[0]["resumed_bytes"] >= 5 << 20
    assert uploads(cli, bucket) == []
    assert cli.run("cat", bucket + "/big").stdout == big.read_bytes()


def received(cli):
    """Bytes that reached the server so far."""
    text = urllib.request.urlopen(cli.environment["AWS_ENDPOINT_URL"] + "/metrics").read().decode()
    return int(re.search(r"^assay_object_network_received_bytes_total (\d+)", text, re.M).group(1))


def kill_in_the_middle(cli, big, bucket, *flags):
    """Lets a put send a third of the file, and kills it."""
    with put_in_the_middle(cli, big, *flags, bucket=bucket) as (process, _):
        process.kill()
        process.wait()


@pytest.mark.parametrize(
    ("bucket", "flags"),
    [("s3://test", []), ("s3://test", ["--if-absent"])]
    + [("gs://test", []), ("gs://test", ["--if-absent"])]
    + [("oci://test@assay", []), ("oci://test@assay", ["--if-absent"])],
    ids=lambda value: value if isinstance(value, str) else "absent" if value else "always",
)
def test_what_was_sent_before_a_kill_is_not_sent_again(open_cli, big, bucket, flags):
    command = ("put", big, bucket + "/big", *flags)
    with put_in_the_middle(open_cli, big, *flags, bucket=bucket) as (process, gate):
        process.kill()
        process.wait()
        gate.open_after_the_end()  # where a session stands for who began it
        open_cli.refused("stat", bucket + "/big")
        before = received(open_cli)
        again = json.loads(open_cli.run(*command, "--output", "json", **through(gate)).stdout)[0]
    assert again["resumed_bytes"] >= 10 << 20
    assert received(open_cli) - before < BYTES - again["resumed_bytes"] + (1 << 20)
    assert open_cli.run("cat", bucket + "/big").stdout == big.read_bytes()
    assert uploads(open_cli, bucket) == []


@pytest.mark.parametrize("bucket", ["s3://test", "gs://test", "oci://test@assay"])
def test_a_condition_holds_for_what_was_begun_without_one(open_cli, big, bucket):
    kill_in_the_middle(open_cli, big, bucket)
    open_cli.run("put", "-", bucket + "/big", stdin=b"another was here first")
    open_cli.refused("put", big, bucket + "/big", "--if-absent")
    assert open_cli.run("cat", bucket + "/big").stdout == b"another was here first"


def test_a_file_that_changed_is_sent_anew(cli, big):
    kill_in_the_middle(cli, big, "s3://test")
    with big.open("r+b") as file:
        file.write(b"changed")
    again = json.loads(cli.run("put", big, "s3://test/big", "--output", "json").stdout)
    assert again[0]["resumed_bytes"] == 0
    assert cli.run("cat", "s3://test/big").stdout == big.read_bytes()
    assert cli.run("uploads", "s3://test", "--abort").stdout.startswith(b"abort: s3://test/big")
    assert uploads(cli) == []


@pytest.fixture
def mute_endpoint():
    """A service that takes a request and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server


@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize(
    "command",
    [
        ("ls", "s3://test/"),
        ("du", "s3://test/"),
        ("stat", "s3://test/key"),
        ("rm", "s3://test/key"),
        ("rm", "-r", "s3://test/folder/"),
        ("verify", "-r", "s3://test/folder/"),
        ("sync", "s3://test/folder/", "{folder}"),
        ("cp", "-r", "{folder}", "s3://test/folder/"),
        ("get", "s3://test/key", "{folder}/key"),
        ("mb", "s3://new"),
        ("rb", "s3://test"),
        ("rb", "--force", "s3://test"),
        ("uploads", "s3://test"),
        ("uploads", "--abort", "s3://test"),
        ("presign", "oci://test@assay/key", "--endpoint", "{endpoint}", "--anonymous"),
    ],
    ids=lambda value: " ".join(value[:2]) if isinstance(value, tuple) else value.name,
)
def test_a_signal_ends_what_waits_for_an_answer(cli, mute_endpoint, tmp_path, command, sent):
    endpoint = f"http://127.0.0.1:{mute_endpoint.getsockname()[1]}"
    cli.environment["AWS_ENDPOINT_URL"] = endpoint
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "file").write_text("to be compared")
    cli.environment["ASSAY_STORAGE_STALL_TIMEOUT_SECONDS"] = "3600"  # nothing else ends it
    process = cli.start(*(word.format(folder=tmp_path / "folder", endpoint=endpoint) for word in command))
    mute_endpoint.settimeout(300)
    connection, _ = mute_endpoint.accept()
    with connection:
        assert connection.recv(100)
        process.send_signal(sent)
        _, errors = process.communicate(timeout=300)
    assert process.returncode == 130 and errors.count(b"\n") == 1, errors


def answer_lists_only(server, keys):
    """A service that lists `keys`, and is mute at whatever else it is asked. Sets what it returns at the first such."""
    asked = threading.Event()
    entries = "".join(
        f"<Contents><Key>{key}</Key><Size>1</Size><ETag>e</ETag>"
        "<LastModified>2026-01-01T00:00:00.000Z</LastModified></Contents>"
        for key in keys
    )
    body = f"<ListBucketResult><IsTruncated>false</IsTruncated>{entries}</ListBucketResult>".encode()

    def serve(connection):
        while head := connection.recv(65536):
            if not head.startswith(b"GET "):
                asked.set()
                continue
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body)

    def accept():
        while True:
            try:
                connection, _ = server.accept()
            except OSError:
                return
            threading.Thread(target=serve, args=(connection,), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    return asked


@pytest.mark.parametrize("command", [("sync", "{folder}", "s3://test/f/", "--delete"), ("rm", "-r", "s3://test/f/")])
def test_a_signal_ends_removals_with_one_line(cli, mute_endpoint, tmp_path, command):
    cli.environment["AWS_ENDPOINT_URL"] = f"http://127.0.0.1:{mute_endpoint.getsockname()[1]}"
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "a").write_text("1")
    if command[0] == "sync":
        command = (*command, "--compare", "size")  # equal: nothing is sent before what is to be removed
    cli.environment["ASSAY_STORAGE_STALL_TIMEOUT_SECONDS"] = "3600"
    asked = answer_lists_only(mute_endpoint, ["f/a", "f/b", "f/c", "f/d"])
    process = cli.start(*(word.format(folder=tmp_path / "folder") for word in command))
    assert asked.wait(300)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=300)
    assert process.returncode == 130 and errors.count(b"\n") == 1, errors


def test_ctrl_c_leaves_no_upload(cli, big):
    process = cli.start("put", big, "s3://test/big", "--bandwidth", "1MiB", *PARTS)  # a minute
    wait_for_notes(process, pathlib.Path(cli.environment["XDG_CACHE_HOME"]), 0)
    assert len(uploads(cli)) == 1
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=300)
    assert process.returncode == 130 and errors.count(b"\n") == 1, errors
    assert uploads(cli) == []
    cli.refused("stat", "s3://test/big")


def test_a_file_cut_short_while_it_is_sent_is_not_published(cli, big):
    with put_in_the_middle(cli, big) as (process, gate):
        with big.open("r+b") as file:
            file.seek(100)
            file.write(b"changed")
        gate.open()
        _, errors = process.communicate(timeout=300)
    assert process.returncode == 2 and b"changed" in errors
    cli.refused("stat", "s3://test/big")


def test_a_get_that_is_killed_leaves_nothing_under_the_name(cli, big, tmp_path):
    cli.run("put", big, "s3://test/big")
    target = tmp_path / "out" / "big"
    target.parent.mkdir()
    with get_in_the_middle(cli, target) as process:
        process.kill()
        process.wait()
    assert not target.exists()
    cli.run("get", "s3://test/big", target)
    assert target.read_bytes() == big.read_bytes()


@contextlib.contextmanager
def get_in_the_middle(cli, target):
    """A get that has received two parts and will not receive more than half of the object."""
    with contextlib.closing(Gate(cli.environment["AWS_ENDPOINT_URL"], BYTES // 2, down=True)) as gate:
        process = cli.start("get", "s3://test/big", target, *PARTS, **through(gate))
        gate.wait_until_shut(process)
        wait_for_notes(process, target.parent / ".assay", 2)
        yield process


def test_a_get_goes_on_after_a_kill(cli, big, tmp_path):
    cli.run("put", big, "s3://test/big")
    folder = tmp_path / "out"
    folder.mkdir()
    with get_in_the_middle(cli, folder / "big") as process:
        process.kill()
        process.wait()
    assert not (folder / "big").exists() and (folder / ".assay").exists()
    again = json.loads(cli.run("get", "s3://test/big", folder / "big", "--output", "json").stdout)
    assert 8 << 20 <= again[0]["resumed_bytes"] < BYTES
    assert (folder / "big").read_bytes() == big.read_bytes()
    assert [path.name for path in folder.iterdir()] == ["big"]


def test_a_get_begins_anew_when_the_object_changed(cli, big, tmp_path):
    cli.run("put", big, "s3://test/big")
    target = tmp_path / "out" / "big"
    target.parent.mkdir()
    with get_in_the_middle(cli, target) as process:
        process.kill()
        process.wait()
    big.write_bytes(os.urandom(BYTES - 1000))
    cli.run("put", big, "s3://test/big")
    again = json.loads(cli.run("get", "s3://test/big", target, "--output", "json").stdout)
    assert again[0]["resumed_bytes"] == 0
    assert target.read_bytes() == big.read_bytes()


def test_what_a_crash_left_damaged_is_fetched_again(cli, big, tmp_path):
    cli.run("put", big, "s3://test/big")
    target = tmp_path / "out" / "big"
    target.parent.mkdir()
    with get_in_the_middle(cli, target) as process:
        process.kill()
        process.wait()
    [part] = [path for path in (target.parent / ".assay" / "uploads").iterdir() if path.suffix == ""]
    content = bytearray(part.read_bytes())
    content[: 1 << 20] = bytes(1 << 20)
    part.write_bytes(content)
    cli.run("get", "s3://test/big", target)
    assert target.read_bytes() == big.read_bytes()


def test_ctrl_c_in_a_get_leaves_nothing(cli, big, tmp_path):
    cli.run("put", big, "s3://test/big")
    folder = tmp_path / "out"
    folder.mkdir()
    with get_in_the_middle(cli, folder / "big") as process:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=300)
    assert process.returncode == 130 and list(folder.rglob("*")) == []


@pytest.mark.parametrize("flags", [["--part-size", "5MiB"], ["--part-size", "64MiB"], ["--no-resume"]])
def test_a_source_that_is_cut_short_is_one_line(cli, big, flags):
    flags = flags + ["--bandwidth", "6MiB", "--connections", 2, "--stall-timeout", 5]  # ten seconds
    process = cli.start("put", big, "s3://test/big", *flags)
    wait_for(lambda: str(big) in pathlib.Path(f"/proc/{process.pid}/maps").read_text())
    time.sleep(0.5)
    assert process.poll() is None
    os.truncate(big, 1000)
    _, errors = process.communicate(timeout=300)
    assert process.returncode == 2 and errors.count(b"\n") == 1 and b"changed" in errors, errors
    assert uploads(cli) == []
    cli.refused("stat", "s3://test/big")


def test_a_full_disk_leaves_nothing(cli, big):
    cli.run("put", big, "s3://test/big")
    # A limit on the size of files is refused as a full disk is: by the call that takes the space.
    limit = f"ulimit -f {BYTES // 2 // 1024}; exec "
    import subprocess

    from served import ASSAY

    folder = big.parent / "small"
    folder.mkdir()
    ended = subprocess.run(
        ["bash", "-c", f"{limit}{ASSAY} object get s3://test/big {folder}/big"],
        capture_output=True,
        env=cli.environment,
        timeout=300,
    )
    assert ended.returncode in (1, 2) and ended.stderr.count(b"\n") == 1, ended.stderr
    assert [path for path in folder.rglob("*") if path.is_file()] == []
