"""A controller of Slurm that is silent: programs of the test's own in place of Slurm's, some of which never end."""

import pytest
from launched import end_a_run_early, measurements, run_space, wait_until, workers_of

PROGRAMS = {
    "sinfo": "echo 2/2/0/4",
    "scontrol": "echo 127.0.0.1",
    "srun": 'while [[ $1 == --* ]]; do shift; done; SLURM_PROCID=0 exec "$@"',
    "sbatch": "SLURM_JOB_ID=$$ SLURM_JOB_NODELIST=here setsid bash ${!#} < /dev/null &> /dev/null & echo $$",
    "squeue": "echo 'RUNNING|None'",
    "scancel": "exit 0",
}


@pytest.fixture
def slurm(assay, tmp_path):
    """Returns what makes a program silent, or another."""
    folder = tmp_path / "programs"
    folder.mkdir()

    def write(name, text):
        (folder / name).write_text(f"#!/bin/bash\n{text}\n")
        (folder / name).chmod(0o755)

    for name, text in PROGRAMS.items():
        write(name, text)
    assay.env |= {
        "PATH": f"{folder}:{assay.env['PATH']}",
        "ASSAY_SLURM_FOLDER": str(tmp_path / "shared"),
        "ASSAY_SLURM_PATIENCE": "5",
    }
    yield lambda name, text="sleep 10000": write(name, text)
    assert wait_until(lambda: not workers_of(assay)), "a worker is left"


@pytest.fixture
def store(tmp_path):
    return f"sqlite:///{tmp_path}/store.db"


def test_points_are_measured_while_the_queue_is_silent(assay, space, slurm, store):
    slurm("squeue")
    assert "2 measured" in run_space(assay, space, store, 1, "--max-points", 2, "--launcher", "slurm")
    assert [measured["outcome"] for measured in measurements(assay, space, store)] == ["valid", "valid"]


def test_a_dry_run_is_of_the_machines_of_the_launcher(assay, space, slurm, quick_worker, store):
    """What was measured here is not what would be replayed there."""
    assert "4 measured" in assay.ok("explore", space, "--store", store)
    dry_run = ("explore", space, "--store", store, "--dry-run")
    assert "0 would be measured, 4 replayed" in assay.ok(*dry_run)
    slurm("srun", """echo '{"host": "there", "cpu": "another", "logical_cores": "2"}'""")
    assert "4 would be measured, 0 replayed" in assay.ok(*dry_run, "--launcher", "slurm")


def test_a_run_that_is_behind_is_ended(assay, space, slow_worker, slurm, store):
    slurm("scancel")
    end_a_run_early(assay, space, store, "--launcher", "slurm")


def test_a_job_that_is_not_taken_ends_the_exploration(assay, space, slurm, store):
    slurm("sbatch")
    line = assay.refused("explore", space, "--store", store, "--max-points", 1, "--launcher", "slurm", code=1)
    assert "sbatch --parsable" in line and "did not answer for 5 s" in line


def test_ctrl_c_ends_ranks_that_the_queue_does_not_cancel(assay, space, slurm, store):
    slurm("squeue")
    slurm("scancel")
    space.write_text(space.read_text().replace("value: 2", "value: 10000", 1))
    process = run_space(assay, space, store, 1, "--max-points", 1, "--launcher", "slurm", wait=False)
    assert wait_until(lambda: workers_of(assay) or process.poll() is not None)
    process.send_signal(2)
    _, errors = process.communicate(timeout=300)
    assert process.returncode == 130, errors
    assert "scancel --quiet" in errors and "did not answer for 5 s" in errors
