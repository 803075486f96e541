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


def rounded(weight, bits, groups, scale_dtype):
    """`weight` [out, in] on the values that a scale and a zero of each group allow, with both [out, G]: in float32."""
    most = 2**bits - 1
    count = int(groups.max()) + 1
    scales = torch.stack([weight[:, groups == g].abs().amax(1) for g in range(count)], 1).mul(2 / most)
    scales = scales.to(scale_dtype).float()
    zeros = torch.randint(1, most + 1, scales.shape).float()
    values = (weight / scales[:, groups]).round().add(zeros[:, groups]).clamp(0, most)
    return (values - zeros[:, groups]) * scales[:, groups], scales, zeros


def with_more_rows(tensor, multiple=32):
    """auto-gptq's layer packs outputs in multiples of 32; zeros of 1 are stored as 0."""
    more = -tensor.shape[0] % multiple
    return torch.cat([tensor, tensor.new_ones(more, tensor.shape[1])])


def packed(weight, bits, group_size, scales, zeros, groups):
    """The layer of auto-gptq that holds this weight, and behind it rows that make its outputs a multiple of 32."""
    weight, scales, zeros = map(with_more_rows, (weight, scales, zeros))
    linear = torch.nn.Linear(weight.shape[1], weight.shape[0], bias=False)
    linear.weight.data = weight
    layer = quant_linear()(bits, group_size, weight.shape[1], weight.shape[0], bias=False)
    layer.pack(linear, scales.clone(), zeros.clone(), groups.int())
    return layer


def stored(layer, bits, outputs, scale_dtype):
    """The tensors of a checkpoint that has the first `outputs` of the layer."""
    return {
        "qweight": layer.qweight[:, :outputs],
        "qzeros": layer.qzeros[:, : outputs * bits // 32],
        "scales": layer.scales[:, :outputs].to(scale_dtype),
        "g_idx": layer.g_idx,
    }


def quantise(
    model,
    bits=4,
    group_size=32,
    in_any_order=False,
    version=1,
    zero_bias=False,
    scale_dtype=torch.float16,
    plain=("lm_head",),
):
    """Quantises the products of `model` in place, but those whose names end so, and returns its checkpoint's tensors."""
    torch.manual_seed(bits)
    tensors = {name: tensor.detach().half() for name, tensor in model.state_dict().items()}
    if model.config.tie_word_embeddings:
        del tensors["lm_head.weight"]
    linears = {name: module for name, module in model.named_modules() if isinstance(module, torch.nn.Linear)}
    for path, linear in linears.items():
        if path.endswith(plain):
            continue
        groups = groups_of(linear.in_features, group_size, in_any_order)
        weight, scales, zeros = rounded(linear.weight.data.float(), bits, groups, scale_dtype)
        layer = packed(weight, bits, group_size, scales, zeros, groups)
        del tensors[f"{path}.weight"]
        of_path = stored(layer, bits, linear.out_features, scale_dtype)
        if version == 2:  # zeros as they are: what the first version stores of zeros that are one more
            more = packed(weight, bits, group_size, scales, zeros + 1, groups)
            of_path["qzeros"] = stored(more, bits, linear.out_features, scale_dtype)["qzeros"]
        tensors |= {f"{path}.{name}": tensor for name, tensor in of_path.items()}
        # In float32 the products of scales and differences are exact.
        weight_IO = layer(torch.eye(linear.in_features)).detach()
        linear.weight.data = weight_IO[:, : linear.out_features].t().contiguous()
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
