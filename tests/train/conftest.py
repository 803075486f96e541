import pathlib
import sys

import pytest
import torch

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
import networks  # noqa: E402
import served  # noqa: E402
import tiny  # noqa: E402
import vit  # noqa: E402

serve = served.serve
cabled = networks.cabled

torch.set_num_threads(1)


@pytest.fixture(scope="session")
def models(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    names = [*tiny.CONFIGS, *tiny.ALL_EXPERTS, *tiny.ROUTER_LOSS]
    return {name: tiny.save_model(name, folder / name) for name in names}


@pytest.fixture(scope="session")
def vit_model(tmp_path_factory):
    return vit.save_model(
        tmp_path_factory.mktemp("vit"),
        image_size=vit.SIZE,
        patch_size=8,
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=2,
    )


@pytest.fixture(scope="session")
def deeper_vit(tmp_path_factory):
    """Large enough for weights and activations, not what a run holds beside them, to make the peak."""
    return vit.save_model(
        tmp_path_factory.mktemp("deeper"),
        image_size=224,
        patch_size=16,
        hidden_size=192,
        intermediate_size=768,
        num_hidden_layers=8,
        num_attention_heads=4,
    )


@pytest.fixture(scope="session")
def vit_alone(vit_model, tmp_path_factory):
    """The events of one rank in float32."""
    return vit.run(tmp_path_factory.mktemp("alone"), model_dir=str(vit_model), learning_rate=1e-3)[0]


@pytest.fixture(scope="session")
def image_file(tmp_path_factory):
    return vit.write_images(tmp_path_factory.mktemp("images") / "train.images")
