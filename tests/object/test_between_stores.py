"""Copies that the service makes itself, and copies that go through here."""

import os
import re
import urllib.request

import pytest


@pytest.fixture
def open_server(serve):
    return serve("--root", "memory", "--bucket", "test", "--bucket", "other")


@pytest.fixture
def open_cli(make_cli, open_server):
    """Of a server that asks for no credentials, in every dialect."""
    cli = make_cli(open_server.url)
    cli.environment |= {"ASSAY_STORAGE_ENDPOINT": open_server.url, "ASSAY_STORAGE_ANONYMOUS": "true"}
    return cli


def sent_bytes(server):
    text = urllib.request.urlopen(server.url + "/metrics").read().decode()
    return sum(int(number) for number in re.findall(r"^assay_object_sent_bytes_total\S* (\d+)$", text, re.MULTILINE))


@pytest.mark.parametrize("scheme", ["s3", "gs"])
def test_another_bucket_of_the_service_copies_without_us(open_cli, open_server, tmp_path, scheme):
    content = os.urandom(10_000_000)
    (tmp_path / "file").write_bytes(content)
    source, target = f"{scheme}://test/a key", f"{scheme}://other/b key"
    open_cli.run("put", tmp_path / "file", source, "--metadata", "colour=blue")
    before = sent_bytes(open_server)
    open_cli.run("cp", source, target)
    assert sent_bytes(open_server) - before < 100_000
    assert open_cli.run("cat", target).stdout == content
    assert b"blue" in open_cli.run("stat", target, "--output", "json").stdout


def test_another_service_is_copied_through(open_cli, serve, tmp_path):
    content = os.urandom(10_000_000)
    (tmp_path / "file").write_bytes(content)
    open_cli.run("put", tmp_path / "file", "s3://test/a")
    open_cli.run("cp", "s3://test/a", "gs://other/b")
    assert open_cli.run("cat", "gs://other/b").stdout == content
