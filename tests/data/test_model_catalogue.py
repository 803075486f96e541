"""Every configuration under share/models is read by transformers and has the published number of parameters."""

import json
import os
import pathlib
import subprocess

import pytest
import torch
from transformers import AutoConfig, AutoModelForCausalLM, AutoModelForImageClassification

ASSAY = pathlib.Path(os.environ["ASSAY_BIN_DIR"]) / "assay"
MODELS = pathlib.Path(__file__).resolve().parents[2] / "share/models"
PUBLISHED = {
    "granite-3-8b": 8_170_848_256,
    "granite-3.0-1b-a400m-base": 1_334_628_352,
    "granite-3.1-2b": 2_533_525_504,
    "granite-3.1-3b-a800m-instruct": 3_298_793_472,
    "granite-3.1-8b-instruct": 8_170_848_256,
    "granite-3.3-8b": 8_170_835_968,
    "granite-34b-code-base": 33_715_603_456,
    "granite-3b-code-base-128k": 3_482_503_680,
    "granite-4.0-1b": 1_631_750_144,
    "granite-4.0-350m": 352_379_904,
    "granite-4.0-h-1b": 1_461_538_368,
    "granite-4.0-h-micro": 3_191_396_096,
    "granite-4.0-h-small": 32_207_337_984,
    "granite-4.0-h-tiny": 6_939_037_248,
    "granite-4.0-micro": 3_402_836_480,
    "granite-7b-base": 6_738_415_616,
    "granite-8b-code-base": 8_054_910_976,
    "granite-8b-code-base-128k": 8_054_910_976,
    "granite-8b-code-instruct": 8_054_910_976,
    "llama-13b": 13_015_864_320,
    "llama-7b": 6_738_415_616,
    "llama2-70b": 68_976_648_192,
    "llama3-70b": 70_553_706_496,
    "llama3-8b": 8_030_261_248,
    "llama3.1-405b": 405_853_388_800,
    "llama3.1-70b": 70_553_706_496,
    "llama3.1-8b": 8_030_261_248,
    "llama3.2-1b": 1_235_814_400,
    "llama3.2-3b": 3_212_749_824,
    "mistral-123b-v2": 122_610_069_504,
    "mistral-7b-v0.1": 7_241_732_096,
    "mixtral-8x7b-instruct-v0.1": 46_702_792_704,
    "qwen2.5-0.5b": 494_032_768,
    "qwen2.5-1.5b": 1_543_714_304,
    "qwen2.5-7b": 7_615_616_512,
    "qwen3-0.6b": 596_049_920,
    "qwen3-1.7b": 1_720_574_976,
    "qwen3-8b": 8_190_735_360,
    "smollm2-1.7b": 1_711_376_384,
    "smollm2-135m": 134_515_008,
    "smollm2-360m": 361_821_120,
}
VISION = {
    "facebook/deit-small-patch16-224": 22_050_664,
    "facebook/deit-tiny-patch16-224": 5_717_416,
    "google/vit-base-patch16-224": 86_567_656,
    "google/vit-huge-patch14-224-in21k": 658_745_683,
    "google/vit-large-patch16-224": 304_326_632,
    "vit-digits": 320_554,
}


def test_no_configuration_is_left_out():
    folders = sorted(str(path.parent.relative_to(MODELS)) for path in MODELS.rglob("config.json"))
    assert sorted([*PUBLISHED, *VISION]) == folders


def count_parameters(name, kind):
    config = AutoConfig.from_pretrained(MODELS / name)
    with torch.device("meta"):
        model = kind.from_config(config)
    model.tie_weights()
    return sum(parameter.numel() for parameter in model.parameters())


@pytest.mark.parametrize("name", sorted(PUBLISHED))
def test_parameters(name):
    assert count_parameters(name, AutoModelForCausalLM) == PUBLISHED[name]


def test_our_counts_are_the_published_ones():
    done = subprocess.run([ASSAY, "model", "list", "--output", "json"], capture_output=True, text=True, check=True)
    ours = {model["name"]: model["parameters"] for model in json.loads(done.stdout)}
    assert {name: ours.get(name) for name in PUBLISHED} == PUBLISHED


@pytest.mark.parametrize("name", sorted(VISION))
def test_parameters_of_vision_models(name):
    assert count_parameters(name, AutoModelForImageClassification) == VISION[name]
