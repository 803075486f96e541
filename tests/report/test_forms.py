"""What a report writes beside its page: the model by its schema, and tables that other programs read."""

import csv
import json
import math
import os
import pathlib
import re
import subprocess

import jsonschema
import pyarrow.parquet
import pytest
import scipy.stats
from conftest import model_of

ROOT = pathlib.Path(__file__).resolve().parents[2]
BIN_DIR = pathlib.Path(os.environ.get("ASSAY_BIN_DIR", "build/release/bin"))
SAMPLES = ["demo", "mixed", "many", "one", "none", "none_valid", "long_names", "repeated", "two_hosts"]


@pytest.mark.parametrize("name", SAMPLES)
def test_models_follow_their_schema(samples, name):
    schema = json.loads((ROOT / "share/report/model.schema.json").read_text())
    jsonschema.Draft202012Validator(schema).validate(model_of(samples, name))


@pytest.mark.parametrize("name", SAMPLES)
def test_columns_are_equally_long(samples, name):
    model = model_of(samples, name)
    configurations = model["configurations"]
    columns = [configurations[key] for key in ("state", "runs", "group", "reason")]
    columns += list(configurations["axes"].values())
    estimates = configurations["estimates"].values()
    columns += [column for estimate in estimates for column in estimate.values() if column is not None]
    columns += list(model["lines"]["foretold"].values())
    assert {len(column) for column in columns} == {configurations["count"]}
    for axis in model["axes"]:
        assert max(configurations["axes"][axis["name"]]) < len(axis["values"])


def test_the_schema_refuses_what_is_no_model(samples):
    schema = json.loads((ROOT / "share/report/model.schema.json").read_text())
    model = model_of(samples, "demo")
    model["configurations"]["state"][0] = "odd"
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft202012Validator(schema).validate(model)


def test_a_comparison_is_welchs_test(samples):
    """Three runs on each side: the p-value of the pair is that of scipy on the logarithms, to first order."""
    model = model_of(samples, "repeated")
    throughput = model["configurations"]["estimates"]["throughput"]
    assert set(throughput["basis"]) == {"runs"} and set(throughput["n"]) == {3}
    lead = model["findings"]["list"][0]
    first, second = lead["configurations"]
    errors = [throughput["error"][at] / throughput["value"][at] for at in (first, second)]
    ratio = math.log(throughput["value"][first] / throughput["value"][second])
    freedom = (errors[0] ** 2 + errors[1] ** 2) ** 2 / (errors[0] ** 4 / 2 + errors[1] ** 4 / 2)
    p = 2 * scipy.stats.t.sf(abs(ratio) / math.hypot(*errors), freedom)
    assert lead["p"] == pytest.approx(min(1, p * (model["configurations"]["count"] - 1)), rel=1e-4)


@pytest.mark.parametrize("name", SAMPLES)
def test_parquet_is_the_table_of_the_csv(samples, name):
    table = pyarrow.parquet.read_table(samples / f"{name}.parquet")
    with open(samples / f"{name}.report.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert table.column_names == (list(rows[0]) if rows else table.column_names)
    assert table.num_rows == len(rows)
    for column in table.column_names:
        texts = [row[column] for row in rows]
        values = table.column(column).to_pylist()
        kind = str(table.schema.field(column).type)
        parse = {"double": float, "int64": int, "string": str, "bool": lambda text: text == "True"}[kind]
        assert values == [None if text == "" else parse(text) for text in texts], column


def test_parquet_names_its_maker_and_types(samples):
    file = pyarrow.parquet.ParquetFile(samples / "mixed.parquet")
    assert file.metadata.created_by == "assay report"
    types = {field.name: str(field.type) for field in file.schema_arrow}
    assert types["batch_size"] == "int64" and types["method"] == "string"
    assert types["throughput"] == "double" and types["front.throughput.peak_tensor_memory"] == "bool"


def report(*arguments, cwd):
    return subprocess.run([BIN_DIR / "assay", "report", *arguments], cwd=cwd, capture_output=True, text=True)


@pytest.mark.parametrize("name", ["demo", "mixed", "vit"])
def test_every_form_of_a_report_has_the_figures_of_the_page(samples, tmp_path, name):
    (tmp_path / "rows.jsonl").write_bytes((samples / f"{name}.jsonl").read_bytes())
    command = [BIN_DIR / "assay", "store", "import", "rows.jsonl", "--store", "sqlite:///runs.db"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    experiment = json.loads((tmp_path / "rows.jsonl").read_text().splitlines()[0])["experiment"]
    for form in ["json", "csv", "parquet", "html"]:
        asked = ["--experiment", experiment, "--store", "sqlite:///runs.db", "-o", f"report.{form}"]
        assert report(*asked, cwd=tmp_path).returncode == 0
    model = json.loads((tmp_path / "report.json").read_text())
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    embedded = json.loads(re.search(r'<script[^>]* id="model"[^>]*>(.*?)</script>', page, re.DOTALL)[1])
    assert embedded["configurations"] == model["configurations"] and embedded["metrics"] == model["metrics"]
    with open(tmp_path / "report.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    table = pyarrow.parquet.read_table(tmp_path / "report.parquet")
    assert [row["state"] for row in rows] == model["configurations"]["state"]
    for metric in model["metrics"]:
        columns = model["configurations"]["estimates"][metric["id"]]
        for part, suffix in [("value", ""), ("low", "_low"), ("high", "_high"), ("n", "_n")]:
            texts = [row[metric["id"] + suffix] for row in rows]
            exact = [float(text) if text else None for text in texts]
            assert table.column(metric["id"] + suffix).to_pylist() == exact
            shown = columns[part] or [None] * len(rows)
            assert [value is None for value in shown] == [value is None for value in exact]
            assert [v for v in exact if v is not None] == pytest.approx([v for v in shown if v is not None], rel=1e-6)


SPACE = """\
entitySpace:
  - {identifier: model_name, propertyDomain: {values: [smollm2-135m]}}
  - {identifier: number_gpus, propertyDomain: {values: [0]}}
  - {identifier: model_max_length, propertyDomain: {values: [256]}}
  - {identifier: batch_size, propertyDomain: {values: [1, 3]}}
  - {identifier: number_ranks, propertyDomain: {values: [1, 2]}}
experiments:
  - experimentIdentifier: finetune_full_benchmark-v1.0.0
metadata: {name: odd batches}
"""


@pytest.fixture
def explored(tmp_path):
    """A store with one point of a space, whose worker vanished; the rest of it is missing."""
    (tmp_path / "space.yaml").write_text(SPACE)
    command = [BIN_DIR / "assay", "explore", "space.yaml", "--max-points", "1", "--store", "sqlite:///runs.db"]
    subprocess.run(command, cwd=tmp_path, env=os.environ | {"ASSAY_WORKER": "/bin/false"}, capture_output=True)
    return tmp_path


def test_what_is_missing_of_a_space_is_told(explored):
    done = report("space.yaml", "--store", "sqlite:///runs.db", "--output", "json", cwd=explored)
    assert done.returncode == 0, done.stderr
    model = json.loads(done.stdout)
    assert model["counts"]["planned_points"] == 4
    assert model["counts"]["failed"] == 1 and model["counts"]["missing"] == 3
    assert {axis["name"]: axis["values"] for axis in model["axes"]} == {"batch_size": [1, 3], "number_ranks": [1, 2]}
    assert model["unmeasured"] == {"count": 3, "axes": {"batch_size": [0, 1, 1], "number_ranks": [1, 0, 1]}}


def test_two_stores_stand_beside_each_other_and_are_compared(samples, tmp_path):
    rows = [json.loads(line) for line in (samples / "demo.jsonl").read_text().splitlines()]
    for name, factor in (("before", 1), ("after", 2)):
        for row in rows:
            row["uid"] = f"{factor}{row['uid'][1:]}"
            for target in ("", "_ci_low", "_ci_high"):
                row["properties"]["real_tokens_per_second" + target] *= factor
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        command = [BIN_DIR / "assay", "store", "import", f"{name}.jsonl", "--store", f"sqlite:///{name}.db"]
        subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    asked = ["--experiment", "finetune_full_benchmark-v1.0.0", "--output", "json", "--store", "sqlite:///before.db"]
    done = report(*asked, "--beside", "sqlite:///after.db", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    model = json.loads(done.stdout)
    assert {axis["name"]: axis["values"] for axis in model["axes"]}["store"] == ["after.db", "before.db"]
    assert model["counts"]["measurements"] == 8 and model["conditions"] == ["store"]
    (found,) = [f for f in model["findings"]["list"] if (f["comparison"] or {}).get("axis") == "store"]
    assert (found["comparison"]["from"], found["comparison"]["to"]) == ("after.db", "before.db")
    assert "gives 0.500" in found["headline"]
    alone = json.loads(report(*asked, cwd=tmp_path).stdout)
    assert alone["counts"]["measurements"] == 4 and alone["conditions"] == []
    gone = report(*asked, "--beside", "sqlite:///none.db", cwd=tmp_path)
    assert gone.returncode != 0 and gone.stderr.count("\n") == 1 and "none.db" in gone.stderr


def test_the_form_follows_the_files_ending_and_data_is_never_written_over(explored):
    store = ["--store", "sqlite:///runs.db"]
    for name, begin in (
        ("a.html", b"<!DOCTYPE"),
        ("a.json", b"{"),
        ("a.csv", b"configuration,"),
        ("a.parquet", b"PAR1"),
    ):
        for _ in range(2):  # the second time over its own
            done = report("space.yaml", *store, "-o", name, cwd=explored)
            assert done.returncode == 0, done.stderr
        assert (explored / name).read_bytes().startswith(begin)
    for name in ("rows.json", "rows.csv", "rows.parquet"):
        (explored / name).write_bytes(b'PAR1 {"a": 1}')
        done = report("space.yaml", *store, "-o", name, cwd=explored)
        assert done.returncode == 2 and "is no report of assay" in done.stderr
        assert (explored / name).read_bytes() == b'PAR1 {"a": 1}'
    os.mkfifo(explored / "pipe")
    for name in ("pipe", "/dev/null"):
        done = report("space.yaml", *store, "-o", name, cwd=explored)
        assert done.returncode == 2 and f"{name} is no file" in done.stderr
    done = report("space.yaml", *store, "--output", "parquet", cwd=explored)
    assert done.returncode == 2 and "-o FILE" in done.stderr
