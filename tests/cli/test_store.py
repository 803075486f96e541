"""Stores copied, exported and imported; a store in PostgreSQL used as one in SQLite is."""

import csv
import json
import signal

import postgres
import pyarrow
import pyarrow.parquet
import pytest
import stores

pytestmark = pytest.mark.usefixtures("quick_worker")


@pytest.fixture(scope="module")
def server():
    with postgres.Server() as running:
        yield running


@pytest.fixture(params=["sqlite", "postgresql"])
def store(request, tmp_path):
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/store.db"
    return request.getfixturevalue("server").new_store()


@pytest.fixture
def explored(assay, space, store):
    assay.ok("explore", space, "--store", store)
    return space


def same(documents):
    return sorted(json.dumps(document, sort_keys=True) for document in documents)


def test_explores_and_replays(assay, explored, store):
    out = assay.ok("explore", explored, "--store", store)
    assert out.splitlines()[-1].startswith("4 points: 0 measured, 4 replayed")
    assert "4 of 4 points" in assay.ok("results", explored, "--store", store)
    (first, second) = json.loads(assay.ok("operations", "--store", store, "--output", "json"))
    assert (first["measured"], first["replayed"], second["measured"], second["replayed"]) == (4, 0, 0, 4)
    assay.ok("forget", explored, "--store", store)
    assert "0 replayed" in assay.ok("explore", explored, "--store", store)


def test_copies_into_the_other_kind_of_store_and_back(assay, explored, store, server, tmp_path):
    other = server.new_store()
    back = f"sqlite:///{tmp_path}/back.db"
    assert "4 measurements added, 0 there already, 1 operation" in assay.ok("store", "copy", store, other)
    assert "0 measurements added, 4 there already, 0 operations" in assay.ok("store", "copy", store, other)
    assay.ok("store", "copy", other, back)
    everything = stores.measurements(assay, store)
    assert len(everything) == 4
    assert everything[0]["series"]["step_seconds"]
    assert stores.measurements(assay, back) == everything
    assert json.loads(assay.ok("operations", "--store", back, "--output", "json"))[0]["measured"] == 4
    assert "4 replayed" in assay.ok("explore", explored, "--store", back)


def test_copies_what_is_asked_for(assay, explored, store, tmp_path):
    target = f"sqlite:///{tmp_path}/part.db"
    assert "0 measurements added" in assay.ok("store", "copy", store, target, "--host", "nobody")
    assert "0 measurements added" in assay.ok("store", "copy", store, target, "--since", "2990-01-01T00:00:00Z")
    full = "finetune_full_benchmark-v1.0.0"
    out = assay.ok("store", "copy", store, target, "--experiment", full, "--outcome", "valid")
    assert "4 measurements added, 0 there already, 0 operations" in out
    assert "did you mean" in assay.refused("store", "copy", store, target, "--experiment", full.replace("full", "ful"))


def test_exports_and_imports(assay, explored, store, tmp_path):
    everything = stores.measurements(assay, store)
    target = f"sqlite:///{tmp_path}/imported.db"
    stores.add(assay, target, everything)
    assert same(stores.measurements(assay, target)) == same(everything)
    assert "0 measurements added, 4 there already" in assay.ok(
        "store", "import", assay.home / "exported.jsonl", "--store", target
    )


@pytest.mark.parametrize("ending", ["jsonl", "csv", "parquet"])
def test_a_store_comes_back_from_each_kind_of_file(assay, explored, store, tmp_path, ending):
    everything = stores.measurements(assay, store)
    odd = everything[0] | {
        "uid": "odd",
        "outcome": "failed",
        "reason": 'it said: "no",\n ä€😀',
        "properties": {"third": 1 / 3, "absent": None, "text": "4", "whole": 4, "real": 4.0},
        "series": {"loss": [0.1, None, "Infinity", "-Infinity"], "nothing": []},
    }
    first, second = f"sqlite:///{tmp_path}/first.db", f"sqlite:///{tmp_path}/second.db"
    stores.add(assay, first, [*everything, everything[0] | {"uid": "repeat"}, odd])
    path = tmp_path / f"all.{ending}"
    assert f"{path}: 6 measurements" in assay.ok("store", "export", path, "--store", first)
    assert "6 measurements added" in assay.ok("store", "import", path, "--store", second)
    assert "0 measurements added, 6 there already" in assay.ok("store", "import", path, "--store", second)
    assert stores.measurements(assay, second) == stores.measurements(assay, first)
    assert stores.measurements(assay, second)[-1] == odd


def test_a_csv_file_is_what_others_read_as_one(assay, explored, store, tmp_path):
    path = tmp_path / "all.csv"
    assay.ok("store", "export", path, "--store", store)
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    documents = stores.measurements(assay, store)
    assert [row["uid"] for row in rows] == [document["uid"] for document in documents]
    assert [json.loads(row["series"]) for row in rows] == [document["series"] for document in documents]
    assert [row["more"] for row in rows] == ["True", "True", "True", "False"]


def test_pyarrow_reads_all_of_a_parquet_file(assay, explored, store, tmp_path):
    documents = stores.measurements(assay, store)
    many = [documents[number % 4] | {"uid": f"{number:032x}"} for number in range(2345)]  # several groups of rows
    other = f"sqlite:///{tmp_path}/many.db"
    stores.add(assay, other, many)
    path = tmp_path / "all.parquet"
    assay.ok("store", "export", path, "--store", other)
    rows = pyarrow.parquet.read_table(path).drop_columns(["checksum"]).to_pylist()
    texts = {"uid", "experiment", "parameterized_id", "entity_id", "outcome", "reason", "measured_at"}
    assert [{name: cell if name in texts else json.loads(cell) for name, cell in row.items()} for row in rows] == many
    assert pyarrow.parquet.ParquetFile(path).num_row_groups > 1


def test_a_parquet_file_is_refused_whole(assay, explored, store, tmp_path):
    path = tmp_path / "all.parquet"
    target = f"sqlite:///{tmp_path}/target.db"
    assay.ok("store", "export", path, "--store", store)
    path.write_bytes(path.read_bytes()[:-100])
    assert "all.parquet" in assay.refused("store", "import", path, "--store", target)
    pyarrow.parquet.write_table(pyarrow.table({"model_name": ["small"]}), path)
    line = assay.refused("store", "import", path, "--store", target)
    assert "all.parquet: column 'model_name' is not known" in line and "assay store export" in line
    assert "there is no such file" in assay.refused("store", "import", tmp_path / "no.parquet", "--store", target)
    assert stores.measurements(assay, target) == []


@pytest.mark.parametrize("ending", ["jsonl", "csv", "parquet"])
def test_a_file_that_was_changed_is_told(assay, explored, store, tmp_path, ending):
    path, target = tmp_path / f"all.{ending}", f"sqlite:///{tmp_path}/target.db"
    assay.ok("store", "export", path, "--store", store)
    path.write_bytes(path.read_bytes().replace(b"tokens/s", b"tokens/h", 1))
    assert "was changed since it was exported" in assay.refused("store", "import", path, "--store", target)
    assert stores.measurements(assay, target) == []


def test_a_parquet_file_of_an_older_program_is_read(assay, explored, store, tmp_path):
    path, target = tmp_path / "old.parquet", f"sqlite:///{tmp_path}/target.db"
    assay.ok("store", "export", path, "--store", store)
    pyarrow.parquet.write_table(pyarrow.parquet.read_table(path).drop_columns(["checksum"]), path)
    assert "4 measurements added" in assay.ok("store", "import", path, "--store", target)


def test_a_csv_file_that_was_cut_off_adds_nothing(assay, explored, store, tmp_path):
    path = tmp_path / "all.csv"
    assay.ok("store", "export", path, "--store", store)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:-1]))
    target = f"sqlite:///{tmp_path}/target.db"
    assert "all.csv:4: the file is cut off here" in assay.refused("store", "import", path, "--store", target)
    path.write_text("model_name,speed\nsmall,4\n")
    line = assay.refused("store", "import", path, "--store", target)
    assert "all.csv: column 'model_name' is not known" in line and "assay store export" in line
    assert stores.measurements(assay, target) == []


def test_what_is_no_terminal_gets_no_line_of_each_batch(assay, explored, store, tmp_path):
    one = stores.measurements(assay, store)[0]
    path = tmp_path / "many.jsonl"
    path.write_text("".join(json.dumps(one | {"uid": f"{number:032x}"}) + "\n" for number in range(600)))
    result = assay("store", "import", path, "--store", f"sqlite:///{tmp_path}/many.db")
    assert result.returncode == 0 and "600 measurements added" in result.stdout
    assert result.stderr == ""


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{", "bad.jsonl:2"),
        ("[]", "bad.jsonl:2: a measurement must be a JSON object"),
        ('{"uid": "u"}', "unknown outcome"),
        ('{"uid": "", "outcome": "valid"}', "a measurement needs 'uid'"),
        ('{"schema": 99}', "use a newer version"),
    ],
)
def test_what_cannot_be_imported_is_one_line(assay, explored, store, tmp_path, line, said):
    good = json.dumps(stores.measurements(assay, store)[0])
    path = tmp_path / "bad.jsonl"
    path.write_text(f"{good}\n{line}\n")
    target = f"sqlite:///{tmp_path}/target.db"
    message = assay.refused("store", "import", path, "--store", target)
    assert said in message and "bad.jsonl:2" in message


def test_a_report_tells_stores_apart(assay, space, server, tmp_path):
    first, second = server.new_store(), server.new_store()
    own = f"sqlite:///{assay.home}/data/assay/measurements.db"
    for store in (first, second, own):
        assay.ok("explore", space, "--store", store)
    space.write_text(f"sampleStoreIdentifier: {first}\n{space.read_text()}")
    for beside in (second, own):
        model = json.loads(assay.ok("report", space, "--beside", beside, "--output", "json"))
        assert model["conditions"] == ["store"] and model["counts"]["measurements"] == 8
        (axis,) = [axis for axis in model["axes"] if axis["name"] == "store"]
        assert set(axis["values"]) == {store.rsplit("/", 1)[1] for store in (first, beside)}


def test_mistakes(assay, store, tmp_path):
    nothing = f"sqlite:///{tmp_path}/nothing.db"
    assert "there is no store at" in assay.refused("store", "copy", nothing, store)
    assert "none.jsonl" in assay.refused("store", "import", tmp_path / "none.jsonl", "--store", store)
    assert "is a folder" in assay.refused("store", "import", tmp_path, "--store", store)
    assert "there is no store at" in assay.refused("store", "export", tmp_path / "out.jsonl", "--store", nothing)
    assert not (tmp_path / "out.jsonl").exists()
    assert "postgresql://HOST/DATABASE" in assay.refused("operations", "--store", "mysql://host/db")


def test_a_server_that_is_not_there_is_one_line(assay, space):
    line = assay.refused("explore", space, "--store", "postgresql://me:secret@127.0.0.1:1/runs", code=1)
    assert "cannot reach store postgresql://me@127.0.0.1:1/runs" in line and "secret" not in line


def test_the_store_that_a_space_names_is_told_without_its_password(assay, space, server, tmp_path):
    named = server.new_store().replace("assay_test@", "assay_test:secret@") + "&connect_timeout=9"
    other = f"sqlite:///{tmp_path}/other.db"
    space.write_text(f"sampleStoreIdentifier: {named}\n{space.read_text()}")
    for how in (["--max-points", 1], ["--dry-run"]):
        said = assay("explore", space, *how).stderr
        assert "does not count" not in said and "secret" not in said
        said = assay("explore", space, "--store", other, *how).stderr
        assert f"does not count here: measurements are kept in {other}" in said and "secret" not in said
    assert "1 of 4 points" in assay.ok("results", space)


def test_an_exploration_waits_for_a_server_that_went_away(assay, space, gate):
    with postgres.Server() as server:
        process = assay.start("explore", space, "--store", server.store(), "--max-points", 1)
        with gate(process):
            server.stop(signal.SIGQUIT)
        line = process.stderr.readline()
        while "went away: waiting for it" not in line:
            assert line, "it does not wait"
            line = process.stderr.readline()
        server.start()
        _, err = process.communicate(timeout=300)
        assert process.returncode == 0, err
        assert "is back after" in err
        (measured,) = stores.measurements(assay, server.store())
        assert measured["outcome"] == "valid"
