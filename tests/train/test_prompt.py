"""Prompt tuning against peft: the same curve, the same files, and the same on any number of ranks."""

import json

import pytest
import reference
import tiny
import torch
from peft import PeftModel
from ranks import assert_same_course as assert_ranks_follow
from ranks import finish_ranks, start_ranks
from safetensors.torch import load_file
from test_curves import CASES, assert_same_curve, both
from transformers import AutoModelForCausalLM
from worker import run_worker, train, write_plan

LENGTH = 5
FAMILIES = ["llama", "granite", "qwen2", "qwen3", "gpt_bigcode", "bloom", "mixtral", "granitemoe", "granitemoehybrid"]
IN_16_BITS = [f"{family}-all" if f"{family}-all" in tiny.ALL_EXPERTS else family for family in FAMILIES]


def prompted(folder):
    return {"method": "prompt", "prompt": {"adapter_dir": folder}}


def embeddings_in(folder):
    (tensor,) = load_file(folder / "adapter_model.safetensors").items()
    assert tensor[0] == "prompt_embeddings"
    return tensor[1]


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("case", ["accumulated", "clipped", "sgd"])
def test_a_prompt_learns_as_pefts_does(models, tmp_path, family, case):
    start = reference.save_prompt(models[family], tmp_path / "start", LENGTH)
    settings = {**CASES[case], "learning_rate": 0.2 if case == "sgd" else 2e-2}
    run, steps, model = both(
        models, tmp_path, family, settings, tiny.make_rows(11), start, prompted(start),
        output_dir=str(tmp_path / "out"), save="final",
    )  # fmt: skip
    assert_same_curve(run, steps, 1e-4, 1e-3)
    moved = 0.002 if family == "granitemoe" else 0.005  # its multipliers hold a prompt's gradients down
    assert abs(steps[0]["loss"] - steps[-1]["loss"]) > moved, "a curve that does not move shows nothing"
    theirs = model.prompt_encoder["default"].embedding.weight.detach()
    torch.testing.assert_close(embeddings_in(tmp_path / "out"), theirs, rtol=1e-3, atol=2e-4)


@pytest.mark.parametrize("family", IN_16_BITS)
def test_bfloat16(models, tmp_path, family):
    start = reference.save_prompt(models[family], tmp_path / "start", LENGTH)
    settings = {"learning_rate": 1e-2, "gradient_accumulation_steps": 2, "warmup_ratio": 0.2}
    run, steps, _ = both(
        models, tmp_path, family, settings, tiny.make_rows(11), start, prompted(start), dtype="bfloat16"
    )
    assert_same_curve(run, steps, 2e-2, 1e-1)


def test_the_first_token_of_a_row_is_foretold_by_the_prompt(models, tmp_path):
    start = reference.save_prompt(models["llama"], tmp_path / "start", LENGTH)
    rows = tiny.make_rows(11, masked=0)
    run, steps, _ = both(models, tmp_path, "llama", CASES["accumulated"], rows, start, prompted(start))
    # transformers divides by the tokens that would be foretold without a prompt: one fewer in each of four rows.
    tokens = run.steps[0]["supervised_tokens"]
    assert run.steps[0]["loss"] * tokens / (tokens - 4) == pytest.approx(steps[0]["loss"], rel=1e-4)
    assert run.steps[0]["supervised_tokens"] == sum(len(row["input_ids"]) for row in rows[:4])
    assert run.steps[0]["real_tokens"] == run.steps[0]["supervised_tokens"], "a prompt's places are no tokens"


def plan_of(folder, models, **fields):
    return tiny.plan_of(
        folder, models["llama"], method="prompt", output_dir=str(folder / "out"), learning_rate=1e-2, **fields
    )


def test_it_starts_as_the_embeddings_of_its_text(models, tmp_path):
    ids = [7, 3, 250]
    prompt = {"length": LENGTH, "init": "text", "init_text": "three tokens", "init_ids": ids}
    train(tmp_path, **{**plan_of(tmp_path, models, prompt=prompt), "learning_rate": 0.0})
    weight = AutoModelForCausalLM.from_pretrained(models["llama"], dtype=torch.float32).get_input_embeddings().weight
    torch.testing.assert_close(embeddings_in(tmp_path / "out"), weight[[7, 3, 250, 7, 3]].detach())
    config = json.loads((tmp_path / "out" / "adapter_config.json").read_text())
    assert (config["prompt_tuning_init"], config["prompt_tuning_init_text"]) == ("TEXT", "three tokens")


def test_peft_reads_what_is_saved_and_it_goes_on_from_there(models, tmp_path):
    first = train(tmp_path, **plan_of(tmp_path, models, prompt={"length": LENGTH}))
    base = AutoModelForCausalLM.from_pretrained(models["llama"], dtype=torch.float32)
    theirs = PeftModel.from_pretrained(base, tmp_path / "out").prompt_encoder["default"].embedding.weight
    torch.testing.assert_close(embeddings_in(tmp_path / "out"), theirs.detach())
    again = train(tmp_path, **plan_of(tmp_path, models, prompt={"adapter_dir": str(tmp_path / "out")}))
    assert again.steps[0]["loss"] < first.steps[0]["loss"] - 0.01
    loaded = again.of("loaded")[0]
    assert loaded["trainable_parameters"] == LENGTH * tiny.SHAPE["hidden_size"]


@pytest.mark.parametrize("layers", ["on", "1"])
def test_gradient_checkpointing_changes_nothing(models, tmp_path, layers):
    plain = train(tmp_path, **plan_of(tmp_path, models))
    checkpointed = train(tmp_path, **plan_of(tmp_path, models, gradient_checkpointing=layers))
    assert checkpointed.column("loss") == plain.column("loss")


@pytest.mark.parametrize(
    ("ranks", "plugin", "knobs"),
    [
        (2, "torch_ddp", {}),
        (2, "FULL_SHARD", {"prefetch": 1}),
        (2, "low_level_zero", {"zero_stage": 1}),
        (2, "hybrid_parallel", {"tp_size": 2, "sequence_parallel": True}),
        (2, "hybrid_parallel", {"pp_size": 2}),
    ],
)
def test_ranks_follow_one(models, tmp_path, ranks, plugin, knobs):
    data_ranks = ranks // knobs.get("tp_size", 1) // knobs.get("pp_size", 1)
    alone = train(tmp_path, **plan_of(tmp_path, models, gradient_accumulation_steps=2))
    expected = embeddings_in(tmp_path / "out")
    plan = plan_of(tmp_path, models, gradient_accumulation_steps=2 // data_ranks, plugin=plugin, knobs=knobs)
    results = finish_ranks(start_ranks(write_plan(tmp_path, **plan, number_ranks=ranks), ranks))
    assert results[0][-1]["kind"] == "done", results[0][-1]
    assert_ranks_follow(results[0], alone.events)
    ours = embeddings_in(tmp_path / "out")
    assert (ours - expected).norm() <= 2e-2 * expected.norm()


@pytest.mark.parametrize(
    ("prompt", "said"),
    [
        ({"length": 0}, "a prompt needs a length of 1 or more, not 0"),
        ({"init": "words"}, "a prompt starts as text or random, not as 'words'"),
        ({"init": "text", "init_text": "none"}, "the prompt starts as the text 'none', which has no tokens"),
        ({"init": "text", "init_ids": [tiny.VOCAB]}, "the prompt's text holds token id 257"),
        ({"adapter_dir": "nowhere"}, "adapter folder nowhere does not exist"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(models, tmp_path, prompt, said):
    run = run_worker(write_plan(tmp_path, **plan_of(tmp_path, models, prompt=prompt)))
    assert run.ended["kind"] == "invalid" and said in run.ended["reason"]
    assert "\n" not in run.ended["reason"]


def test_an_adapter_of_another_kind_or_shape_is_refused(models, tmp_path):
    lora = reference.save_adapter(models["llama"], tmp_path / "lora")
    run = run_worker(write_plan(tmp_path, **plan_of(tmp_path, models, prompt={"adapter_dir": lora})))
    assert "peft_type 'LORA' is not supported here, only 'PROMPT_TUNING'" in run.ended["reason"]
    start = reference.save_prompt(models["llama"], tmp_path / "start", LENGTH)
    config = tmp_path / "start" / "adapter_config.json"
    config.write_text(config.read_text().replace(f'"num_virtual_tokens": {LENGTH}', '"num_virtual_tokens": 9'))
    run = run_worker(write_plan(tmp_path, **plan_of(tmp_path, models, prompt={"adapter_dir": start})))
    assert "tensor 'prompt_embeddings' is [5, 48]" in run.ended["reason"] and "[9, 48]" in run.ended["reason"]
