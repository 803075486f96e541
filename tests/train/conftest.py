import pytest
import tiny
import torch

torch.set_num_threads(1)


@pytest.fixture(scope="session")
def models(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    return {name: tiny.save_model(name, folder / name) for name in tiny.CONFIGS}
