"""Tiny models and rows that the tests train on."""

import random

import torch
from transformers import (
    AutoModelForCausalLM,
    BloomConfig,
    GPTBigCodeConfig,
    GraniteConfig,
    GraniteMoeConfig,
    GraniteMoeHybridConfig,
    LlamaConfig,
    MixtralConfig,
    Qwen2Config,
    Qwen3Config,
)
from worker import DEVICE, MASKED, write_token_file

VOCAB = 257
STEPS = 20
SHAPE = {
    "vocab_size": VOCAB,
    "hidden_size": 48,
    "intermediate_size": 80,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 128,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "pad_token_id": 0,
}


def hybrid():
    """Mamba-2 beside attention."""
    return {
        **SHAPE,
        "layer_types": ["mamba", "attention"] * (SHAPE["num_hidden_layers"] // 2),
        "shared_intermediate_size": 64,
        "mamba_n_heads": 6,
        "mamba_d_state": 16,
    }


CONFIGS = {
    "llama": lambda: LlamaConfig(**SHAPE, tie_word_embeddings=False, attention_bias=True),
    "granite": lambda: GraniteConfig(
        **SHAPE,
        tie_word_embeddings=True,
        embedding_multiplier=12.0,
        attention_multiplier=0.0625,
        residual_multiplier=0.22,
        logits_scaling=4.0,
    ),
    "bloom": lambda: BloomConfig(**SHAPE, tie_word_embeddings=True),
    "gpt_bigcode": lambda: GPTBigCodeConfig(
        **SHAPE,
        n_inner=SHAPE["intermediate_size"],
        attn_pdrop=0.0,
        embd_pdrop=0.0,
        resid_pdrop=0.0,
        tie_word_embeddings=True,
    ),
    "mixtral": lambda: MixtralConfig(**SHAPE, num_local_experts=4),
    "granitemoe": lambda: GraniteMoeConfig(
        **SHAPE,
        num_local_experts=6,
        num_experts_per_tok=3,
        tie_word_embeddings=True,
        embedding_multiplier=12.0,
        attention_multiplier=0.0625,
        residual_multiplier=0.22,
        logits_scaling=4.0,
    ),
    "granitemoehybrid": lambda: GraniteMoeHybridConfig(
        **hybrid(),
        num_local_experts=4,
        tie_word_embeddings=True,
        embedding_multiplier=12.0,
        attention_multiplier=0.0625,
        residual_multiplier=0.22,
        logits_scaling=4.0,
    ),
    "deeper-granite": lambda: GraniteConfig(**{**SHAPE, "num_hidden_layers": 3}, tie_word_embeddings=True),
    "qwen2": lambda: Qwen2Config(**SHAPE, use_sliding_window=True, sliding_window=16, max_window_layers=1),
    "qwen3": lambda: Qwen3Config(**SHAPE, head_dim=16, tie_word_embeddings=True),
}
#: With the loss of their routers, large enough to move the course.
ROUTER_LOSS = {
    "mixtral-balanced": lambda: MixtralConfig(
        **SHAPE, num_local_experts=4, output_router_logits=True, router_aux_loss_coef=0.2
    ),
    "granitemoe-balanced": lambda: GraniteMoeConfig(
        **SHAPE,
        num_local_experts=6,
        num_experts_per_tok=3,
        tie_word_embeddings=True,
        logits_scaling=4.0,
        output_router_logits=True,
        router_aux_loss_coef=0.2,
    ),
    "granitemoehybrid-balanced": lambda: GraniteMoeHybridConfig(
        **hybrid(), num_local_experts=4, logits_scaling=4.0, output_router_logits=True, router_aux_loss_coef=0.2
    ),
}
#: Every token takes every expert: in 16 bits rounding would decide which else.
ALL_EXPERTS = {
    "mixtral-all": lambda: MixtralConfig(**SHAPE, num_local_experts=2),
    "granitemoe-all": lambda: GraniteMoeConfig(
        **SHAPE, num_local_experts=3, num_experts_per_tok=3, tie_word_embeddings=True, logits_scaling=4.0
    ),
    "granitemoehybrid-all": lambda: GraniteMoeHybridConfig(
        **hybrid(), num_local_experts=3, num_experts_per_tok=3, tie_word_embeddings=True, logits_scaling=4.0
    ),
}


#: An adapter of attention and of the experts, which has no dropout.
EXPERTS_LORA = {
    "method": "lora",
    "lora": {"rank": 4, "dropout": 0, "target_modules": ["q_proj", "experts.gate_up_proj", "experts.down_proj"]},
}


def lora_targets(family):
    """Products of attention and of the MLP."""
    experts = ["q_proj", "v_proj"]  # of experts there is no dropout
    of_families = {
        "bloom": ["query_key_value", "dense_4h_to_h"],
        "gpt_bigcode": ["c_attn", "c_proj"],
        "mixtral": experts,
        "granitemoe": experts,
        "granitemoehybrid": ["q_proj", "in_proj", "out_proj", "output_linear"],
    }
    return of_families.get(family.removesuffix("-balanced"), ["q_proj", "v_proj", "down_proj"])


def make_model(name):
    """Random weights, large enough for losses to move."""
    torch.manual_seed(5)
    model = AutoModelForCausalLM.from_config({**CONFIGS, **ALL_EXPERTS, **ROUTER_LOSS}[name](), dtype=torch.float32)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() > 1:
                parameter.mul_(3)
    return model


def save_model(name, folder):
    make_model(name).save_pretrained(folder)
    return str(folder)


def save_weights(config, folder, dtype=torch.float32):
    """Random weights; returns their bytes."""
    model = AutoModelForCausalLM.from_config(config, dtype=dtype)
    model.save_pretrained(folder)
    return sum(parameter.nbytes for parameter in model.parameters())


def make_rows(count, shortest=5, longest=40, seed=3, masked=0.4):
    """Rows of different lengths whose first `masked` part bears no loss."""
    generator = random.Random(seed)
    rows = []
    for _ in range(count):
        ids = [generator.randrange(VOCAB) for _ in range(generator.randint(shortest, longest))]
        first = int(len(ids) * masked)
        rows.append({"input_ids": ids, "labels": [MASKED] * first + ids[first:]})
    return rows


def save_rows(rows, path):
    write_token_file(path, rows, VOCAB)
    return str(path)


def plan_of(folder, model_dir, *, rows=None, **fields):
    """Of steps that are the same on any number of ranks, on rows that it writes into the folder."""
    return {
        "model_dir": model_dir,
        "tokens_file": save_rows(rows or make_rows(96, longest=30), folder / "rows.tok"),
        "dtype": "float32",
        "device": DEVICE,
        "learning_rate": 1e-3,
        "warmup_ratio": 0,
        "batch_size": 2,
        "max_steps": STEPS,
        "save": "final",
        **fields,
    }
