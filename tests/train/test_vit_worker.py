"""The worker on ViT plans: every plugin on one and two ranks, saving, evaluation, and what it refuses."""

import json
import re
import shutil
import struct
import subprocess
import sys

import pytest
import torch
from ranks import finish_ranks, free_port, of_kind, start_ranks
from safetensors.torch import load_file, save_file
from transformers import ViTConfig, ViTForImageClassification, get_scheduler
from worker import WORKER

SIZE, CLASSES = 16, ["cat", "dog", "emu"]
PLUGINS = [
    "torch_ddp",
    "low_level_zero",
    "gemini",
    "FULL_SHARD",
    "SHARD_GRAD_OP",
    "NO_SHARD",
    "HYBRID_SHARD",
    "_HYBRID_SHARD_ZERO2",
]


@pytest.fixture(scope="module")
def model_dir(tmp_path_factory):
    folder = tmp_path_factory.mktemp("vit")
    torch.manual_seed(0)
    config = ViTConfig(
        image_size=SIZE,
        patch_size=8,
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_labels=3,
    )
    ViTForImageClassification(config).save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def image_file(tmp_path_factory):
    """Three classes that differ in brightness; written by the layout that src/data/image_file.h states."""
    path = tmp_path_factory.mktemp("images") / "train.images"
    generator = torch.Generator().manual_seed(1)
    labels = [i % 3 for i in range(50)]
    images = b"".join(
        (torch.randint(0, 60, (3, SIZE, SIZE), generator=generator) + 90 * label).to(torch.uint8).numpy().tobytes()
        for label in labels
    )
    names = b"".join(name.encode() + b"\n" for name in CLASSES)

    def padded(data):
        return data + bytes(-len(data) % 8)

    header = b"ASSAYIMG" + struct.pack("<IIqq", 1, 0, SIZE, SIZE) + bytes(32)
    trailer = struct.pack("<QQQ", len(labels), len(CLASSES), len(names)) + b"ASSAYEND"
    label_bytes = padded(struct.pack(f"<{len(labels)}i", *labels))
    path.write_bytes(header + padded(images) + label_bytes + padded(names) + trailer)
    return path


def start(folder, ranks=1, machines=1, **plan):
    """A process for every rank, by rank; they take each other to be on so many machines, equally many on each."""
    plan = {
        "kind": "vit",
        "schema": 1,
        "synthetic": "train_file" not in plan,
        "synthetic_labels": 3,
        "number_ranks": ranks,
        "threads": 1,
        "max_steps": 4,
        "batch_size": 4 // ranks,
        "device": "cpu",
        **plan,
    }
    path = folder / "plan.json"
    path.write_text(json.dumps(plan))
    return start_ranks(path, ranks, machines)


def run(folder, ranks=1, expect=0, machines=1, **plan):
    """The events of every rank, by rank."""
    return finish_ranks(start(folder, ranks, machines, **plan), expect)


def losses(events):
    return [event["loss"] for event in of_kind(events, "step")]


def norms(events):
    return [event["grad_norm"] for event in of_kind(events, "step")]


@pytest.fixture(scope="module")
def alone(model_dir, tmp_path_factory):
    """The events of one rank in float32."""
    return run(tmp_path_factory.mktemp("alone"), model_dir=str(model_dir), learning_rate=1e-3)[0]


def assert_same_course(events, other, loss_tolerance, norm_tolerance):
    """Relative. The loss of a few steps hardly notices a wrong backward, the norm does."""
    assert losses(events) == pytest.approx(losses(other), rel=loss_tolerance)
    assert norms(events) == pytest.approx(norms(other), rel=norm_tolerance)


@pytest.mark.parametrize("ranks", [1, 2])
@pytest.mark.parametrize("plugin", PLUGINS)
def test_every_plugin_follows_one_rank(plugin, ranks, model_dir, alone, tmp_path):
    knobs = {"zero_stage": 1} if plugin == "low_level_zero" else {}
    results = run(tmp_path, ranks, model_dir=str(model_dir), plugin=plugin, learning_rate=1e-3, knobs=knobs)
    assert_same_course(results[0], alone, 1e-5, 1e-3)
    assert of_kind(results[0], "ended")[0]["kind"] == "done"
    topology = of_kind(results[0], "topology")[0]
    assert (topology["world_size"], topology["units"]) == (ranks, 4)
    for rank, events in enumerate(results):
        assert [event["rank"] for event in of_kind(events, "rank_step")] == [rank] * 4
        assert rank == 0 or not of_kind(events, "ended")


@pytest.mark.parametrize(
    "knobs",
    [
        {"prefetch": 1},
        {"offload_optim_frac": 1, "offload_param_frac": 0.5},
        {"shard_param_frac": 0.5, "offload_optim_frac": 0.3},
        {"placement": "auto"},
    ],
)
def test_chunks_follow_one_rank(knobs, model_dir, tmp_path):
    plan = {"model_dir": str(model_dir), "learning_rate": 1e-3, "max_steps": 20}
    one = run(tmp_path, **plan)[0]
    chunks = {"min_chunk_size_m": 0.005, "search_range_m": 0.005, "hidden_dim": 32}  # ten of them
    (tmp_path / "two").mkdir()
    results = run(tmp_path / "two", 2, **plan, plugin="gemini", knobs={**chunks, **knobs})
    assert_same_course(results[0], one, 1e-5, 1e-3)


@pytest.mark.parametrize("protocol", ["train", "published", "fair"])
def test_collectives_are_those_of_the_measured_steps(protocol, model_dir, tmp_path):
    """What makes all ranks' weights alike at the start belongs to no step."""
    results = run(tmp_path, 2, model_dir=str(model_dir), protocol=protocol, max_warmup_steps=3)
    for events in results:
        totals = {event["operation"]: event for event in of_kind(events, "collective") if event["calls"] > 0}
        assert "broadcast" not in totals
        parameters = of_kind(results[0], "loaded")[0]["parameters"]
        assert totals["all_reduce"]["payload_bytes"] == pytest.approx(4 * 4 * parameters, rel=0.02)


def collectives(folder, plugin, knobs, **plan):
    """{operation: totals} of the first of two ranks."""
    folder.mkdir(exist_ok=True)
    events = run(folder, 2, plugin=plugin, knobs=knobs, **plan)[0]
    return {event["operation"]: event for event in of_kind(events, "collective") if event["calls"] > 0}


@pytest.mark.parametrize(
    ("plugin", "knobs"),
    [("torch_ddp", {}), ("NO_SHARD", {}), ("hybrid_parallel", {"tp_size": 1, "pp_size": 1, "zero_stage": 0})],
)
def test_smaller_buckets_are_more_collectives_of_the_same_gradients(plugin, knobs, model_dir, tmp_path):
    plan = {"model_dir": str(model_dir), "max_steps": 1}
    whole = collectives(tmp_path, plugin, knobs, **plan)["all_reduce"]
    cut = collectives(tmp_path, plugin, knobs | {"bucket_mib": 0.01}, **plan)["all_reduce"]
    assert cut["calls"] == whole["calls"] + 2  # all in one; or head and last layer, first layer, embeddings
    assert cut["payload_bytes"] == whole["payload_bytes"]


@pytest.mark.parametrize(
    ("plugin", "knobs"), [("torch_ddp", {}), ("low_level_zero", {"zero_stage": 1}), ("gemini", {}), ("NO_SHARD", {})]
)
def test_gradients_travel_as_the_communication_dtype(plugin, knobs, model_dir, tmp_path):
    plan = {"model_dir": str(model_dir), "max_steps": 1}
    operation = "all_reduce" if plugin in ("torch_ddp", "NO_SHARD") else "reduce_scatter"
    single = collectives(tmp_path, plugin, knobs, **plan)[operation]
    half = collectives(tmp_path, plugin, knobs | {"communication_dtype": "bfloat16"}, **plan)[operation]
    assert half["payload_bytes"] == pytest.approx(single["payload_bytes"] / 2, rel=0.01)


@pytest.mark.parametrize("plugin", ["low_level_zero", "gemini", "FULL_SHARD"])
def test_weights_travel_in_8_bits_where_that_is_asked_for(plugin, model_dir, tmp_path):
    plan = {"model_dir": str(model_dir), "max_steps": 2}
    stage = {"zero_stage": 1} if plugin == "low_level_zero" else {}
    exact = collectives(tmp_path, plugin, stage, **plan)["all_gather"]
    coarse = collectives(tmp_path, plugin, stage | {"communication_dtype": "float8"}, **plan)["all_gather"]
    assert coarse["payload_bytes"] == pytest.approx(exact["payload_bytes"] / 4, rel=0.05)


@pytest.mark.parametrize("precision", ["bf16", "fp16", "amp_bf16", "amp_fp16"])
def test_16_bit_precisions_follow_float32(precision, model_dir, alone, tmp_path):
    scale = {"loss_scale": 1024.0} if "fp16" in precision else {}
    results = run(tmp_path, 1, model_dir=str(model_dir), precision=precision, learning_rate=1e-3, **scale)
    assert_same_course(results[0], alone, 2e-2, 5e-2)


@pytest.mark.parametrize("options", [{"gradient_checkpointing": "on"}, {"gradient_accumulation_steps": 2}])
def test_checkpointing_and_accumulation_change_no_loss(options, model_dir, alone, tmp_path):
    results = run(tmp_path, 1, model_dir=str(model_dir), learning_rate=1e-3, **options)
    assert_same_course(results[0], alone, 1e-5, 1e-3)


def test_a_linear_rate_is_that_of_transformers(model_dir, tmp_path):
    events = run(tmp_path, model_dir=str(model_dir), lr_scheduler_type="linear", warmup_ratio=0.5, learning_rate=1e-3)[
        0
    ]
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=1e-3)
    rate = get_scheduler("linear", optimizer, num_warmup_steps=2, num_training_steps=4).lr_lambdas[0]
    assert [event["learning_rate"] for event in of_kind(events, "step")] == [1e-3 * rate(step) for step in range(4)]


def test_time_ends_a_run_after_a_step_on_all_ranks(model_dir, tmp_path):
    events, others = run(tmp_path, 2, model_dir=str(model_dir), stop_after_seconds=1e-9)
    assert of_kind(events, "ended")[0]["stopped_by"] == "stop_after_seconds"
    assert len(of_kind(events, "step")) == len(of_kind(others, "rank_step")) == 1


@pytest.mark.parametrize("plugin", ["torch_ddp", "FULL_SHARD"])
def test_trains_evaluates_and_saves(plugin, model_dir, image_file, tmp_path):
    results = run(
        tmp_path,
        2,
        model_dir=str(model_dir),
        plugin=plugin,
        train_file=str(image_file),
        eval_file=str(image_file),
        num_labels=3,
        batch_size=5,
        max_steps=-1,
        num_train_epochs=6,
        learning_rate=3e-3,
        save="final",
        output_dir=str(tmp_path / "out"),
    )
    evaluations = of_kind(results[0], "evaluation")
    assert [event["epoch"] for event in evaluations] == [1, 2, 3, 4, 5, 6]
    assert all(event["samples"] == 50 for event in evaluations)
    assert evaluations[-1]["accuracy"] >= 0.9
    model = ViTForImageClassification.from_pretrained(tmp_path / "out").eval()
    assert model.config.id2label == dict(enumerate(CLASSES))
    data = image_file.read_bytes()[64:]
    images = torch.frombuffer(bytearray(data[: 50 * 3 * SIZE * SIZE]), dtype=torch.uint8).view(50, 3, SIZE, SIZE)
    with torch.no_grad():
        logits = model(pixel_values=images.float() / 255 * 2 - 1).logits
    accuracy = (logits.argmax(-1) == torch.arange(50) % 3).float().mean().item()
    assert accuracy == pytest.approx(evaluations[-1]["accuracy"], abs=1e-6)


def test_weights_saved_by_one_rank_are_those_of_two(model_dir, tmp_path):
    weights = []
    for ranks in (1, 2):
        out = tmp_path / str(ranks)
        run(tmp_path, ranks, model_dir=str(model_dir), plugin="FULL_SHARD", save="final", output_dir=str(out))
        weights.append(load_file(out / "model.safetensors"))
    assert weights[0].keys() == weights[1].keys()
    for name, tensor in weights[0].items():
        # The gradient of a key's bias is rounding alone, which Adam makes steps of.
        if not name.endswith("attention.key.bias"):
            assert torch.allclose(tensor, weights[1][name], rtol=1e-4, atol=1e-6), name


@pytest.mark.parametrize(
    ("plan", "message"),
    [
        ({"plugin": "torch_dpd"}, "torch_dpd"),
        ({"batch_size": 0}, "batch_size"),
        ({"learning_rate": 1e30, "max_steps": 8}, "the loss of step"),
        ({"optimizer": "sgd"}, "optimizer 'sgd' is not supported over ranks"),
        ({"gradient_checkpointing": "3"}, "gradient_checkpointing is 3, but the model has 2 layers"),
    ],
)
def test_bad_plans_end_with_one_line(plan, message, model_dir, tmp_path):
    plan = {"model_dir": str(model_dir), **plan}
    ended = of_kind(run(tmp_path, 1, expect=2, **plan)[0], "ended")[0]
    assert message in ended["reason"] and "\n" not in ended["reason"]


def steep_model(model_dir, folder, by):
    """A model with a sound loss whose gradients are too long: its last norm shrinks what its classifier blows up."""
    shutil.copytree(model_dir, folder)
    weights = load_file(folder / "model.safetensors")
    weights["vit.layernorm.weight"].fill_(1 / by)
    weights["classifier.weight"] = weights["classifier.weight"].sign() * by
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    return str(folder)


def test_gradients_that_are_not_finite_end_the_run_before_the_update(model_dir, tmp_path):
    plan = {"plugin": "low_level_zero", "knobs": {"zero_stage": 1}, "precision": "fp32", "max_steps": 1}
    out = tmp_path / "out"
    steep = steep_model(model_dir, tmp_path / "steep", 1e25)
    events = run(tmp_path, 1, expect=2, model_dir=steep, save="final", output_dir=str(out), **plan)[0]
    ended = of_kind(events, "ended")[0]
    assert ended["kind"] == "diverged" and "the gradient norm of step 1 is infinite" in ended["reason"]
    assert all(loss >= 0 for loss in losses(events)), "a sound loss"
    assert not of_kind(events, "saved") and not list(out.glob("*.safetensors"))


def test_gradients_that_no_loss_scale_cures_end_the_run(model_dir, tmp_path):
    """A sound loss whose gradient at the classifier's input is beyond float16, whatever the images."""
    steep = steep_model(model_dir, tmp_path / "steep", 6e4)
    weights = load_file(f"{steep}/model.safetensors")
    weights["classifier.bias"] = torch.tensor([-20.0, 0.0, 0.0])
    save_file(weights, f"{steep}/model.safetensors", metadata={"format": "pt"})
    plan = {"plugin": "hybrid_parallel", "knobs": {"zero_stage": 1}, "precision": "fp16", "loss_scale": 1.0}
    plan = {**plan, "batch_size": 1, "synthetic_labels": 1, "max_steps": 12}
    events = run(tmp_path, 1, expect=2, model_dir=steep, **plan)[0]
    ended = of_kind(events, "ended")[0]
    assert ended["kind"] == "diverged"
    assert "the gradients of step 10 are not finite even at a loss scale of 1" in ended["reason"]
    assert len(losses(events)) == 10 and all(loss >= 0 for loss in losses(events))


HYBRID = {"plugin": "hybrid_parallel", "batch_size": 4, "learning_rate": 1e-3}


@pytest.mark.parametrize(("tensor", "stages"), [(2, 1), (1, 2), (2, 2)])
def test_hybrid_parallel_follows_one_rank(tensor, stages, model_dir, alone, tmp_path):
    knobs = {"tp_size": tensor, "pp_size": stages, "microbatches": 2}
    results = run(tmp_path, tensor * stages, model_dir=str(model_dir), knobs=knobs, **HYBRID)
    assert_same_course(results[0], alone, 1e-5, 1e-3)
    topology = of_kind(results[0], "topology")[0]
    assert (topology["data_ranks"], topology["tensor_ranks"], topology["pipeline_stages"]) == (1, tensor, stages)
    totals = {(event["group"], event["operation"]) for event in of_kind(results[0], "collective")}
    assert (("tensor", "all_reduce") in totals) == (tensor > 1)
    # The first stage sends activations in one group and receives gradients in another, where neither holds up the other.
    assert (("pipeline", "send") in totals) == (stages > 1)
    assert (("pipeline gradients", "receive") in totals) == (stages > 1)
    assert ("pipeline", "receive") not in totals


@pytest.mark.parametrize("plugin", ["FULL_SHARD", "SHARD_GRAD_OP"])
def test_tensor_ranks_of_data_ranks_that_shard_follow_one_rank(plugin, model_dir, alone, tmp_path):
    plan = {**HYBRID, "plugin": plugin, "batch_size": 2, "knobs": {"tp_size": 2, "prefetch": 1}}
    results = run(tmp_path, 4, model_dir=str(model_dir), **plan)
    assert_same_course(results[0], alone, 1e-5, 1e-3)
    topology = of_kind(results[0], "topology")[0]
    assert (topology["data_ranks"], topology["shard_ranks"], topology["tensor_ranks"]) == (2, 2, 2)


def test_hybrid_parallel_evaluates_saves_and_foretells(model_dir, image_file, tmp_path):
    plan = {
        "model_dir": str(model_dir),
        "train_file": str(image_file),
        "eval_file": str(image_file),
        "num_labels": 3,
        "max_steps": 6,
        "seed": 3,
        **HYBRID,
        "batch_size": 8,
    }
    evaluations, weights = [], []
    for ranks, knobs in ((1, {"microbatches": 4}), (4, {"tp_size": 2, "pp_size": 2, "microbatches": 4})):
        out = tmp_path / str(ranks)
        events = run(tmp_path, ranks, knobs=knobs, save="final", output_dir=str(out), **plan)
        evaluations.append(of_kind(events[0], "evaluation")[0])
        weights.append(load_file(out / "model.safetensors"))
        foretold = [event for event in of_kind(events[0], "memory") if event["source"] == "predicted"]
        assert [event["phase"] for event in foretold] == ["init", "steady"]
        assert all(event["rank"] in range(0, ranks, 2) and event["peak_bytes"] > 0 for event in foretold)
    assert evaluations[0]["samples"] == evaluations[1]["samples"] == 50
    assert evaluations[1]["loss"] == pytest.approx(evaluations[0]["loss"], rel=1e-4)
    assert weights[0].keys() == weights[1].keys()
    for name, tensor in weights[0].items():
        if not name.endswith("attention.key.bias"):
            assert torch.allclose(tensor, weights[1][name], rtol=1e-3, atol=1e-5), name


@pytest.fixture(scope="module")
def deeper_model_dir(tmp_path_factory):
    """Large enough for weights and activations, not what a run holds beside them, to make the peak."""
    folder = tmp_path_factory.mktemp("deeper")
    config = ViTConfig(
        image_size=224,
        patch_size=16,
        hidden_size=192,
        intermediate_size=768,
        num_hidden_layers=8,
        num_attention_heads=4,
        num_labels=3,
    )
    ViTForImageClassification(config).save_pretrained(folder)
    return folder


def peaks(results, phase):
    """Measured peaks by rank, and the predicted one with its rank."""
    events = [event for of_rank in results for event in of_kind(of_rank, "memory") if event["phase"] == phase]
    measured = {event["rank"]: event["peak_bytes"] for event in events if event["source"] == "measured"}
    predicted = next(event for event in events if event["source"] == "predicted")
    return measured, predicted["rank"], predicted["peak_bytes"]


def test_weights_are_saved_in_files_of_the_size_that_is_asked_for(deeper_model_dir, tmp_path):
    out = tmp_path / "out"
    plan = {"batch_size": 1, "max_steps": 1, "save": "final", "output_dir": str(out), "max_shard_mib": 4}
    run(tmp_path, 1, model_dir=str(deeper_model_dir), **plan)
    sizes = [path.stat().st_size for path in out.glob("model-*.safetensors")]
    assert len(sizes) > 1 and max(sizes) < 5 << 20
    saved, before = (ViTForImageClassification.from_pretrained(path) for path in (out, deeper_model_dir))
    assert saved.state_dict().keys() == before.state_dict().keys()


@pytest.mark.parametrize("checkpointing", ["off", "on"])
@pytest.mark.parametrize(("tensor", "stages"), [(2, 1), (1, 2), (2, 2)])
def test_the_peaks_of_a_mesh_are_foretold(tensor, stages, checkpointing, deeper_model_dir, tmp_path):
    knobs = {"tp_size": tensor, "pp_size": stages, "microbatches": 4 if stages > 1 else 1}
    plan = {**HYBRID, "batch_size": 8, "max_steps": 2, "gradient_checkpointing": checkpointing}
    results = run(tmp_path, tensor * stages, model_dir=str(deeper_model_dir), knobs=knobs, **plan)
    measured, rank, predicted = peaks(results, "steady")
    assert predicted == pytest.approx(measured[rank], rel=0.05)
    assert measured[rank] >= 0.99 * max(measured.values())
    measured, rank, predicted = peaks(results, "init")
    assert predicted == pytest.approx(measured[rank], rel=0.01)


@pytest.mark.parametrize(
    ("plugin", "ranks", "knobs"),
    [
        ("FULL_SHARD", 2, {}),
        ("low_level_zero", 2, {"zero_stage": 2}),
        ("gemini", 1, {}),
        ("gemini", 2, {}),
        ("gemini", 2, {"min_chunk_size_m": 0.25, "search_range_m": 0.25}),
        ("gemini", 2, {"placement": "auto"}),
        ("HYBRID_SHARD", 4, {"shard_ranks": 2}),
    ],
)
def test_the_peaks_of_split_weights_are_foretold(plugin, ranks, knobs, deeper_model_dir, tmp_path):
    plan = {"plugin": plugin, "knobs": knobs, "batch_size": 4, "max_steps": 2}
    results = run(tmp_path, ranks, model_dir=str(deeper_model_dir), **plan)
    for phase, tolerance in (("init", 0.01), ("steady", 0.05)):
        measured, rank, predicted = peaks(results, phase)
        assert predicted == pytest.approx(measured[rank], rel=tolerance), phase


@pytest.mark.parametrize("thread", ["0", "1"])
def test_communication_is_hidden_where_it_has_a_thread(thread, deeper_model_dir, tmp_path, monkeypatch):
    monkeypatch.setenv("ASSAY_COMM_THREAD", thread)
    plan = {"plugin": "torch_ddp", "knobs": {"bucket_mib": 2}, "batch_size": 8, "max_steps": 4}
    results = run(tmp_path, 2, model_dir=str(deeper_model_dir), **plan)
    steps = [event for events in results for event in of_kind(events, "rank_step")]
    communication, hidden = (
        sum(step[name] for step in steps) for name in ("communication_seconds", "hidden_communication_seconds")
    )
    assert communication > 0
    if thread == "1":
        assert 0.1 * communication < hidden <= communication
    else:
        assert hidden < 1e-3 * communication


@pytest.mark.parametrize(
    ("knobs", "ranks", "message"),
    [
        ({"tp_size": 4, "pp_size": 1}, 4, "2 attention heads do not divide by tp_size 4"),
        ({"tp_size": 1, "pp_size": 3}, 3, "2 layers are fewer than pp_size 3"),
        ({"tp_size": 2, "pp_size": 2}, 2, "2 ranks do not divide into tp_size 2 x pp_size 2"),
        ({"tp_size": 1, "pp_size": 2, "microbatches": 3}, 2, "batch_size 4 does not divide into microbatches 3"),
    ],
)
def test_meshes_that_cannot_be_end_with_one_line(knobs, ranks, message, model_dir, tmp_path):
    results = run(tmp_path, ranks, expect=2, model_dir=str(model_dir), knobs=knobs, **HYBRID)
    ended = of_kind(results[0], "ended")[0]
    assert message in ended["reason"] and "\n" not in ended["reason"]


def test_a_rank_lost_in_a_pipeline_is_named_in_seconds(model_dir, tmp_path):
    knobs = {"tp_size": 1, "pp_size": 2, "microbatches": 2}
    plan = {"model_dir": str(model_dir), "knobs": knobs, "max_steps": 1_000_000, **HYBRID}
    first, last = start(tmp_path, 2, **plan)
    while '"event":"step"' not in first.stdout.readline():
        assert first.poll() is None
    last.kill()
    last.communicate()
    ended = json.loads(first.communicate(timeout=10)[0].splitlines()[-1])
    # Between two messages there are collectives of the step's end.
    assert re.search(
        rf"rank 1 \(process {last.pid}\) was lost in (message .* of group pipeline|collective)", ended["reason"]
    )


@pytest.mark.parametrize("plugin", ["torch_ddp", "low_level_zero", "FULL_SHARD", "HYBRID_SHARD"])
def test_ranks_of_several_machines_train_as_one_rank(plugin, model_dir, tmp_path, alone):
    ranks = 4 if plugin == "HYBRID_SHARD" else 2
    knobs = {"zero_stage": 1} if plugin == "low_level_zero" else {}
    events = run(
        tmp_path,
        ranks,
        machines=2,
        model_dir=str(model_dir),
        learning_rate=1e-3,
        plugin=plugin,
        precision="fp32",
        knobs=knobs,
    )
    assert of_kind(events[0], "topology")[0]["backend"] == ("shm+gloo" if ranks == 4 else "gloo")
    assert_same_course(events[0], alone, 1e-5, 1e-3)


def test_torchrun_starts_the_ranks_of_a_plan(model_dir, tmp_path, alone):
    plan = {
        "kind": "vit",
        "schema": 1,
        "synthetic": True,
        "synthetic_labels": 3,
        "number_ranks": 2,
        "threads": 1,
        "max_steps": 4,
        "batch_size": 2,
        "device": "cpu",
        "model_dir": str(model_dir),
        "learning_rate": 1e-3,
        "plugin": "FULL_SHARD",
        "precision": "fp32",
    }
    (tmp_path / "plan.json").write_text(json.dumps(plan))
    command = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node=2", f"--master-port={free_port()}"]
    done = subprocess.run(
        [*command, "--no-python", WORKER, "--plan", tmp_path / "plan.json"],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    events = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    assert_same_course(events, alone, 1e-5, 1e-3)
