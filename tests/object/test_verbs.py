"""Every verb on ordinary work."""

import json
import os
import random
import urllib.request

import pytest

ODD_KEYS = [
    "a space and a+plus",
    "per%cent %2F ?query#hash&amp;",
    "unicode \u00e9 \u65e5\u672c\u8a9e \U0001f600",
    "double//slash",
    "/leading",
    "//x",
    "tab\tand\nnewline",
    "dots/../and/./more",
    "quotes'\"<>",
    "x" * 1024,
]


def test_an_object_comes_back_as_it_was(cli, tmp_path):
    source, target = tmp_path / "source", tmp_path / "target"
    source.write_bytes(random.Random(1).randbytes(40_000_001))
    cli.run("put", source, "s3://test/deep/key", "--metadata", "colour=blue", "--content-type", "text/plain")
    cli.run("get", "s3://test/deep/key", target)
    assert target.read_bytes() == source.read_bytes()
    stat = json.loads(cli.run("stat", "s3://test/deep/key", "--output", "json").stdout)
    assert stat["size"] == 40_000_001 and stat["metadata"]["colour"] == "blue"
    assert stat["content_type"] == "text/plain" and stat["checksum"].startswith("crc64nvme:")
    assert cli.run("cat", "s3://test/deep/key", "--offset", 5, "--length", 7).stdout == source.read_bytes()[5:12]
    assert b"ok" in cli.run("verify", "s3://test/deep/key").stdout
    assert not list(tmp_path.glob(".assay*"))


def test_standard_streams(cli):
    content = os.urandom(20_000_000)
    cli.run("put", "-", "s3://test/stream", stdin=content)
    assert cli.run("get", "s3://test/stream", "-").stdout == content


@pytest.mark.parametrize("key", ODD_KEYS, ids=lambda key: key[:12])
def test_odd_keys(cli, key, tmp_path):
    (tmp_path / "file").write_bytes(key.encode())
    uri = "s3://test/" + key
    cli.run("put", tmp_path / "file", uri)
    assert cli.run("cat", uri).stdout == key.encode()
    listed = json.loads(cli.run("ls", "-r", "s3://test", "--output", "json").stdout)
    assert [one["key"] for one in listed["objects"]] == [key]
    url = cli.run("presign", uri).stdout.decode().strip()
    assert urllib.request.urlopen(url).read() == key.encode()
    cli.run("cp", uri, "s3://other/" + key)
    assert cli.run("cat", "s3://other/" + key).stdout == key.encode()
    cli.run("rm", uri)
    assert json.loads(cli.run("ls", "-r", "s3://test", "--output", "json").stdout)["objects"] == []


def test_a_key_that_is_too_long_is_refused(cli, tmp_path):
    (tmp_path / "file").write_bytes(b"x")
    assert "1024" in cli.refused("put", tmp_path / "file", "s3://test/" + "x" * 1025)


def fill(folder, count=20):
    for i in range(count):
        path = folder / f"part {i % 3}" / f"file-{i}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(random.Random(i).randbytes(1000 * i))


def outcomes(ended):
    return sorted({one["outcome"] for one in json.loads(ended.stdout)})


def test_folders(cli, tmp_path):
    fill(tmp_path / "in")
    first = cli.run("cp", "-r", tmp_path / "in", "s3://test/run", "--output", "json")
    assert outcomes(first) == ["copy"] and len(json.loads(first.stdout)) == 20
    assert outcomes(cli.run("cp", "-r", tmp_path / "in", "s3://test/run", "--output", "json")) == ["skip"]
    (tmp_path / "in" / "part 0" / "file-3").write_bytes(b"y" * 3000)
    again = json.loads(cli.run("cp", "-r", tmp_path / "in", "s3://test/run", "--output", "json").stdout)
    assert [one["from"].rsplit("/")[-1] for one in again if one["outcome"] == "copy"] == ["file-3"]
    cli.run("cp", "-r", "s3://test/run", "s3://other/copy")
    cli.run("cp", "-r", "s3://other/copy", tmp_path / "out")
    for path in (tmp_path / "in").rglob("file-*"):
        assert (tmp_path / "out" / path.relative_to(tmp_path / "in")).read_bytes() == path.read_bytes()
    assert outcomes(cli.run("cp", "-r", "s3://other/copy", tmp_path / "out", "--output", "json")) == ["skip"]
    assert b"verified" not in cli.run("verify", "-r", "s3://other/copy").stderr


def test_listings(cli, tmp_path):
    fill(tmp_path / "in", 6)
    cli.run("put", "-r", tmp_path / "in", "s3://test/run")
    lines = cli.run("ls", "s3://test/run/").stdout.decode().splitlines()
    assert [line.split(maxsplit=1) for line in lines] == [["PRE", f"part {i}/"] for i in range(3)]
    text = cli.run("ls", "-r", "--summarize", "s3://test/run/part 1").stdout.decode()
    assert "run/part 1/file-4" in text and "Total Objects: 2" in text
    assert "nothing is under" in cli.refused("ls", "s3://test/no/such")


def test_a_key_forges_no_lines(cli, tmp_path):
    (tmp_path / "file").write_bytes(b"x")
    key = "a\n2026-01-01T00:00:00Z 999 forged\x1b[2J\x7f"
    uri, shown = "s3://test/" + key, r"a\n2026-01-01T00:00:00Z 999 forged\x1b[2J\x7f"
    for arguments in (
        ("put", tmp_path / "file", uri),
        ("ls", "s3://test"),
        ("ls", "-r", "s3://test"),
        ("stat", uri),
        ("verify", uri),
        ("rm", "-r", "--dry-run", "s3://test"),
        ("cp", "-r", "s3://test", "s3://other"),
        ("rm", uri),
    ):
        text = cli.run(*arguments).stdout.decode()
        assert shown in text and "\x1b" not in text and "\n2026" not in text, (arguments, text)
    listed = json.loads(cli.run("ls", "s3://other", "--output", "json").stdout)
    assert [one["key"] for one in listed["objects"]] == [key]


def test_metadata_is_no_way_to_other_headers(cli, tmp_path):
    (tmp_path / "file").write_bytes(b"x")
    for arguments in (
        ("--metadata", "a=x\r\nx-amz-acl: public-read"),
        ("--content-type", "a\nb"),
        ("--metadata", "a b=c"),
    ):
        message = cli.refused("put", tmp_path / "file", "s3://test/k", *arguments)
        assert "cannot write s3://test/k" in message
    cli.run("put", tmp_path / "file", "s3://test/typed", "--content-type", "text/html")
    assert json.loads(cli.run("stat", "s3://test/typed", "--output", "json").stdout)["content_type"] == "text/html"
    cli.run("put", tmp_path / "file", "s3://test/k", "--metadata", "name=caf\u00e9")
    assert json.loads(cli.run("stat", "s3://test/k", "--output", "json").stdout)["metadata"]["name"] == "caf\u00e9"


def test_conditions_are_refused_where_that_is_said(cli, tmp_path):
    (tmp_path / "file").write_bytes(b"x")
    message = cli.refused("put", tmp_path / "file", "s3://test/k", "--if-absent", "--conditional-writes", "no")
    assert "does not keep the condition" in message and "conditional_writes" in message
    cli.run("put", tmp_path / "file", "s3://test/k", "--if-absent")
    listed = json.loads(cli.run("ls", "-r", "s3://test", "--output", "json").stdout)
    assert [one["key"] for one in listed["objects"]] == ["k"]


def test_removal(cli, tmp_path):
    fill(tmp_path / "in", 6)
    cli.run("put", "-r", tmp_path / "in", "s3://test/run")
    cli.run("put", tmp_path / "in/part 0/file-3", "s3://test/running")
    dry = cli.run("rm", "-r", "--dry-run", "s3://test/run").stdout.decode()
    assert dry.count("(dryrun) delete: s3://test/run/part") == 6
    assert "--recursive" in cli.refused("rm", "s3://test")
    assert cli.run("rm", "-r", "s3://test/run").stdout.decode().count("delete: ") == 6
    left = json.loads(cli.run("ls", "-r", "s3://test", "--output", "json").stdout)["objects"]
    assert [one["key"] for one in left] == ["running"]


def test_conditional_create(cli, tmp_path):
    (tmp_path / "file").write_bytes(b"first")
    cli.run("put", tmp_path / "file", "s3://test/once", "--if-absent")
    (tmp_path / "file").write_bytes(b"second")
    cli.refused("put", tmp_path / "file", "s3://test/once", "--if-absent")
    assert cli.run("cat", "s3://test/once").stdout == b"first"


def test_bench(cli):
    rows = json.loads(cli.run("bench", "s3://test", "--size", "20MiB", "--repeats", 1, "--output", "json").stdout)
    assert [row["operation"] for row in rows] == ["put", "get"] and all(row["mib_per_s"] > 0 for row in rows)
    rows = json.loads(
        cli.run("bench", "s3://test", "--work", "objects", "--size", 1000, "--count", 50, "--output", "json").stdout
    )
    assert rows[0]["objects"] == 50
    cli.run("bench", "s3://test/under", "--work", "tensors", "--size", "9MiB", "--repeats", 1)
    assert json.loads(cli.run("ls", "-r", "s3://test", "--output", "json").stdout)["objects"] == []
