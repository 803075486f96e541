"""Points whose ranks the torchrun of the torch wheel starts: real workers, real agents."""

import os
import pathlib
import signal
import sys
import time

import pytest
from launched import measurement, run_space, wait_until, workers_of

TORCHRUN = pathlib.Path(sys.prefix) / "bin" / "torchrun"


@pytest.fixture
def torchrun(assay):
    assay.env["ASSAY_TORCHRUN"] = str(TORCHRUN)
    return ["--launcher", "torchrun"]


@pytest.mark.parametrize("ranks", [1, 2])
def test_a_point_is_measured_as_it_is_locally(assay, space, torchrun, ranks, tmp_path):
    store = f"sqlite:///{tmp_path}/store.db"
    run_space(assay, space, store, ranks, "--max-points", 1, *torchrun)
    here = measurement(assay, space, store)
    run_space(assay, space, f"sqlite:///{tmp_path}/local.db", ranks, "--max-points", 1)
    local = measurement(assay, space, f"sqlite:///{tmp_path}/local.db")
    assert here["outcome"] == "valid", here["reason"]
    assert here["properties"].keys() == local["properties"].keys()
    for name in ("host", "machine", "commit", "threads", "isa"):
        assert here["provenance"][name] == local["provenance"][name], name
    assert here["series"]["time_s"] and here["series"].keys() == local["series"].keys()


def test_a_killed_rank_is_named_and_nothing_is_left(assay, space, torchrun, tmp_path):
    space.write_text(space.read_text().replace("value: 2", "value: 10000", 1))
    store = f"sqlite:///{tmp_path}/store.db"
    process = run_space(assay, space, store, 2, "--max-points", 1, *torchrun, wait=False)
    assert wait_until(lambda: len(workers_of(assay)) == 2 or process.poll() is not None)
    assert process.poll() is None, process.communicate()
    time.sleep(1.5)
    os.kill(max(workers_of(assay)), signal.SIGKILL)
    _, errors = process.communicate(timeout=300)
    assert process.returncode == 1, errors
    failed = measurement(assay, space, store)
    assert failed["outcome"] == "failed" and "SIGKILL" in failed["reason"], failed["reason"]
    assert wait_until(lambda: not workers_of(assay))


def test_all_end_with_their_controller(assay, space, torchrun, tmp_path):
    space.write_text(space.read_text().replace("value: 2", "value: 10000", 1))
    store = f"sqlite:///{tmp_path}/store.db"
    process = run_space(assay, space, store, 2, "--max-points", 1, *torchrun, wait=False)
    assert wait_until(lambda: len(workers_of(assay)) == 2 or process.poll() is not None)
    assert process.poll() is None, process.communicate()
    process.kill()
    process.communicate(timeout=300)
    assert wait_until(lambda: not workers_of(assay)), "a worker outlives its controller"


def test_what_cannot_be(assay, space, tmp_path):
    store = f"sqlite:///{tmp_path}/store.db"
    assay.env["ASSAY_TORCHRUN"] = "/nowhere/torchrun"
    line = assay.refused("explore", space, "--store", store, "--launcher", "torchrun")
    assert "/nowhere/torchrun" in line and "ASSAY_TORCHRUN" in line
    line = assay.refused("explore", space, "--store", store, "--launcher", "torchrun", "--address", "http://x")
    assert "leave --address out" in line
