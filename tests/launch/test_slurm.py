"""Points on a real Slurm of one machine."""

import os
import time

import pytest
import slurm_cluster
from launched import end_a_run_early, measurement, measurements, run_example, run_space, wait_until, workers_of


@pytest.fixture(scope="module")
def cluster():
    started = slurm_cluster.Slurm(cpus=4)
    yield started
    started.stop()


@pytest.fixture
def slurm(assay, cluster, tmp_path):
    assay.env |= {"SLURM_CONF": str(cluster.conf), "ASSAY_SLURM_FOLDER": str(tmp_path / "shared")}
    yield ["--launcher", "slurm"]
    assert wait_until(lambda: not cluster.jobs()), "a job is left"
    assert wait_until(lambda: not workers_of(assay)), "a worker is left"


def store_of(tmp_path):
    return f"sqlite:///{tmp_path}/store.db"


def test_points_are_measured(assay, space, slurm, tmp_path):
    assert "4 points: 4 measured" in run_space(assay, space, store_of(tmp_path), 1, *slurm)
    for measured in measurements(assay, space, store_of(tmp_path)):
        assert measured["outcome"] == "valid", measured["reason"]
        assert measured["series"]["time_s"] and measured["provenance"]["threads"] == "1"
    assert "4 replayed" in run_space(assay, space, store_of(tmp_path), 1, *slurm)
    assert os.listdir(tmp_path / "shared") == []


def test_ranks_of_one_machine(assay, space, slurm, tmp_path):
    run_space(assay, space, store_of(tmp_path), 2, "--max-points", 1, *slurm)
    measured = measurement(assay, space, store_of(tmp_path))
    assert measured["outcome"] == "valid", measured["reason"]


def test_a_cancelled_job_is_a_failed_run(assay, space, slurm, cluster, tmp_path):
    space.write_text(space.read_text().replace("value: 2", "value: 10000", 1))
    process = run_space(assay, space, store_of(tmp_path), 1, "--max-points", 1, *slurm, wait=False)
    assert wait_until(lambda: workers_of(assay))
    cluster.run("scancel", *[line.split()[0] for line in cluster.jobs()])
    _, errors = process.communicate(timeout=300)
    assert process.returncode == 1, errors
    assert measurement(assay, space, store_of(tmp_path))["outcome"] == "failed"


def test_a_run_outlives_a_restart_of_the_controller(assay, space, slurm, cluster, tmp_path):
    process = run_space(assay, space, store_of(tmp_path), 1, "--max-points", 1, *slurm, wait=False)
    assert wait_until(lambda: workers_of(assay))
    cluster.stop_controller()
    time.sleep(15)  # several looks, each of which fails
    cluster.start_controller()
    _, errors = process.communicate(timeout=300)
    assert process.returncode == 0, errors
    assert measurement(assay, space, store_of(tmp_path))["outcome"] == "valid"


def test_a_run_that_is_behind_is_ended(assay, space, slow_worker, slurm, tmp_path):
    end_a_run_early(assay, space, store_of(tmp_path), *slurm)


def test_the_example(assay, slurm, tmp_path):
    run_example(assay, "slurm", tmp_path / "out")


def test_what_the_cluster_has_not(assay, space, slurm, tmp_path):
    line = assay.refused("explore", space, "--store", store_of(tmp_path), *slurm, "--resource", "a100=1", code=1)
    assert "Invalid generic resource" in line


def test_no_slurm(assay, space, tmp_path):
    assay.env["PATH"] = "/nowhere"
    line = assay.refused("explore", space, "--store", store_of(tmp_path), "--launcher", "slurm")
    assert "is Slurm installed here" in line
