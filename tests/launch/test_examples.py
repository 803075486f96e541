"""examples/launchers, each of which goes from nothing to a report."""

import os
import pathlib
import subprocess
import sys

import pytest
from launched import EXAMPLES, run_example


@pytest.mark.parametrize("name", ["local", "torchrun"])
def test_from_nothing_to_a_report(assay, tmp_path, name):
    assay.env["ASSAY_TORCHRUN"] = str(pathlib.Path(sys.prefix) / "bin" / "torchrun")
    run_example(assay, name, tmp_path / "out")


def test_scripts_are_programs(assay):
    for script in EXAMPLES.glob("*.sh"):
        assert os.access(script, os.X_OK), script
        assert subprocess.run(["bash", "-n", script]).returncode == 0
