"""safetensors: one file and shards, both ways, and what the format has no place for."""

import json
import struct

import pytest
import states
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file
from states import assert_same

DTYPES = [dtype for dtype in states.DTYPES if dtype not in states.NOT_IN_SAFETENSORS]


def header_of(path):
    with open(path, "rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        return 8 + length, json.loads(file.read(length))


def test_every_dtype_both_ways(cli, tmp_path):
    state = states.every_dtype(DTYPES)
    save_file(state, tmp_path / "stock.safetensors", metadata={"who": "test"})
    cli.convert(tmp_path / "stock.safetensors", tmp_path / "ours.pt", "pt")
    assert_same(state, torch.load(tmp_path / "ours.pt"), types=False)
    cli.convert(tmp_path / "ours.pt", tmp_path / "ours.safetensors", "safetensors")
    assert_same(state, load_file(tmp_path / "ours.safetensors"), types=False)
    with safe_open(tmp_path / "ours.safetensors", "pt") as file:
        assert file.metadata()["format"] == "pt"
        assert set(file.keys()) == set(state)


def test_tensors_are_aligned(cli, tmp_path):
    state = {str(dtype): states.tensor_of(dtype, 3) for dtype in DTYPES}
    torch.save(state, tmp_path / "stock.pt")
    cli.convert(tmp_path / "stock.pt", tmp_path / "ours.safetensors", "safetensors")
    begin, header = header_of(tmp_path / "ours.safetensors")
    assert begin % 64 == 0
    for name, tensor in state.items():
        assert (begin + header[name]["data_offsets"][0]) % tensor.element_size() == 0, name


@pytest.mark.parametrize("dtype", states.NOT_IN_SAFETENSORS)
def test_a_dtype_without_a_name_is_refused(cli, tmp_path, dtype):
    torch.save({"a": torch.ones(2), "odd": states.tensor_of(dtype, 2)}, tmp_path / "stock.pt")
    line = cli.refused("convert", tmp_path / "stock.pt", tmp_path / "o.safetensors", "--format", "safetensors")
    assert "'odd'" in line and str(dtype).removeprefix("torch.") in line
    assert not (tmp_path / "o.safetensors").exists()


def test_nested_states_come_back(cli, tmp_path):
    state = {"values": states.plain_values(), **states.training_state()}
    torch.save(state, tmp_path / "stock.pt")
    cli.convert(tmp_path / "stock.pt", tmp_path / "ours.safetensors", "safetensors")
    cli.convert(tmp_path / "ours.safetensors", tmp_path / "back.pt", "pt")
    torch.serialization.add_safe_globals([frozenset])
    assert_same(state, torch.load(tmp_path / "back.pt"))
    # Others see tensors by their names.
    weights = load_file(tmp_path / "ours.safetensors")
    assert torch.equal(weights["model.0.weight"], state["model"]["0.weight"])


@pytest.mark.parametrize("options", [("--ranks", "3"), ("--max-shard-size", "5KB")])
def test_shards(cli, tmp_path, options):
    state = {f"layers.{i}.weight": torch.randn(20, 10 + i) for i in range(9)}
    save_file(state, tmp_path / "stock.safetensors")
    cli.convert(tmp_path / "stock.safetensors", tmp_path / "ours", "safetensors", *options)
    index = json.loads((tmp_path / "ours/model.safetensors.index.json").read_text())
    assert set(index["weight_map"]) == set(state)
    files = {name: load_file(tmp_path / "ours" / name) for name in set(index["weight_map"].values())}
    assert len(files) >= 2 and index["metadata"]["total_size"] == sum(4 * t.numel() for t in state.values())
    assert_same(state, {name: files[index["weight_map"][name]][name] for name in state}, types=False)
    cli.convert(tmp_path / "ours", tmp_path / "back.pt", "pt")
    back = torch.load(tmp_path / "back.pt")
    assert_same(state, {name: back[name] for name in state}, types=False)
    next((tmp_path / "ours").glob("model-00002-*")).unlink()
    assert "model-00002" in cli.refused("inspect", tmp_path / "ours")


def test_transformers_loads_our_shards(cli, tmp_path):
    transformers = pytest.importorskip("transformers")
    config = transformers.LlamaConfig(
        vocab_size=64, hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4
    )
    model = transformers.LlamaForCausalLM(config)
    model.save_pretrained(tmp_path / "stock")
    torch.save(model.state_dict(), tmp_path / "weights.pt")
    for target, options in (("one", ()), ("shards", ("--ranks", "4"))):
        (tmp_path / target).mkdir()
        config.save_pretrained(tmp_path / target)
        cli.convert(tmp_path / "weights.pt", tmp_path / target, "safetensors", *options)
        loaded = transformers.LlamaForCausalLM.from_pretrained(tmp_path / target)
        assert_same(dict(model.state_dict()), dict(loaded.state_dict()), types=False)


def test_peft_loads_our_adapter(cli, tmp_path):
    peft = pytest.importorskip("peft")
    transformers = pytest.importorskip("transformers")
    config = transformers.LlamaConfig(
        vocab_size=64, hidden_size=32, intermediate_size=48, num_hidden_layers=1, num_attention_heads=4
    )
    model = peft.get_peft_model(transformers.LlamaForCausalLM(config), peft.LoraConfig(r=4, init_lora_weights=False))
    model.save_pretrained(tmp_path / "stock")
    cli.convert(tmp_path / "stock", tmp_path / "adapter.pt", "pt")
    (tmp_path / "ours").mkdir()
    (tmp_path / "ours/adapter_config.json").write_bytes((tmp_path / "stock/adapter_config.json").read_bytes())
    cli.convert(tmp_path / "adapter.pt", tmp_path / "ours/adapter_model.safetensors", "safetensors")
    stock = load_file(tmp_path / "stock/adapter_model.safetensors")
    assert_same(stock, load_file(tmp_path / "ours/adapter_model.safetensors"), types=False)
    base = transformers.LlamaForCausalLM(config)
    assert peft.PeftModel.from_pretrained(base, tmp_path / "ours").peft_config["default"].r == 4


def test_tensors_that_others_add_are_not_left_out(cli, tmp_path):
    torch.save({"model": {"w": torch.ones(2)}, "step": 1}, tmp_path / "nested.pt")
    cli.convert(tmp_path / "nested.pt", tmp_path / "ours.safetensors", "safetensors")
    with safe_open(tmp_path / "ours.safetensors", "pt") as file:
        metadata = file.metadata()
    tensors = load_file(tmp_path / "ours.safetensors") | {"model.extra": torch.zeros(2)}
    save_file(tensors, tmp_path / "more.safetensors", metadata=metadata)
    assert "'model.extra' has no place" in cli.refused("inspect", tmp_path / "more.safetensors")
    del metadata["assay.state"]
    save_file(tensors, tmp_path / "more.safetensors", metadata=metadata)
    assert "model.extra" in cli.run("inspect", tmp_path / "more.safetensors").stdout
