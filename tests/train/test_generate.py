"""Text by the worker: the tokens of transformers' generate, greedy and drawn, and of peft's models."""

import pytest
import tiny
import torch
from peft import LoraConfig, PeftModel, PromptTuningConfig, get_peft_model
from transformers import (
    AutoModelForCausalLM,
    GraniteMoeHybridConfig,
    LlamaConfig,
    MistralConfig,
    MixtralConfig,
    Qwen3Config,
)
from worker import run_worker, write_plan

PROMPT = [1, 17, 99, 4, 210, 33, 8]
NEW = 40
HYBRID = {**tiny.SHAPE, "layer_types": ["mamba", "attention"], "shared_intermediate_size": 64, "mamba_n_heads": 6}
VARIANTS = {
    "llama-dynamic": LlamaConfig(
        **{**tiny.SHAPE, "max_position_embeddings": 16},
        rope_parameters={"rope_type": "dynamic", "rope_theta": 10000.0, "factor": 2.0},
    ),
    "mistral-window": MistralConfig(**tiny.SHAPE, sliding_window=5),
    "mixtral-window": MixtralConfig(**tiny.SHAPE, sliding_window=12, num_local_experts=4),
    "qwen3-windows": Qwen3Config(**tiny.SHAPE, use_sliding_window=True, sliding_window=6, max_window_layers=1),
    "hybrid-groups": GraniteMoeHybridConfig(
        **HYBRID, num_local_experts=0, mamba_n_groups=2, mamba_d_state=8, mamba_d_conv=2, time_step_limit=(0.5, 1.5)
    ),
}


def random_model(config):
    """Its head is its own: a model whose head is its embeddings repeats a token when it has learned nothing."""
    torch.manual_seed(7)
    config.tie_word_embeddings = False
    model = AutoModelForCausalLM.from_config(config, dtype=torch.float32)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() > 1:
                parameter.mul_(3)
    return model


@pytest.fixture(scope="session")
def folders(tmp_path_factory):
    """Of all models of these tests, by name."""
    root = tmp_path_factory.mktemp("generate")
    configs = {**{name: make() for name, make in tiny.CONFIGS.items()}, **VARIANTS}
    for name, config in configs.items():
        random_model(config).save_pretrained(root / name)
    return {name: str(root / name) for name in configs}


def reference(model, prompt=PROMPT, **options):
    """What transformers puts behind the prompt."""
    given = torch.tensor([prompt])
    options = {"do_sample": False, "max_new_tokens": NEW, "eos_token_id": None, "pad_token_id": 0, **options}
    with torch.no_grad():
        ids = model.eval().generate(input_ids=given, attention_mask=torch.ones_like(given), **options)
    return ids[0, len(prompt) :].tolist()


def run(folder, model_dir, sample=None, **fields):
    sample = {"prompt_ids": PROMPT, "max_new_tokens": NEW, **(sample or {})}
    plan = {"kind": "generate", "model_dir": str(model_dir), "dtype": "float32", "sample": sample, **fields}
    return run_worker(write_plan(folder, **plan))


def generated(*arguments, **fields):
    """The tokens of a run that must succeed."""
    done = run(*arguments, **fields)
    assert done.returncode == 0, (done.ended, done.stderr)
    return [event["id"] for event in done.of("generated")]


@pytest.mark.parametrize("name", [*tiny.CONFIGS, *VARIANTS])
def test_greedy_tokens_are_those_of_transformers(folders, name, tmp_path):
    model = AutoModelForCausalLM.from_pretrained(folders[name])
    expected = reference(model)
    assert len(set(expected)) > 3, "a model that repeats itself shows nothing"
    assert generated(tmp_path, folders[name]) == expected
    if name != "llama-dynamic":  # whose frequencies change with each token: what is cached has earlier ones
        assert generated(tmp_path, folders[name], {"cache": False}) == expected


def test_without_a_cache_frequencies_follow_the_whole_text(folders, tmp_path):
    model = AutoModelForCausalLM.from_pretrained(folders["llama-dynamic"])
    assert generated(tmp_path, folders["llama-dynamic"], {"cache": False}) == reference(model, use_cache=False)


@pytest.mark.parametrize("name", ["llama", "mistral-window", "granitemoehybrid"])
def test_a_prompt_of_one_token_and_one_longer_than_a_window(folders, name, tmp_path):
    model = AutoModelForCausalLM.from_pretrained(folders[name])
    for prompt in ([5], [3 + 7 * i % 250 for i in range(70)]):
        assert generated(tmp_path, folders[name], {"prompt_ids": prompt}) == reference(model, prompt)


@pytest.mark.parametrize(
    "choice",
    [
        {"temperature": 1.0},
        {"temperature": 0.7, "top_k": 5},
        {"temperature": 1.5, "top_p": 0.8},
        {"temperature": 2.0, "top_k": 50, "top_p": 0.95},
        {"temperature": 1.0, "top_k": 100000},
    ],
    ids=lambda choice: "-".join(choice),
)
def test_drawn_tokens_are_those_of_transformers_with_the_same_seed(folders, choice, tmp_path):
    model = AutoModelForCausalLM.from_pretrained(folders["llama"])
    torch.manual_seed(11)
    expected = reference(model, **{"do_sample": True, "top_k": 0, "top_p": 1.0, **choice})
    assert generated(tmp_path, folders["llama"], {**choice, "seed": 11}) == expected
    assert generated(tmp_path, folders["llama"], {**choice, "seed": 12}) != expected


def test_an_eos_token_ends_the_text(folders, tmp_path):
    tokens = generated(tmp_path, folders["llama"])
    end = tokens[6]
    done = run(tmp_path, folders["llama"], {"eos_ids": [end, 300]})
    expected = tokens[: tokens.index(end) + 1]
    assert [event["id"] for event in done.of("generated")] == expected
    assert done.ended["stopped_by"] == "eos"
    model = AutoModelForCausalLM.from_pretrained(folders["llama"])
    assert reference(model, eos_token_id=end) == expected
    assert run(tmp_path, folders["llama"]).ended["stopped_by"] == "max_new_tokens"


@pytest.mark.parametrize("family", ["llama", "bloom", "gpt_bigcode", "granitemoehybrid"])
def test_an_adapter_changes_the_text_as_in_peft(folders, family, tmp_path):
    model = AutoModelForCausalLM.from_pretrained(folders[family])
    config = LoraConfig(r=3, lora_alpha=9, lora_dropout=0.2, target_modules=tiny.lora_targets(family))
    wrapped = get_peft_model(model, config)
    torch.manual_seed(3)
    for name, parameter in wrapped.named_parameters():
        if "lora_B" in name:
            torch.nn.init.normal_(parameter, std=0.3)
    wrapped.save_pretrained(tmp_path / "adapter")
    lora = {"method": "lora", "lora": {"adapter_dir": str(tmp_path / "adapter")}}
    tokens = generated(tmp_path, folders[family], **lora)
    assert tokens == reference(wrapped)
    assert tokens != generated(tmp_path, folders[family])


@pytest.mark.parametrize("cache", [True, False])
def test_a_trained_prompt_stands_before_the_text_as_in_peft(folders, cache, tmp_path):
    model = AutoModelForCausalLM.from_pretrained(folders["llama"])
    torch.manual_seed(4)
    wrapped = get_peft_model(model, PromptTuningConfig(task_type="CAUSAL_LM", num_virtual_tokens=5))
    wrapped.save_pretrained(tmp_path / "adapter")
    wrapped = PeftModel.from_pretrained(model, tmp_path / "adapter")
    prompt = {"method": "prompt", "prompt": {"adapter_dir": str(tmp_path / "adapter")}}
    assert generated(tmp_path, folders["llama"], {"cache": cache}, **prompt) == reference(wrapped)


def refused(*arguments, **fields):
    done = run(*arguments, **fields)
    assert done.returncode == 2 and done.ended["kind"] == "invalid" and not done.of("generated")
    assert done.stderr == f"assay-worker: {done.ended['reason']}\n"
    return done.ended["reason"]


def test_what_cannot_be_is_refused_in_one_line(folders, tmp_path):
    llama = folders["llama"]
    assert "no prompt" in refused(tmp_path, llama, {"prompt_ids": []})
    assert "257" in refused(tmp_path, llama, {"prompt_ids": [5, tiny.VOCAB]})
    assert "max_new_tokens is 0" in refused(tmp_path, llama, {"max_new_tokens": 0})
    assert "temperature" in refused(tmp_path, llama, {"temperature": -1})
    assert "top_p" in refused(tmp_path, llama, {"top_p": 0})
    assert "learned only 128 positions" in refused(tmp_path, folders["gpt_bigcode"], {"max_new_tokens": 123})
    assert len(generated(tmp_path, folders["gpt_bigcode"], {"max_new_tokens": 122})) == 122


@pytest.mark.parametrize("method", ["full", "lora"])
def test_a_training_shows_its_text_before_and_after(folders, method, tmp_path):
    plan = {
        "model_dir": folders["llama"],
        "tokens_file": tiny.save_rows([{"input_ids": PROMPT * 3, "labels": PROMPT * 3}] * 4, tmp_path / "rows.tok"),
        "dtype": "float32",
        "learning_rate": 0.02,
        "max_steps": 30,
        "warmup_ratio": 0,
        "method": method,
        "lora": {"rank": 8, "dropout": 0.2, "target_modules": ["all-linear"]},
    }
    sample = {"prompt_ids": PROMPT, "max_new_tokens": 14}
    done = run_worker(write_plan(tmp_path, **plan, sample=sample))
    assert done.returncode == 0, done.stderr
    texts = {when: [e["id"] for e in done.of("generated") if e["when"] == when] for when in ("before", "after")}
    assert texts["before"] == generated(tmp_path, folders["llama"], {"max_new_tokens": 14})
    assert texts["after"] == PROMPT * 2
    alone = run_worker(write_plan(tmp_path, **plan))
    assert done.column("loss") == alone.column("loss")


def test_a_sample_is_of_one_rank(folders, tmp_path):
    fields = {"model_dir": folders["llama"], "tokens_file": tiny.save_rows(tiny.make_rows(4), tmp_path / "rows.tok")}
    done = run_worker(write_plan(tmp_path, **fields, plugin="torch_ddp", number_ranks=2, sample={"prompt_ids": PROMPT}))
    assert done.returncode == 2 and "made by one rank" in done.ended["reason"]
