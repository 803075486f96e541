import os
import pathlib
import subprocess

import pytest

BIN_DIR = pathlib.Path(os.environ.get("ASSAY_BIN_DIR", "build/release/bin"))


@pytest.fixture(scope="session")
def samples(tmp_path_factory):
    """A folder with every made-up set of measurements in every form."""
    folder = tmp_path_factory.mktemp("samples")
    subprocess.run([BIN_DIR / "report_samples", folder], check=True)
    return folder
