"""Copies that the service makes itself, and copies that go through here."""

import json
import os
import re
import urllib.request

import pytest


def sent_bytes(server):
    text = urllib.request.urlopen(server.url + "/metrics").read().decode()
    return sum(int(number) for number in re.findall(r"^assay_object_sent_bytes_total\S* (\d+)$", text, re.MULTILINE))


@pytest.mark.parametrize("flags", [(), ("--stats=json",)], ids=["bare", "counted"])
@pytest.mark.parametrize("bucket", ["s3://{}", "gs://{}", "oci://{}@assay"])
def test_another_bucket_of_the_service_copies_without_us(open_cli, open_server, tmp_path, bucket, flags):
    content = os.urandom(10_000_000)
    (tmp_path / "file").write_bytes(content)
    source, target = bucket.format("test") + "/a key", bucket.format("other") + "/b key"
    open_cli.run("put", tmp_path / "file", source, "--metadata", "colour=blue")
    before = sent_bytes(open_server)
    ended = open_cli.run("cp", source, target, *flags)
    if flags:
        assert json.loads(ended.stderr)[bucket.format("other")]["operations"]["copy"]["calls"] == 1
    assert sent_bytes(open_server) - before < 100_000
    assert open_cli.run("cat", target).stdout == content
    assert b"blue" in open_cli.run("stat", target, "--output", "json").stdout


def test_another_service_is_copied_through(open_cli, serve, tmp_path):
    content = os.urandom(10_000_000)
    (tmp_path / "file").write_bytes(content)
    open_cli.run("put", tmp_path / "file", "s3://test/a")
    open_cli.run("cp", "s3://test/a", "gs://other/b")
    assert open_cli.run("cat", "gs://other/b").stdout == content
