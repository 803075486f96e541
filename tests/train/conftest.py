import pathlib
import sys

import pytest
import tiny
import torch

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
torch.set_num_threads(1)


@pytest.fixture(scope="session")
def models(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    return {name: tiny.save_model(name, folder / name) for name in tiny.CONFIGS}
