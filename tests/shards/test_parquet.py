"""Parquet as pyarrow writes it, converted: types, row groups, compressions, from folders and buckets."""

import base64
import datetime
import decimal
import signal
import subprocess
import sys

import numpy
import pyarrow as pa
import pyarrow.parquet
import pytest
from conftest import Cli, put_folder, write_rows
from test_tokens import FOLDER
from test_tune import TEXT

ROWS = 250
COLUMNS = {
    "amount": pa.decimal128(9, 2),
    "big": pa.uint64(),
    "blob": pa.binary(),
    "half": pa.float16(),
    "id": pa.int64(),
    "ids": pa.list_(pa.int32()),
    "more": pa.struct({"a": pa.list_(pa.string()), "b": pa.binary()}),
    "ok": pa.bool_(),
    "small": pa.int8(),
    "tags": pa.map_(pa.string(), pa.int64()),
    "text": pa.string(),
    "weight": pa.float32(),
    "word": pa.dictionary(pa.int32(), pa.string()),
}
ENCODINGS = {
    "amount": "str_decimal",
    "big": "uint64",
    "blob": "bytes",
    "half": "float16",
    "id": "int",
    "ids": "ndarray:int32",
    "more": "json",
    "ok": "uint8",
    "small": "int8",
    "tags": "json",
    "text": "str",
    "weight": "float32",
    "word": "str",
}


def row(number):
    return {
        "amount": decimal.Decimal(number) / 4,
        "big": 2**64 - 1 - number,
        "blob": bytes([number % 256]) * (number % 5),
        "half": number / 8,
        "id": -number,
        "ids": list(range(number, number + 1 + number % 7)),
        "more": {"a": ["ü", "x" * (number % 3)], "b": b"\xff" * (number % 4)},
        "ok": number % 3 == 0,
        "small": number % 256 - 128,
        "tags": {"n": number},
        "text": f"héllo {number} " * (number % 9),
        "weight": number / 4,
        "word": ["one", "two"][number % 2],
    }


def told(number):
    """The row as `assay data cat` prints it."""
    values = row(number)
    blob = base64.b64encode(values["more"]["b"]).decode()
    return values | {
        "amount": f"{number / 4:.2f}",
        "blob": base64.b64encode(values["blob"]).decode(),
        "more": {"a": values["more"]["a"], "b": blob},
        "ok": int(values["ok"]),
    }


def write(path, rows, columns=COLUMNS, **settings):
    path.parent.mkdir(exist_ok=True)
    table = pa.Table.from_pylist(rows, pa.schema(list(columns.items())))
    pa.parquet.write_table(table, path, **settings)
    return path


@pytest.fixture
def cli(tmp_path):
    return Cli(tmp_path, {"ASSAY_PYTHON": sys.executable})


@pytest.fixture
def bucket(bucket):
    bucket.environment["ASSAY_PYTHON"] = sys.executable
    return bucket


def files_of(folder):
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    "settings",
    [
        {"compression": "snappy", "row_group_size": 37},
        {"compression": "zstd", "row_group_size": 100, "data_page_version": "2.0"},
        {"compression": "none", "use_dictionary": False, "store_schema": False},
    ],
)
def test_every_type_comes_back(cli, tmp_path, settings):
    source = write(tmp_path / "rows.parquet", [row(number) for number in range(ROWS)], **settings)
    made = cli.json("convert", source, tmp_path / "set", "--size-limit", "5k", "--workers", 2)
    assert made["rows"] == ROWS and made["shards"] > 5
    assert made["columns"] == ",".join(f"{name}:{encoding}" for name, encoding in ENCODINGS.items())
    assert cli.rows(tmp_path / "set") == [told(number) for number in range(ROWS)]
    cli.run("verify", tmp_path / "set")


def test_a_bucket_gives_what_a_folder_gives(bucket, tmp_path):
    for part in range(3):
        write(tmp_path / "parts" / f"{part}.parquet", [row(number) for number in range(part, ROWS, 3)])
    put_folder(bucket, tmp_path / "parts", f"{bucket.uri}/parts")
    columns = ["--columns", "text:str,ids:ndarray:uint16,more:json", "--size-limit", "3k"]
    bucket.run("convert", tmp_path / "parts", tmp_path / "here", *columns)
    bucket.run("convert", f"{bucket.uri}/parts/", tmp_path / "there", *columns, "--workers", 3)
    assert files_of(tmp_path / "here") == files_of(tmp_path / "there")
    rows = [told(number) for part in range(3) for number in range(part, ROWS, 3)]
    assert bucket.rows(tmp_path / "here") == [{name: row[name] for name in ("ids", "more", "text")} for row in rows]


def test_it_goes_on_within_a_file(cli, tmp_path):
    rows = [{"id": number, "text": "word " * 400} for number in range(20000)]
    source = write(tmp_path / "rows.parquet", rows, {"id": pa.int64(), "text": pa.string()}, row_group_size=3000)
    command = ["convert", source, tmp_path / "cut", "--size-limit", "200k", "--workers", 1]
    process = subprocess.Popen(cli.command(*command), env=cli.environment, stderr=subprocess.DEVNULL)
    unfinished = tmp_path / "cut" / "assay" / "unfinished"
    # Shards are written side by side: what stands behind a gap is written again.
    first = [unfinished / f"{number:06}" for number in range(5)]
    while process.poll() is None and not all(entry.exists() for entry in first):
        pass
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert "has not ended" in cli.refused("verify", tmp_path / "cut")
    assert cli.json(*command, "--resume")["resumed_shards"] >= 5
    cli.run("convert", source, tmp_path / "whole", *command[3:])
    assert files_of(tmp_path / "cut") == files_of(tmp_path / "whole")


def test_tensors_keep_their_shape(cli, tmp_path):
    values = numpy.arange(48, dtype=numpy.float32).reshape(4, 2, 3, 2)
    for name, axes in (("tensor", None), ("permuted", [1, 0, 2])):
        kind = pa.fixed_shape_tensor(pa.float32(), (2, 3, 2), permutation=axes)
        lists = pa.FixedSizeListArray.from_arrays(pa.array(values.ravel()), 12)
        table = pa.table({"t": pa.ExtensionArray.from_storage(kind, lists)})
        pa.parquet.write_table(table, tmp_path / f"{name}.parquet", row_group_size=3)
    made = cli.json("convert", tmp_path / "tensor.parquet", tmp_path / "set")
    assert made["columns"] == "t:ndarray:float32"
    assert cli.rows(tmp_path / "set") == [{"t": value.tolist()} for value in values]
    for source, columns, why in (("permuted", [], "axes are permuted"), ("tensor", ["--columns", "t:json"], "shape")):
        told = cli.refused("convert", tmp_path / f"{source}.parquet", tmp_path / source, *columns)
        assert "column 't': it is a tensor" in told and why in told


def test_tokens_are_those_of_json_lines(cli, tmp_path):
    source = write(tmp_path / "rows.parquet", TEXT, {"prompt": pa.string(), "completion": pa.string()})
    lines = write_rows(tmp_path / "rows.jsonl", TEXT)
    for rows, place in ((source, "parquet"), (lines, "jsonl")):
        cli.run("convert", rows, tmp_path / place, "--tokenizer", FOLDER)
    assert files_of(tmp_path / "parquet") == files_of(tmp_path / "jsonl")


def test_tokens_are_of_columns_that_are_not_stored(cli, tmp_path):
    rows = [row | {"id": number} for number, row in enumerate(TEXT)]
    source = write(
        tmp_path / "rows.parquet", rows, {"prompt": pa.string(), "completion": pa.string(), "id": pa.int64()}
    )
    lines = write_rows(tmp_path / "rows.jsonl", rows)
    for origin, place in ((source, "parquet"), (lines, "jsonl")):
        cli.run("convert", origin, tmp_path / place, "--tokenizer", FOLDER, "--columns", "id:int")
    assert files_of(tmp_path / "parquet") == files_of(tmp_path / "jsonl")
    assert set(cli.rows(tmp_path / "parquet")[0]) == {"id", "input_ids", "labels"}


def test_numbers_that_are_none_do_not_keep_rows_from_tokens(cli, tmp_path):
    rows = [row | {"score": float("nan")} for row in TEXT]
    columns = {"prompt": pa.string(), "completion": pa.string(), "score": pa.float64()}
    cli.run("convert", write(tmp_path / "rows.parquet", rows, columns), tmp_path / "set", "--tokenizer", FOLDER)
    assert len(cli.rows(tmp_path / "set")) == len(TEXT)


def test_images_as_hugging_face_has_them(cli, tmp_path):
    columns = {"image": pa.struct({"bytes": pa.binary(), "path": pa.string()}), "label": pa.int64()}
    rows = [{"image": {"bytes": bytes([number] * 9), "path": None}, "label": number} for number in range(5)]
    source = write(tmp_path / "rows.parquet", rows, columns)
    images = [{"image": base64.b64encode(row["image"]["bytes"]).decode(), "label": row["label"]} for row in rows]
    for place, more, encoding in (("types", [], "bytes"), ("named", ["--columns", "image:png,label:int"], "png")):
        made = cli.json("convert", source, tmp_path / place, *more)
        assert made["columns"] == f"image:{encoding},label:int"
        assert cli.rows(tmp_path / place) == images
    lost = write(tmp_path / "lost.parquet", [*rows, {"image": {"bytes": None, "path": "a.png"}, "label": 1}], columns)
    assert "lost.parquet:6: column 'image': it is null" in cli.refused("convert", lost, tmp_path / "lost")


def test_what_has_no_encoding_is_named(cli, tmp_path):
    time = {"text": pa.string(), "when": pa.timestamp("us", "UTC")}
    rows = [{"text": f"row {number}", "when": datetime.datetime(2026, 1, 1)} for number in range(3)]
    source = write(tmp_path / "time.parquet", rows, time)
    assert "column 'when': it is timestamp[us, tz=UTC]" in cli.refused("convert", source, tmp_path / "set")
    cli.run("convert", source, tmp_path / "set", "--columns", "text:str")
    assert [row["text"] for row in cli.rows(tmp_path / "set")] == ["row 0", "row 1", "row 2"]
    assert "it has no column 'x', but text, when" in cli.refused(
        "convert", source, tmp_path / "x", "--columns", "x:int"
    )


def test_nulls_are_json_or_refused_by_their_row(cli, tmp_path):
    columns = {"id": pa.int32(), "ids": pa.list_(pa.int64())}
    rows = [{"id": number, "ids": [number]} for number in range(6000)]
    first = write(tmp_path / "first.parquet", [{"id": None, "ids": None}, *rows[:5]], columns)
    cli.run("convert", first, tmp_path / "set")
    assert cli.rows(tmp_path / "set") == [{"id": None, "ids": None}, *rows[:5]]
    rows[5432]["id"] = None
    late = write(tmp_path / "late.parquet", rows, columns)
    told = cli.refused("convert", late, tmp_path / "late")
    assert "late.parquet:5433: column 'id': it is null, which int32 does not hold" in told
    assert not any(path.is_file() for path in (tmp_path / "late").rglob("*"))
    within = write(tmp_path / "within.parquet", [{"id": 1, "ids": [1, None]}], columns)
    assert "column 'ids': it holds lists with nulls" in cli.refused("convert", within, tmp_path / "within")
    beyond = ["--columns", "ids:ndarray:int8"]
    assert "column 'ids': Integer value 128" in cli.refused("convert", late, tmp_path / "beyond", *beyond)


def test_lists_of_one_size_may_be_null(cli, tmp_path):
    columns = {"id": pa.int64(), "pair": pa.list_(pa.int32(), 2)}
    rows = [{"id": 0, "pair": [1, 2]}, {"id": 1, "pair": None}, {"id": 2, "pair": [3, 4]}]
    cli.run("convert", write(tmp_path / "rows.parquet", rows, columns), tmp_path / "set")
    assert cli.rows(tmp_path / "set") == rows
    holes = write(tmp_path / "holes.parquet", [*rows, {"id": 3, "pair": [5, None]}], columns)
    assert "column 'pair': it holds lists with nulls" in cli.refused("convert", holes, tmp_path / "holes")


@pytest.mark.parametrize(
    ("kind", "value", "why"),
    [
        (pa.map_(pa.string(), pa.int64()), [("a", 1), ("a", 2)], "duplicate key was 'a'"),
        (pa.map_(pa.binary(), pa.int64()), [(b"a", 1)], "keys must be str"),
        (pa.struct({"x": pa.float64()}), {"x": float("nan")}, "not JSON compliant"),
    ],
)
def test_what_json_does_not_hold_is_told_by_its_column(cli, tmp_path, kind, value, why):
    source = write(tmp_path / "rows.parquet", [{"more": value}], {"more": kind})
    told = cli.refused("convert", source, tmp_path / "set")
    assert "rows.parquet: column 'more': " in told and why in told


def test_damage_and_a_missing_reader_are_one_line(cli, tmp_path):
    source = write(tmp_path / "rows.parquet", [row(number) for number in range(9)])
    content = source.read_bytes()
    for name, damaged in {"cut": content[:-9], "empty": b"", "bent": b"PAR1" + bytes(200) + content[204:]}.items():
        (tmp_path / f"{name}.parquet").write_bytes(damaged)
        assert f"{name}.parquet: " in cli.refused("convert", tmp_path / f"{name}.parquet", tmp_path / name)
    bare = tmp_path / "python"
    bare.write_text(f'#!/bin/sh\nexec {sys.executable} -S "$@"\n')
    bare.chmod(0o755)
    for python in ("/nowhere/python", bare):
        lost = Cli(tmp_path, {"ASSAY_PYTHON": str(python)})
        assert "name a Python that has pyarrow with ASSAY_PYTHON" in lost.refused("convert", source, tmp_path / "set")
    failed = Cli(tmp_path, {"ASSAY_PYTHON": "/usr/bin/false"}).refused("convert", source, tmp_path / "set", code=1)
    assert "rows.parquet: the reader of Parquet ended: exit code 1" in failed
