"""The published results of ado's SFTTrainer, imported, shown and exported."""

import json

import published
import pytest
import stores

HOST = "published by ado's SFTTrainer"


@pytest.fixture
def store(tmp_path):
    return f"sqlite:///{tmp_path}/published.db"


@pytest.fixture
def imported(assay, store, tmp_path):
    path = published.write(tmp_path / "published.csv", published.some())
    out = assay.ok("store", "import", path, "--format", "published", "--store", store)
    assert "28 measurements added, 0 there already" in out
    return path


def test_there_are_38_columns():
    assert len(published.COLUMNS) == len(set(published.COLUMNS)) == 38


def test_each_row_is_a_measurement_of_its_point(assay, imported, store):
    documents = stores.measurements(assay, store)
    rows = published.read(imported)
    assert [document["outcome"] == "valid" for document in documents] == [row["is_valid"] == "1" for row in rows]
    for document, row in zip(documents, rows, strict=True):
        assert document["experiment"] == published.EXPERIMENTS[row["method"]]
        assert document["provenance"]["host"] == HOST
        point = document["entity"] | document["parameters"]
        assert point["model_max_length"] == int(row["tokens_per_sample"])
        assert point["fms_hf_tuning_version"] == "2.4.0"
        for name in published.VALUES:
            assert document["properties"].get(name) == (float(row[name]) if row[name] else None)
    assert len({document["uid"] for document in documents}) == 28
    uneven = [document for document in documents if "number_gpus 2" in document["reason"]]
    assert len(uneven) == 6, "of each method, two lengths: a rule says why"
    assert [document["reason"] for document in documents[24:25]] == ["published as not valid: it failed when it ran"]


def test_a_second_import_adds_nothing(assay, imported, store, tmp_path):
    again = ("store", "import", imported, "--format", "published", "--store", store)
    assert "0 measurements added, 28 there already" in assay.ok(*again)
    backwards = published.write(tmp_path / "other.csv", published.some(), published.COLUMNS[::-1])
    assert "0 measurements added, 28 there already" in assay.ok(
        "store", "import", backwards, "--format", "published", "--store", store
    )


def test_an_import_of_what_was_exported_adds_nothing(assay, imported, store, tmp_path):
    exported = tmp_path / "again.csv"
    assay.ok("store", "export", exported, "--format", "published", "--store", store)
    assert exported.read_text() != imported.read_text(), "the same rows, written otherwise"
    assert "0 measurements added, 28 there already" in assay.ok(
        "store", "import", exported, "--format", "published", "--store", store
    )


def test_no_exploration_replays_them(assay, imported, store, tmp_path):
    point = next(document for document in stores.measurements(assay, store) if document["outcome"] == "valid")
    space = tmp_path / "space.yaml"
    properties = [
        {"identifier": name, "propertyDomain": {"values": [value]}} for name, value in point["entity"].items()
    ]
    parameters = [{"property": {"identifier": name}, "value": value} for name, value in point["parameters"].items()]
    experiment = {"experimentIdentifier": point["experiment"], "parameterization": parameters}
    space.write_text(json.dumps({"entitySpace": properties, "experiments": [experiment]}))
    assert "1 of 1 point" in assay.ok("results", space, "--store", store)
    for reuse in ("commit", "machine", "anywhere"):
        said = assay.ok("explore", space, "--store", store, "--dry-run", "--reuse", reuse)
        assert "1 point: 1 would be measured, 0 replayed" in said, reuse


def test_results_and_report_show_them_as_of_another_host(assay, imported, store, tmp_path):
    full = published.EXPERIMENTS["full"]
    ours = next(document for document in stores.measurements(assay, store) if document["outcome"] == "valid")
    ours |= {"uid": "ours", "provenance": {"host": "here"}, "depends_on": {}}
    ours["properties"] |= {"dataset_tokens_per_second": 7777.0}
    stores.add(assay, store, [ours])
    table = assay.ok("results", "--experiment", full, "--store", store)
    assert HOST in table and "here" in table
    path = tmp_path / "report.csv"
    assay.ok("report", "--experiment", full, "--store", store, "-o", path)
    rows = published.read(path)
    assert [row["host"] for row in rows if row["run_uids"] == "ours"] == ["here"]
    assert all(row["host"] == HOST for row in rows if row["run_uids"] != "ours")
    assert sum(len(row["run_uids"].split()) for row in rows) == 12, "all of this experiment, each in one row"


def test_comes_back_as_38_columns(assay, imported, store, tmp_path):
    path = tmp_path / "again.csv"
    assay.ok("store", "export", path, "--format", "published", "--store", store)
    first, second = published.read(imported), published.read(path)
    assert list(second[0]) == published.COLUMNS
    numbers = [*published.VALUES, "number_gpus", "tokens_per_sample", "batch_size"]
    for was, now in zip(first, second, strict=True):
        assert sorted(now["identifier"].split("-")) == sorted(was["identifier"].split("-"))
        for name in ("experiment_id", "generatorid", "model_name", "method", "gpu_model", "torch_dtype", "is_valid"):
            assert now[name] == was[name], name
        for name in numbers:
            assert (now[name] and float(now[name])) == (was[name] and float(was[name])), name


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"number_gpus": "4"}, "bad.csv:3: number_gpus is 1 by the row's ids and 4 by its column"),
        ({"experiment_id": "SFTTrainer.finetune_ful_benchmark-v1.0.0"}, "bad.csv:3: "),
        ({"identifier": "colour.red"}, "bad.csv:3: 'colour' in the id 'colour.red' is no property"),
        ({"is_valid": ""}, "bad.csv:3: is_valid is '': expected 1 or 0"),
    ],
)
def test_a_row_that_is_wrong_is_one_line_and_nothing_is_added(assay, store, tmp_path, change, said):
    (first, second, *_) = published.some()
    path = published.write(tmp_path / "bad.csv", [first, second | change])
    assert said in assay.refused("store", "import", path, "--format", "published", "--store", store)
    assert stores.measurements(assay, store) == []


def test_other_files_are_told_apart(assay, imported, store, tmp_path):
    assert "--format published" in assay.refused("store", "import", imported, "--store", store)
    path = tmp_path / "whole.csv"
    assay.ok("store", "export", path, "--store", store)
    line = assay.refused("store", "import", path, "--format", "published", "--store", store)
    assert "whole.csv: column 'identifier' is missing" in line
