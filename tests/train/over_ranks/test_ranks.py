"""Language models over ranks: N ranks are one rank with N times the accumulation, under every plugin."""

import json
import shutil
import subprocess

import pytest
import tiny
import torch
from peft import PeftModel
from ranks import assert_same_course, column, finish_ranks, of_kind, start_ranks
from safetensors.torch import load_file
from tiny import STEPS, plan_of
from transformers import AutoModelForCausalLM
from worker import WORKER, run_worker, train, write_plan

# Of the models of these tests: else each would be one chunk.
SMALL_CHUNKS = {"min_chunk_size_m": 0.006, "search_range_m": 0.006, "hidden_dim": 32}
KNOBS = {
    "low_level_zero": {"zero_stage": 1},
    "low_level_zero_2": {"zero_stage": 2},
    "gemini": {"offload_optim_frac": 1, **SMALL_CHUNKS},
    "FULL_SHARD": {"prefetch": 1},
    "SHARD_GRAD_OP": {"prefetch": 1},
    "HYBRID_SHARD": {"prefetch": 1},
}


def plugins_that_share_rows():
    """All but the one of autocast, which trains no language model, and the one that divides the model first."""
    command = [WORKER.parent / "assay", "experiments", "vit_plugin_benchmark-v1.0.0", "--output", "json"]
    experiment = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    (notes,) = (each["notes"] for each in experiment["properties"] if each["name"] == "plugin")
    return {
        name: {} for name in (note.split(":")[0] for note in notes) if name not in ("torch_ddp_fp16", "hybrid_parallel")
    }


PLUGINS = {**plugins_that_share_rows(), **KNOBS}


def train_on(folder, ranks, **plan):
    """What all ranks say of a run that must succeed, by rank."""
    folder.mkdir(exist_ok=True)
    path = write_plan(folder, **{"output_dir": str(folder / "out"), **plan, "number_ranks": ranks})
    results = finish_ranks(start_ranks(path, ranks))
    assert results[0][-1]["kind"] == "done", results[0][-1]
    return results


def lora_of(model):
    return {"method": "lora", "lora": {"rank": 4, "dropout": 0.3, "target_modules": tiny.lora_targets(model)}}


METHODS = {"full": lambda _: {"method": "full"}, "lora": lora_of}


@pytest.fixture(scope="module")
def alone(models, tmp_path_factory):
    """One rank with four micro-batches a step, and what it saved, for each method and kind of model."""
    runs = {}
    for name, method in METHODS.items():
        for model in tiny.CONFIGS:
            folder = tmp_path_factory.mktemp(f"{model}-{name}")
            plan = plan_of(
                folder, models[model], gradient_accumulation_steps=4, output_dir=str(folder), **method(model)
            )
            runs[model, name] = train(folder, **plan).events, folder
    return runs


def saved(folder, method):
    return load_file(folder / ("adapter_model.safetensors" if method == "lora" else "model.safetensors"))


def assert_same_weights(ours, theirs):
    assert ours.keys() == theirs.keys()
    for name, tensor in theirs.items():
        assert ours[name].dtype == tensor.dtype
        # Adam makes whole steps out of what rounding leaves of a gradient that is nearly zero.
        assert (ours[name] - tensor).norm() <= 2e-2 * tensor.norm() + 1e-6, name


@pytest.mark.parametrize("plugin", PLUGINS)
@pytest.mark.parametrize(
    ("model", "method"),
    [
        ("llama", "full"),
        ("granite", "full"),
        ("llama", "lora"),
        ("gpt_bigcode", "full"),
        ("mixtral", "full"),
        ("granitemoe", "lora"),
        ("granitemoehybrid", "full"),
    ],
)
def test_two_ranks_follow_one_with_twice_the_accumulation(plugin, model, method, models, alone, tmp_path):
    events, folder = alone[model, method]
    plan = plan_of(tmp_path, models[model], gradient_accumulation_steps=2, **METHODS[method](model))
    results = train_on(tmp_path / "two", 2, **plan, plugin=plugin.removesuffix("_2"), knobs=PLUGINS[plugin])
    assert_same_course(results[0], events)
    assert_same_weights(saved(tmp_path / "two" / "out", method), saved(folder, method))
    for rank, of_rank in enumerate(results):
        assert [step["rank"] for step in of_kind(of_rank, "rank_step")] == [rank] * STEPS
        measured = [event for event in of_kind(of_rank, "memory") if event["source"] == "measured"]
        assert [event["phase"] for event in measured] == ["init", "steady", "save"] and measured[1]["peak_bytes"] > 0


@pytest.mark.parametrize(("plugin", "knobs"), [("FULL_SHARD", {"prefetch": 1}), ("hybrid_parallel", {"pp_size": 2})])
@pytest.mark.parametrize("model", ["mixtral", "granitemoe"])
def test_adapters_of_experts_follow_one_rank(model, plugin, knobs, models, tmp_path):
    alone = tmp_path / "alone"
    alone.mkdir()
    # Of two stages the first has no expert that is targeted.
    experts = ["experts.gate_up_proj", "experts.down_proj"] if plugin == "FULL_SHARD" else ["1.mlp.experts.down_proj"]
    if model == "granitemoe":
        experts = [name.replace("mlp", "block_sparse_moe") for name in experts]
    lora = {"method": "lora", "lora": {"rank": 4, "dropout": 0, "target_modules": ["q_proj", *experts]}}
    plan = plan_of(alone, models[model], gradient_accumulation_steps=4, output_dir=str(alone), **lora)
    events = train(alone, **plan).events
    accumulation = 4 // (2 // knobs.get("pp_size", 1))
    plan = plan_of(tmp_path, models[model], gradient_accumulation_steps=accumulation, **lora)
    results = train_on(tmp_path / "two", 2, **plan, plugin=plugin, knobs=knobs)
    assert_same_course(results[0], events)
    assert_same_weights(saved(tmp_path / "two" / "out", "lora"), saved(alone, "lora"))
    configs = [json.loads((folder / "adapter_config.json").read_text()) for folder in (tmp_path / "two" / "out", alone)]
    assert configs[0] == configs[1] and set(configs[0]["target_parameters"]) == set(experts)


@pytest.mark.parametrize(
    ("plugin", "knobs"),
    [
        ("torch_ddp", {}),
        ("FULL_SHARD", {"prefetch": 1}),
        ("hybrid_parallel", {"tp_size": 2}),
        ("hybrid_parallel", {"tp_size": 2, "sequence_parallel": True}),
    ],
)
@pytest.mark.parametrize("model", tiny.ROUTER_LOSS)
def test_the_loss_of_routers_is_that_of_one_rank(model, plugin, knobs, models, tmp_path):
    """Of micro-batches of a row each: which rows are together in one decides what it is."""
    common = {"batch_size": 1, "max_steps": 10, "save": "none"}
    alone = train(tmp_path, **plan_of(tmp_path, models[model], gradient_accumulation_steps=4, **common))
    accumulation = 4 // (2 // knobs.get("tp_size", 1))
    plan = plan_of(tmp_path, models[model], gradient_accumulation_steps=accumulation, **common)
    results = train_on(tmp_path / "two", 2, **plan, plugin=plugin, knobs=knobs)
    assert_same_course(results[0], alone.events)


def test_pipeline_stages_have_no_loss_of_routers(models, tmp_path):
    knobs = {"pp_size": 2}
    path = write_plan(
        tmp_path,
        **plan_of(tmp_path, models["mixtral-balanced"], save="none"),
        plugin="hybrid_parallel",
        knobs=knobs,
        number_ranks=2,
    )
    for events in finish_ranks(start_ranks(path, 2), expect=2):
        assert "output_router_logits" in events[-1]["reason"]


@pytest.mark.parametrize(
    ("ranks", "plugin", "knobs", "model", "method"),
    [
        (2, "hybrid_parallel", {}, "llama", "full"),
        (2, "hybrid_parallel", {}, "qwen3", "full"),
        (2, "hybrid_parallel", {}, "qwen2", "lora"),
        (4, "hybrid_parallel", {"zero_stage": 1}, "granite", "full"),
        (4, "hybrid_parallel", {"zero_stage": 1}, "llama", "lora"),
        (4, "FULL_SHARD", {"prefetch": 1}, "llama", "full"),
        (4, "FULL_SHARD", {"prefetch": 1}, "qwen3", "lora"),
        (4, "SHARD_GRAD_OP", {"prefetch": 1}, "qwen3", "full"),
        (2, "hybrid_parallel", {"sequence_parallel": True}, "qwen3", "full"),
        (2, "hybrid_parallel", {}, "gpt_bigcode", "full"),
        (2, "hybrid_parallel", {}, "bloom", "full"),
        (2, "hybrid_parallel", {"sequence_parallel": True}, "bloom", "lora"),
        (2, "hybrid_parallel", {"sequence_parallel": True}, "gpt_bigcode", "full"),
        (2, "hybrid_parallel", {}, "mixtral", "full"),
        (2, "hybrid_parallel", {}, "mixtral", "lora"),
        (4, "FULL_SHARD", {"prefetch": 1}, "granitemoe", "full"),
        (2, "hybrid_parallel", {"sequence_parallel": True}, "granitemoe", "full"),
        (2, "hybrid_parallel", {}, "granitemoehybrid", "full"),
        (2, "hybrid_parallel", {"sequence_parallel": True}, "granitemoehybrid", "lora"),
        (4, "FULL_SHARD", {"prefetch": 1, "sequence_parallel": True}, "gpt_bigcode", "lora"),
        (4, "FULL_SHARD", {"prefetch": 1, "sequence_parallel": True}, "llama", "lora"),
    ],
)
def test_tensor_ranks_follow_one_rank(ranks, plugin, knobs, model, method, models, alone, tmp_path):
    events, folder = alone[model, method]
    plan = plan_of(tmp_path, models[model], gradient_accumulation_steps=8 // ranks, **METHODS[method](model))
    results = train_on(tmp_path / "many", ranks, **plan, plugin=plugin, knobs={"tp_size": 2, **knobs})
    assert_same_course(results[0], events)
    assert_same_weights(saved(tmp_path / "many" / "out", method), saved(folder, method))
    topology = of_kind(results[0], "topology")[0]
    assert (topology["data_ranks"], topology["tensor_ranks"]) == (ranks // 2, 2)
    for name in ("parameters", "trainable_parameters"):
        assert of_kind(results[0], "loaded")[0][name] == of_kind(events, "loaded")[0][name]


@pytest.mark.parametrize(
    ("ranks", "knobs", "model", "method"),
    [
        (2, {"pp_size": 2}, "llama", "full"),
        (2, {"pp_size": 2, "microbatches": 1}, "granite", "full"),
        (2, {"pp_size": 2}, "qwen3", "full"),
        (2, {"pp_size": 2}, "gpt_bigcode", "full"),
        (2, {"pp_size": 2}, "bloom", "full"),
        (2, {"pp_size": 2}, "mixtral", "full"),
        (2, {"pp_size": 2}, "granitemoe", "full"),
        (2, {"pp_size": 2}, "granitemoehybrid", "lora"),
        (3, {"pp_size": 3}, "deeper-granite", "full"),
        (3, {"pp_size": 3, "microbatches": 1}, "deeper-granite", "lora"),
        (2, {"pp_size": 2}, "granite", "lora"),
        (2, {"pp_size": 2}, "qwen2", "lora"),
        (4, {"pp_size": 2, "zero_stage": 1}, "granite", "full"),
        (4, {"pp_size": 2, "zero_stage": 1}, "llama", "lora"),
        (4, {"pp_size": 2, "tp_size": 2}, "granite", "full"),
        (4, {"pp_size": 2, "tp_size": 2}, "granitemoe", "full"),
        (4, {"pp_size": 2, "tp_size": 2, "sequence_parallel": True}, "qwen3", "full"),
        (4, {"pp_size": 2, "tp_size": 2, "sequence_parallel": True}, "llama", "lora"),
    ],
)
@pytest.mark.parametrize("checkpointing", ["off", "1"])
def test_pipeline_stages_follow_one_rank(ranks, knobs, model, method, checkpointing, models, alone, tmp_path):
    events, folder = alone[model, method]
    data_ranks = ranks // knobs["pp_size"] // knobs.get("tp_size", 1)
    plan = plan_of(tmp_path, models[model], gradient_accumulation_steps=4 // data_ranks, **METHODS[method](model))
    results = train_on(
        tmp_path / "many", ranks, **plan, plugin="hybrid_parallel", knobs=knobs, gradient_checkpointing=checkpointing
    )
    assert_same_course(results[0], events)
    assert_same_weights(saved(tmp_path / "many" / "out", method), saved(folder, method))
    topology = of_kind(results[0], "topology")[0]
    assert (topology["data_ranks"], topology["pipeline_stages"]) == (data_ranks, knobs["pp_size"])
    for name in ("parameters", "trainable_parameters"):
        assert of_kind(results[0], "loaded")[0][name] == of_kind(events, "loaded")[0][name]


DROPOUT = {
    "qwen2": {"attention_dropout": 0.2},
    "gpt_bigcode": {"attn_pdrop": 0.2, "embd_pdrop": 0.1, "resid_pdrop": 0.3},
}


@pytest.fixture(scope="module")
def dropping(models, tmp_path_factory):
    """Models that drop probabilities of their attention, one of them also features."""
    folders = {}
    for family, dropout in DROPOUT.items():
        folder = shutil.copytree(models[family], tmp_path_factory.mktemp("dropping") / family)
        config = json.loads((folder / "config.json").read_text()) | dropout
        (folder / "config.json").write_text(json.dumps(config))
        folders[family] = str(folder)
    return folders


@pytest.mark.parametrize(
    ("family", "ranks", "plugin", "knobs"),
    [
        ("qwen2", 2, "torch_ddp", {}),
        ("qwen2", 3, "FULL_SHARD", {"prefetch": 1}),
        ("qwen2", 2, "hybrid_parallel", {"tp_size": 2}),
        ("qwen2", 4, "FULL_SHARD", {"prefetch": 1, "tp_size": 2}),
        ("qwen2", 4, "hybrid_parallel", {"pp_size": 2}),
        ("gpt_bigcode", 3, "FULL_SHARD", {"prefetch": 1}),
        ("gpt_bigcode", 2, "hybrid_parallel", {"tp_size": 2}),
        ("gpt_bigcode", 2, "hybrid_parallel", {"tp_size": 2, "sequence_parallel": True}),
        ("gpt_bigcode", 4, "hybrid_parallel", {"pp_size": 2}),
    ],
)
@pytest.mark.parametrize("checkpointing", ["off", "on"])
def test_dropout_is_the_same_on_any_number_of_ranks(family, ranks, plugin, knobs, checkpointing, dropping, tmp_path):
    """Of attention, features and adapters, in micro-batches that another number of ranks cuts otherwise."""
    lora = {"method": "lora", "lora": {"rank": 4, "dropout": 0.3, "target_modules": ["all-linear"]}}
    plan = plan_of(tmp_path, dropping[family], **lora, learning_rate=1e-2, shuffle=True)
    one = train(tmp_path, **{**plan, "gradient_accumulation_steps": 6, "output_dir": str(tmp_path)})
    plan["gradient_accumulation_steps"] = 6 * knobs.get("tp_size", 1) * knobs.get("pp_size", 1) // ranks
    results = train_on(
        tmp_path / "many", ranks, **plan, plugin=plugin, knobs=knobs, gradient_checkpointing=checkpointing
    )
    assert_same_course(results[0], one.events)


def test_dropout_drops(dropping, models, tmp_path):
    """Attention's and the adapters', each against the same run without it."""
    losses = []
    for model, dropout in ((models["qwen2"], 0.0), (models["qwen2"], 0.3), (dropping["qwen2"], 0.0)):
        lora = {"method": "lora", "lora": {"rank": 4, "dropout": dropout, "target_modules": ["all-linear"]}}
        plan = plan_of(tmp_path, model, **lora, learning_rate=1e-2, output_dir=str(tmp_path))
        losses.append(train(tmp_path, **plan).column("loss"))
    without, of_adapters, of_attention = losses
    assert of_attention[0] != pytest.approx(without[0], rel=1e-5)
    assert of_adapters[0] == pytest.approx(without[0], rel=1e-6)  # an adapter begins as nothing
    assert of_adapters[2:] != pytest.approx(without[2:], rel=1e-5)


@pytest.mark.parametrize("ranks", [3, 4])
def test_more_ranks_than_rows_are_left_in_an_epochs_last_step(ranks, models, tmp_path):
    """Rows without loss, one long row, and steps whose rows do not go around."""
    rows = tiny.make_rows(25, longest=30)
    rows[3] = {**rows[3], "labels": [-100] * len(rows[3]["labels"])}
    rows[7] = tiny.make_rows(1, shortest=100, longest=100, seed=9)[0]
    plan = plan_of(tmp_path, models["llama"], rows=rows, batch_size=1, max_steps=-1, num_train_epochs=2)
    one = train(tmp_path, **{**plan, "gradient_accumulation_steps": 2 * ranks, "output_dir": str(tmp_path)})
    results = train_on(tmp_path / "many", ranks, **plan, gradient_accumulation_steps=2, plugin="FULL_SHARD")
    assert_same_course(results[0], one.events)
    assert results[0][-1]["stopped_by"] == "epochs"


@pytest.mark.parametrize(
    ("plugin", "knobs"),
    [
        ("HYBRID_SHARD", {"prefetch": 1, "shard_ranks": 2}),
        ("_HYBRID_SHARD_ZERO2", {"prefetch": 1, "shard_ranks": 2}),
        ("gemini", {"offload_optim_frac": 1, "placement": "auto", **SMALL_CHUNKS}),
        ("gemini", {"offload_optim_frac": 1, "offload_param_frac": 0.5, "prefetch": 1, **SMALL_CHUNKS}),
        ("gemini", {"offload_optim_frac": 0.5, "shard_param_frac": 0.5}),
        ("FULL_SHARD", {"prefetch": 1, "no_sync": True}),
        ("FULL_SHARD", {"prefetch": 1, "offload_param_frac": 1, "offload_optim_frac": 0.5}),
    ],
)
def test_four_ranks_follow_one_with_four_times_the_accumulation(plugin, knobs, models, alone, tmp_path):
    events, _ = alone["llama", "full"]
    plan = plan_of(tmp_path, models["llama"], batch_size=1, gradient_accumulation_steps=2, save="none")
    assert_same_course(train_on(tmp_path / "four", 4, **plan, plugin=plugin, knobs=knobs)[0], events)


@pytest.mark.parametrize("plugin", ["low_level_zero", "FULL_SHARD"])
def test_a_plugin_on_one_rank_ends_a_step_whose_last_rows_bear_no_loss(plugin, models, tmp_path):
    rows = tiny.make_rows(8)
    rows[1] = {**rows[1], "labels": [-100] * len(rows[1]["labels"])}
    plan = plan_of(tmp_path, models["llama"], rows=rows, batch_size=1, max_steps=4, gradient_accumulation_steps=2)
    plan["output_dir"] = str(tmp_path / "out")
    one = train(tmp_path, **plan)
    knobs = {"zero_stage": 1} if plugin == "low_level_zero" else {"prefetch": 1, "no_sync": True}
    sharded = run_worker(write_plan(tmp_path, **plan, plugin=plugin, knobs=knobs))
    assert sharded.returncode == 0, sharded.stderr
    assert_same_course(sharded.events, one.events)


def test_a_budget_is_not_charged_for_a_file_that_is_mapped_no_more(models, tmp_path):
    """With room for the weights, their gradients, moments and a step, but not for the file beside them."""
    plan = plan_of(tmp_path, models["llama"], max_steps=2, save="none")
    size = sum(t.nbytes for t in load_file(models["llama"] + "/model.safetensors").values())
    free = train_on(tmp_path / "free", 2, **plan)
    peak = max(event["peak_bytes"] for event in of_kind(free[0], "memory") if event["phase"] == "steady")
    capped = train_on(tmp_path / "capped", 2, **plan, memory_budget_bytes=peak + size // 2)
    assert_same_course(capped[0], free[0])


@pytest.mark.parametrize("knobs", [{}, {"tp_size": 2}])
def test_what_ranks_save_is_what_transformers_and_peft_read(knobs, models, tmp_path):
    full, lora = ("hybrid_parallel", "hybrid_parallel") if knobs else ("FULL_SHARD", "torch_ddp")
    plan = plan_of(tmp_path, models["llama"], max_steps=2, knobs=knobs)
    train_on(tmp_path / "full", 2, **plan, plugin=full)
    model, report = AutoModelForCausalLM.from_pretrained(tmp_path / "full" / "out", output_loading_info=True)
    assert not any(report[key] for key in ("missing_keys", "unexpected_keys", "mismatched_keys"))
    train_on(tmp_path / "lora", 2, **plan, **lora_of("llama"), plugin=lora)
    adapted = PeftModel.from_pretrained(model, tmp_path / "lora" / "out")
    assert any("lora_B" in name and tensor.abs().max() > 0 for name, tensor in adapted.named_parameters())


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
@pytest.mark.parametrize(
    ("plugin", "model", "knobs"),
    [
        ("torch_ddp", "llama", {}),
        ("FULL_SHARD", "llama", {}),
        ("hybrid_parallel", "granite", {"tp_size": 1, "pp_size": 2}),
    ],
)
def test_16_bits_follow_one_rank(dtype, plugin, model, knobs, models, tmp_path):
    steps = {"gradient_accumulation_steps": 2}
    plan = plan_of(tmp_path, models[model], dtype=dtype, max_steps=8, **(steps if knobs else {}))
    one = train(tmp_path, **{**plan, **steps, "output_dir": str(tmp_path)})
    results = train_on(tmp_path / "two", 2, **plan, plugin=plugin, knobs=knobs)
    assert column(results[0], "loss") == pytest.approx(one.column("loss"), rel=2e-2)
    tensors = load_file(tmp_path / "two" / "out" / "model.safetensors")
    assert {tensor.dtype for tensor in tensors.values()} == {getattr(torch, dtype)}


def test_a_frozen_base_is_mapped_and_not_copied(models, tmp_path):
    """Under a plugin that keeps weights whole, the base of LoRA is the mapped file on every rank."""
    plan = plan_of(tmp_path, models["llama"], **lora_of("llama"), max_steps=1)
    results = train_on(tmp_path / "two", 2, **plan)
    size = sum(t.nbytes for t in load_file(models["llama"] + "/model.safetensors").values())
    for events in results:
        init = next(event for event in of_kind(events, "memory") if event["phase"] == "init")
        assert init["parameters_bytes"] >= size
        assert init["peak_bytes"] < 1.8 * size


def test_stop_rules_are_the_first_ranks(models, tmp_path):
    plan = plan_of(tmp_path, models["llama"], max_steps=10000, stop_after_seconds=0.2)
    results = train_on(tmp_path / "two", 2, **plan)
    assert results[0][-1]["stopped_by"] == "stop_after_seconds"
    steps = [len(of_kind(events, "rank_step")) for events in results]
    assert steps[0] == steps[1] < 10000


def refused(folder, ranks, **plan):
    """The reasons of all ranks."""
    path = write_plan(folder, **plan, number_ranks=ranks)
    return [events[-1]["reason"] for events in finish_ranks(start_ranks(path, ranks), expect=2)]


def test_what_ranks_cannot_do_gets_one_line_on_every_rank(models, tmp_path):
    plan = plan_of(tmp_path, models["llama"], save="none")
    few = plan_of(tmp_path, models["llama"], rows=tiny.make_rows(2), save="none")
    few["tokens_file"] = tiny.save_rows(tiny.make_rows(2), tmp_path / "few.tok")
    for rank, reason in enumerate(refused(tmp_path, 3, **few)):
        assert reason == (
            f"rank {rank}: the data set has 2 rows, fewer than the 3 data ranks that share them: take fewer ranks, or "
            "more rows"
        )
    for reason in refused(tmp_path, 2, **plan, optimizer="sgd"):
        assert "optimizer 'sgd' is not supported over ranks" in reason
    experts = plan_of(tmp_path, models["mixtral"], save="none", **tiny.EXPERTS_LORA)
    for reason in refused(tmp_path, 2, **experts, plugin="hybrid_parallel", knobs={"tp_size": 2}):
        assert "adapters of experts are not divided over tensor ranks" in reason
    for ranks, knobs, line in (
        (3, {"pp_size": 3}, "the model's 2 layers are fewer than pp_size 3: each stage needs at least one"),
        (2, {"pp_size": 2, "microbatches": 3}, "batch_size 2 does not divide into microbatches 3"),
        (3, {"tp_size": 3}, "4 attention heads do not divide by tp_size 3"),
        (4, {"tp_size": 4}, "2 key and value heads do not divide by tp_size 4"),
    ):
        for reason in refused(tmp_path, ranks, **plan, plugin="hybrid_parallel", knobs=knobs):
            assert line in reason


def test_a_loss_that_diverges_ends_every_rank(models, tmp_path):
    plan = plan_of(tmp_path, models["llama"], learning_rate=1e30, max_steps=5)
    path = write_plan(tmp_path, **plan, output_dir=str(tmp_path / "out"), number_ranks=2)
    for rank, events in enumerate(finish_ranks(start_ranks(path, 2), expect=2)):
        assert events[-1]["kind"] == "diverged"
        assert events[-1]["reason"].startswith(f"rank {rank}: the ")
    assert not (tmp_path / "out" / "model.safetensors").exists()


def test_a_plugin_on_one_rank_follows_none(models, tmp_path):
    plan = plan_of(tmp_path, models["llama"], output_dir=str(tmp_path / "out"))
    one = train(tmp_path, **plan)
    sharded = run_worker(write_plan(tmp_path, **plan, plugin="FULL_SHARD", knobs={"prefetch": 1}))
    assert sharded.returncode == 0, sharded.stderr
    assert_same_course(sharded.events, one.events)
    assert json.loads((tmp_path / "plan.json").read_text())["plugin"] == "FULL_SHARD"


def test_a_rank_has_the_threads_that_its_launcher_says(models, tmp_path):
    path = write_plan(tmp_path, **plan_of(tmp_path, models["llama"], max_steps=1, save="none"), number_ranks=2)
    path.write_text(json.dumps(json.loads(path.read_text()) | {"threads": 0}))
    results = finish_ranks(start_ranks(path, 2, OMP_NUM_THREADS="2"))
    assert of_kind(results[0], "started")[0]["threads"] == 2
