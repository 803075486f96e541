"""LoRA against peft: losses, gradients of A and B, target matching and adapter folders in both directions."""

import json

import pytest
import torch
from dropout import Masks, drop_adapters
from peft import LoraConfig, PeftModel, get_peft_model
from reference import (
    FAMILIES,
    ROWS,
    assert_close,
    load_model,
    make_model,
    mean_gradient_error,
    ours,
    probe,
    reference,
    run_probe,
)
from safetensors.torch import load_file, save_file

FLOAT32_TOLERANCE = 1e-5
SIXTEEN_BIT_LOSS_TOLERANCE = 2e-2

TARGETS = {
    "default": ["q_proj", "v_proj"],
    "attention": ["q_proj", "k_proj", "v_proj", "o_proj"],
    "mlp": ["gate_proj", "up_proj", "down_proj"],
    "all_linear": "all-linear",
    "suffix": ["self_attn.q_proj", "layers.1.mlp.up_proj"],
    "whole_path": ["model.layers.0.self_attn.k_proj"],
    "pattern": r".*\.1\.self_attn\.(q|v)_proj",
}


def wrap(model, targets, dropout=0.0, **options):
    """`model` with a peft adapter whose B is random, so that A has a gradient and the adapter changes the loss."""
    config = LoraConfig(
        r=3, lora_alpha=7, lora_dropout=dropout, target_modules=targets, task_type="CAUSAL_LM", **options
    )
    torch.manual_seed(5)
    wrapped = get_peft_model(model, config)
    with torch.no_grad():
        for name, parameter in wrapped.named_parameters():
            if "lora_B" in name:
                parameter.normal_(0.0, 0.3)
            if "lora_magnitude_vector" in name:
                parameter.mul_(torch.rand_like(parameter) + 0.5)
    return wrapped.eval()


def without_adapter_name(result):
    """peft's parameters carry the adapter's name, its files do not."""
    names = {
        name: name.replace("_vector.default.weight", "_vector").replace(".default.", ".") for name in result.gradients
    }
    result.gradients = {names[name]: grad for name, grad in result.gradients.items()}
    return result


def saved(tmp_path, name, targets, **options):
    """A model folder, an adapter folder and the wrapped model that both came from."""
    make_model(name).save_pretrained(tmp_path / "model")
    wrapped = wrap(load_model(tmp_path / "model"), targets, **options)
    wrapped.save_pretrained(tmp_path / "adapter")
    return tmp_path / "model", tmp_path / "adapter", wrapped


@pytest.mark.parametrize("targets", TARGETS)
def test_peft_adapter_gives_the_same_loss_and_gradients(targets, tmp_path):
    model, adapter, wrapped = saved(tmp_path, "llama", TARGETS[targets])
    got, _ = ours(model, ROWS, tmp_path, "--adapter", adapter)
    assert_close(got, without_adapter_name(reference(wrapped, ROWS)), FLOAT32_TOLERANCE)


@pytest.mark.parametrize("name", [*FAMILIES, "smollm2", "granite_bias", "qwen2_window", "qwen3_attention_bias"])
def test_other_families(name, tmp_path):
    # Of Mixtral peft takes the experts too, as parameters that are no layers.
    targets = TARGETS["attention"] if name == "mixtral" else "all-linear"
    model, adapter, wrapped = saved(tmp_path, name, targets)
    got, _ = ours(model, ROWS, tmp_path, "--adapter", adapter)
    assert_close(got, without_adapter_name(reference(wrapped, ROWS)), FLOAT32_TOLERANCE)


EXPERTS = ["mixtral", "granitemoe", "granitemoehybrid"]
PARAMETERS = {
    "both": ["experts.gate_up_proj", "experts.down_proj"],
    "one": ["experts.down_proj"],
    "one_layer": ["layers.1.mlp.experts.gate_up_proj", "layers.1.block_sparse_moe.experts.gate_up_proj"],
}


def parameters_of(name, parameters):
    """Those whose path the family has."""
    other = "block_sparse_moe" if name == "mixtral" else ".mlp."
    return [parameter for parameter in PARAMETERS[parameters] if other not in parameter]


@pytest.mark.parametrize("modules", [["q_proj"], []])
@pytest.mark.parametrize("parameters", PARAMETERS)
@pytest.mark.parametrize("name", EXPERTS)
def test_experts(name, parameters, modules, tmp_path):
    """Tensors of experts are peft's target_parameters."""
    options = {"target_parameters": parameters_of(name, parameters)}
    model, adapter, wrapped = saved(tmp_path, name, modules, **options)
    want = without_adapter_name(reference(wrapped, ROWS))
    got, _ = ours(model, ROWS, tmp_path, "--adapter", adapter)
    assert_close(got, want, FLOAT32_TOLERANCE)
    checkpointed, _ = ours(model, ROWS, tmp_path, "--adapter", adapter, "--checkpointed-layers", "99")
    assert all(torch.equal(checkpointed.gradients[key], tensor) for key, tensor in got.gradients.items())
    probe(model, "--adapter", adapter, "--save-adapter", tmp_path / "again")
    before = load_file(adapter / "adapter_model.safetensors")
    after = load_file(tmp_path / "again" / "adapter_model.safetensors")
    assert before.keys() == after.keys() and all(torch.equal(before[key], after[key]) for key in before)


@pytest.mark.parametrize("name", EXPERTS)
def test_peft_reads_what_we_write_of_experts(name, tmp_path):
    make_model(name).save_pretrained(tmp_path / "model")
    targets = "q_proj,gate_up_proj,experts.down_proj"
    arguments = ("--lora", "--rank", 4, "--alpha", 12, "--dropout", 0, "--target-modules", targets)
    got, tensors = ours(tmp_path / "model", ROWS, tmp_path, *arguments, "--save-adapter", tmp_path / "adapter")
    wrapped = PeftModel.from_pretrained(load_model(tmp_path / "model"), tmp_path / "adapter", is_trainable=True)
    assert_close(got, without_adapter_name(reference(wrapped.eval(), ROWS)), FLOAT32_TOLERANCE)
    config = wrapped.peft_config["default"]
    assert set(config.target_modules) == {"q_proj"}
    assert set(config.target_parameters) == {"gate_up_proj", "experts.down_proj"}
    drawn = [tensor for key, tensor in tensors.items() if key.startswith("param.") and "base_layer.lora_A" in key]
    bound = 32**-0.5
    assert all(tensor.abs().max() <= bound and tensor.abs().max() > 0.9 * bound for tensor in drawn) and drawn


@pytest.mark.parametrize("name", [f"{name}_all_experts" for name in EXPERTS])
def test_bfloat16_of_experts(name, tmp_path):
    model, adapter, _ = saved(tmp_path, name, [], target_parameters=PARAMETERS["both"])
    got, _ = ours(model, ROWS, tmp_path, "--adapter", adapter, "--dtype", "bfloat16")
    wrapped = PeftModel.from_pretrained(load_model(model, torch.bfloat16), adapter, is_trainable=True).eval()
    want = without_adapter_name(reference(wrapped, ROWS))
    exact = without_adapter_name(reference(wrapped.float(), ROWS))
    assert abs(got.loss - want.loss) <= SIXTEEN_BIT_LOSS_TOLERANCE * abs(want.loss)
    assert all(gradient.dtype == torch.float32 for gradient in got.gradients.values())
    limit = 1.5 * mean_gradient_error(want.gradients, exact.gradients)
    assert mean_gradient_error(got.gradients, exact.gradients) <= limit


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"target_parameters": ["gate.weight"]}, "target parameter 'gate.weight' is no tensor of experts of the model"),
        ({"target_parameters": "down_proj"}, "target_parameters must be a list of names"),
        ({"lora_dropout": 0.1}, "adapters of experts have no dropout"),
        ({"target_parameters": ["down_proj"]}, "belongs to no module that adapter_config.json targets"),
    ],
)
def test_refused_adapters_of_experts(changes, message, tmp_path):
    model, adapter, _ = saved(tmp_path, "mixtral", [], target_parameters=PARAMETERS["both"])
    edited(adapter, **changes)
    done = run_probe("--model", model, "--adapter", adapter)
    assert done.returncode == 2
    assert message in done.stderr and done.stderr.count("\n") == 1, done.stderr


def test_published_targets_of_gpt_bigcode(tmp_path):
    """One name for a product of attention and one of the MLP."""
    model, adapter, wrapped = saved(tmp_path, "gpt_bigcode", ["c_attn", "c_proj"])
    got, _ = ours(model, ROWS, tmp_path, "--adapter", adapter)
    assert_close(got, without_adapter_name(reference(wrapped, ROWS)), FLOAT32_TOLERANCE)


def test_rank_stabilised_scale(tmp_path):
    model, adapter, wrapped = saved(tmp_path, "llama", ["q_proj", "up_proj"], use_rslora=True)
    got, _ = ours(model, ROWS, tmp_path, "--adapter", adapter)
    assert_close(got, without_adapter_name(reference(wrapped, ROWS)), FLOAT32_TOLERANCE)


def test_peft_scales_what_we_write_alike(tmp_path):
    """After a change of B, which starts at zero."""
    make_model("llama").save_pretrained(tmp_path / "model")
    arguments = ("--lora", "--rank", 5, "--alpha", 12, "--target-modules", "q_proj", "--rslora")
    probe(tmp_path / "model", *arguments, "--save-adapter", tmp_path / "adapter")
    path = tmp_path / "adapter" / "adapter_model.safetensors"
    torch.manual_seed(4)
    save_file({n: torch.randn_like(t) * 0.3 if "lora_B" in n else t for n, t in load_file(path).items()}, path)
    wrapped = PeftModel.from_pretrained(load_model(tmp_path / "model"), tmp_path / "adapter", is_trainable=True)
    assert wrapped.peft_config["default"].use_rslora
    got, _ = ours(tmp_path / "model", ROWS, tmp_path, "--adapter", tmp_path / "adapter")
    assert_close(got, without_adapter_name(reference(wrapped.eval(), ROWS)), FLOAT32_TOLERANCE)


@pytest.mark.parametrize("name", FAMILIES)
def test_dora(name, tmp_path):
    targets = TARGETS["attention"] if name == "mixtral" else "all-linear"
    model, adapter, wrapped = saved(tmp_path, name, targets, use_dora=True, use_rslora=name == "llama")
    got, _ = ours(model, ROWS, tmp_path, "--adapter", adapter)
    assert any("lora_magnitude_vector" in gradient for gradient in got.gradients)
    assert_close(got, without_adapter_name(reference(wrapped, ROWS)), FLOAT32_TOLERANCE)
    checkpointed, _ = ours(model, ROWS, tmp_path, "--adapter", adapter, "--checkpointed-layers", "99")
    assert all(torch.equal(checkpointed.gradients[key], tensor) for key, tensor in got.gradients.items())


def test_dora_with_dropout(tmp_path):
    model, adapter, wrapped = saved(tmp_path, "llama", "all-linear", dropout=0.5, use_dora=True)
    drop_adapters(wrapped, Masks(4, len(ROWS), max(len(row["input_ids"]) for row in ROWS)))
    want = without_adapter_name(reference(wrapped.train(), ROWS))
    training, _ = ours(model, ROWS, tmp_path, "--adapter", adapter, "--training", "--generator-seed", 4)
    assert_close(training, want, FLOAT32_TOLERANCE)


def test_dora_starts_as_the_model_and_peft_reads_it(tmp_path):
    make_model("llama").save_pretrained(tmp_path / "model")
    arguments = ("--lora", "--rank", 5, "--alpha", 12, "--target-modules", "q_proj,down_proj", "--dora")
    got, _ = ours(tmp_path / "model", ROWS, tmp_path, *arguments, "--save-adapter", tmp_path / "adapter")
    plain, _ = ours(tmp_path / "model", ROWS, tmp_path)
    assert abs(got.loss - plain.loss) <= FLOAT32_TOLERANCE * plain.loss
    wrapped = PeftModel.from_pretrained(load_model(tmp_path / "model"), tmp_path / "adapter", is_trainable=True)
    assert wrapped.peft_config["default"].use_dora
    assert_close(got, without_adapter_name(reference(wrapped.eval(), ROWS)), FLOAT32_TOLERANCE)


def test_dora_survives_a_round_trip(tmp_path):
    model, adapter, _ = saved(tmp_path, "llama", TARGETS["pattern"], use_dora=True)
    probe(model, "--adapter", adapter, "--save-adapter", tmp_path / "again")
    before = load_file(adapter / "adapter_model.safetensors")
    after = load_file(tmp_path / "again" / "adapter_model.safetensors")
    assert before.keys() == after.keys() and all(torch.equal(before[name], after[name]) for name in before)


@pytest.mark.parametrize("use_dora", [False, True])
def test_bfloat16_base_keeps_the_adapter_in_float32(use_dora, tmp_path):
    model, adapter, _ = saved(tmp_path, "smollm2", ["q_proj", "v_proj", "down_proj"], use_dora=use_dora)
    got, _ = ours(model, ROWS, tmp_path, "--adapter", adapter, "--dtype", "bfloat16")
    wrapped = PeftModel.from_pretrained(load_model(model, torch.bfloat16), adapter, is_trainable=True).eval()
    want = without_adapter_name(reference(wrapped, ROWS))
    exact = without_adapter_name(reference(wrapped.float(), ROWS))
    assert abs(got.loss - want.loss) <= SIXTEEN_BIT_LOSS_TOLERANCE * abs(want.loss)
    assert got.gradients.keys() == want.gradients.keys()
    assert all(gradient.dtype == torch.float32 for gradient in got.gradients.values())
    limit = 1.5 * mean_gradient_error(want.gradients, exact.gradients)
    assert mean_gradient_error(got.gradients, exact.gradients) <= limit


def test_peft_reads_what_we_write(tmp_path):
    make_model("llama_tied").save_pretrained(tmp_path / "model")
    arguments = ("--lora", "--rank", 5, "--alpha", 12, "--target-modules", "q_proj,down_proj")
    got, _ = ours(tmp_path / "model", ROWS, tmp_path, *arguments, "--save-adapter", tmp_path / "adapter")
    wrapped = PeftModel.from_pretrained(load_model(tmp_path / "model"), tmp_path / "adapter", is_trainable=True)
    assert_close(got, without_adapter_name(reference(wrapped.eval(), ROWS)), FLOAT32_TOLERANCE)
    config = wrapped.peft_config["default"]
    assert (config.r, config.lora_alpha, config.target_modules) == (5, 12, {"q_proj", "down_proj"})


def test_adapter_survives_a_round_trip(tmp_path):
    model, adapter, wrapped = saved(tmp_path, "llama", TARGETS["pattern"], use_rslora=True)
    probe(model, "--adapter", adapter, "--save-adapter", tmp_path / "again")
    before = load_file(adapter / "adapter_model.safetensors")
    after = load_file(tmp_path / "again" / "adapter_model.safetensors")
    assert before.keys() == after.keys() and all(torch.equal(before[name], after[name]) for name in before)
    again = PeftModel.from_pretrained(load_model(model), tmp_path / "again").eval()
    want = reference(wrapped, ROWS, gradients=False)
    assert torch.equal(reference(again, ROWS, gradients=False).logits, want.logits)


def test_weights_that_cannot_be_written_leave_what_was_there(tmp_path):
    model, adapter, _ = saved(tmp_path, "llama", ["q_proj"])
    weights = tmp_path / "again" / "adapter_model.safetensors"
    (weights / "in the way").mkdir(parents=True)
    config = tmp_path / "again" / "adapter_config.json"
    config.write_text("{}")
    done = run_probe("--model", model, "--adapter", adapter, "--save-adapter", tmp_path / "again")
    assert done.returncode != 0 and config.read_text() == "{}"


def test_fresh_adapter(tmp_path):
    make_model("smollm2").save_pretrained(tmp_path)
    arguments = ("--lora", "--rank", 4, "--target-modules", "all-linear")
    got, tensors = ours(tmp_path, ROWS, tmp_path, *arguments, "--seed", 3)
    base, _ = ours(tmp_path, ROWS, tmp_path)
    assert torch.equal(got.logits, base.logits)
    a = tensors["param.base_model.model.model.layers.2.mlp.down_proj.lora_A.weight"]
    bound = 192**-0.5  # Kaiming uniform with a = sqrt(5): 1 / sqrt(fan_in)
    assert a.shape == (4, 192) and a.abs().max() <= bound and a.abs().max() > 0.95 * bound
    assert abs(a.std().item() / (bound / 3**0.5) - 1) < 0.1
    assert all(not tensor.any() for name, tensor in tensors.items() if name.startswith("param.") and "lora_B" in name)
    _, again = ours(tmp_path, ROWS, tmp_path, *arguments, "--seed", 3)
    assert all(torch.equal(again[name], tensor) for name, tensor in tensors.items())
    _, other = ours(tmp_path, ROWS, tmp_path, *arguments, "--seed", 4)
    assert not torch.equal(other["param.base_model.model.model.layers.2.mlp.down_proj.lora_A.weight"], a)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("dropout", [0.0, 0.3])
def test_gradient_checkpointing_changes_no_bit(dtype, dropout, tmp_path):
    """Also where the embedding's output needs no gradient, and where dropout must draw the same mask again."""
    model, adapter, _ = saved(tmp_path, "smollm2", ["v_proj", "down_proj"], dropout=dropout)
    arguments = ("--adapter", adapter, "--dtype", dtype, "--training", "--generator-seed", 11)
    _, plain = ours(model, ROWS, tmp_path, *arguments)
    _, checkpointed = ours(model, ROWS, tmp_path, *arguments, "--checkpointed-layers", "99")
    assert plain.keys() == checkpointed.keys()
    for key, tensor in plain.items():
        assert torch.equal(tensor, checkpointed[key]), key


def test_checkpointing_with_an_adapter_in_the_last_layer_only(tmp_path):
    model, adapter, wrapped = saved(tmp_path, "smollm2", ["layers.2.mlp.down_proj"])
    got, _ = ours(model, ROWS, tmp_path, "--adapter", adapter, "--checkpointed-layers", "99")
    assert_close(got, without_adapter_name(reference(wrapped, ROWS)), FLOAT32_TOLERANCE)


@pytest.mark.parametrize("name", ["llama", "smollm2"])
def test_dropout_only_while_training(name, tmp_path):
    model, adapter, wrapped = saved(tmp_path, name, "all-linear", dropout=0.5)
    got, _ = ours(model, ROWS, tmp_path, "--adapter", adapter)
    assert_close(got, without_adapter_name(reference(wrapped, ROWS)), FLOAT32_TOLERANCE)
    drop_adapters(wrapped, Masks(4, len(ROWS), max(len(row["input_ids"]) for row in ROWS)))
    want = without_adapter_name(reference(wrapped.train(), ROWS))
    training, _ = ours(model, ROWS, tmp_path, "--adapter", adapter, "--training", "--generator-seed", 4)
    assert_close(training, want, FLOAT32_TOLERANCE)


def edited(adapter, **changes):
    path = adapter / "adapter_config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


@pytest.mark.parametrize(
    "changes, message",
    [
        ({"peft_type": "PROMPT_TUNING"}, "peft_type 'PROMPT_TUNING' is not supported"),
        ({"use_dora": True}, "lora_magnitude_vector' is missing"),
        ({"use_qalora": True}, "use_qalora is true, which is not supported"),
        ({"bias": "all"}, "bias is 'all', which is not supported"),
        ({"init_lora_weights": "pissa"}, 'init_lora_weights is "pissa", which may stand on other weights'),
        ({"init_lora_weights": "olora"}, 'init_lora_weights is "olora", which may stand on other weights'),
        ({"rank_pattern": {"q_proj": 2}}, 'rank_pattern is {"q_proj":2}, which is not supported'),
        ({"r": 4}, "is [3, 32], but the base model and adapter_config.json ask for [4, 32]"),
        ({"r": 0}, "r must be an integer of at least 1, not 0"),
        ({"target_modules": ["q_proj"]}, "belongs to no module that adapter_config.json targets"),
        ({"target_modules": ["q_proj", "v_proj", "o_proj"]}, "o_proj.lora_A.weight' is missing"),
        ({"target_modules": ["nothing"]}, "target modules [nothing] match no linear layer"),
        ({"target_modules": "(q_proj"}, "target modules '(q_proj' is not a regular expression"),
        ({"target_modules": None}, "target_modules must be a list of module names"),
    ],
)
def test_refused_adapters(changes, message, tmp_path):
    model, adapter, _ = saved(tmp_path, "llama", ["q_proj", "v_proj"])
    edited(adapter, **changes)
    done = run_probe("--model", model, "--adapter", adapter)
    assert done.returncode == 2
    assert message in done.stderr and done.stderr.count("\n") == 1, done.stderr


def test_refused_targets(tmp_path):
    make_model("llama").save_pretrained(tmp_path)
    done = run_probe("--model", tmp_path, "--lora", "--target-modules", "q_proj,v_porj")
    assert done.returncode == 2 and done.stderr == (
        "engine_probe: target module 'v_porj' matches no linear layer of the model (did you mean 'v_proj'?); "
        "available modules: down_proj, gate_proj, k_proj, o_proj, q_proj, up_proj, v_proj, or all-linear\n"
    )


def test_missing_adapter(tmp_path):
    make_model("llama").save_pretrained(tmp_path)
    done = run_probe("--model", tmp_path, "--adapter", tmp_path / "no")
    assert done.returncode == 2 and "does not exist" in done.stderr
    done = run_probe("--model", tmp_path, "--adapter", tmp_path)
    assert done.returncode == 2 and "adapter_config.json: No such file" in done.stderr
