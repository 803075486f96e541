"""Loss curves of the worker against transformers.Trainer and peft on the same weights, rows and order."""

from unittest import mock

import gptq
import pytest
import reference
import tiny
import torch
from peft import PeftModel
from transformers import AutoModelForCausalLM
from worker import train

STEPS = 20
FAMILIES = ["llama", "granite", "qwen2", "qwen3", "gpt_bigcode", "bloom", "mixtral", "granitemoe", "granitemoehybrid"]
IN_16_BITS = [f"{family}-all" if f"{family}-all" in tiny.ALL_EXPERTS else family for family in FAMILIES]
# The worker's name of each setting, and transformers'.
NAMES = {
    "batch_size": "per_device_train_batch_size",
    "gradient_accumulation_steps": "gradient_accumulation_steps",
    "learning_rate": "learning_rate",
    "weight_decay": "weight_decay",
    "max_grad_norm": "max_grad_norm",
    "lr_scheduler_type": "lr_scheduler_type",
    "warmup_ratio": "warmup_steps",
    "max_steps": "max_steps",
    "num_train_epochs": "num_train_epochs",
    "optimizer": "optim",
    "label_smoothing": "label_smoothing_factor",
}
BASE = {"batch_size": 2, "learning_rate": 2e-3, "max_steps": STEPS, "max_grad_norm": 1.0, "model_max_length": 128}
CASES = {
    "accumulated": {"gradient_accumulation_steps": 2, "warmup_ratio": 0.2},
    "clipped": {"max_grad_norm": 0.05, "weight_decay": 0.1, "lr_scheduler_type": "linear", "warmup_ratio": 0.1},
    "unclipped": {"max_grad_norm": 0.0, "lr_scheduler_type": "constant"},
    "sgd": {"optimizer": "sgd", "learning_rate": 0.05, "lr_scheduler_type": "constant", "weight_decay": 0.01},
    "adagrad": {"optimizer": "adagrad", "weight_decay": 0.01, "lr_scheduler_type": "constant"},
    # Its first updates are ten times the learning rate, whatever the gradient: more makes of rounding a course.
    "rmsprop": {
        "optimizer": "rmsprop",
        "weight_decay": 0.01,
        "learning_rate": 5e-4,
        "gradient_accumulation_steps": 2,
        "warmup_ratio": 0.1,
    },
    "lion": {"optimizer": "lion_32bit", "weight_decay": 0.1, "learning_rate": 1e-3, "warmup_ratio": 0.1},
    "smoothed": {"label_smoothing": 0.2, "gradient_accumulation_steps": 2, "lr_scheduler_type": "constant"},
    # 11 rows: the last batch of an epoch has one row and its last window one micro-batch.
    "epochs": {"max_steps": -1, "num_train_epochs": 3, "gradient_accumulation_steps": 4, "warmup_ratio": 0.1},
    "epochs_wrapped": {"gradient_accumulation_steps": 4, "warmup_ratio": 0.1},
}


def both(models, folder, family, settings, rows, adapter=None, method=None, dtype="float32", **worker_only):
    """The worker's run, the reference's steps, and the reference's trained model. An adapter is LoRA without `method`."""
    settings = {**BASE, **settings}
    tokens = tiny.save_rows(rows, folder / "rows.tok")
    lora = {"method": "lora", "lora": {"adapter_dir": adapter}} if adapter else {}
    own = {**settings, **(method or lora), **worker_only}
    run = train(folder, model_dir=models[family], tokens_file=tokens, dtype=dtype, **own)
    arguments = {NAMES[name]: value for name, value in settings.items() if name in NAMES}
    if arguments["max_steps"] < 0:
        arguments.pop("max_steps")
    steps, model = reference.train(models[family], rows, folder / "trainer", adapter=adapter, dtype=dtype, **arguments)
    return run, steps, model


def assert_same_curve(run, steps, loss_tolerance, norm_tolerance):
    assert len(run.steps) == len(steps)
    for ours, theirs in zip(run.steps, steps):
        assert ours["learning_rate"] == pytest.approx(theirs["learning_rate"], rel=1e-12, abs=1e-15)
        assert ours["loss"] == pytest.approx(theirs["loss"], rel=loss_tolerance), ours["step"]
        assert ours["grad_norm"] == pytest.approx(theirs["grad_norm"], rel=norm_tolerance), ours["step"]


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("case", CASES)
def test_full(models, tmp_path, family, case):
    rows = tiny.make_rows(11)
    run, steps, _ = both(models, tmp_path, family, CASES[case], rows)
    assert_same_curve(run, steps, 1e-4, 1e-3)
    assert abs(steps[0]["loss"] - steps[-1]["loss"]) > 0.01, "a curve that does not move shows nothing"


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("case", ["accumulated", "clipped", "sgd", "rmsprop", "smoothed"])
def test_lora(models, tmp_path, family, case):
    adapter = reference.save_adapter(models[family], tmp_path / "adapter")
    run, steps, _ = both(models, tmp_path, family, CASES[case], tiny.make_rows(11), adapter)
    assert_same_curve(run, steps, 1e-4, 1e-3)


@pytest.mark.parametrize("family", ["llama", "granite", "gpt_bigcode", "bloom"])
def test_dora(models, tmp_path, family):
    adapter = reference.save_adapter(models[family], tmp_path / "adapter", use_dora=True)
    run, steps, _ = both(models, tmp_path, family, CASES["accumulated"], tiny.make_rows(11), adapter)
    assert_same_curve(run, steps, 1e-4, 1e-3)


@pytest.mark.parametrize("method", ["full", "lora", "checkpointed"])
@pytest.mark.parametrize("family", tiny.ROUTER_LOSS)
def test_router_loss(models, tmp_path, family, method):
    """Once in each micro-batch's loss, over all its tokens; a micro-batch of masked rows alone has it too."""
    adapter = reference.save_adapter(models[family], tmp_path / "adapter") if method == "lora" else None
    rows = tiny.make_rows(11)
    for row in rows[2:4]:
        row["labels"] = [-100] * len(row["labels"])
    settings = {**CASES["accumulated"], "lr_scheduler_type": "constant"}
    layers = {"gradient_checkpointing": "on"} if method == "checkpointed" else {}
    run, steps, _ = both(models, tmp_path, family, settings, rows, adapter, **layers)
    assert_same_curve(run, steps, 1e-4, 1e-3)
    without, _, _ = both(models, tmp_path, family.replace("-balanced", ""), settings, rows)
    assert abs(without.steps[0]["loss"] - run.steps[0]["loss"]) > 0.1, "the loss of the routers is in it"


@pytest.mark.parametrize("method", ["full", "lora"])
@pytest.mark.parametrize("family", IN_16_BITS)
def test_bfloat16(models, tmp_path, family, method):
    adapter = reference.save_adapter(models[family], tmp_path / "adapter") if method == "lora" else None
    settings = {"learning_rate": 5e-4, "gradient_accumulation_steps": 2, "warmup_ratio": 0.2}
    run, steps, _ = both(models, tmp_path, family, settings, tiny.make_rows(11), adapter, dtype="bfloat16")
    assert_same_curve(run, steps, 2e-2, 1e-1)


@pytest.mark.parametrize("method", ["full", "lora"])
def test_float16_follows_float32(models, tmp_path, method):
    """Torch has no float16 training without float32 weights, which is what ours keeps: so its float32 curve."""
    adapter = reference.save_adapter(models["llama"], tmp_path / "adapter") if method == "lora" else None
    rows = tiny.make_rows(11)
    run, _, _ = both(models, tmp_path, "llama", CASES["accumulated"], rows, adapter)
    tokens = tiny.save_rows(rows, tmp_path / "rows.tok")
    lora = {"method": "lora", "lora": {"adapter_dir": adapter}} if adapter else {}
    half = train(
        tmp_path,
        model_dir=models["llama"],
        tokens_file=tokens,
        dtype="float16",
        **{**BASE, **CASES["accumulated"]},
        **lora,
    )
    assert_same_curve(half, run.steps, 1e-2, 5e-2)
    assert half.column("loss_scale") == [65536.0] * STEPS
    assert not any(half.column("skipped"))


@pytest.mark.parametrize("bits", [3, 4])
@pytest.mark.parametrize("family", ["llama", "gpt_bigcode"])
def test_lora_of_a_quantised_model(tmp_path, family, bits):
    """Against the same adapter on the weights that auto-gptq makes of the checkpoint."""
    with mock.patch.dict(tiny.SHAPE, hidden_size=64, intermediate_size=96):
        model = tiny.make_model(family)
    quantised = gptq.save(model, gptq.quantise(model, bits), tmp_path / "quantised", bits)
    model.save_pretrained(tmp_path / "plain")
    adapter = reference.save_adapter(tmp_path / "plain", tmp_path / "adapter")
    rows = tiny.make_rows(11)
    run = train(
        tmp_path,
        model_dir=str(quantised),
        tokens_file=tiny.save_rows(rows, tmp_path / "rows.tok"),
        dtype="float32",
        method="lora",
        lora={"adapter_dir": adapter},
        **{**BASE, **CASES["accumulated"]},
    )
    settings = {NAMES[name]: value for name, value in {**BASE, **CASES["accumulated"]}.items() if name in NAMES}
    steps, _ = reference.train(str(tmp_path / "plain"), rows, tmp_path / "trainer", adapter=adapter, **settings)
    assert_same_curve(run, steps, 1e-4, 1e-3)
    assert run.of("loaded")[0]["weights"] == f"file, {bits} bits"
    assert abs(steps[0]["loss"] - steps[-1]["loss"]) > 0.01, "a curve that does not move shows nothing"


@pytest.mark.parametrize("layers", ["on", "1", "auto"])
@pytest.mark.parametrize("method", ["full", "lora"])
def test_gradient_checkpointing_changes_nothing(models, tmp_path, method, layers):
    adapter = reference.save_adapter(models["llama"], tmp_path / "adapter") if method == "lora" else None
    run, steps, _ = both(
        models, tmp_path, "llama", CASES["accumulated"], tiny.make_rows(11), adapter, gradient_checkpointing=layers
    )
    assert_same_curve(run, steps, 1e-4, 1e-3)


def test_the_saved_model_is_the_trained_one(models, tmp_path):
    output = tmp_path / "out"
    run, _, model = both(
        models, tmp_path, "llama", CASES["accumulated"], tiny.make_rows(11), output_dir=str(output), save="final"
    )
    (saved,) = run.of("saved")
    assert saved["path"] == str(output) and saved["seconds"] > 0
    ours = AutoModelForCausalLM.from_pretrained(output, dtype=torch.float32).state_dict()
    start = AutoModelForCausalLM.from_pretrained(models["llama"], dtype=torch.float32).state_dict()
    for name, theirs in model.state_dict().items():
        torch.testing.assert_close(ours[name], theirs, rtol=1e-3, atol=2e-4)
    assert any(not torch.equal(ours[name], start[name]) for name in ours)


def test_the_saved_adapter_is_the_trained_one(models, tmp_path):
    output = tmp_path / "out"
    adapter = reference.save_adapter(models["llama"], tmp_path / "adapter")
    _, _, model = both(
        models,
        tmp_path,
        "llama",
        CASES["accumulated"],
        tiny.make_rows(11),
        adapter,
        output_dir=str(output),
        save="final",
    )
    base = AutoModelForCausalLM.from_pretrained(models["llama"], dtype=torch.float32)
    ours = PeftModel.from_pretrained(base, output).state_dict()
    for name, theirs in model.state_dict().items():
        torch.testing.assert_close(ours[name], theirs, rtol=1e-3, atol=2e-4)
