"""GPTQ checkpoints as auto-gptq packs them, and what weights it makes of them again (script/lib.sh: apart)."""

import functools
import importlib.util
import json
import pathlib
import sys

import pytest
import torch
from safetensors.torch import save_file

APART = pathlib.Path(sys.prefix) / "apart" / "gptq"
LAYER = "lib/python3*/site-packages/auto_gptq/nn_modules/qlinear/qlinear_cuda.py"


@functools.cache
def quant_linear():
    """auto-gptq's layer in plain torch: its package wants an old transformers, the layer's file does not."""
    if not APART.is_dir():
        pytest.skip("there is no environment of auto-gptq")
    (path,) = APART.glob(LAYER)
    spec = importlib.util.spec_from_file_location("auto_gptq_layer", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.QuantLinear


def groups_of(inputs, group_size, in_any_order):
    """The group of each input."""
    groups = torch.arange(inputs) // (inputs if group_size < 0 else group_size)
    return groups[torch.randperm(inputs)] if in_any_order else groups


def rounded(weight, bits, groups):
    """`weight` [out, in] on the values that a scale and a zero of each group allow, in float16, with both [out, G]."""
    most = 2**bits - 1
    count = int(groups.max()) + 1
    scales = torch.stack([weight[:, groups == g].abs().amax(1) for g in range(count)], 1).mul(2 / most).half()
    zeros = torch.randint(1, most + 1, scales.shape).half()
    values = (weight / scales.float()[:, groups]).round().add(zeros.float()[:, groups]).clamp(0, most)
    return ((values - zeros.float()[:, groups]) * scales.float()[:, groups]).half(), scales, zeros


def packed(weight, bits, group_size, scales, zeros, groups):
    """The layer of auto-gptq that holds this weight."""
    linear = torch.nn.Linear(weight.shape[1], weight.shape[0], bias=False).half()
    linear.weight.data = weight
    layer = quant_linear()(bits, group_size, weight.shape[1], weight.shape[0], bias=False)
    layer.pack(linear, scales.clone(), zeros.clone(), groups.int())
    return layer


def quantise(model, bits=4, group_size=32, in_any_order=False, version=1, zero_bias=False):
    """Quantises the products of the layers of `model` in place, and returns the tensors of its checkpoint."""
    torch.manual_seed(bits)
    tensors = {name: tensor.detach().half() for name, tensor in model.state_dict().items()}
    if model.config.tie_word_embeddings:
        del tensors["lm_head.weight"]
    linears = {name: module for name, module in model.named_modules() if isinstance(module, torch.nn.Linear)}
    for path, linear in linears.items():
        if path == "lm_head":
            continue
        groups = groups_of(linear.in_features, group_size, in_any_order)
        weight, scales, zeros = rounded(linear.weight.data.float(), bits, groups)
        layer = packed(weight, bits, group_size, scales, zeros, groups)
        del tensors[f"{path}.weight"]
        tensors |= {f"{path}.{name}": getattr(layer, name) for name in ("qweight", "qzeros", "scales", "g_idx")}
        if version == 2:  # zeros as they are: what the first version stores of zeros that are one more
            tensors[f"{path}.qzeros"] = packed(weight, bits, group_size, scales, zeros + 1, groups).qzeros
        # In float32 the products of scales and differences are exact; this is the last use of the layer.
        linear.weight.data = layer.float()(torch.eye(linear.in_features)).detach().t().contiguous()
        if zero_bias and linear.bias is None:
            tensors[f"{path}.bias"] = torch.zeros(linear.out_features, dtype=torch.float16)
    for name, parameter in model.named_parameters():  # what is not quantised is stored in 16 bits
        if name in tensors:
            parameter.data = tensors[name].float()
    return {name: tensor.contiguous() for name, tensor in tensors.items()}


def save(model, tensors, folder, bits=4, group_size=32, in_any_order=False, version=1, **_):
    """A folder as auto-gptq writes it."""
    model.config.save_pretrained(folder)
    save_file(tensors, folder / "model.safetensors", {"format": "pt"})
    path = folder / "config.json"
    section = {
        "quant_method": "gptq",
        "bits": bits,
        "group_size": group_size,
        "desc_act": in_any_order,
        "sym": False,
        "checkpoint_format": "gptq" if version == 1 else "gptq_v2",
    }
    path.write_text(json.dumps(json.loads(path.read_text()) | {"quantization_config": section}))
    return folder
