"""What is under a prefix: counted, and listed as far as is asked for."""

import json

import pytest


def fill(cli, tmp_path, bucket, names):
    folder = tmp_path / "in"
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(name.encode())
    cli.run("put", "-r", folder, bucket)


def usage(cli, *arguments):
    told = json.loads(cli.run("du", *arguments, "--output", "json").stdout)
    below = {one["uri"]: (one["objects"], one["bytes"]) for one in told["prefixes"]}
    return (told["objects"], told["bytes"]), below


def test_du(cli, tmp_path):
    fill(cli, tmp_path, "s3://test", ["top", "a/1", "a/22", "a/deep/333", "b/4"])
    total, below = usage(cli, "s3://test")
    assert total == (5, 23) and below == {"s3://test/a/": (3, 17), "s3://test/b/": (1, 3)}
    assert usage(cli, "s3://test", "--depth", 0) == (total, {})
    assert usage(cli, "s3://test", "--depth", 2)[1]["s3://test/a/deep/"] == (1, 10)
    assert usage(cli, "s3://test/a/") == ((3, 17), {"s3://test/a/deep/": (1, 10)})
    assert usage(cli, tmp_path / "in")[0] == total
    lines = cli.run("du", "s3://test", "--human-readable").stdout.decode().splitlines()
    assert lines[0].split() == ["bytes", "objects", "under"] and lines[-1].split() == ["23", "B", "5", "s3://test/"]
    assert "nothing is under" in cli.refused("du", "s3://test/none")


@pytest.mark.parametrize("place", ["s3://test/", "gs://test/", "oci://test@assay/", "files"])
def test_names_alone(open_cli, tmp_path, place):
    place = f"file://{tmp_path}/out/" if place == "files" else place
    for key in ("a", "b/c"):
        open_cli.run("put", "-", place + key, stdin=b"bytes")
    assert open_cli.run("ls", place, "--keys-only").stdout == b"b/\na\n"
    told = json.loads(open_cli.run("ls", "-r", place, "--keys-only", "--output", "json").stdout)
    assert told["objects"] == [{"uri": place + key, "key": key} for key in ("a", "b/c")]
    assert told["total_objects"] == 2 and "total_bytes" not in told
    assert "--keys-only" in open_cli.refused("ls", place, "--keys-only", "--summarize")


def test_lists_that_end_early(cli, tmp_path):
    fill(cli, tmp_path, "s3://test", [f"k{i:04}" for i in range(30)] + ["folder/x"])

    def keys(*flags):
        told = json.loads(cli.run("ls", "s3://test", "--output", "json", *flags).stdout)
        return told["prefixes"] + [one["key"] for one in told["objects"]]

    assert keys("-r", "--limit", 3) == ["folder/x", "k0000", "k0001"]
    assert keys("--limit", 2) == ["folder/", "k0000"]
    assert keys("--limit", 1) == ["folder/"]
    assert sorted(keys("-r", "--unordered")) == keys("-r") and len(keys("-r")) == 31
