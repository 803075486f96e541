"""The worker on ViT plans: every plugin on one and two ranks, saving, evaluation, and what it refuses."""

import shutil

import pytest
import torch
from ranks import of_kind
from safetensors.torch import load_file, save_file
from transformers import ViTForImageClassification, get_scheduler
from vit import CLASSES, SIZE, assert_same_course, losses, run

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


@pytest.mark.parametrize("ranks", [1, 2])
@pytest.mark.parametrize("plugin", PLUGINS)
def test_every_plugin_follows_one_rank(plugin, ranks, vit_model, vit_alone, tmp_path):
    knobs = {"zero_stage": 1} if plugin == "low_level_zero" else {}
    results = run(tmp_path, ranks, model_dir=str(vit_model), plugin=plugin, learning_rate=1e-3, knobs=knobs)
    assert_same_course(results[0], vit_alone, 1e-5, 1e-3)
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
def test_chunks_follow_one_rank(knobs, vit_model, tmp_path):
    plan = {"model_dir": str(vit_model), "learning_rate": 1e-3, "max_steps": 20}
    one = run(tmp_path, **plan)[0]
    chunks = {"min_chunk_size_m": 0.005, "search_range_m": 0.005, "hidden_dim": 32}  # ten of them
    (tmp_path / "two").mkdir()
    results = run(tmp_path / "two", 2, **plan, plugin="gemini", knobs={**chunks, **knobs})
    assert_same_course(results[0], one, 1e-5, 1e-3)


@pytest.mark.parametrize("protocol", ["train", "published", "fair"])
def test_collectives_are_those_of_the_measured_steps(protocol, vit_model, tmp_path):
    """What makes all ranks' weights alike at the start belongs to no step."""
    results = run(tmp_path, 2, model_dir=str(vit_model), protocol=protocol, max_warmup_steps=3)
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
def test_smaller_buckets_are_more_collectives_of_the_same_gradients(plugin, knobs, vit_model, tmp_path):
    plan = {"model_dir": str(vit_model), "max_steps": 1}
    whole = collectives(tmp_path, plugin, knobs, **plan)["all_reduce"]
    cut = collectives(tmp_path, plugin, knobs | {"bucket_mib": 0.01}, **plan)["all_reduce"]
    assert cut["calls"] == whole["calls"] + 2  # all in one; or head and last layer, first layer, embeddings
    assert cut["payload_bytes"] == whole["payload_bytes"]


@pytest.mark.parametrize(
    ("plugin", "knobs"), [("torch_ddp", {}), ("low_level_zero", {"zero_stage": 1}), ("gemini", {}), ("NO_SHARD", {})]
)
def test_gradients_travel_as_the_communication_dtype(plugin, knobs, vit_model, tmp_path):
    plan = {"model_dir": str(vit_model), "max_steps": 1}
    operation = "all_reduce" if plugin in ("torch_ddp", "NO_SHARD") else "reduce_scatter"
    single = collectives(tmp_path, plugin, knobs, **plan)[operation]
    half = collectives(tmp_path, plugin, knobs | {"communication_dtype": "bfloat16"}, **plan)[operation]
    assert half["payload_bytes"] == pytest.approx(single["payload_bytes"] / 2, rel=0.01)


@pytest.mark.parametrize("plugin", ["low_level_zero", "gemini", "FULL_SHARD"])
def test_weights_travel_in_8_bits_where_that_is_asked_for(plugin, vit_model, tmp_path):
    plan = {"model_dir": str(vit_model), "max_steps": 2}
    stage = {"zero_stage": 1} if plugin == "low_level_zero" else {}
    exact = collectives(tmp_path, plugin, stage, **plan)["all_gather"]
    coarse = collectives(tmp_path, plugin, stage | {"communication_dtype": "float8"}, **plan)["all_gather"]
    assert coarse["payload_bytes"] == pytest.approx(exact["payload_bytes"] / 4, rel=0.05)


@pytest.mark.parametrize("precision", ["bf16", "fp16", "amp_bf16", "amp_fp16"])
def test_16_bit_precisions_follow_float32(precision, vit_model, vit_alone, tmp_path):
    scale = {"loss_scale": 1024.0} if "fp16" in precision else {}
    results = run(tmp_path, 1, model_dir=str(vit_model), precision=precision, learning_rate=1e-3, **scale)
    assert_same_course(results[0], vit_alone, 2e-2, 5e-2)


@pytest.mark.parametrize("options", [{"gradient_checkpointing": "on"}, {"gradient_accumulation_steps": 2}])
def test_checkpointing_and_accumulation_change_no_loss(options, vit_model, vit_alone, tmp_path):
    results = run(tmp_path, 1, model_dir=str(vit_model), learning_rate=1e-3, **options)
    assert_same_course(results[0], vit_alone, 1e-5, 1e-3)


def test_a_linear_rate_is_that_of_transformers(vit_model, tmp_path):
    events = run(tmp_path, model_dir=str(vit_model), lr_scheduler_type="linear", warmup_ratio=0.5, learning_rate=1e-3)[
        0
    ]
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=1e-3)
    rate = get_scheduler("linear", optimizer, num_warmup_steps=2, num_training_steps=4).lr_lambdas[0]
    assert [event["learning_rate"] for event in of_kind(events, "step")] == [1e-3 * rate(step) for step in range(4)]


def test_time_ends_a_run_after_a_step_on_all_ranks(vit_model, tmp_path):
    events, others = run(tmp_path, 2, model_dir=str(vit_model), stop_after_seconds=1e-9)
    assert of_kind(events, "ended")[0]["stopped_by"] == "stop_after_seconds"
    assert len(of_kind(events, "step")) == len(of_kind(others, "rank_step")) == 1


@pytest.mark.parametrize("plugin", ["torch_ddp", "FULL_SHARD"])
def test_trains_evaluates_and_saves(plugin, vit_model, image_file, tmp_path):
    results = run(
        tmp_path,
        2,
        model_dir=str(vit_model),
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


def test_weights_saved_by_one_rank_are_those_of_two(vit_model, tmp_path):
    weights = []
    for ranks in (1, 2):
        out = tmp_path / str(ranks)
        run(tmp_path, ranks, model_dir=str(vit_model), plugin="FULL_SHARD", save="final", output_dir=str(out))
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
def test_bad_plans_end_with_one_line(plan, message, vit_model, tmp_path):
    plan = {"model_dir": str(vit_model), **plan}
    ended = of_kind(run(tmp_path, 1, expect=2, **plan)[0], "ended")[0]
    assert message in ended["reason"] and "\n" not in ended["reason"]


def steep_model(vit_model, folder, by):
    """A model with a sound loss whose gradients are too long: its last norm shrinks what its classifier blows up."""
    shutil.copytree(vit_model, folder)
    weights = load_file(folder / "model.safetensors")
    weights["vit.layernorm.weight"].fill_(1 / by)
    weights["classifier.weight"] = weights["classifier.weight"].sign() * by
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    return str(folder)


def test_gradients_that_are_not_finite_end_the_run_before_the_update(vit_model, tmp_path):
    plan = {"plugin": "low_level_zero", "knobs": {"zero_stage": 1}, "precision": "fp32", "max_steps": 1}
    out = tmp_path / "out"
    steep = steep_model(vit_model, tmp_path / "steep", 1e25)
    events = run(tmp_path, 1, expect=2, model_dir=steep, save="final", output_dir=str(out), **plan)[0]
    ended = of_kind(events, "ended")[0]
    assert ended["kind"] == "diverged" and "the gradient norm of step 1 is infinite" in ended["reason"]
    assert all(loss >= 0 for loss in losses(events)), "a sound loss"
    assert not of_kind(events, "saved") and not list(out.glob("*.safetensors"))


def test_gradients_that_no_loss_scale_cures_end_the_run(vit_model, tmp_path):
    """A sound loss whose gradient at the classifier's input is beyond float16, whatever the images."""
    steep = steep_model(vit_model, tmp_path / "steep", 6e4)
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


def test_weights_are_saved_in_files_of_the_size_that_is_asked_for(deeper_vit, tmp_path):
    out = tmp_path / "out"
    plan = {"batch_size": 1, "max_steps": 1, "save": "final", "output_dir": str(out), "max_shard_mib": 4}
    run(tmp_path, 1, model_dir=str(deeper_vit), **plan)
    sizes = [path.stat().st_size for path in out.glob("model-*.safetensors")]
    assert len(sizes) > 1 and max(sizes) < 5 << 20
    saved, before = (ViTForImageClassification.from_pretrained(path) for path in (out, deeper_vit))
    assert saved.state_dict().keys() == before.state_dict().keys()


@pytest.mark.parametrize("thread", ["0", "1"])
def test_communication_is_hidden_where_it_has_a_thread(thread, deeper_vit, tmp_path, monkeypatch):
    monkeypatch.setenv("ASSAY_COMM_THREAD", thread)
    plan = {"plugin": "torch_ddp", "knobs": {"bucket_mib": 2}, "batch_size": 8, "max_steps": 4}
    results = run(tmp_path, 2, model_dir=str(deeper_vit), **plan)
    steps = [event for events in results for event in of_kind(events, "rank_step")]
    communication, hidden = (
        sum(step[name] for step in steps) for name in ("communication_seconds", "hidden_communication_seconds")
    )
    assert communication > 0
    if thread == "1":
        assert 0.1 * communication < hidden <= communication
    else:
        assert hidden < 1e-3 * communication
