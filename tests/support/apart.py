"""The packages that contradict those of .venv: programs in tests/FOLDER/apart run with them (script/lib.sh)."""

import json
import os
import pathlib
import subprocess
import sys

STREAMING = pathlib.Path(sys.prefix) / "apart" / "streaming" / "bin" / "python"


def answer(program, question, folder):
    """What `program` answers to `question`, both JSON; its own temporary files go to `folder`."""
    environment = dict(os.environ, TMPDIR=str(folder), CUDA_VISIBLE_DEVICES="")
    finished = subprocess.run(
        [STREAMING, program], input=json.dumps(question), capture_output=True, text=True, env=environment
    )
    assert finished.returncode == 0, finished.stderr
    return json.loads(finished.stdout.splitlines()[-1])
