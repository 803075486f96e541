"""Logits, loss and every gradient of our models against transformers, and weights in and out.

Errors are relative to the largest absolute value of the reference tensor.
"""

import json

import pytest
import torch
from dropout import Masks, drop_features_in_order, drop_modules, drop_probabilities
from reference import (
    ALL_EXPERTS,
    FAMILIES,
    MODELS,
    ROWS,
    TINY,
    assert_close,
    load_model,
    make_model,
    make_rows,
    mean_gradient_error,
    ours,
    probe,
    reference,
    relative_error,
    run_probe,
)
from safetensors.torch import load_file

FLOAT32_TOLERANCE = 1e-5
ROTARY = [name for name in FAMILIES if name not in ("gpt_bigcode", "bloom")]
SIXTEEN_BIT_LOSS_TOLERANCE = 2e-2


@pytest.mark.parametrize("name", MODELS)
def test_float32_matches_transformers(name, tmp_path):
    model = make_model(name)
    model.save_pretrained(tmp_path)
    got, _ = ours(tmp_path, ROWS, tmp_path)
    assert_close(got, reference(model, ROWS), FLOAT32_TOLERANCE)


@pytest.mark.parametrize("name", [name for name in MODELS if name.startswith("granitemoehybrid")])
def test_rows_of_several_chunks_match_transformers(name, tmp_path):
    """
    A scan goes by chunks of 64 tokens: rows of one, of two and in between. Between two tokens of a chunk the decay is a
    difference of sums, whose gradients (of A_log and dt_bias) lose a digit.
    """
    model = make_model(name)
    model.save_pretrained(tmp_path)
    rows = make_rows([150, 64, 128, 65])
    got, _ = ours(tmp_path, rows, tmp_path)
    assert_close(got, reference(model, rows), FLOAT32_TOLERANCE, gradient_tolerance=5e-5)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("name", [*(ALL_EXPERTS.get(name, name) for name in FAMILIES), "smollm2", "qwen2_window"])
def test_16_bit_loss_matches_transformers(name, dtype, tmp_path):
    make_model(name).save_pretrained(tmp_path)
    got, tensors = ours(tmp_path, ROWS, tmp_path, "--dtype", str(dtype).removeprefix("torch."))
    want = reference(load_model(tmp_path, dtype), ROWS)
    assert tensors["logits"].dtype == dtype
    assert abs(got.loss - want.loss) <= SIXTEEN_BIT_LOSS_TOLERANCE * abs(want.loss)
    assert got.gradients.keys() == want.gradients.keys()
    exact = reference(load_model(tmp_path, dtype).float(), ROWS).gradients
    assert mean_gradient_error(got.gradients, exact) <= 1.5 * mean_gradient_error(want.gradients, exact)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("name", [*FAMILIES, "llama_tied", "granite_bias", "qwen2_window"])
def test_gradient_checkpointing_changes_no_bit(name, dtype, tmp_path):
    make_model(name).save_pretrained(tmp_path)
    _, plain = ours(tmp_path, ROWS, tmp_path, "--dtype", dtype)
    _, checkpointed = ours(tmp_path, ROWS, tmp_path, "--dtype", dtype, "--checkpointed-layers", "99")
    assert plain.keys() == checkpointed.keys()
    for key, tensor in plain.items():
        assert torch.equal(tensor, checkpointed[key]), key


@pytest.mark.parametrize("name", [*ROTARY, "llama_llama3", "llama_yarn", "llama_theta"])
def test_transformers_4_spelling_of_rope(name, tmp_path):
    model = make_model(name)
    model.save_pretrained(tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    parameters = config.pop("rope_parameters")
    config["torch_dtype"] = config.pop("dtype")
    config["rope_theta"] = parameters.pop("rope_theta")
    config["rope_scaling"] = None
    if parameters["rope_type"] != "default":
        config["rope_scaling"] = {
            "type" if name == "llama_yarn" else "rope_type": parameters.pop("rope_type")
        } | parameters
    (tmp_path / "config.json").write_text(json.dumps(config))
    got, _ = ours(tmp_path, ROWS, tmp_path)
    assert_close(got, reference(model, ROWS), FLOAT32_TOLERANCE)


@pytest.mark.parametrize("name", ROTARY)
def test_a_rotary_base_that_is_not_named(name, tmp_path):
    """Some families have one of their own."""
    make_model(name).save_pretrained(tmp_path)
    path = tmp_path / "config.json"
    config = {k: v for k, v in json.loads(path.read_text()).items() if k != "rope_parameters"}
    path.write_text(json.dumps(config))
    got, _ = ours(tmp_path, ROWS, tmp_path)
    assert_close(got, reference(load_model(tmp_path), ROWS), FLOAT32_TOLERANCE)


@pytest.mark.parametrize(
    "name",
    [
        *FAMILIES,
        "gpt_bigcode_not_tied",
        "granitemoe_bias",
        "llama_attention_bias",
        "smollm2",
        "qwen2_layer_types",
        "qwen3_window",
    ],
)
def test_transformers_reads_what_we_write(name, tmp_path):
    model = make_model(name)
    model.save_pretrained(tmp_path / "in")
    (tmp_path / "in" / "tokenizer.json").write_text("{}")
    probe(tmp_path / "in", "--save-model", tmp_path / "out")
    back, report = load_model(tmp_path / "out", output_loading_info=True)
    assert not any(report[key] for key in ("missing_keys", "unexpected_keys", "mismatched_keys"))
    want = reference(model, ROWS, gradients=False)
    assert torch.equal(reference(back, ROWS, gradients=False).logits, want.logits)
    assert (tmp_path / "out" / "tokenizer.json").read_text() == "{}"
    assert back.config.to_dict() | {"_name_or_path": "", "dtype": "float32"} == model.config.to_dict() | {
        "_name_or_path": "",
        "dtype": "float32",
    }


def test_saved_in_bfloat16(tmp_path):
    make_model("llama").save_pretrained(tmp_path / "in")
    probe(tmp_path / "in", "--dtype", "bfloat16", "--save-model", tmp_path / "out")
    back = load_model(tmp_path / "out", dtype="auto")
    assert back.dtype == torch.bfloat16


def test_sharded_weights(tmp_path):
    model = make_model("llama")
    model.save_pretrained(tmp_path, max_shard_size="20KB")
    assert len(list(tmp_path.glob("model-*.safetensors"))) > 2
    got, _ = ours(tmp_path, ROWS, tmp_path)
    assert_close(got, reference(model, ROWS), FLOAT32_TOLERANCE)


@pytest.mark.parametrize("name", FAMILIES)
def test_a_checkpoint_of_the_base_model_names_weights_without_its_prefix(name, tmp_path, monkeypatch):
    """As bigscience's of Bloom do."""
    monkeypatch.setitem(TINY, "tie_word_embeddings", True)
    model = make_model(name)
    model.base_model.save_pretrained(tmp_path)
    stored = load_file(tmp_path / "model.safetensors")
    assert not any(key.startswith(f"{model.base_model_prefix}.") for key in stored)
    got, _ = ours(tmp_path, ROWS, tmp_path)
    assert_close(got, reference(load_model(tmp_path), ROWS), FLOAT32_TOLERANCE)


def test_a_checkpoint_of_the_base_model_without_the_head_that_it_needs(tmp_path):
    make_model("llama").base_model.save_pretrained(tmp_path)
    done = run_probe("--model", tmp_path)
    assert done.returncode != 0 and "tensor 'lm_head.weight' is missing" in done.stderr, done.stderr


def test_weights_of_another_dtype_are_converted(tmp_path):
    make_model("llama").to(torch.bfloat16).save_pretrained(tmp_path)
    got, _ = ours(tmp_path, ROWS, tmp_path)
    assert_close(got, reference(load_model(tmp_path), ROWS), FLOAT32_TOLERANCE)


def test_random_weights(tmp_path):
    model = make_model("smollm2")
    model.config.save_pretrained(tmp_path / "in")
    arguments = ("--save-model", tmp_path / "out")
    done = probe(tmp_path / "in", *arguments, "--seed", 7)
    assert json.loads(done.stdout) == {"random_weights": True}
    drawn = load_model(tmp_path / "out").state_dict()
    embedding = drawn["model.embed_tokens.weight"]
    assert abs(embedding.std().item() / TINY["initializer_range"] - 1) < 0.05 and abs(embedding.mean().item()) < 0.01
    assert torch.equal(drawn["model.norm.weight"], torch.ones(72))
    probe(tmp_path / "in", *arguments, "--seed", 7)
    again = load_model(tmp_path / "out").state_dict()
    assert all(torch.equal(drawn[name], again[name]) for name in drawn)
    probe(tmp_path / "in", *arguments, "--seed", 8)
    other = load_model(tmp_path / "out").state_dict()
    assert not torch.equal(drawn["model.embed_tokens.weight"], other["model.embed_tokens.weight"])


@pytest.mark.parametrize("name", ["mistral_window", "granitemoehybrid", "granitemoehybrid_dense"])
def test_rows_do_not_see_each_other(name, tmp_path):
    """A row's logits are the same alone and in a batch."""
    make_model(name).save_pretrained(tmp_path)
    rows = make_rows([12, 70, 7], seed=3)
    together, _ = ours(tmp_path, rows, tmp_path)
    alone = torch.cat([ours(tmp_path, [row], tmp_path)[0].logits for row in rows])
    assert relative_error(together.logits, alone) < 1e-6


def test_dropout_of_features(tmp_path):
    make_model("gpt_bigcode").save_pretrained(tmp_path)
    config = json.loads((tmp_path / "config.json").read_text()) | {"embd_pdrop": 0.3, "resid_pdrop": 0.2}
    (tmp_path / "config.json").write_text(json.dumps(config))
    model = load_model(tmp_path)
    drop_modules(model, Masks(9, len(ROWS), max(len(row["input_ids"]) for row in ROWS)))
    want = reference(model.train(), ROWS)
    arguments = ("--training", "--generator-seed", 9)
    got, plain = ours(tmp_path, ROWS, tmp_path, *arguments)
    assert_close(got, want, FLOAT32_TOLERANCE)
    _, checkpointed = ours(tmp_path, ROWS, tmp_path, *arguments, "--checkpointed-layers", "99")
    assert all(torch.equal(checkpointed[key], tensor) for key, tensor in plain.items())


def test_dropout_of_what_blooms_blocks_add(tmp_path, monkeypatch):
    make_model("bloom").save_pretrained(tmp_path)
    config = json.loads((tmp_path / "config.json").read_text()) | {"hidden_dropout": 0.3}
    (tmp_path / "config.json").write_text(json.dumps(config))
    places = [f"transformer.h.{i}.{block}.hidden_dropout" for i in range(2) for block in ("self_attention", "mlp")]
    masks = Masks(9, len(ROWS), max(len(row["input_ids"]) for row in ROWS))
    drop_features_in_order(monkeypatch, masks, places)
    want = reference(load_model(tmp_path).train(), ROWS)
    got, _ = ours(tmp_path, ROWS, tmp_path, "--training", "--generator-seed", 9)
    assert_close(got, want, FLOAT32_TOLERANCE)


@pytest.mark.parametrize("name", [*FAMILIES, "qwen2_window"])
def test_attention_dropout(name, tmp_path, monkeypatch):
    """Active while training only, by masks that each row has alone and in a batch."""
    make_model(name).save_pretrained(tmp_path)
    config = json.loads((tmp_path / "config.json").read_text()) | {
        "attn_pdrop" if name == "gpt_bigcode" else "attention_dropout": 0.4
    }
    (tmp_path / "config.json").write_text(json.dumps(config))
    model = load_model(tmp_path)
    got, _ = ours(tmp_path, ROWS, tmp_path)
    assert relative_error(got.logits, reference(model, ROWS, gradients=False).logits) <= FLOAT32_TOLERANCE
    drop_probabilities(monkeypatch, model, Masks(9, len(ROWS), max(len(row["input_ids"]) for row in ROWS)))
    with_dropout = reference(model.train(), ROWS)
    arguments = ("--training", "--generator-seed", 9)
    got, plain = ours(tmp_path, ROWS, tmp_path, *arguments)
    assert_close(got, with_dropout, FLOAT32_TOLERANCE)
    _, checkpointed = ours(tmp_path, ROWS, tmp_path, *arguments, "--checkpointed-layers", "99")
    assert all(torch.equal(checkpointed[key], tensor) for key, tensor in plain.items())
