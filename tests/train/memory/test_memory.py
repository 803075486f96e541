"""The peak of a language model's training is foretold before anything is loaded, and what cannot fit is refused."""

import collections
import contextlib
import json
import pathlib
import statistics
import time
from unittest import mock

import pytest
import tiny
import torch
from ranks import finish_ranks, of_kind, start_ranks
from transformers import AutoModelForCausalLM
from worker import run_worker, write_plan

#: Large enough for weights and activations, not what a run holds beside them, to make the peak.
SHAPE = {**tiny.SHAPE, "hidden_size": 192, "intermediate_size": 512, "num_hidden_layers": 4, "vocab_size": 4096}
TOLERANCE = 0.05
COPIES = {"checkpoint_writer": "async"}
LORA = {"method": "lora", "lora": {"rank": 4, "target_modules": ["q_proj", "v_proj", "down_proj"]}}

GPT_LORA = {"method": "lora", "lora": {"rank": 4, "target_modules": tiny.lora_targets("gpt_bigcode")}}


#: As GPT-BigCode is published.
DROPOUT = {"attn_pdrop": 0.1, "embd_pdrop": 0.1, "resid_pdrop": 0.1}


def config_of(family):
    with mock.patch.object(tiny, "SHAPE", SHAPE):
        config = {**tiny.CONFIGS, **tiny.ROUTER_LOSS}[family.removesuffix("_dropping")]()
    for name, chance in DROPOUT.items() if family.endswith("_dropping") else ():
        setattr(config, name, chance)
    return config


def plan_of(folder, family, **fields):
    config_of(family).save_pretrained(folder / "model")
    return {
        "model_dir": str(folder / "model"),
        "tokens_file": tiny.save_rows(tiny.make_rows(64, shortest=60, longest=120, masked=0.2), folder / "rows.tok"),
        "device": "cpu",
        "batch_size": 8,
        "max_steps": 2,
        "shuffle": True,
        **fields,
    }


def run_ranks(folder, ranks, **plan):
    path = write_plan(folder, **plan, number_ranks=ranks)
    return finish_ranks(start_ranks(path, ranks, plan.get("number_nodes", 1)))


def assert_foretold(results):
    """Each phase of its own, where nothing is measured later that belongs to none, and the run as a whole."""
    events = [event for of_rank in results for event in of_kind(of_rank, "memory")]
    foretold = {event["phase"]: event["peak_bytes"] for event in events if event["source"] == "predicted"}
    measured = {}
    for event in events:
        if event["source"] == "measured":
            measured[event["phase"]] = max(event["peak_bytes"], measured.get(event["phase"], 0))
    for phase, peak_bytes in measured.items():
        assert foretold[phase] == pytest.approx(peak_bytes, rel=TOLERANCE), phase
    highest = max([*measured.values(), results[0][-1]["peak_tensor_bytes"]])
    assert max(foretold.values()) == pytest.approx(highest, rel=TOLERANCE)


@pytest.mark.parametrize(
    ("family", "fields"),
    [
        ("llama", {}),
        ("llama", {"dtype": "float16", "gradient_accumulation_steps": 2}),
        ("llama", {"dtype": "float16", **LORA}),
        ("llama", {"optimizer": "sgd"}),
        ("llama", {"optimizer": "lion_32bit"}),
        ("llama", {"optimizer": "rmsprop", "dtype": "float16"}),
        ("granite", {"dtype": "float32", "gradient_checkpointing": "on"}),
        ("qwen2", {"gradient_checkpointing": "2", **LORA}),
        ("qwen3", {}),
        ("gpt_bigcode", {}),
        ("bloom", {}),
        ("mixtral", {}),
        ("granitemoe", {}),
        ("mixtral", tiny.EXPERTS_LORA),
        ("granitemoe", {"dtype": "float32", "gradient_checkpointing": "on", **tiny.EXPERTS_LORA}),
        ("mixtral-balanced", {}),
        ("granitemoehybrid", {}),
        ("granitemoehybrid", {"method": "lora", "lora": {"rank": 4, "target_modules": ["q_proj", "v_proj"]}}),
        ("granitemoehybrid", {"dtype": "float32", "gradient_checkpointing": "on"}),
        ("granitemoe-balanced", {"dtype": "float32", "gradient_checkpointing": "on"}),
        ("gpt_bigcode", {"gradient_checkpointing": "2", **GPT_LORA}),
        ("gpt_bigcode_dropping", {}),
        ("llama", {"method": "prompt", "prompt": {"length": 20}}),
        ("llama", {"quantize_bits": 4, **LORA}),
        ("llama", {"quantize_bits": 3, "quantize_group_size": 32, "dtype": "float32", **LORA}),
        ("llama", {**COPIES, "save_every": 1, "dtype": "float32"}),
        ("llama", {**COPIES, "save_every": 1, "dtype": "float16"}),
        ("llama", {**COPIES, "save_every": 2, "dtype": "float32", "batch_size": 1}),
    ],
)
def test_the_peak_of_one_rank_is_foretold(family, fields, tmp_path):
    plan = plan_of(tmp_path, family, output_dir=str(tmp_path / "out"), **fields)
    assert_foretold(run_ranks(tmp_path, 1, **plan))


def test_no_copy_for_checkpoints_comes_as_a_surprise(tmp_path):
    """A budget with room for the training alone."""
    plan = plan_of(tmp_path, "llama", dtype="float32", output_dir=str(tmp_path / "out"))
    training = run_ranks(tmp_path, 1, **plan)[0][-1]["peak_tensor_bytes"]
    path = write_plan(tmp_path, **plan, **COPIES, save_every=1, memory_budget_bytes=int(1.02 * training))
    parts = ["the copy that checkpoints are written from", "use --checkpoint-writer sync"]
    assert_refused([run_worker(path).events], *parts)
    plan |= {"checkpoint_writer": "sync", "save_every": 1, "memory_budget_bytes": int(1.02 * training)}
    run_ranks(tmp_path, 1, **plan)


@pytest.mark.parametrize(
    ("plugin", "ranks", "fields"),
    [
        ("torch_ddp", 2, {}),
        ("torch_ddp", 2, LORA),
        ("torch_ddp", 2, {"gradient_accumulation_steps": 2}),
        ("low_level_zero", 2, {"knobs": {"zero_stage": 1}, "gradient_accumulation_steps": 2}),
        ("low_level_zero", 2, {"knobs": {"zero_stage": 2}, "dtype": "float16"}),
        ("gemini", 2, {"knobs": {"offload_optim_frac": 1}}),
        ("gemini", 2, {"knobs": {"offload_optim_frac": 1, "min_chunk_size_m": 0.25, "search_range_m": 0.25}}),
        ("gemini", 2, {"knobs": {"offload_optim_frac": 1, "min_chunk_size_m": 0.25, "search_range_m": 0.25}, **LORA}),
        ("gemini", 2, {"knobs": {"placement": "auto"}, "memory_budget_bytes": 56 << 20}),
        ("FULL_SHARD", 2, {"knobs": {"prefetch": 1}, "save": "final"}),
        ("FULL_SHARD", 2, {"knobs": {"prefetch": 1}, **LORA}),
        ("FULL_SHARD", 2, {"knobs": {"prefetch": 1}, "method": "prompt", "save": "final"}),
        ("SHARD_GRAD_OP", 2, {"knobs": {"prefetch": 1}, "gradient_checkpointing": "on"}),
        ("hybrid_parallel", 2, {"knobs": {"tp_size": 2, "pp_size": 1}}),
        ("hybrid_parallel", 2, {"knobs": {"pp_size": 2}, "save": "final"}),
        ("hybrid_parallel", 2, {"knobs": {"pp_size": 2, "microbatches": 4}, **LORA}),
        ("hybrid_parallel", 4, {"knobs": {"pp_size": 2, "tp_size": 2, "microbatches": 2}, "dtype": "float32"}),
        ("hybrid_parallel", 4, {"knobs": {"pp_size": 4, "microbatches": 4}, "gradient_checkpointing": "2"}),
        ("HYBRID_SHARD", 4, {"knobs": {"prefetch": 1, "shard_ranks": 2}}),
        ("torch_ddp", 2, {"number_nodes": 2, "dtype": "float32"}),
        ("torch_ddp", 4, {"number_nodes": 2}),
        ("FULL_SHARD", 4, {"number_nodes": 2, "knobs": {"prefetch": 1}}),
        ("HYBRID_SHARD", 4, {"number_nodes": 2, "knobs": {"prefetch": 1}}),
        ("torch_ddp", 2, {**COPIES, "save_every": 1, "dtype": "float32"}),
        ("FULL_SHARD", 2, {**COPIES, "save_every": 1, "dtype": "float32", "save": "final"}),
    ],
)
def test_the_peaks_of_ranks_are_foretold(plugin, ranks, fields, tmp_path):
    plan = plan_of(tmp_path, "llama", plugin=plugin, output_dir=str(tmp_path / "out"), **fields)
    assert_foretold(run_ranks(tmp_path, ranks, **plan))


def save_one_sided_router(config, folder):
    """Weights with which every token goes to experts of the first half, which one of two tensor ranks has."""
    model = AutoModelForCausalLM.from_config(config, dtype=torch.float16)
    with torch.no_grad():
        model.get_input_embeddings().weight[:, 0] = 5
        for name, parameter in model.named_parameters():
            if "router" in name:
                half = len(parameter) // 2
                parameter.mul_(0.01)
                parameter[:half, 0] = 1
                parameter[half:, 0] = -1
    model.save_pretrained(folder)


@pytest.mark.parametrize(
    ("family", "plugin", "knobs"),
    [
        ("gpt_bigcode_dropping", "FULL_SHARD", {"prefetch": 1}),
        ("gpt_bigcode_dropping", "hybrid_parallel", {"tp_size": 2}),
        ("mixtral", "FULL_SHARD", {"prefetch": 1}),
        ("mixtral", "hybrid_parallel", {"tp_size": 2}),
        ("granitemoe", "torch_ddp", {}),
        ("granitemoe", "hybrid_parallel", {"tp_size": 2}),
        ("granitemoehybrid", "FULL_SHARD", {"prefetch": 1}),
        ("granitemoehybrid", "hybrid_parallel", {"tp_size": 2}),
        ("mixtral-balanced", "torch_ddp", {}),
    ],
)
def test_the_peaks_of_ranks_of_other_families_are_foretold(family, plugin, knobs, tmp_path):
    """Of tensor ranks that divide experts the most that one may have to do, which it has here."""
    plan = plan_of(tmp_path, family, plugin=plugin, knobs=knobs, output_dir=str(tmp_path / "out"))
    if family.startswith("granitemoe") and "tp_size" in knobs:
        save_one_sided_router(config_of(family), tmp_path / "model")
    assert_foretold(run_ranks(tmp_path, 2, **plan))


@pytest.mark.parametrize("method", [{}, LORA])
@pytest.mark.parametrize("ranks", [1, 2])
def test_weights_that_are_mapped_are_shared(ranks, method, tmp_path):
    plan = plan_of(tmp_path, "llama", dtype="float32", **method)
    size = tiny.save_weights(config_of("llama"), tmp_path / "model")
    results = run_ranks(tmp_path, ranks, **plan)
    assert_foretold(results)
    (need,) = of_kind(results[0], "memory_need")
    assert need["ranks"] == ranks
    if ranks == 1 or method:
        assert need["mapped_bytes"] == pytest.approx(size, rel=0.01)
    else:
        assert need["mapped_bytes"] == 0  # every rank has its copy


@pytest.mark.parametrize("nodes", [1, 2])
@pytest.mark.parametrize("weights", ["mapped", "converted", "drawn"])
def test_what_ranks_make_is_there_once_for_each_group_of_them_and_a_file_once(weights, nodes, tmp_path):
    plan = plan_of(tmp_path, "llama", dtype="float32", plugin="torch_ddp", number_nodes=nodes, **LORA)
    size = tiny.save_weights(config_of("llama"), tmp_path / "model")
    if weights == "converted":
        tiny.save_weights(config_of("llama"), tmp_path / "model", torch.bfloat16)
    if weights == "drawn":
        (tmp_path / "model" / "model.safetensors").unlink()
    results = run_ranks(tmp_path, 4, **plan)
    (need,) = of_kind(results[0], "memory_need")
    assert need["mapped_bytes"] == pytest.approx(size if weights == "mapped" else nodes * size, rel=0.01)


def test_what_ranks_of_another_machine_need_is_not_for_this_one(cabled, tmp_path):
    """The same plan for groups of ranks that stand for machines, and on real ones."""
    plan = plan_of(tmp_path, "llama", plugin="torch_ddp", number_nodes=2, gradient_checkpointing="auto", **LORA)
    path = write_plan(tmp_path, **plan, number_ranks=2)
    together = finish_ranks(start_ranks(path, 2, 2))
    apart = finish_ranks(start_ranks(path, 2, 2, within=cabled))
    (need_together,), (need_apart,) = (of_kind(results[0], "memory_need") for results in (together, apart))
    assert (need_together["ranks"], need_apart["ranks"]) == (2, 1)
    assert 2 * need_apart["tensor_bytes"] == need_together["tensor_bytes"]


@pytest.mark.parametrize(
    ("plugin", "fields"),
    [
        ("FULL_SHARD", {}),
        ("FULL_SHARD", {"save": "final"}),
        ("torch_ddp", {"save": "final", "dtype": "bfloat16"}),
        ("gemini", {}),
        ("hybrid_parallel", {"knobs": {"tp_size": 2, "pp_size": 1}, "save": "final"}),
        (
            "hybrid_parallel",
            {"knobs": {"tp_size": 2, "pp_size": 1, "sequence_parallel": True}, "save": "final", "dtype": "bfloat16"},
        ),
        ("hybrid_parallel", {"knobs": {"tp_size": 2, "pp_size": 2}, "save": "final"}),
        ("hybrid_parallel", {"knobs": {"pp_size": 4, "microbatches": 2}}),
        ("hybrid_parallel", {"knobs": {"pp_size": 2, "zero_stage": 1}, "save": "final"}),
    ],
)
def test_what_ranks_need_together_is_what_they_take(plugin, fields, tmp_path):
    """Stages differ in what they take, and one rank saves for all. No weights stay mapped."""
    plan = plan_of(tmp_path, "llama", plugin=plugin, output_dir=str(tmp_path / "out"), **{"dtype": "float32", **fields})
    plan["batch_size"] = 2
    tiny.save_weights(config_of("llama"), tmp_path / "model", torch.float16)
    results = run_ranks(tmp_path, 4, **plan)
    assert_foretold(results)
    (need,) = of_kind(results[0], "memory_need")
    taken = collections.Counter()
    for event in (event for events in results for event in of_kind(events, "memory")):
        taken[event["phase"]] += event["peak_bytes"] if event["source"] == "measured" else 0
    assert need["tensor_bytes"] == pytest.approx(max(taken["steady"], taken["save"]), rel=TOLERANCE), taken


def resident_bytes(processes):
    """What these processes take of the machine's memory, each page divided by those that have it mapped; and what
    parameters in files or made together take of it."""
    taken = {"all": 0, "parameters": 0}
    for process in processes:
        for line in pathlib.Path(f"/proc/{process.pid}/smaps").read_text().splitlines():
            field, value = line.split(maxsplit=1)
            if not field.endswith(":"):
                of_parameters = "assay parameters" in value or "safetensors" in value
            elif field == "Pss:":
                taken["all"] += 1024 * int(value.split()[0])
                taken["parameters"] += 1024 * int(value.split()[0]) * of_parameters
    return taken


def resident_while_training(plan_file, ranks):
    """Of samples at many moments, since none sees all ranks at the same one."""
    processes = start_ranks(plan_file, ranks)
    samples = []
    wait_for_event(processes[0], "loaded")
    while all(process.poll() is None for process in processes):
        with contextlib.suppress(OSError, ValueError):  # one has just ended
            samples.append(resident_bytes(processes))
        time.sleep(0.02)
    finish_ranks(processes)
    alive = [sample for sample in samples if sample["parameters"] > 0]
    return {what: statistics.median(sample[what] for sample in alive) for what in ("all", "parameters")}


def wait_for_event(process, kind):
    for line in process.stdout:
        if json.loads(line)["event"] == kind:
            return
    raise AssertionError(f"{process.args} ended without the event {kind}: {process.stderr.read()}")


@pytest.mark.parametrize("weights", ["mapped", "converted", "drawn"])
def test_the_base_of_adapters_is_there_once(weights, tmp_path):
    larger = {"hidden_size": 768, "intermediate_size": 2048, "num_attention_heads": 12}
    with mock.patch.dict(SHAPE, larger):
        config = config_of("llama")
        plan = plan_of(tmp_path, "llama", dtype="float32", plugin="torch_ddp", batch_size=2, max_steps=12, **LORA)
    base = tiny.save_weights(config, tmp_path / "model")
    alone = resident_while_training(write_plan(tmp_path, **plan, number_ranks=1), 1)
    if weights == "converted":
        tiny.save_weights(config, tmp_path / "model", torch.bfloat16)
    if weights == "drawn":
        (tmp_path / "model" / "model.safetensors").unlink()
    together = resident_while_training(write_plan(tmp_path, **plan, number_ranks=4), 4)
    assert together["all"] <= 1.05 * (base + 4 * (alone["all"] - alone["parameters"]))
    assert 0.8 * base <= together["parameters"] <= 1.05 * base


def test_a_cap_that_no_chunk_fits_under_is_memory_that_does_not_suffice(tmp_path):
    plan = plan_of(tmp_path, "llama", plugin="gemini", knobs={"placement": "auto"}, memory_budget_bytes=1 << 20)
    path = write_plan(tmp_path, **plan, number_ranks=2)
    for events in finish_ranks(start_ranks(path, 2), expect=1):
        ended = events[-1]
        assert ended["kind"] == "out_of_memory" and "where the memory cap of 1.00 MiB leaves 0 B" in ended["reason"], (
            ended
        )
        assert "(raise the cap, lower the batch size or offload)" in ended["reason"]


def llama_3(folder, **changes):
    """A folder with the config.json of Llama 3 8B and nothing else."""
    (folder / "model").mkdir(parents=True)
    config = {
        "model_type": "llama",
        "architectures": ["LlamaForCausalLM"],
        "hidden_size": 4096,
        "intermediate_size": 14336,
        "num_hidden_layers": 32,
        "num_attention_heads": 32,
        "num_key_value_heads": 8,
        "vocab_size": 128256,
        "max_position_embeddings": 8192,
        "rope_theta": 500000.0,
        "rms_norm_eps": 1e-5,
        "hidden_act": "silu",
        "tie_word_embeddings": False,
    } | changes
    (folder / "model" / "config.json").write_text(json.dumps(config))
    return str(folder / "model")


def assert_refused(results, *parts):
    for events in results:
        kinds = [event["event"] for event in events]
        assert "loaded" not in kinds and "step" not in kinds
        ended = events[-1]
        assert ended["kind"] == "out_of_memory" and ended["peak_tensor_bytes"] < 1 << 20
        assert all(part in ended["reason"] for part in parts), ended["reason"]


def test_what_the_budget_cannot_hold_is_refused_before_anything_is_loaded(tmp_path):
    plan = {**plan_of(tmp_path / "rows", "llama"), "model_dir": llama_3(tmp_path / "8b")}
    run = run_worker(write_plan(tmp_path, **plan, memory_budget_bytes=24 << 30))
    parts = [
        "weights 15.0 GiB",
        "gradients 15.0 GiB",
        "moments 29.9 GiB",
        "activations",
        "the memory budget is 24.0 GiB",
    ]
    assert run.returncode == 1
    assert_refused([run.events], *parts, "use LoRA, a smaller batch, gradient checkpointing or FULL_SHARD")


@pytest.mark.parametrize("plugin", ["torch_ddp", "FULL_SHARD"])
def test_what_the_machine_cannot_hold_is_refused_on_all_ranks(plugin, tmp_path):
    """Llama 3.1 405B in float32."""
    shape = {"hidden_size": 16384, "intermediate_size": 53248, "num_hidden_layers": 126, "num_attention_heads": 128}
    plan = {**plan_of(tmp_path / "rows", "llama"), "model_dir": llama_3(tmp_path / "405b", **shape), "dtype": "float32"}
    path = write_plan(tmp_path, **plan, plugin=plugin, number_ranks=2)
    results = finish_ranks(start_ranks(path, 2), expect=1)
    assert_refused(results, "each of 2 ranks: weights", "and the machine has")
    need = of_kind(results[0], "memory_need")[0]
    assert need["tensor_bytes"] > need["total_bytes"] >= need["free_bytes"] > 0


def test_automatic_checkpointing_is_foretold_within_the_budget(tmp_path):
    plan = plan_of(tmp_path, "llama")
    free = run_ranks(tmp_path, 1, **plan)[0][-1]["peak_tensor_bytes"]
    events = run_ranks(tmp_path, 1, **plan, gradient_checkpointing="auto", memory_budget_bytes=int(0.9 * free))[0]
    foretold = max(event["peak_bytes"] for event in of_kind(events, "memory"))
    assert events[-1]["peak_tensor_bytes"] <= 0.9 * free and foretold <= 0.9 * free
