"""Quantised models against auto-gptq, transformers and peft: the same weights, logits, loss and adapter's gradients."""

import json

import gptq
import pytest
import torch
from reference import ROWS, TINY, assert_close, load_model, make_model, ours, reference, relative_error, run_probe
from safetensors.torch import load_file, save_file
from test_lora import without_adapter_name, wrap

TOLERANCE = 1e-5
#: Every product has inputs and outputs in multiples of 32.
WIDER = dict(hidden_size=64, intermediate_size=96)
CHECKPOINTS = {
    "2_bits": dict(bits=2),
    "3_bits": dict(bits=3),
    "4_bits": dict(bits=4),
    "8_bits": dict(bits=8),
    "one_group": dict(group_size=-1),
    "a_last_group_that_is_smaller": dict(group_size=40),
    "inputs_in_any_order": dict(in_any_order=True),
    "3_bits_in_any_order": dict(bits=3, in_any_order=True),
    "zeros_as_they_are": dict(version=2),
    "8_bits_zeros_as_they_are": dict(bits=8, version=2),
    "biases_of_zeros": dict(zero_bias=True),
    "scales_in_float32": dict(scale_dtype=torch.float32),
    "some_layers_plain": dict(plain=("lm_head", "k_proj", "0.mlp.up_proj", "1.mlp.down_proj")),
}


@pytest.fixture
def saved(tmp_path, monkeypatch):
    """Saves a quantised model and an adapter for it; returns their folders and what peft makes of the same weights."""
    for name, value in WIDER.items():
        monkeypatch.setitem(TINY, name, value)

    def save(name="llama", targets="all-linear", change=lambda model: None, **scheme):
        model = make_model(name)
        change(model)
        folder = gptq.save(model, gptq.quantise(model, **scheme), tmp_path / "model", **scheme)
        wrapped = wrap(model, targets)
        wrapped.save_pretrained(tmp_path / "adapter")
        return folder, tmp_path / "adapter", wrapped

    return save


@pytest.mark.parametrize("checkpoint", CHECKPOINTS)
def test_weights_are_auto_gptqs(checkpoint, saved, tmp_path):
    model, adapter, wrapped = saved(**CHECKPOINTS[checkpoint])
    got, _ = ours(model, ROWS, tmp_path, "--adapter", adapter)
    assert_close(got, without_adapter_name(reference(wrapped, ROWS)), TOLERANCE)


@pytest.mark.parametrize("name", ["granite", "gpt_bigcode", "qwen2", "qwen3", "llama_attention_bias", "mistral_window"])
def test_other_families(name, saved, tmp_path):
    model, adapter, wrapped = saved(name)
    got, _ = ours(model, ROWS, tmp_path, "--adapter", adapter)
    assert_close(got, without_adapter_name(reference(wrapped, ROWS)), TOLERANCE)


def test_layers_without_an_adapter(saved, tmp_path):
    model, adapter, wrapped = saved(targets=["v_proj"])
    got, _ = ours(model, ROWS, tmp_path, "--adapter", adapter)
    assert_close(got, without_adapter_name(reference(wrapped, ROWS)), TOLERANCE)


def test_names_without_the_prefix_of_the_base_model(saved, tmp_path):
    model, adapter, wrapped = saved()
    tensors = load_file(model / "model.safetensors")
    bare = {name.removeprefix("model."): tensor for name, tensor in tensors.items()}
    save_file(bare, model / "model.safetensors", {"format": "pt"})
    got, _ = ours(model, ROWS, tmp_path, "--adapter", adapter)
    assert_close(got, without_adapter_name(reference(wrapped, ROWS)), TOLERANCE)


def test_scales_that_float16_does_not_have(saved, tmp_path):
    """Those of tiny values, which a larger product makes up for."""

    def change(model):
        for layer in model.model.layers:
            layer.self_attn.v_proj.weight.data *= 2**-20
            layer.self_attn.o_proj.weight.data *= 2**14

    model, adapter, wrapped = saved(change=change, scale_dtype=torch.bfloat16)
    scales = load_file(model / "model.safetensors")["model.layers.0.self_attn.v_proj.scales"]
    assert scales.dtype == torch.bfloat16 and 0 < scales.max() < 2**-20
    got, _ = ours(model, ROWS, tmp_path, "--adapter", adapter)
    assert_close(got, without_adapter_name(reference(wrapped, ROWS)), TOLERANCE)


@pytest.mark.parametrize("bits", [4, 8])
def test_outputs_that_are_no_multiple_of_32(bits, saved, tmp_path, monkeypatch):
    """40 fill words with their zeros, of which auto-gptq's layer has whole ones for 64."""
    monkeypatch.setitem(TINY, "head_dim", 40)
    model, adapter, wrapped = saved("llama_one_key_value_head", bits=bits)
    assert load_file(model / "model.safetensors")[f"{PROJECTION}.scales"].shape == (2, 40)
    got, _ = ours(model, ROWS, tmp_path, "--adapter", adapter)
    assert_close(got, without_adapter_name(reference(wrapped, ROWS)), TOLERANCE)


def test_outputs_whose_zeros_fill_no_words(saved, monkeypatch):
    monkeypatch.setitem(TINY, "head_dim", 40)
    model, _, _ = saved("llama_one_key_value_head", bits=3)
    done = run_probe("--model", model)
    assert done.returncode != 0 and "k_proj' has 40 outputs: a file cannot hold" in done.stderr, done.stderr


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_16_bits(dtype, saved, tmp_path):
    model, adapter, wrapped = saved()
    got, _ = ours(model, ROWS, tmp_path, "--adapter", adapter, "--dtype", dtype)
    assert got.loss == pytest.approx(reference(wrapped, ROWS).loss, rel=2e-2)


def test_gradient_checkpointing_changes_no_bit(saved, tmp_path):
    model, adapter, _ = saved()
    arguments = ("--adapter", adapter, "--dtype", "bfloat16")
    _, plain = ours(model, ROWS, tmp_path, *arguments)
    _, checkpointed = ours(model, ROWS, tmp_path, *arguments, "--checkpointed-layers", "99")
    assert all(torch.equal(tensor, checkpointed[key]) for key, tensor in plain.items())


def test_weights_that_are_rounded_when_they_are_loaded(saved, tmp_path):
    """8 bits are nearly the weights themselves."""
    model = make_model("llama")
    model.save_pretrained(tmp_path / "model")
    wrapped = wrap(load_model(tmp_path / "model"), "all-linear")
    wrapped.save_pretrained(tmp_path / "adapter")
    want = without_adapter_name(reference(wrapped, ROWS))
    arguments = ("--adapter", tmp_path / "adapter", "--quantize-bits")
    exact, _ = ours(tmp_path / "model", ROWS, tmp_path, *arguments[:2])
    near, _ = ours(tmp_path / "model", ROWS, tmp_path, *arguments, 8)
    far, _ = ours(tmp_path / "model", ROWS, tmp_path, *arguments, 2)
    assert relative_error(near.logits, want.logits) <= 5e-2 and near.loss == pytest.approx(want.loss, rel=2e-2)
    distance = {name: (got.logits - exact.logits).abs().mean() for name, got in (("near", near), ("far", far))}
    assert 0 < distance["near"] < distance["far"] / 10


def changed(model, change):
    """Edits the tensors of a saved model."""
    path = model / "model.safetensors"
    tensors = load_file(path)
    change(tensors)
    save_file(tensors, path, {"format": "pt"})


PROJECTION = "model.layers.1.self_attn.k_proj"


@pytest.mark.parametrize(
    "change, message",
    [
        (
            lambda t: t[f"{PROJECTION}.g_idx"].fill_(2),
            f"'{PROJECTION}.g_idx' names group 2, but 64 inputs in groups of 32",
        ),
        (lambda t: t[f"{PROJECTION}.g_idx"].fill_(-1), f"'{PROJECTION}.g_idx' names group -1"),
        (lambda t: t.pop(f"{PROJECTION}.scales"), f"tensor '{PROJECTION}.scales' is missing"),
        (lambda t: t.pop(f"{PROJECTION}.qzeros"), f"tensor '{PROJECTION}.qzeros' is missing"),
        (
            lambda t: t.update({f"{PROJECTION}.qweight": torch.zeros(4, 32, dtype=torch.int32)}),
            f"tensor '{PROJECTION}.qweight' is [4, 32], but config.json asks for [8, 32]",
        ),
        (
            lambda t: t.update({f"{PROJECTION}.qweight": torch.zeros(8, 32)}),
            f"tensor '{PROJECTION}.qweight' is F32, not of 32-bit integers",
        ),
        (
            lambda t: t.update({f"{PROJECTION}.bias": torch.ones(32)}),
            f"tensor '{PROJECTION}.bias' is not zero, but the model in config.json has no such bias",
        ),
    ],
)
def test_a_damaged_checkpoint_is_named(change, message, saved):
    model, _, _ = saved()
    changed(model, change)
    done = run_probe("--model", model)
    assert done.returncode != 0 and message in done.stderr and done.stderr.count("\n") == 1, done.stderr


def test_sizes_that_fill_no_words(tmp_path):
    make_model("llama").save_pretrained(tmp_path)
    done = run_probe("--model", tmp_path, "--quantize-bits", 4)
    assert done.returncode != 0 and "mlp.down_proj' has 48 inputs and 32 outputs" in done.stderr


def test_a_quantised_folder_without_a_word_in_its_configuration(saved):
    model, _, _ = saved()
    path = model / "config.json"
    path.write_text(json.dumps({k: v for k, v in json.loads(path.read_text()).items() if k != "quantization_config"}))
    done = run_probe("--model", model)
    assert done.returncode != 0 and "is quantised there, but config.json has no quantization_config" in done.stderr


def test_a_plain_folder_whose_configuration_says_that_it_is_quantised(saved):
    """A dequantised copy whose config.json was left as it was."""
    model, _, _ = saved()
    save_file(make_model("llama").state_dict(), model / "model.safetensors", {"format": "pt"})
    done = run_probe("--model", model)
    assert done.returncode != 0 and "quantised to 4 bits, but none is there" in done.stderr, done.stderr


def test_groups_in_any_order_that_the_file_does_not_say(saved):
    model, _, _ = saved(in_any_order=True)
    changed(model, lambda tensors: tensors.pop(f"{PROJECTION}.g_idx"))
    done = run_probe("--model", model)
    assert done.returncode != 0 and f"'{PROJECTION}.g_idx' is missing: desc_act" in done.stderr, done.stderr
