"""Stores copied, exported and imported; a store in PostgreSQL used as one in SQLite is."""

import json
import signal

import postgres
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
        _, err = process.communicate(timeout=60)
        assert process.returncode == 0, err
        assert "is back after" in err
        (measured,) = stores.measurements(assay, server.store())
        assert measured["outcome"] == "valid"
