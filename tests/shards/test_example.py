"""The example of docs/shards.md, with a small model."""

import json
import pathlib
import subprocess
import sys

import served
from test_tune import CONFIG

EXAMPLE = pathlib.Path(__file__).parents[2] / "examples" / "connector" / "run.py"


def test_the_connector_example_ends_with_the_losses_of_the_local_run(cli, tmp_path):
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "config.json").write_text(json.dumps(CONFIG))
    options = ["--assay", served.ASSAY, "--model", tmp_path / "model", "--rows", 40]
    command = [sys.executable, EXAMPLE, *options, "--steps", 40, "--checkpoint-every", 3]
    ended = subprocess.run(
        [str(word) for word in command], env=cli.environment, capture_output=True, text=True, timeout=300
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "losses, those of the local run" in ended.stdout
