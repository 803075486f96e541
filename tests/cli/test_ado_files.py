"""ado's files of actuator configurations and sample stores."""

import json

import pytest

OPERATION = """\
actuatorConfigurationIdentifiers: [here.yaml]
operation:
  module: { operatorName: random_walk, operationType: search }
  parameters: { numberEntities: all, samplerConfig: { mode: sequential, samplerType: generator } }
"""
CONFIGURATION = """\
actuatorIdentifier: SFTTrainer
parameters:
  match_exact_dependencies: false
  data_directory: data
  model_map: { granite-3.1-2b: { Vanilla: there/model } }
"""


@pytest.fixture
def named(quick_worker, model, rows, space, tmp_path):
    """The space with a model and a data set by name, and files that say where these are."""
    text = space.read_text().replace(str(model), "granite-3.1-2b")
    space.write_text(text.replace(str(rows), "news-tokens-16384plus-entries-4096"))
    folder = tmp_path / "files"
    (folder / "data").mkdir(parents=True)
    (folder / "there").mkdir()
    (folder / "there" / "model").symlink_to(model)
    (folder / "data" / "news-tokens-16384plus-entries-4096.jsonl").write_text(rows.read_text())
    (folder / "here.yaml").write_text(CONFIGURATION)
    return folder


def test_a_configuration_says_where_models_and_data_are(assay, named, space, tmp_path):
    store = f"sqlite:///{tmp_path}/store.db"
    explored = assay(
        "explore", space, "--actuator-configuration", named / "here.yaml", "--store", store, "--max-points", 1
    )
    assert explored.returncode == 0 and "1 measured" in explored.stdout
    assert "match_exact_dependencies does not count here" in explored.stderr
    (row,) = json.loads(assay.ok("results", space, "--store", store, "--output", "json"))
    assert row["entity"]["model_name"] == "granite-3.1-2b"
    assert row["provenance"]["dataset"].endswith("data/news-tokens-16384plus-entries-4096.jsonl")
    assert row["provenance"]["model"].endswith("there/model")


def test_a_recommended_point_is_measured_by_it(assay, named, space, tmp_path):
    actuator = ("--actuator-configuration", named / "here.yaml")
    here = (space, *actuator, "--store", f"sqlite:///{tmp_path}/store.db")
    assay.ok("explore", *here)
    best = json.loads(assay.ok("recommend", *here, "--batch-size", 3, "--run", "--output", "json"))[0]
    assert best["measured"]["outcome"] == "valid"
    assert best["measured"]["predicted_with_another"] == []
    assert "--run" in assay.refused("recommend", *here)


def test_an_operation_names_the_file(assay, named, space, tmp_path):
    store = f"sqlite:///{tmp_path}/store.db"
    (named / "walk.yaml").write_text(OPERATION)
    walk = ("explore", space, "--operation", named / "walk.yaml", "--store", store)
    assert "1 measured" in assay.ok(*walk, "--max-points", 1)
    assert "3 would be measured, 1 replayed" in assay.ok(*walk, "--dry-run")
    (named / "walk.yaml").write_text(OPERATION.replace("here.yaml", "elsewhere.yaml"))
    assert "elsewhere.yaml" in assay.refused(*walk)
    (named / "here.yaml").write_text(CONFIGURATION.replace("SFTTrainer", "robotic_lab"))
    said = assay.refused("explore", space, "--actuator-configuration", named / "here.yaml", "--store", store)
    assert "here.yaml:1: the experiments of actuator 'robotic_lab' are not here" in said


def test_a_sample_store_is_imported(assay, space, tmp_path):
    file, store = tmp_path / "store.yaml", f"sqlite:///{tmp_path}/store.db"
    (tmp_path / "export.csv").write_text("config,nodes,seconds\nA,2,84.5\nB,4,50\n")
    file.write_text(
        "specification: { module: { moduleClass: SQLSampleStore } }\n"
        "copyFrom:\n"
        "  - module: { moduleClass: CSVSampleStore }\n"
        "    storageLocation: { path: export.csv }\n"
        "    parameters:\n"
        "      identifierColumn: config\n"
        "      experiments:\n"
        "        - { experimentIdentifier: bench, constitutivePropertyMap: [nodes], observedPropertyMap: [seconds] }\n"
    )
    assert "2 measurements added" in assay.ok("store", "import", file, "--store", store)
    assert "0 measurements added, 2 there already" in assay.ok("store", "import", file, "--store", store)
    assay.ok("store", "export", tmp_path / "all.jsonl", "--store", store)
    rows = [json.loads(line) for line in (tmp_path / "all.jsonl").read_text().splitlines()]
    assert [row["properties"] for row in rows] == [{"seconds": 84.5}, {"seconds": 50}]
    assert {row["provenance"]["host"] for row in rows} == {"copied from export.csv"}
    assert "is only read" in assay.refused("store", "export", tmp_path / "all.yaml", "--store", store)
    space.write_text(f"sampleStoreIdentifier: {file}\n" + space.read_text())
    assert "is a file that describes a store" in assay.refused("explore", space)
