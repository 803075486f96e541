"""Tiny random models, their reference results from transformers and peft, and ours from engine_probe."""

import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

import torch
import vector_math  # noqa: F401
from safetensors.torch import load_file
from transformers import (
    AutoModelForCausalLM,
    BloomConfig,
    GPTBigCodeConfig,
    GraniteConfig,
    GraniteMoeConfig,
    GraniteMoeHybridConfig,
    LlamaConfig,
    MistralConfig,
    MixtralConfig,
    Qwen2Config,
    Qwen3Config,
    SeedOssConfig,
)

MASKED = -100
PROBE = Path(os.environ["ASSAY_BIN_DIR"]) / "engine_probe"

torch.set_num_threads(1)

TINY = dict(
    vocab_size=97,
    hidden_size=32,
    intermediate_size=48,
    num_hidden_layers=2,
    num_attention_heads=4,
    num_key_value_heads=2,
    max_position_embeddings=64,
    pad_token_id=None,
    bos_token_id=1,
    eos_token_id=2,
    initializer_range=0.2,
)


def rope(rope_type, **values):
    return {"rope_type": rope_type, "rope_theta": 10000.0, **values}


NO_DROPOUT = dict(attn_pdrop=0.0, embd_pdrop=0.0, resid_pdrop=0.0)
LLAMA3 = rope("llama3", factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0, original_max_position_embeddings=16)
YARN = rope("yarn", factor=4.0, original_max_position_embeddings=16)

# Mamba-2 around attention without positions.
HYBRID = dict(
    num_hidden_layers=3,
    layer_types=["mamba", "attention", "mamba"],
    shared_intermediate_size=40,
    mamba_n_heads=4,
    mamba_d_state=16,
)

# name: (config class, what differs from TINY)
MODELS = {
    "llama": (LlamaConfig, {}),
    "llama_tied": (LlamaConfig, dict(tie_word_embeddings=True)),
    "llama_attention_bias": (LlamaConfig, dict(attention_bias=True)),
    "llama_mlp_bias": (LlamaConfig, dict(mlp_bias=True)),
    "llama_no_gqa": (LlamaConfig, dict(num_key_value_heads=4)),
    "llama_one_key_value_head": (LlamaConfig, dict(num_key_value_heads=1)),
    "llama_head_dim": (LlamaConfig, dict(head_dim=16)),
    "llama_padding_id": (LlamaConfig, dict(pad_token_id=5)),
    "llama_padding_id_from_the_end": (LlamaConfig, dict(pad_token_id=-1)),
    "llama_padding_id_tied": (LlamaConfig, dict(pad_token_id=5, tie_word_embeddings=True)),
    "llama_theta": (LlamaConfig, dict(rope_parameters=rope("default", rope_theta=500.0))),
    "llama_linear": (LlamaConfig, dict(rope_parameters=rope("linear", factor=2.5))),
    "llama_llama3": (LlamaConfig, dict(rope_parameters=LLAMA3, head_dim=16)),
    "llama_yarn": (LlamaConfig, dict(rope_parameters=YARN, head_dim=16)),
    "llama_yarn_options": (
        LlamaConfig,
        dict(rope_parameters=dict(YARN, beta_fast=8.0, beta_slow=2.0, truncate=False, mscale=0.7, mscale_all_dim=1.3)),
    ),
    "llama_yarn_attention_factor": (LlamaConfig, dict(rope_parameters=dict(YARN, attention_factor=1.5))),
    "llama_dynamic": (LlamaConfig, dict(rope_parameters=rope("dynamic", factor=2.0))),
    "llama_dynamic_beyond": (
        LlamaConfig,
        dict(rope_parameters=rope("dynamic", factor=2.0), max_position_embeddings=16),
    ),
    "mistral_window": (MistralConfig, dict(sliding_window=5)),
    "mistral_no_window": (MistralConfig, dict(sliding_window=None)),
    "mistral_head_dim": (MistralConfig, dict(sliding_window=4096, head_dim=16)),
    "smollm2": (
        LlamaConfig,
        dict(
            hidden_size=72,
            intermediate_size=192,
            num_attention_heads=9,
            num_key_value_heads=3,
            num_hidden_layers=3,
            tie_word_embeddings=True,
            rms_norm_eps=1e-5,
            rope_parameters=rope("default", rope_theta=100000.0),
        ),
    ),
    "granite": (
        GraniteConfig,
        dict(
            embedding_multiplier=12.0,
            attention_multiplier=0.0625,
            residual_multiplier=0.22,
            logits_scaling=8.0,
            tie_word_embeddings=True,
        ),
    ),
    "granite_bias": (
        GraniteConfig,
        dict(
            embedding_multiplier=6.0,
            attention_multiplier=0.25,
            residual_multiplier=0.5,
            logits_scaling=4.0,
            attention_bias=True,
            mlp_bias=True,
        ),
    ),
    "bloom": (BloomConfig, dict(pad_token_id=5)),
    "bloom_not_tied": (BloomConfig, dict(tie_word_embeddings=False)),
    "bloom_six_heads": (BloomConfig, dict(hidden_size=48, num_attention_heads=6)),
    "gpt_bigcode": (GPTBigCodeConfig, NO_DROPOUT),
    "gpt_bigcode_not_tied": (GPTBigCodeConfig, dict(NO_DROPOUT, tie_word_embeddings=False, n_inner=40)),
    "gpt_bigcode_many_heads": (GPTBigCodeConfig, dict(NO_DROPOUT, multi_query=False, activation_function="gelu")),
    "gpt_bigcode_unscaled": (GPTBigCodeConfig, dict(NO_DROPOUT, scale_attn_weights=False, pad_token_id=5)),
    "granitemoe": (
        GraniteMoeConfig,
        dict(
            num_local_experts=6,
            num_experts_per_tok=3,
            embedding_multiplier=12.0,
            attention_multiplier=0.0625,
            residual_multiplier=0.22,
            logits_scaling=6.0,
            tie_word_embeddings=True,
        ),
    ),
    "granitemoe_all_experts": (GraniteMoeConfig, dict(num_local_experts=3, num_experts_per_tok=3)),
    "granitemoe_bias": (GraniteMoeConfig, dict(attention_bias=True, num_local_experts=4, pad_token_id=5)),
    "granitemoehybrid": (
        GraniteMoeHybridConfig,
        dict(
            HYBRID,
            num_local_experts=4,
            embedding_multiplier=12.0,
            attention_multiplier=0.0625,
            residual_multiplier=0.22,
            logits_scaling=6.0,
            tie_word_embeddings=True,
        ),
    ),
    "granitemoehybrid_all_experts": (
        GraniteMoeHybridConfig,
        dict(HYBRID, num_local_experts=3, num_experts_per_tok=3, attention_multiplier=0.35),
    ),
    "granitemoehybrid_dense": (
        GraniteMoeHybridConfig,
        dict(HYBRID, num_local_experts=0, attention_multiplier=0.3, mamba_n_groups=2, mamba_proj_bias=True),
    ),
    "granitemoehybrid_attention_alone": (
        GraniteMoeHybridConfig,
        dict(
            num_local_experts=0,
            shared_intermediate_size=40,
            layer_types=["attention", "attention"],
            position_embedding_type="rope",
            attention_multiplier=0.3,
            attention_bias=True,
            mamba_n_heads=4,
        ),
    ),
    "granitemoehybrid_steps": (
        GraniteMoeHybridConfig,
        dict(
            HYBRID,
            num_local_experts=0,
            mamba_conv_bias=False,
            mamba_d_conv=2,
            mamba_expand=1,
            mamba_n_heads=2,
            time_step_limit=(0.5, 1.5),
            position_embedding_type="rope",
            pad_token_id=5,
        ),
    ),
    "granitemoehybrid_router_loss": (
        GraniteMoeHybridConfig,
        dict(HYBRID, num_local_experts=5, output_router_logits=True, router_aux_loss_coef=0.3),
    ),
    "mixtral": (MixtralConfig, dict(num_local_experts=4)),
    "mixtral_all_experts": (MixtralConfig, dict(num_local_experts=2)),
    "mixtral_window": (MixtralConfig, dict(sliding_window=5, num_local_experts=8, num_experts_per_tok=3)),
    "mixtral_unused_experts": (MixtralConfig, dict(num_local_experts=64, num_experts_per_tok=2, head_dim=16)),
    "granitemoe_router_loss": (
        GraniteMoeConfig,
        dict(num_local_experts=5, num_experts_per_tok=2, output_router_logits=True, router_aux_loss_coef=0.3),
    ),
    "mixtral_router_loss": (
        MixtralConfig,
        dict(num_local_experts=4, num_hidden_layers=3, output_router_logits=True, router_aux_loss_coef=0.5),
    ),
    "qwen2": (Qwen2Config, {}),
    "qwen2_tied": (Qwen2Config, dict(tie_word_embeddings=True)),
    "qwen2_head_dim": (Qwen2Config, dict(head_dim=16)),
    "qwen2_window": (Qwen2Config, dict(use_sliding_window=True, sliding_window=5, max_window_layers=1)),
    "qwen2_window_not_used": (Qwen2Config, dict(sliding_window=5, max_window_layers=0)),
    "qwen2_layer_types": (
        Qwen2Config,
        dict(use_sliding_window=True, sliding_window=5, layer_types=["sliding_attention", "full_attention"]),
    ),
    "qwen3": (Qwen3Config, dict(head_dim=16)),
    "qwen3_default_head_dim": (Qwen3Config, dict(num_attention_heads=2, num_key_value_heads=1)),
    "qwen3_tied": (Qwen3Config, dict(head_dim=8, tie_word_embeddings=True)),
    "qwen3_attention_bias": (Qwen3Config, dict(head_dim=16, attention_bias=True)),
    "qwen3_window": (
        Qwen3Config,
        dict(head_dim=16, use_sliding_window=True, sliding_window=5, max_window_layers=1),
    ),
    "seed_oss": (SeedOssConfig, dict(head_dim=16, attention_dropout=0.0, residual_dropout=0.0)),
    "seed_oss_other_bias": (
        SeedOssConfig,
        dict(
            head_dim=8,
            attention_dropout=0.0,
            residual_dropout=0.0,
            attention_bias=False,
            attention_out_bias=True,
            mlp_bias=True,
        ),
    ),
}

# The first model of each family: every test of more than one model runs them.
FAMILIES = list({config: name for name, (config, _) in reversed(MODELS.items())}.values())[::-1]


# In 16 bits rounding decides which experts a token goes to, unless it goes to all of them.
ALL_EXPERTS = {name: f"{name}_all_experts" for name in ("mixtral", "granitemoe", "granitemoehybrid")}

NORMS = ("norm", ".ln_")


def make_rows(lengths, vocab_size=97, seed=0):
    """Rows of the given lengths; about the first third of each is masked, as a prompt would be."""
    generator = torch.Generator().manual_seed(seed)
    rows = []
    for length in lengths:
        ids = torch.randint(0, vocab_size, (length,), generator=generator).tolist()
        labels = [MASKED] * (length // 3) + ids[length // 3 :]
        rows.append({"input_ids": ids, "labels": labels})
    return rows


ROWS = make_rows([17, 9, 30, 2])


def make_model(name, seed=0):
    """A random model in evaluation mode: no dropout. Norms and biases are random too, so that they matter."""
    config_class, changes = MODELS[name]
    torch.manual_seed(seed)
    model = AutoModelForCausalLM.from_config(config_class(**{**TINY, **changes}), attn_implementation="eager")
    with torch.no_grad():
        for parameter_name, parameter in model.named_parameters():
            if any(norm in parameter_name for norm in NORMS) and parameter_name.endswith("weight"):
                parameter.uniform_(0.5, 1.5)
            elif parameter_name.endswith((".D", "A_log")):
                parameter.uniform_(-1.0, 1.0)
            elif parameter_name.endswith("bias"):
                parameter.normal_(0.0, 0.2)
    return model.eval()


def load_model(folder, dtype=torch.float32, **arguments):
    """A saved model in evaluation mode. Loading, unlike Module.to(), leaves the rotary frequencies in float32."""
    arguments = {"attn_implementation": "eager", **arguments}
    loaded = AutoModelForCausalLM.from_pretrained(folder, dtype=dtype, **arguments)
    model = loaded[0] if isinstance(loaded, tuple) else loaded
    model.eval()
    return loaded


def padded(rows):
    """Right-padded batch. Padding takes id 0; the mask and the labels keep it out of everything."""
    longest = max(len(row["input_ids"]) for row in rows)

    def pad(values, fill):
        return values + [fill] * (longest - len(values))

    return {
        "input_ids": torch.tensor([pad(row["input_ids"], 0) for row in rows]),
        "attention_mask": torch.tensor([pad([1] * len(row["input_ids"]), 0) for row in rows]),
        "labels": torch.tensor([pad(row["labels"], MASKED) for row in rows]),
    }


@dataclass
class Result:
    logits: torch.Tensor  # of the real tokens only, row after row
    loss: float  # mean over the supervised tokens
    gradients: dict


def by_names_of_checkpoints(name, gradient):
    """Gradients of a parameter under the names that the model's files have: transformers stacks experts in memory."""
    if ".lora_" in name:
        return {name: gradient}
    if "block_sparse_moe" in name:  # GraniteMoe's
        for theirs, stored in (
            ("experts.gate_up_proj", "input_linear.weight"),
            ("experts.down_proj", "output_linear.weight"),
            ("router.weight", "router.layer.weight"),
        ):
            name = name.replace(theirs, stored)
        return {name: gradient}
    name = name.replace(".mlp.gate.weight", ".block_sparse_moe.gate.weight")
    if ".mlp.experts." not in name:
        return {name: gradient}
    layer, kind = name.split(".mlp.experts.")
    path = f"{layer}.block_sparse_moe.experts"
    if kind == "down_proj":
        return {f"{path}.{e}.w2.weight": of_expert for e, of_expert in enumerate(gradient)}
    halves = [of_expert.chunk(2) for of_expert in gradient]
    return {
        f"{path}.{e}.{part}.weight": pair[i] for e, pair in enumerate(halves) for i, part in enumerate(("w1", "w3"))
    }


def reference(model, rows, gradients=True):
    """What transformers (or peft on top of it) computes for the padded batch."""
    batch = padded(rows)
    model.zero_grad(set_to_none=True)
    output = model(**batch, use_cache=False)
    if gradients:
        output.loss.backward()
    named = {}
    for name, parameter in model.named_parameters():
        if parameter.requires_grad and parameter.grad is not None:
            named |= by_names_of_checkpoints(name, parameter.grad)
    real = batch["attention_mask"].bool()
    return Result(output.logits.detach()[real], output.loss.item(), named)


def run_probe(*arguments):
    environment = {**os.environ, "OMP_NUM_THREADS": "2", "OMP_WAIT_POLICY": "passive"}
    return subprocess.run(
        [PROBE, *map(str, arguments)], check=False, capture_output=True, text=True, timeout=300, env=environment
    )


def probe(model_dir, *arguments):
    """The finished process of a probe run that must succeed."""
    done = run_probe("--model", model_dir, *arguments)
    assert done.returncode == 0, done.stderr
    return done


def ours(model_dir, rows, folder, *arguments):
    """What engine_probe computes for the rows, and the raw tensors that it wrote."""
    rows_file = Path(folder) / "rows.jsonl"
    out_file = Path(folder) / "out.safetensors"
    rows_file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    probe(model_dir, "--rows", rows_file, "--out", out_file, *arguments)
    tensors = load_file(out_file)
    loss = tensors["loss_sum"].double().item() / tensors["supervised"].item()
    gradients = {name[len("grad.") :]: tensor for name, tensor in tensors.items() if name.startswith("grad.")}
    return Result(tensors["logits"], loss, gradients), tensors


def relative_error(got, want):
    """Largest absolute difference over the largest absolute value of the reference."""
    assert got.shape == want.shape, (got.shape, want.shape)
    difference = (got.double() - want.double()).abs().max().item()
    scale = want.double().abs().max().item()
    return difference / scale if scale > 0 else difference


def assert_close(got, want, tolerance, gradient_tolerance=None):
    assert relative_error(got.logits, want.logits) <= tolerance
    assert abs(got.loss - want.loss) <= tolerance * abs(want.loss)
    assert got.gradients.keys() == want.gradients.keys()
    errors = {name: relative_error(got.gradients[name], want.gradients[name]) for name in want.gradients}
    worst = max(errors, key=errors.get)
    assert errors[worst] <= (gradient_tolerance or tolerance), f"gradient of {worst}: {errors[worst]:.2e}"


def mean_gradient_error(gradients, exact):
    """Mean over the parameters of the relative error; `exact` are the gradients of the same weights in float32."""
    return sum(relative_error(gradients[name], gradient) for name, gradient in exact.items()) / len(exact)
