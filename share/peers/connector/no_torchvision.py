"""Puts an empty torchvision in the place of the one that mosaicml-streaming wants for image data sets.

Every wheel of torchvision is of one libtorch, and those on PyPI of a CUDA one: it cannot be imported beside another.
transformers looks for it, too, and must not find this one.
"""

import sys
import types

import transformers.feature_extraction_utils  # noqa: F401
import transformers.models.auto.tokenization_auto  # noqa: F401

for name in ("torchvision", "torchvision.datasets", "torchvision.transforms", "torchvision.transforms.functional"):
    sys.modules[name] = types.ModuleType(name)
sys.modules["torchvision.datasets"].VisionDataset = object
sys.modules["torchvision.transforms.functional"].to_tensor = None
