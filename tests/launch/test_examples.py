"""examples/launchers, each of which goes from nothing to a report."""

import os
import pathlib
import subprocess
import sys

import pytest

EXAMPLES = pathlib.Path(__file__).parents[2] / "examples" / "launchers"


def run(assay, script, out):
    binaries = os.environ["ASSAY_BIN_DIR"]
    torchrun = str(pathlib.Path(sys.prefix) / "bin" / "torchrun")
    environment = assay.env | {"PATH": f"{binaries}:{assay.env['PATH']}", "ASSAY_TORCHRUN": torchrun, "OUT": str(out)}
    return subprocess.run([EXAMPLES / script], env=environment, capture_output=True, text=True, timeout=600)


@pytest.mark.parametrize("name", ["local", "torchrun"])
def test_from_nothing_to_a_report(assay, tmp_path, name):
    finished = run(assay, f"{name}.sh", tmp_path / "out")
    assert finished.returncode == 0, finished.stderr
    assert "4 points: 4 measured" in finished.stdout
    assert "<html" in (tmp_path / "out" / f"{name}.html").read_text()


def test_scripts_are_programs(assay):
    for script in EXAMPLES.glob("*.sh"):
        assert os.access(script, os.X_OK), script
        assert subprocess.run(["bash", "-n", script]).returncode == 0
