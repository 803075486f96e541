"""Bad input: one line each, exit code 2 for the user's own mistakes."""

import calendar
import contextlib
import email.utils
import http.server
import json
import socket
import subprocess
import threading
import time

import pytest
from conftest import ASSAY, KEY
from tls import Gate


def test_what_is_asked_is_wrong(cli, tmp_path):
    (tmp_path / "file").write_bytes(b"x")
    assert "s3://" in cli.refused("ls", "azure://b/k")
    assert "bucket" in cli.refused("ls", "s3:///key")
    assert "nosuch" in cli.refused("cat", "s3://nosuch/key")
    assert "s3://test/missing" in cli.refused("cat", "s3://test/missing")
    assert "s3://test/missing" in cli.refused("get", "s3://test/missing", tmp_path / "out")
    assert "--recursive" in cli.refused("get", "s3://test", tmp_path)
    assert "no/such/file" in cli.refused("put", tmp_path / "no/such/file", "s3://test/k")
    assert "NAME=VALUE" in cli.refused("put", tmp_path / "file", "s3://test/k", "--metadata", "colour")
    assert "--if-match names no etag" in cli.refused("put", tmp_path / "file", "s3://test/k", "--if-match", "")
    assert "--part-size" in cli.refused("put", tmp_path / "file", "s3://test/k", "--part-size", "many")
    assert not (tmp_path / "out").exists()


def test_a_range_beyond_the_end(cli, tmp_path):
    (tmp_path / "file").write_bytes(b"0123456789")
    cli.run("put", tmp_path / "file", "s3://test/k")
    assert "10 bytes" in cli.refused("cat", "s3://test/k", "--offset", 5, "--length", 6)
    assert "10 bytes" in cli.refused("cat", "s3://test/k", "--offset", 11)
    assert "0 or more" in cli.refused("cat", "s3://test/k", "--offset", -3)
    assert cli.run("cat", "s3://test/k", "--offset", 10).stdout == b""


def test_a_missing_bucket(cli, tmp_path):
    (tmp_path / "file").write_bytes(b"x")
    for command in (
        ("ls", "s3://nosuch"),
        ("put", tmp_path / "file", "s3://nosuch/k"),
        ("cp", "-r", "s3://nosuch/", tmp_path / "out"),
        ("cp", "-r", tmp_path, "s3://nosuch/"),
        ("rm", "s3://nosuch/k"),
        ("rm", "-r", "s3://nosuch/"),
        ("uploads", "s3://nosuch"),
        ("verify", "-r", "s3://nosuch"),
        ("bench", "s3://nosuch", "--size", "1KiB"),
    ):
        message = cli.refused(*command)
        assert "NoSuchBucket" in message and "nosuch" in message, command
    for verb in ("stat", "cat", "verify"):
        message = cli.refused(verb, "s3://nosuch/k")
        assert "s3://nosuch/k" in message and "NoSuchBucket" in message
    assert "NoSuchBucket" in cli.refused("get", "s3://nosuch/k", tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("uri", ["gs://nosuch/k", "oci://nosuch@assay/k"])
def test_a_missing_bucket_of_other_stores(open_cli, tmp_path, uri):
    (tmp_path / "file").write_bytes(b"x")
    for command in (
        ("stat", uri),
        ("cat", uri),
        ("get", uri, tmp_path / "out"),
        ("put", tmp_path / "file", uri),
        ("rm", uri),
        ("ls", uri),
    ):
        message = open_cli.refused(*command)
        assert "bucket" in message and "does not exist" in message and "nosuch" in message, command
    assert "no such object" in open_cli.refused("stat", uri.replace("nosuch", "test"))
    assert not (tmp_path / "out").exists()


def test_credentials(cli):
    message = cli.refused("ls", "s3://test", AWS_ACCESS_KEY_ID="", AWS_SECRET_ACCESS_KEY="")
    assert "credential" in message and "AWS_ACCESS_KEY_ID" in message
    for command in (("ls", "s3://test"), ("stat", "s3://test/k")):
        message = cli.refused(*command, AWS_SECRET_ACCESS_KEY="wrong")
        assert "SignatureDoesNotMatch" in message and "wrong" not in message, command
    assert "InvalidAccessKeyId" in cli.refused("ls", "s3://test", AWS_ACCESS_KEY_ID=KEY + "X")
    assert "403" in cli.refused("ls", "s3://test", "--anonymous")


def test_the_wrong_region_names_the_right_one(serve, make_cli, credentials):
    server = serve("--root", "memory", "--credentials", credentials, "--bucket", "test", "--region", "eu-west-1")
    cli = make_cli(server.url)
    # The answer to a HEAD, which stat and get begin with, has no body to say it in.
    for command in (("ls", "s3://test"), ("stat", "s3://test/k"), ("get", "s3://test/k", "-")):
        assert "set the region to eu-west-1" in cli.refused(*command, AWS_REGION="ap-south-1")


def test_an_expired_token(serve, make_cli, tmp_path):
    keys = tmp_path / "keys.yaml"
    keys.write_text("keys: [{access_key_id: ASIAOLD, secret_access_key: old, session_token: session, expires: 1000}]\n")
    cli = make_cli(serve("--root", "memory", "--credentials", keys, "--bucket", "test").url)
    old = {"AWS_ACCESS_KEY_ID": "ASIAOLD", "AWS_SECRET_ACCESS_KEY": "old", "AWS_SESSION_TOKEN": "session"}
    for command in (("ls", "s3://test"), ("stat", "s3://test/k"), ("get", "s3://test/k", tmp_path / "out")):
        message = cli.refused(*command, **old)
        assert "ExpiredToken" in message and "fresh credentials" in message, command


class SkewedStore(http.server.BaseHTTPRequestHandler):
    """Lists an empty bucket for requests signed by its own clock, which is `ahead` of ours."""

    ahead = 7200

    def do_GET(self):
        now = time.time() + self.ahead
        signed = calendar.timegm(time.strptime(self.headers["x-amz-date"], "%Y%m%dT%H%M%SZ"))
        skewed = abs(now - signed) > 900
        body = (
            b"<Error><Code>RequestTimeTooSkewed</Code></Error>" if skewed else b"<ListBucketResult></ListBucketResult>"
        )
        self.send_response_only(403 if skewed else 200)
        self.send_header("Date", email.utils.formatdate(now, usegmt=True))
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass

    def do_HEAD(self):
        """Without a body, where S3 would say what is wrong."""
        now = time.time() + self.ahead
        signed = calendar.timegm(time.strptime(self.headers["x-amz-date"], "%Y%m%dT%H%M%SZ"))
        self.send_response_only(403 if abs(now - signed) > 900 else 200)
        self.send_header("ETag", '"e"')
        self.send_header("Content-Length", "0")
        self.end_headers()


class LostStore(SkewedStore):
    """Refuses whatever the clock says."""

    def do_GET(self):
        self.headers.replace_header("x-amz-date", "20000101T000000Z")
        super().do_GET()

    def do_HEAD(self):
        self.headers.replace_header("x-amz-date", "20000101T000000Z")
        super().do_HEAD()


@pytest.mark.parametrize("store", [SkewedStore, LostStore])
def test_a_clock_that_is_wrong(cli, store):
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), store) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_address[1]}"
        for command in (("ls", "s3://test"), ("stat", "s3://test/k")):
            if store is SkewedStore:
                cli.run(*command, AWS_ENDPOINT_URL=url)
            else:
                assert "clock" in cli.refused(*command, AWS_ENDPOINT_URL=url)
        server.shutdown()


def test_access_that_is_denied(cli, tmp_path):
    (tmp_path / "file").write_bytes(b"x")
    cli.run("put", tmp_path / "file", "s3://test/k")
    for command in (
        ("ls", "s3://test"),
        ("stat", "s3://test/k"),
        ("get", "s3://test/k", tmp_path / "out"),
        ("put", tmp_path / "file", "s3://test/new"),
        ("rm", "s3://test/k"),
    ):
        message = cli.refused(*command, "--anonymous")
        assert "403" in message and "s3://test/" in message and "allowed" in message
    assert not (tmp_path / "out").exists()
    assert cli.run("cat", "s3://test/k").stdout == b"x"


def test_output_that_finds_no_room(cli, tmp_path):
    (tmp_path / "file").write_bytes(b"x")
    cli.run("put", tmp_path / "file", "s3://test/k")
    for command in (["ls", "s3://test"], ["stat", "s3://test/k"], ["cat", "s3://test/k"]):
        with open("/dev/full", "wb") as full:
            ended = subprocess.run(
                [ASSAY, "object", *command], stdout=full, stderr=subprocess.PIPE, env=cli.environment, timeout=300
            )
        assert ended.returncode == 1 and ended.stderr.count(b"\n") == 1 and b"No space left" in ended.stderr, command


def test_a_key_with_a_newline_is_named_on_one_line(cli):
    assert "s3://test/no such: there is no such object" in cli.refused("stat", "s3://test/no\nsuch")


def test_an_object_that_changes_while_it_is_read(cli, tmp_path):
    source, target = tmp_path / "source", tmp_path / "out" / "target"
    target.parent.mkdir()
    source.write_bytes(b"a" * 16_000_000)
    cli.run("put", source, "s3://test/k")
    with contextlib.closing(Gate(cli.environment["AWS_ENDPOINT_URL"], 4 << 20, down=True)) as gate:
        patient = {"AWS_ENDPOINT_URL": gate.url, "ASSAY_STORAGE_STALL_TIMEOUT_SECONDS": "3600"}
        process = cli.start("get", "s3://test/k", target, "--part-size", "1MiB", "--connections", 2, **patient)
        gate.wait_until_shut(process)
        source.write_bytes(b"b" * 16_000_000)
        cli.run("put", source, "s3://test/k")
        gate.open()
        _, message = process.communicate(timeout=300)
    assert process.returncode == 2 and message.count(b"\n") == 1 and b"s3://test/k" in message, message
    assert not target.exists() and [path for path in target.parent.rglob("*") if path.is_file()] == []


def test_no_server(cli):
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    message = cli.refused("ls", "s3://test", "--max-attempts", 2, AWS_ENDPOINT_URL=f"http://127.0.0.1:{port}", code=1)
    assert "127.0.0.1" in message


def test_a_proxy_that_cuts_connections(cli):
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def cut():
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                connection.recv(100)
                connection.close()

        threading.Thread(target=cut, daemon=True).start()
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        message = cli.refused("ls", "s3://test", "--max-attempts", 2, AWS_ENDPOINT_URL=url, code=1)
        assert "s3://test" in message


class Portal(http.server.BaseHTTPRequestHandler):
    """What some networks put before everything: a page that asks to log in, with a status of success."""

    def answer(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        page = b"<html>log in</html>"
        self.send_response_only(200)
        self.send_header("Content-Length", str(len(page)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(page)

    do_GET = do_HEAD = do_PUT = do_POST = answer

    def log_message(self, *_):
        pass


def test_a_page_in_place_of_the_store_is_no_object(cli, tmp_path):
    (tmp_path / "file").write_bytes(b"x")
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Portal) as portal:
        threading.Thread(target=portal.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{portal.server_address[1]}"
        for uri in ("s3://test/k", "oci://test@assay/k"):
            for command in (("get", uri, tmp_path / "out"), ("cat", uri), ("put", tmp_path / "file", uri)):
                flags = ("--anonymous", "--endpoint", url, "--max-attempts", 2)
                message = cli.refused(*command, *flags, code=1)
                assert uri in message and "proxy" in message, command
        portal.shutdown()
    assert not (tmp_path / "out").exists()


class HeldStore(http.server.BaseHTTPRequestHandler):
    """Has three unfinished uploads, of which one may not be aborted."""

    def do_GET(self):
        upload = "<Upload><Key>{0}</Key><UploadId>of-{0}</UploadId><Initiated>2026-01-01T00:00:00Z</Initiated></Upload>"
        uploads = "".join(upload.format(key) for key in "abc")
        self.answer(
            200, f"<ListMultipartUploadsResult><IsTruncated>false</IsTruncated>{uploads}</ListMultipartUploadsResult>"
        )

    def do_DELETE(self):
        self.answer(403 if self.path.startswith("/test/a?") else 204, "")

    def answer(self, status, body):
        self.send_response_only(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *_):
        pass


def test_an_upload_that_may_not_be_aborted_keeps_no_other(cli):
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), HeldStore) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_address[1]}"
        ended = cli.run("uploads", "s3://test", "--abort", AWS_ENDPOINT_URL=url, code=2)
        server.shutdown()
    assert ended.stdout.decode().splitlines() == ["abort: s3://test/b of-b", "abort: s3://test/c of-c"]
    lines = ended.stderr.decode().splitlines()
    assert len(lines) == 2 and "s3://test/a" in lines[0] and "not every upload was aborted" in lines[1], lines


def test_faulty_server_ends_right(serve, make_cli, tmp_path):
    profile = tmp_path / "faults.yaml"
    profile.write_text("faults:\n  - {fault: return, status: 503, rate: 0.05}\n  - {fault: reset, rate: 0.05}\n")
    cli = make_cli(serve("--root", "memory", "--profile", profile, "--bucket", "test").url)
    (tmp_path / "file").write_bytes(b"q" * 30_000_000)
    cli.run("put", tmp_path / "file", "s3://test/k")
    cli.run("get", "s3://test/k", tmp_path / "back")
    assert (tmp_path / "back").read_bytes() == b"q" * 30_000_000


@pytest.mark.parametrize(
    "verb",
    ["ls", "stat", "get", "put", "cp", "sync", "rm", "cat", "du", "presign", "uploads", "verify", "bench"],
)
def test_every_verb_explains_itself(cli, verb):
    text = cli.run(verb, "--help").stdout.decode()
    assert "--endpoint" in text and "--anonymous" in text and "--memory-budget" in text


def test_configuration_file(cli, server, tmp_path):
    config = tmp_path / "storage.yaml"
    config.write_text(f"s3:\n  endpoint: {server.url}\n")
    listed = json.loads(cli.run("ls", "s3://test", "--config", config, "--output", "json", AWS_ENDPOINT_URL="").stdout)
    assert listed["objects"] == []
    config.write_text("endpint: x\n")
    assert "endpoint" in cli.refused("ls", "s3://test", "--config", config)
