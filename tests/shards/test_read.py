"""Data sets of the real mosaicml-streaming: looked at, checked, printed."""

import base64
import json
import random

import pytest
from conftest import put_folder, write_rows

COLUMNS = {"text": "str", "label": "int", "tokens": "ndarray:int32", "image": "jpeg", "more": "json", "x": "float32"}


def some_rows(count):
    draw = random.Random(count)
    return [
        {
            "text": "héllo " * draw.randint(0, 30),
            "label": draw.randint(-(2**60), 2**60),
            "tokens": [draw.randint(0, 60000) for _ in range(draw.randint(1, 20))],
            "image": base64.b64encode(draw.randbytes(draw.randint(1, 60))).decode(),
            "more": {"a": [1, 2.5, None, "ü"], "n": i},
            "x": draw.randint(-9, 9) / 4,
        }
        for i in range(count)
    ]


@pytest.fixture
def written(real, tmp_path):
    """Rows, and the folder in which streaming wrote them."""

    def write(count=200, **options):
        rows = some_rows(count)
        source = write_rows(tmp_path / "rows.jsonl", rows)
        job = {"write": source, "out": str(tmp_path / "set"), "columns": COLUMNS, "size_limit": 4000}
        real(job | options)
        return rows, tmp_path / "set"

    return write


def test_all_values_are_printed(cli, written):
    rows, folder = written()
    assert cli.rows(folder) == rows
    assert cli.rows(folder, "--from", 17, "--count", 40) == rows[17:57]
    assert cli.refused("cat", folder, "--from", 201).endswith("has 200 samples\n")


@pytest.mark.parametrize("compression", ["zstd:7", "gz", "bz2", "br:5", "snappy"])
def test_compressed_shards_are_whole(cli, written, compression):
    rows, folder = written(compression=compression, hashes=["sha1", "xxh3_64"])
    assert cli.rows(folder) == rows
    report = cli.json("verify", folder)
    assert report["whole"] and report["samples"] == 200 and "xxh3_64" in report["checked"]
    seen = cli.json("inspect", folder)
    assert seen["compression"] == compression and seen["samples"] == 200
    assert {column["name"]: column["encoding"] for column in seen["columns"]} == COLUMNS


def test_counts_what_is_in_a_bucket(bucket, written):
    _, folder = written()
    files = [path for path in folder.rglob("*") if path.is_file()]
    put_folder(bucket, folder, f"{bucket.uri}/set")
    for place in (folder, f"{bucket.uri}/set"):
        counted = bucket.json("count", place)
        assert counted["objects"] == len(files)
        assert counted["bytes"] == sum(path.stat().st_size for path in files)
        assert bucket.json("verify", place)["whole"]
    assert "nothing is under" in bucket.refused("count", f"{bucket.uri}/other")


def damaged(cli, folder, words):
    report = cli.json("verify", folder, code=1)
    assert not report["whole"] and any(words in line for line in report["damages"]), report
    return report["damages"]


def test_damage_is_named(cli, written):
    _, folder = written(hashes=["sha1"])
    shard = folder / "shard.00001.mds"
    good = shard.read_bytes()
    shard.write_bytes(good[:-1] + bytes([good[-1] ^ 1]))
    assert len(damaged(cli, folder, "shard.00001.mds is damaged: its sha1 is another")) == 1
    shard.write_bytes(good[:-1])
    damaged(cli, folder, f"has {len(good) - 1} bytes in place of the {len(good)} that the index says")
    shard.unlink()
    damaged(cli, folder, "shard.00001.mds")
    assert "shard.00001.mds" in cli.refused("cat", folder)


def test_offsets_that_lie_are_named(cli, written):
    _, folder = written()
    shard = folder / "shard.00000.mds"
    good = shard.read_bytes()
    shard.write_bytes(good[:8] + b"\xff\xff\xff\x7f" + good[12:])
    damaged(cli, folder, "shard.00000.mds: ")


def test_a_bomb_ends_at_what_the_index_says(cli, written):
    _, folder = written(compression="zstd")
    index = json.loads((folder / "index.json").read_text())
    index["shards"][0]["raw_data"]["bytes"] -= 1
    (folder / "index.json").write_text(json.dumps(index))
    damaged(cli, folder, "shard.00000.mds.zstd: ")


def test_what_is_no_data_set_is_refused(cli, tmp_path):
    (tmp_path / "empty").mkdir()
    for verb in ("inspect", "verify", "cat"):
        assert "there is no data set at" in cli.refused(verb, tmp_path / "empty")
    (tmp_path / "empty" / "index.json").write_text("{")
    assert "index.json is no JSON" in cli.refused("inspect", tmp_path / "empty")
