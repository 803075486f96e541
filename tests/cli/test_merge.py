"""assay checkpoint merge: the weights of peft's merge_and_unload."""

import json
import pathlib
import shutil

import pytest
import torch
from peft import LoraConfig, PeftModel, PromptTuningConfig, get_peft_model
from safetensors.torch import load_file
from transformers import AutoModelForCausalLM, GPTBigCodeConfig, GraniteMoeConfig, LlamaConfig, MixtralConfig

TOKENIZER = pathlib.Path(__file__).resolve().parents[2] / "share/tokenizers/assay-8k"
SHAPE = dict(
    vocab_size=64,
    hidden_size=32,
    intermediate_size=48,
    num_hidden_layers=2,
    num_attention_heads=4,
    num_key_value_heads=2,
    bos_token_id=1,
    eos_token_id=2,
)
ATTENTION = dict(target_modules=["q_proj", "o_proj"])
EXPERTS = dict(target_modules=["q_proj"], target_parameters=["experts.gate_up_proj", "experts.down_proj"])
CASES = {
    "llama": (LlamaConfig(**SHAPE), dict(target_modules="all-linear")),
    "tied": (LlamaConfig(**SHAPE, tie_word_embeddings=True), dict(**ATTENTION, use_rslora=True)),
    "pattern": (LlamaConfig(**SHAPE), dict(target_modules=r"model\.layers\.1\..*_proj")),
    "gpt_bigcode": (GPTBigCodeConfig(**SHAPE), dict(target_modules=["c_attn", "c_proj"])),
    "mixtral": (MixtralConfig(**SHAPE, num_local_experts=3), EXPERTS),
    "granitemoe": (GraniteMoeConfig(**SHAPE, num_local_experts=3), EXPERTS),
}


def save(folder, case, dtype, adapter):
    config, options = CASES[case]
    torch.manual_seed(1)
    model = AutoModelForCausalLM.from_config(config, dtype=dtype)
    model.save_pretrained(folder)
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copy(TOKENIZER / name, folder)
    (folder / "chat_template.jinja").write_text("{{ messages }}")
    wrapped = get_peft_model(model, LoraConfig(r=5, lora_alpha=7, lora_dropout=0.0, **options))
    for name, parameter in wrapped.named_parameters():
        if "lora_B" in name:
            torch.nn.init.normal_(parameter, std=0.2)
    wrapped.save_pretrained(adapter)


@pytest.fixture
def folders(tmp_path):
    return [tmp_path / "model", tmp_path / "adapter", tmp_path / "merged"]


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=["float32", "bfloat16"])
@pytest.mark.parametrize("case", CASES)
def test_weights_are_those_of_peft(assay, folders, case, dtype, tmp_path):
    model, adapter, merged = folders
    save(model, case, dtype, adapter)
    before = {path.name: path.read_bytes() for path in model.iterdir()}
    assay.ok("checkpoint", "merge", *folders)
    assert {path.name: path.read_bytes() for path in model.iterdir()} == before
    base = AutoModelForCausalLM.from_pretrained(model, dtype=dtype)
    expected = PeftModel.from_pretrained(base, adapter).merge_and_unload().state_dict()
    ours = AutoModelForCausalLM.from_pretrained(merged, dtype="auto")
    assert ours.dtype == dtype
    got = ours.state_dict()
    assert got.keys() == expected.keys()
    for name, tensor in expected.items():
        if dtype == torch.float32:
            assert (got[name] - tensor).abs().max() <= 1e-6 * tensor.abs().max(), name
        else:
            assert torch.equal(got[name], tensor), name
    for name in ("tokenizer.json", "tokenizer_config.json", "chat_template.jinja", "generation_config.json"):
        assert (merged / name).read_bytes() == before[name]
    assert [path for path in tmp_path.iterdir() if "partial" in path.name] == []


def test_another_dtype_and_shards(assay, folders):
    model, adapter, merged = folders
    save(model, "llama", torch.float32, adapter)
    assay.ok("checkpoint", "merge", *folders, "--dtype", "float16")
    tensors = load_file(merged / "model.safetensors")
    assert {tensor.dtype for tensor in tensors.values()} == {torch.float16}
    assert json.loads((merged / "config.json").read_text())["dtype"] == "float16"


def test_mistakes_are_one_line_and_leave_nothing(assay, folders, tmp_path):
    model, adapter, merged = folders
    save(model, "llama", torch.float32, adapter)
    others = set(tmp_path.iterdir())
    assert "nothing" in assay.refused("checkpoint", "merge", model, tmp_path / "nothing", merged)
    assert "adapter" in assay.refused("checkpoint", "merge", model, model, merged)
    assert "not empty" in assay.refused("checkpoint", "merge", model, adapter, model)
    prompt = tmp_path / "prompt"
    get_peft_model(
        AutoModelForCausalLM.from_pretrained(model), PromptTuningConfig(task_type="CAUSAL_LM", num_virtual_tokens=4)
    ).save_pretrained(prompt)
    assert "PROMPT_TUNING" in assay.refused("checkpoint", "merge", model, prompt, merged)
    weights = adapter / "adapter_model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-100])
    assay.refused("checkpoint", "merge", model, adapter, merged)
    (model / "model.safetensors").unlink()
    assert "no weights" in assay.refused("checkpoint", "merge", model, adapter, merged)
    assert set(tmp_path.iterdir()) == others | {prompt}
