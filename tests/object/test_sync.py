"""`sync`, and the patterns that `cp -r` shares with it."""

import json
import os

import pytest


def fill(folder, names):
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(name.encode())


def keys(cli, uri):
    return [one["key"] for one in json.loads(cli.run("ls", "-r", uri, "--output", "json").stdout)["objects"]]


def outcomes(ended):
    """[(what was done, the last part of the key)]"""
    return sorted((one["outcome"], one["to"].rsplit("/", 1)[-1]) for one in json.loads(ended.stdout))


@pytest.mark.parametrize("bucket", ["s3://test", "gs://test", "oci://test@assay"])
def test_both_ways(open_cli, tmp_path, bucket):
    there, back = tmp_path / "there", tmp_path / "back"
    fill(there, ["a", "deep/er/b", "c"])
    first = open_cli.run("sync", there, bucket + "/run", "--output", "json")
    assert outcomes(first) == [("copy", "a"), ("copy", "b"), ("copy", "c")]
    assert outcomes(open_cli.run("sync", f"{there}/", bucket + "/run/", "--output", "json")) == [
        ("skip", "a"),
        ("skip", "b"),
        ("skip", "c"),
    ]
    open_cli.run("sync", bucket + "/run", f"file://{back}")
    assert sorted(str(p.relative_to(back)) for p in back.rglob("*") if p.is_file()) == ["a", "c", "deep/er/b"]
    assert (back / "deep/er/b").read_bytes() == b"deep/er/b"
    (there / "a").write_bytes(b"A")
    os.remove(there / "c")
    fill(back, ["mine"])
    open_cli.run("sync", there, bucket + "/run")
    assert [key.rsplit("/", 1)[-1] for key in keys(open_cli, bucket)] == ["a", "c", "b"]
    dry = outcomes(open_cli.run("sync", there, bucket + "/run", "--delete", "--dry-run", "--output", "json"))
    assert dry == [("(dryrun) delete", "c"), ("skip", "a"), ("skip", "b")]
    text = open_cli.run("sync", there, bucket + "/run", "--delete").stdout.decode()
    assert f"delete: {bucket}/run/c\n" in text
    removed = outcomes(open_cli.run("sync", bucket + "/run", back, "--delete", "--output", "json"))
    assert removed == [("copy", "a"), ("delete", "c"), ("delete", "mine"), ("skip", "b")]
    assert sorted(str(p.relative_to(back)) for p in back.rglob("*") if p.is_file()) == ["a", "deep/er/b"]
    assert (back / "a").read_bytes() == b"A"


def test_between_buckets_and_folders(cli, tmp_path):
    fill(tmp_path / "in", ["a", "b/c"])
    cli.run("sync", tmp_path / "in", tmp_path / "copy")
    assert (tmp_path / "copy/b/c").read_bytes() == b"b/c"
    cli.run("sync", tmp_path / "copy", "s3://test")
    cli.run("sync", "s3://test", "s3://other/to")
    assert keys(cli, "s3://other") == ["to/a", "to/b/c"]
    cli.run("sync", "s3://test/", "s3://other/", "--delete")
    assert keys(cli, "s3://other") == ["a", "b/c"]


def test_patterns_in_their_order(cli, tmp_path):
    fill(tmp_path / "in", ["a.txt", "a.bin", "logs/x.txt", "logs/keep/y.txt", "caf\u00e9"])
    patterns = ("--exclude", "*", "--include", "*.txt", "--exclude", "logs/*", "--include", "logs/keep/*")
    for verb in (("sync",), ("cp", "-r"), ("put", "-r")):
        cli.run(*verb, tmp_path / "in", "s3://test", *patterns)
        assert keys(cli, "s3://test") == ["a.txt", "logs/keep/y.txt"], verb
        cli.run("rm", "-r", "s3://test")
    cli.run("sync", tmp_path / "in", "s3://test", "--include", "*", "--exclude", "*.*")
    assert keys(cli, "s3://test") == ["caf\u00e9"]
    # What is left out is left alone at the target as well.
    cli.run("sync", tmp_path / "in", "s3://test")
    fill(tmp_path / "in2", ["a.txt"])
    cli.run("sync", tmp_path / "in2", "s3://test", "--delete", "--exclude", "logs/*")
    assert keys(cli, "s3://test") == ["a.txt", "logs/keep/y.txt", "logs/x.txt"]
    assert "--recursive" in cli.refused("put", tmp_path / "in/a.txt", "s3://test/k", "--exclude", "*")


def test_what_counts_as_equal(cli, tmp_path):
    folder = tmp_path / "in"
    fill(folder, ["k"])
    cli.run("sync", folder, "s3://test")
    (folder / "k").write_bytes(b"K")  # the same size

    def done(*flags):
        return outcomes(cli.run("sync", folder, "s3://test", "--dry-run", "--output", "json", *flags))[0][0]

    os.utime(folder / "k", (1_000_000_000, 1_000_000_000))
    assert done() == done("--compare", "content") == "(dryrun) copy"
    assert done("--compare", "time") == done("--compare", "size") == "skip"
    os.utime(folder / "k", (4_000_000_000, 4_000_000_000))
    assert done("--compare", "time") == "(dryrun) copy"
    assert done("--compare", "size") == "skip"
    (folder / "k").write_bytes(b"longer")
    assert done("--compare", "size") == done("--compare", "time") == "(dryrun) copy"


def test_a_mistake_removes_nothing(cli, tmp_path):
    fill(tmp_path / "in", ["a"])
    cli.run("sync", tmp_path / "in", "s3://test/run")
    assert "is no folder" in cli.refused("sync", tmp_path / "typo", "s3://test/run", "--delete")
    assert "is no folder" in cli.refused("sync", tmp_path / "in/a", "s3://test/run", "--delete")
    message = cli.refused("sync", "s3://test/typo", "s3://test/run", "--delete")
    assert "nothing is under s3://test/typo/" in message
    assert "NoSuchBucket" in cli.refused("sync", "s3://nosuch", "s3://test/run", "--delete")
    assert "within" in cli.refused("sync", "s3://test/run", "s3://test", "--delete")
    assert "within" in cli.refused("sync", "s3://test", "s3://test/run/copy")
    assert "within" in cli.refused("sync", tmp_path, tmp_path / "in/copy")
    assert keys(cli, "s3://test") == ["run/a"]


def test_an_object_that_fails_stops_removal(cli, tmp_path):
    fill(tmp_path / "in", ["a", "b"])
    cli.run("put", tmp_path / "in/a", "s3://test/other")
    # Its name is no UTF-8: a file, but no key of S3.
    (tmp_path / "in" / os.fsdecode(b"bad\xff")).write_bytes(b"x")
    ended = cli.run("sync", tmp_path / "in", "s3://test", "--delete", code=2)
    lines = ended.stderr.decode().splitlines()
    assert len(lines) == 2 and "UTF-8" in lines[0] and "1 of the objects" in lines[1], lines
    assert keys(cli, "s3://test") == ["a", "b", "other"]
