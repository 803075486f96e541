"""From a file to a network's input: equal to transformers' ViTImageProcessor on Pillow, bit for bit."""

import numpy as np
import pytest
import torch
from PIL import Image
from transformers.models.vit.image_processing_pil_vit import ViTImageProcessorPil


@pytest.fixture
def photograph(tmp_path):
    y, x = np.mgrid[0:375, 0:500]
    pixels = np.stack([np.sin(x / 31 + c) * np.cos(y / 19) * 127 + 128 for c in range(3)], axis=-1)
    path = tmp_path / "image.jpg"
    Image.fromarray(pixels.astype(np.uint8)).save(path, quality=92)
    return path


@pytest.mark.parametrize("mean, std", [(0.5, 0.5), (0.45, 0.225), (0.0, 1.0)])
@pytest.mark.parametrize("width, height", [(224, 224), (384, 384), (32, 48)])
def test_equals_the_processor(tool, photograph, mean, std, width, height):
    processor = ViTImageProcessorPil(
        size={"height": height, "width": width}, image_mean=[mean] * 3, image_std=[std] * 3
    )
    expected = processor(Image.open(photograph).convert("RGB"), return_tensors="pt")["pixel_values"][0]
    assert expected.dtype == torch.float32
    np.testing.assert_array_equal(tool.normalize(photograph, "float32", width, height, mean, std), expected.numpy())
    bits = tool.normalize(photograph, "bfloat16", width, height, mean, std)
    assert torch.equal(torch.from_numpy(bits.copy()).view(torch.bfloat16), expected.to(torch.bfloat16))
