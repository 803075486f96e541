"""examples/launchers, each of which goes from nothing to a report."""

import os
import pathlib
import subprocess
import sys

import pytest
import ray_cluster
from launched import EXAMPLES, run_example, wait_until, workers_of


@pytest.mark.parametrize("name", ["local", "torchrun"])
def test_from_nothing_to_a_report(assay, tmp_path, name):
    assay.env["ASSAY_TORCHRUN"] = str(pathlib.Path(sys.prefix) / "bin" / "torchrun")
    run_example(assay, name, tmp_path / "out")


def test_ray_from_nothing_to_a_report(assay, tmp_path):
    assay.env["PATH"] = f"{ray_cluster.PYTHON.parent}:{assay.env['PATH']}"
    run_example(assay, "ray", tmp_path / "out")
    assert wait_until(lambda: not workers_of(assay)), "a worker is left"


def test_scripts_are_programs(assay):
    for script in EXAMPLES.glob("*.sh"):
        assert os.access(script, os.X_OK), script
        assert subprocess.run(["bash", "-n", script]).returncode == 0
