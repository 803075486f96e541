"""Tar files of WebDataset: what is written the real package reads, and what it writes is converted."""

import base64
import io
import json
import pathlib
import random
import tarfile

import apart
import pytest
from conftest import put_folder, write_rows

TARS = pathlib.Path(__file__).parent / "apart" / "tars.py"


@pytest.fixture
def package(tmp_path):
    """What the real webdataset makes of jobs (apart/tars.py)."""
    return lambda *jobs: apart.answer(TARS, list(jobs), tmp_path)


def some_rows(count):
    draw = random.Random(count)
    return [
        {
            "caption": "héllo wörld " * draw.randint(0, 40),
            "image": base64.b64encode(draw.randbytes(draw.randint(1, 3000))).decode(),
            "label": draw.randint(-9, 9),
            "more": {"a": [1, None, "ü"], "n": i},
            "raw": base64.b64encode(draw.randbytes(draw.randint(0, 9))).decode(),
            "x": draw.randint(-9, 9) / 4,
        }
        for i in range(count)
    ]


COLUMNS = "caption:str,image:jpeg,label:int,more:json,raw:bytes,x:float32"
MEMBERS = {"caption": "caption.txt", "image": "image.jpg", "label": "label.cls", "more": "more.json", "x": "x.json"}


@pytest.mark.parametrize("compression", ["", "gz"])
def test_the_package_reads_what_is_written(cli, package, tmp_path, compression):
    rows = some_rows(60)
    source = write_rows(tmp_path / "rows.jsonl", rows)
    options = ["--columns", COLUMNS, "--format", "webdataset", "--size-limit", "20k", "--compression", compression]
    cli.run("convert", source, tmp_path / "set", *options, "--workers", 2)
    tars = sorted(str(path) for path in (tmp_path / "set").glob("shard.*"))
    assert len(tars) > 3 and all(path.endswith(".tar.gz" if compression else ".tar") for path in tars)
    expected = [{MEMBERS.get(name, name): value for name, value in row.items()} for row in rows]
    assert package({"read": tars})[0]["samples"] == expected


def test_the_verbs_read_what_is_written(bucket, tmp_path):
    rows = some_rows(60)
    source = write_rows(tmp_path / "rows.jsonl", rows)
    options = ["--columns", COLUMNS, "--format", "webdataset", "--size-limit", "20k", "--hashes", "sha1"]
    bucket.run("convert", source, tmp_path / "set", *options)
    bucket.run("convert", write_rows(tmp_path / "more.jsonl", rows[:5]), tmp_path / "set", "--append")
    put_folder(bucket, tmp_path / "set", f"{bucket.uri}/set")
    for place in (tmp_path / "set", f"{bucket.uri}/set"):
        assert bucket.json("verify", place)["whole"]
        assert bucket.json("inspect", place)["format"] == "webdataset"
        assert bucket.rows(place) == rows + rows[:5]
        read = bucket.run("read", place, "--shuffle", "none").stdout
        assert read == bucket.run("cat", place).stdout
    keys = [line.split(".")[0] for line in members(tmp_path / "set")]
    assert len(set(keys)) == 65 and keys == sorted(keys)
    shard = tmp_path / "set" / "shard.00001.tar"
    whole = shard.read_bytes()
    shard.write_bytes(whole[:700] + bytes([whole[700] ^ 1]) + whole[701:])
    assert "shard.00001.tar" in bucket.json("verify", tmp_path / "set", code=1)["damages"][0]


def members(folder):
    return [name for path in sorted(folder.glob("*.tar")) for name in tarfile.open(path).getnames()]


def test_tars_of_the_package_are_converted(cli, package, tmp_path):
    draw = random.Random(8)
    rows = [
        {
            "cls": i % 7,
            "jpg": base64.b64encode(draw.randbytes(draw.randint(1, 90_000))).decode(),
            "json": {"n": i},
            "txt": f"ü {i}",
        }
        for i in range(300)
    ]  # 13 MB in one tar: several blocks
    parts = [rows[:250], rows[250:]]
    jobs = [
        {"write": write_rows(tmp_path / f"{i}.jsonl", part), "out": str(tmp_path / f"part{i}.tar")}
        for i, part in enumerate(parts)
    ]
    package(*jobs)
    said = cli.json("convert", tmp_path / "part*.tar", tmp_path / "set", "--size-limit", "2M", "--workers", 2)
    assert said["columns"] == "cls:int,jpg:jpeg,json:json,txt:str"
    assert cli.rows(tmp_path / "set") == rows
    cli.run(
        "convert", tmp_path / "part0.tar", tmp_path / "tars", "--format", "webdataset", "--columns", "txt:str,cls:int"
    )
    read = package({"read": [str(path) for path in sorted((tmp_path / "tars").glob("*.tar"))]})[0]["samples"]
    assert read == [{"txt": row["txt"], "cls": row["cls"]} for row in rows[:250]]


def test_what_a_tar_cannot_hold_is_refused(cli, package, tmp_path):
    source = write_rows(tmp_path / "rows.jsonl", [{"ids": [1, 2], "a": "x"}])
    arrays = cli.refused(
        "convert", source, tmp_path / "set", "--format", "webdataset", "--columns", "ids:ndarray:int32"
    )
    assert "column 'ids': tar files hold no ndarray:int32" in arrays
    rows = write_rows(tmp_path / "two.jsonl", [{"txt": "a", "cls": 1}, {"txt": "b"}])
    package({"write": rows, "out": str(tmp_path / "two.tar")})
    missing = cli.refused("convert", tmp_path / "two.tar", tmp_path / "set")
    assert "two.tar:2: sample 'part/sample00001': it has no 'cls'" in missing
    (tmp_path / "cut.tar").write_bytes((tmp_path / "two.tar").read_bytes()[:1200])
    assert "cut.tar" in cli.refused("convert", tmp_path / "cut.tar", tmp_path / "set")
    assert not list((tmp_path / "set").rglob("shard.*"))


def write_tar(path, members):
    with tarfile.open(path, "w") as tar:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return path


def test_members_are_the_text_of_what_a_column_holds(cli, tmp_path):
    members = {"1.year": b"2024", "1.score": b" 0.25\n", "1.caption": "ü".encode(), "1.meta": b"[1]", "1.raw": b"\xff"}
    columns = "year:int32,score:float32,caption:str,meta:json,raw:bytes"
    cli.run("convert", write_tar(tmp_path / "a.tar", members), tmp_path / "set", "--columns", columns)
    expected = {"year": 2024, "score": 0.25, "caption": "ü", "meta": [1], "raw": base64.b64encode(b"\xff").decode()}
    assert cli.rows(tmp_path / "set") == [expected]
    for column, content in {"year:int32": b"\x00\x00\x00\x00", "caption:str": b"\xff", "meta:json": b"{"}.items():
        tar = write_tar(tmp_path / "bad.tar", {f"1.{column.partition(':')[0]}": content})
        line = cli.refused("convert", tar, tmp_path / "bad", "--columns", column)
        assert f"bad.tar:1: sample '1': '{column.partition(':')[0]}'" in line


def test_what_is_true_is_one(cli, package, tmp_path):
    source = write_rows(tmp_path / "rows.jsonl", [{"ok": True}, {"ok": False}])
    cli.run("convert", source, tmp_path / "set", "--format", "webdataset")
    assert cli.json("verify", tmp_path / "set")["whole"]
    assert [row["ok"] for row in cli.rows(tmp_path / "set")] == [1, 0]
    tars = [str(path) for path in (tmp_path / "set").glob("*.tar")]
    assert package({"read": tars})[0]["samples"] == [{"ok.cls": 1}, {"ok.cls": 0}]


def test_a_sample_is_named_by_where_its_row_begins(cli, tmp_path):
    rows = [json.dumps({"txt": "a"}), json.dumps({"txt": "b"})]
    (tmp_path / "rows.jsonl").write_text("\n\n".join(rows))
    cli.run("convert", tmp_path / "rows.jsonl", tmp_path / "set", "--format", "webdataset")
    begins = [int(name.partition(".")[0].rpartition("-")[2]) for name in members(tmp_path / "set")]
    assert begins == [0, len(rows[0]) + 2]


def test_endings_that_the_package_does_not_know_are_content(cli, package, tmp_path):
    tar = write_tar(tmp_path / "a.tar", {"1.class": b"dog", "1.txt": b"hi"})
    assert package({"read": [str(tar)]})[0]["samples"][0]["txt"] == "hi"
    cli.run("convert", tar, tmp_path / "set", "--columns", "txt:str,class:str")
    assert cli.rows(tmp_path / "set") == [{"class": "dog", "txt": "hi"}]
