"""Conversions, byte for byte what the real mosaicml-streaming writes of the same rows."""

import base64
import csv
import hashlib
import random
import shutil
import signal
import subprocess
import time

import pytest
from conftest import put_folder, write_rows

COLUMNS = {
    "text": "str",
    "label": "int",
    "ids": "ndarray:int32",
    "pair": "ndarray:float32:2",
    "any": "ndarray",
    "image": "jpeg",
    "raw": "bytes",
    "more": "json",
    "small": "uint8",
    "half": "float16",
    "x": "float64",
    "big": "str_int",
    "exact": "str_decimal",
    "f": "str_float",
}


def some_rows(count, seed=0):
    draw = random.Random(seed)
    texts = ["", "plain", "héllo wörld", 'tab\tquote"back\\slash\nline', "日本語 🎉", "\u2028 \x7f"]
    return [
        {
            "text": draw.choice(texts) * draw.randint(0, 8),
            "label": draw.choice([0, -1, 2**63 - 1, -(2**63), draw.randint(-(2**40), 2**40)]),
            "ids": [draw.randint(0, 128000) for _ in range(draw.choice([1, 5, 300]))],
            "pair": [draw.random(), -1.5],
            "any": [[draw.randint(0, 9) for _ in range(3)] for _ in range(draw.randint(1, 4))],
            "image": base64.b64encode(draw.randbytes(draw.randint(0, 80))).decode(),
            "raw": base64.b64encode(draw.randbytes(draw.randint(0, 8))).decode(),
            "more": draw.choice([None, True, 1, 1e22, "ü", {"b": [1, 2.5, {}], "a": "\ud83d\ude00"}, []]),
            "small": draw.randint(0, 255),
            "half": draw.choice([0.1, 65504, -3.0]),
            "x": draw.choice([0.1, 1e300, -0.0, 5e-324, 3]),
            "big": draw.choice([0, -7, 10**40]),
            "exact": draw.choice(["0.10", "1E+5", "-3"]),
            "f": draw.choice([1.0, 1e16, 0.00001, -2.5]),
        }
        for _ in range(count)
    ]


def columns_text(columns):
    return ",".join(f"{name}:{encoding}" for name, encoding in columns.items())


def files_of(folder):
    """Those that mosaicml-streaming knows, by their SHA-256."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.rglob("*")
        if path.is_file() and path.relative_to(folder).parts[0] != "assay"
    }


# Of zstd, brotli and snappy the bytes differ from release to release of the library: what streaming reads of it is below.
CASES = [
    {"size_limit": 20000},
    {"size_limit": 3000, "hashes": ["md5", "sha1", "xxh64"]},
    {"size_limit": None},
    {"size_limit": 50000, "compression": "gz", "hashes": ["sha1"]},
    {"size_limit": 50000, "compression": "bz2"},
]


def test_files_are_byte_for_byte_those_of_streaming(cli, real, tmp_path):
    source = write_rows(tmp_path / "rows.jsonl", some_rows(400))
    theirs = real(
        *(
            {"write": source, "out": str(tmp_path / f"theirs{i}"), "columns": COLUMNS} | case
            for i, case in enumerate(CASES)
        )
    )
    for i, case in enumerate(CASES):
        ours = tmp_path / f"ours{i}"
        options = ["--columns", columns_text(COLUMNS), "--size-limit", case["size_limit"] or 0]
        options += ["--compression", case["compression"]] if "compression" in case else []
        options += ["--hashes", ",".join(case["hashes"])] if "hashes" in case else []
        cli.run("convert", source, ours, *options, "--workers", 1 + i % 3)
        assert files_of(ours) == theirs[i]["files"], case
        assert cli.json("verify", ours)["whole"]


def test_streaming_reads_what_is_written(cli, real, tmp_path):
    rows = [{"text": row["text"], "label": row["label"], "ids": row["ids"]} for row in some_rows(150, seed=1)]
    source = write_rows(tmp_path / "rows.jsonl", rows)
    packings = ["zstd:9", "br:4", "snappy", ""]
    for i, name in enumerate(packings):
        columns = "text:str,label:int,ids:ndarray:int64"
        options = ["--columns", columns, "--compression", name, "--size-limit", "4k", "--hashes", "sha1"]
        cli.run("convert", source, tmp_path / f"set{i}", *options)
    read = real(*({"read": str(tmp_path / f"set{i}")} for i in range(len(packings))))
    assert [one["samples"] for one in read] == [rows] * len(packings)


def test_columns_are_those_of_the_rows(cli, tmp_path):
    rows = [
        {"t": "a", "n": i, "x": i / 2, "yes": i % 2 == 0, "l": [i], "o": None if i else {"k": 1}} for i in range(20)
    ]
    source = write_rows(tmp_path / "rows.jsonl", rows)
    report = cli.json("convert", source, tmp_path / "set")
    assert report["columns"] == "l:json,n:int,o:json,t:str,x:float64,yes:uint8"
    assert cli.rows(tmp_path / "set") == rows


def test_csv_is_that_of_pythons_module(cli, real, tmp_path):
    rows = [{"i": i, "f": i / 4, "t": 'a,"b"\nc' * (i % 3), "z": f"0{i}"} for i in range(300)]
    for name, dialect in (("rows.csv", "excel"), ("rows.tsv", "excel-tab")):
        with open(tmp_path / name, "w", newline="", encoding="utf-8-sig") as file:
            writer = csv.DictWriter(file, ["z", "t", "f", "i"], dialect=dialect)
            writer.writeheader()
            writer.writerows(rows)
        out = tmp_path / f"set-{name}"
        assert cli.json("convert", tmp_path / name, out)["columns"] == "f:float64,i:int,t:str,z:str"
        assert cli.rows(out) == [{key: row[key] for key in sorted(row)} for row in rows]


def test_folders_globs_and_buckets_are_sources(bucket, tmp_path):
    folder = tmp_path / "rows"
    folder.mkdir()
    for i in range(4):
        write_rows(folder / f"part-{i}.jsonl", [{"n": 10 * i + j} for j in range(10)])
    (folder / "readme.txt").write_text("no rows")
    bucket.run("convert", folder, f"{bucket.uri}/all")
    bucket.run("convert", f"{folder}/part-[12].jsonl", f"{bucket.uri}/some", "--compression", "zstd")
    assert [row["n"] for row in bucket.rows(f"{bucket.uri}/all")] == list(range(40))
    assert [row["n"] for row in bucket.rows(f"{bucket.uri}/some")] == list(range(10, 30))
    put_folder(bucket, folder, f"{bucket.uri}/rows")
    bucket.run("convert", f"{bucket.uri}/rows/*.jsonl", tmp_path / "back")
    assert cli_fingerprint(bucket, tmp_path / "back") == cli_fingerprint(bucket, f"{bucket.uri}/all")
    assert "nothing to convert at" in bucket.refused("convert", f"{bucket.uri}/rows/*.csv", tmp_path / "none")


def cli_fingerprint(cli, place):
    return cli.json("inspect", place)["fingerprint"]


BAD = [
    ('{"a": 1}\n{"a": 2\n{"a": 3}\n', "", "rows.jsonl:2: it is no JSON"),
    ('{"a": 1}\n[1]\n', "a:int", "rows.jsonl:2: it is JSON, but no object"),
    ('{"a": 1}\n\n{"b": 1}\n', "a:int", "rows.jsonl:3: it has no 'a'"),
    ('{"a": 1}\n{"a": "x"}\n', "", "rows.jsonl:2: column 'a' is text, in line 1 it is an integer"),
    ('{"a": 1}\n{"a": "x"}\n', "a:int", "rows.jsonl:2: column 'a': it is text, which int does not hold"),
    ('{"a": 1}\n{"a": 300}\n', "a:uint8", "rows.jsonl:2: column 'a': 300 is beyond the range of uint8"),
    ('{"a": 1}\n{"a": null}\n', "a:int", "rows.jsonl:2: column 'a': it is null, which int does not hold"),
    ('{"a": [1, 2]}\n{"a": [[1], [2, 3]]}\n', "a:ndarray:int32", "rows.jsonl:2: column 'a'"),
    ('{"a": "\\ud800"}\n', "a:str", "rows.jsonl:1: it is no JSON"),
    ("", "a:int", "rows.jsonl holds no rows"),
    ('{"a": 1}\n', "a:pkl", "'pkl' is not read or written"),
    ('{"a": 1}\n', "a:strr", "did you mean 'str'?"),
]


@pytest.mark.parametrize("text, columns, words", BAD)
def test_bad_rows_are_refused_in_one_line(cli, tmp_path, text, columns, words):
    (tmp_path / "rows.jsonl").write_text(text)
    refused = cli.refused("convert", tmp_path / "rows.jsonl", tmp_path / "set", "--columns", columns)
    assert words in refused
    assert not list((tmp_path / "set").rglob("*.mds")) and not (tmp_path / "set" / "index.json").exists()
    (tmp_path / "rows.jsonl").write_text('{"a": 1}\n')  # nothing is in the way of the next
    cli.run("convert", tmp_path / "rows.jsonl", tmp_path / "set")


def test_a_field_that_comes_late_is_not_lost(cli, tmp_path):
    source = write_rows(tmp_path / "rows.jsonl", [{"a": i} for i in range(1500)] + [{"a": 1, "b": 2}])
    assert "rows.jsonl:1501: the rows before have no 'b'" in cli.refused("convert", source, tmp_path / "set")
    cli.run("convert", source, tmp_path / "set", "--columns", "a:int")


def test_a_full_disk_ends_it_and_it_goes_on(cli, tmp_path):
    source = write_rows(tmp_path / "rows.jsonl", [{"text": "x" * 1000} for _ in range(3000)])
    command = " ".join(cli.command("convert", source, tmp_path / "set", "--size-limit", "2M"))
    limited = subprocess.run(
        ["bash", "-c", f"ulimit -f 1000; {command}"], env=cli.environment, capture_output=True, text=True
    )
    assert limited.returncode == 1 and limited.stderr.count("\n") == 1, limited.stderr
    assert "has not ended: run it again with --resume" in cli.refused("verify", tmp_path / "set")
    cli.run("convert", source, tmp_path / "set", "--size-limit", "2M", "--resume")
    assert cli.json("verify", tmp_path / "set")["samples"] == 3000


def test_kills_leave_nothing_that_looks_whole(cli, tmp_path):
    """Killed at any moment, resumed until it ends: the files of one that was never killed."""
    draw = random.Random(4)
    source = write_rows(tmp_path / "rows.jsonl", [{"text": "x" * draw.randint(0, 4000), "n": i} for i in range(20000)])
    options = ["--size-limit", "200k", "--compression", "zstd"]
    start = time.monotonic()
    cli.run("convert", source, tmp_path / "whole", *options)
    seconds = time.monotonic() - start
    kills = 0
    for attempt in range(25):
        again = ["--resume"] if (tmp_path / "set" / "assay" / "unfinished" / "plan.json").exists() else []
        process = subprocess.Popen(
            cli.command("convert", source, tmp_path / "set", *options, *again),
            env=cli.environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            process.wait(draw.uniform(0, seconds) if attempt < 24 else 300)
            assert process.returncode == 0, process.stderr.read()
            if kills > 0 or attempt == 24:
                break
            seconds *= 0.7  # it was quicker than the first one: nothing was killed yet
            shutil.rmtree(tmp_path / "set")
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.wait()
            kills += 1
            if (tmp_path / "set" / "assay" / "manifest.json").exists():
                break
            refused = cli.refused("verify", tmp_path / "set")
            assert "has not ended" in refused or "there is no data set" in refused
    assert kills > 0
    assert cli.json("verify", tmp_path / "set")["whole"]
    assert files_of(tmp_path / "set") == files_of(tmp_path / "whole")


def test_folders_of_images_are_rows(cli, real, tmp_path):
    images = {"cats/a.jpg": b"\xff\xd8jpeg", "cats/deep/b.JPEG": b"\xff\xd8more", "dogs/c.jpg": b"\xff\xd8dog"}
    for name, content in images.items():
        (tmp_path / "images" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "images" / name).write_bytes(content)
    (tmp_path / "images" / "cats" / "rows.jsonl").write_text("{}\n")  # nobody's
    rows = [
        {"image": base64.b64encode(content).decode(), "label": int(name.startswith("dogs")), "name": name}
        for name, content in sorted(images.items())
    ]
    columns = {"image": "jpeg", "label": "int", "name": "str"}
    source = write_rows(tmp_path / "rows.jsonl", rows)
    theirs = real({"write": source, "out": str(tmp_path / "theirs"), "columns": columns, "size_limit": 1 << 26})
    cli.run("convert", tmp_path / "images", tmp_path / "set", "--from", "images")
    assert files_of(tmp_path / "set") == theirs[0]["files"]
    assert "there is nothing to convert" in cli.refused("convert", tmp_path / "images" / "dogs", tmp_path / "no")
    assert "is in no folder of a class" in cli.refused(
        "convert", tmp_path / "images" / "dogs", tmp_path / "no", "--from", "images"
    )
