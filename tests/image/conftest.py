import os
import pathlib
import subprocess

import numpy as np
import pytest

IMAGE_TOOL = pathlib.Path(os.environ["ASSAY_BIN_DIR"]) / "image_tool"


class Tool:
    """image_tool; every answer is a numpy array, every refusal a ValueError with its line."""

    def __init__(self, folder):
        self._output = folder / "output"

    def _run(self, verb, path, *arguments):
        finished = subprocess.run(
            [IMAGE_TOOL, verb, path, self._output, *map(str, arguments)], capture_output=True, text=True
        )
        if finished.returncode != 0:
            raise ValueError(finished.stderr.strip())
        return self._output.read_bytes()

    def decode(self, path):
        return next(images(self._run("decode", path)))

    def resize(self, path, sizes):
        """One array for each (width, height)."""
        return list(images(self._run("resize", path, *[side for size in sizes for side in size])))

    def normalize(self, path, dtype, width, height, mean, std):
        numbers = self._run(dtype, path, width, height, mean, std)
        return np.frombuffer(numbers, np.float32 if dtype == "float32" else np.uint16).reshape(3, height, width)


def images(content):
    while content:
        width, height = np.frombuffer(content[:16], np.int64)
        size = 16 + int(width * height) * 3
        yield np.frombuffer(content[16:size], np.uint8).reshape(height, width, 3)
        content = content[size:]


@pytest.fixture
def tool(tmp_path):
    return Tool(tmp_path)
