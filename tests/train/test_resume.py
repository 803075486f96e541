"""Runs that stop and go on: the same losses as one that never stopped, to the bit."""

import json
import os
import shutil
import signal
import subprocess

import pytest
import tiny
import torch
import torch.distributed.checkpoint as dcp
import vit
from peft import LoraConfig, get_peft_model, set_peft_model_state_dict
from refusing_proxy import refusing
from safetensors.torch import load_file
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
from torch.distributed.checkpoint.state_dict_loader import _load_state_dict_from_keys
from transformers import AutoModelForCausalLM
from worker import WORKER, run_worker, train, write_plan

LORA = {"rank": 4, "alpha": 8, "dropout": 0.3, "target_modules": ["q_proj", "v_proj"]}
# A language model trained in full and by an adapter, with all that a step draws at random.
LANGUAGE = {
    "full": {"method": "full", "weight_decay": 0.1},
    "full-float16": {"method": "full", "dtype": "float16"},
    "full-bfloat16": {"method": "full", "dtype": "bfloat16"},
    "sgd": {"method": "full", "optimizer": "sgd"},
    "adagrad": {"method": "full", "optimizer": "adagrad"},
    "lion": {"method": "full", "optimizer": "lion_32bit"},
    "lora": {"method": "lora", "lora": LORA},
    "prompt": {"method": "prompt", "prompt": {"length": 5}},
}
STEPS, EVERY = 7, 3


def language_plan(folder, models, **fields):
    return tiny.plan_of(
        folder,
        models["llama"],
        rows=tiny.make_rows(11, longest=30),
        max_steps=STEPS,
        shuffle=True,
        warmup_ratio=0.3,
        gradient_accumulation_steps=2,
        save="none",
        **fields,
    )


def losses(run):
    return {step["step"]: (step["loss"], step["grad_norm"], step["learning_rate"]) for step in run.steps}


def stock_state(folder):
    return _load_state_dict_from_keys(checkpoint_id=str(folder))


def kill_after_checkpoint(plan):
    """Ends a worker by SIGKILL when its first checkpoint stands."""
    process = subprocess.Popen([WORKER, "--plan", plan], stdout=subprocess.PIPE, text=True)
    for line in process.stdout:
        if json.loads(line)["event"] == "checkpointed":
            break
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=300)


@pytest.mark.parametrize("kind", LANGUAGE)
def test_a_language_model_goes_on_bit_for_bit(kind, models, tmp_path):
    plan = language_plan(tmp_path, models, **LANGUAGE[kind])
    straight = train(tmp_path, **plan)
    out = tmp_path / "out"
    first = write_plan(tmp_path, **plan, save_every=EVERY, output_dir=str(out))
    kill_after_checkpoint(first)
    rest = train(tmp_path, **plan, save_every=EVERY, resume=True, output_dir=str(out))
    (resumed,) = rest.of("resumed")
    assert resumed["step"] >= EVERY and resumed["uri"].endswith(f"step-{resumed['step']}/")
    assert losses(rest) == {step: row for step, row in losses(straight).items() if step > resumed["step"]}
    assert [event["step"] for event in rest.of("checkpointed")][-1] == STEPS


def test_a_vision_transformer_goes_on_bit_for_bit(vit_model, image_file, tmp_path):
    plan = {
        "model_dir": str(vit_model),
        "train_file": str(image_file),
        "eval_file": str(image_file),
        "max_steps": STEPS,
        "learning_rate": 1e-3,
    }
    straight = run_worker(vit.write_plan(tmp_path, **plan))
    out = tmp_path / "out"
    kill_after_checkpoint(vit.write_plan(tmp_path, **plan, save_every=EVERY, output_dir=str(out)))
    rest = run_worker(vit.write_plan(tmp_path, **plan, save_every=EVERY, resume=True, output_dir=str(out)))
    assert rest.ended["kind"] == "done", rest.ended
    (resumed,) = rest.of("resumed")
    assert losses(rest) == {step: row for step, row in losses(straight).items() if step > resumed["step"]}
    assert [row["loss"] for row in rest.of("evaluation")][-1] == [row["loss"] for row in straight.of("evaluation")][-1]


def test_a_finished_run_has_nothing_left_to_do_and_a_longer_one_has(models, tmp_path):
    out = str(tmp_path / "out")
    plan = language_plan(tmp_path, models, lr_scheduler_type="constant")
    train(tmp_path, **plan, save_every=100, output_dir=out)
    again = train(tmp_path, **plan, resume=True, output_dir=out)
    assert again.steps == [] and again.ended["stopped_by"] == "max_steps"
    longer = train(tmp_path, **{**plan, "max_steps": STEPS + 2}, resume=True, output_dir=out)
    assert longer.column("step") == [STEPS + 1, STEPS + 2]
    straight = train(tmp_path, **{**plan, "max_steps": STEPS + 2})
    assert losses(longer).items() <= losses(straight).items()


def test_without_a_checkpoint_a_run_begins_anew(models, tmp_path):
    plan = language_plan(tmp_path, models)
    run = train(tmp_path, **plan, resume=True, save_every=EVERY, output_dir=str(tmp_path / "out"))
    assert run.of("resumed") == [] and run.column("step") == list(range(1, STEPS + 1))
    assert [event["step"] for event in run.of("checkpointed")] == [3, 6, 7]


def test_a_new_run_does_not_begin_where_another_has_checkpoints(models, tmp_path):
    out = str(tmp_path / "out")
    plan = language_plan(tmp_path, models)
    train(tmp_path, **plan, save_every=EVERY, output_dir=out)
    run = run_worker(write_plan(tmp_path, **plan, save_every=EVERY, output_dir=out))
    assert run.ended["kind"] == "invalid" and run.steps == []
    assert f"holds the checkpoint of step {STEPS}" in run.ended["reason"] and "--resume" in run.ended["reason"]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"seed": 1}, "the seed 42, this one has 1"),
        ({"batch_size": 1}, "rows a step 4, this one has 2"),
        ({"method": "lora", "lora": LORA}, "it is of another model"),
    ],
)
def test_what_cannot_go_on_is_said_before_the_first_step(change, reason, models, tmp_path):
    out = str(tmp_path / "out")
    plan = language_plan(tmp_path, models, method="full")
    train(tmp_path, **plan, save_every=100, output_dir=out)
    run = run_worker(write_plan(tmp_path, **{**plan, **change}, resume=True, output_dir=out))
    assert run.ended["kind"] == "invalid" and reason in run.ended["reason"], run.ended
    assert "\n" not in run.ended["reason"]


def test_an_adapter_that_is_scaled_otherwise_does_not_go_on(models, tmp_path):
    out = str(tmp_path / "out")
    plan = language_plan(tmp_path, models, method="lora", lora=LORA)
    train(tmp_path, **plan, save_every=100, output_dir=out)
    plan["lora"] = {**LORA, "use_rslora": True}
    run = run_worker(write_plan(tmp_path, **plan, resume=True, output_dir=out))
    assert run.ended["kind"] == "invalid" and "this one has rank 4 (stabilised)" in run.ended["reason"], run.ended


def test_other_quantised_weights_do_not_go_on(models, tmp_path):
    out = str(tmp_path / "out")
    folder = shutil.copytree(models["llama"], tmp_path / "wider", ignore=shutil.ignore_patterns("*.safetensors"))
    config = json.loads((folder / "config.json").read_text())
    wider = {"hidden_size": 64, "intermediate_size": 96, "head_dim": 16}
    (folder / "config.json").write_text(json.dumps(config | wider))
    plan = language_plan(tmp_path, models, method="lora", lora=LORA, quantize_bits=4, quantize_group_size=32)
    plan |= {"model_dir": str(folder)}
    train(tmp_path, **plan, save_every=100, output_dir=out)
    run = run_worker(write_plan(tmp_path, **{**plan, "quantize_bits": 8}, resume=True, output_dir=out))
    assert run.ended["kind"] == "invalid", run.ended
    assert "weights of 4 bits in groups of 32, this one has 8 bits in groups of 32" in run.ended["reason"], run.ended


def test_a_model_that_computes_something_else_does_not_go_on(models, tmp_path):
    out = str(tmp_path / "out")
    plan = language_plan(tmp_path, models, method="full")
    train(tmp_path, **plan, save_every=100, output_dir=out)
    folder = shutil.copytree(plan["model_dir"], tmp_path / "other")
    config = json.loads((folder / "config.json").read_text())
    for change, kind in [({"use_cache": False}, "done"), ({"rms_norm_eps": 0.1}, "invalid")]:
        (folder / "config.json").write_text(json.dumps(config | change))
        run = run_worker(write_plan(tmp_path, **{**plan, "model_dir": str(folder)}, resume=True, output_dir=out))
        assert run.ended["kind"] == kind, run.ended
    assert "the config.json" in run.ended["reason"]


def test_a_loss_scale_that_the_plan_names_is_the_plans(models, tmp_path):
    out = str(tmp_path / "out")
    plan = language_plan(tmp_path, models, method="full")
    train(tmp_path, **plan, loss_scale="512", save_every=100, output_dir=out)
    longer = {**plan, "max_steps": STEPS + 1, "loss_scale": "1024", "resume": True}
    assert train(tmp_path, **longer, output_dir=out).column("loss_scale") == [1024]


def cut(path):
    os.truncate(path, 1000)


def flip(path):
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    with open(path, "r+b") as file:
        file.write(content)


@pytest.mark.parametrize("damage", [cut, flip])
def test_a_damaged_checkpoint_is_passed_over_and_replaced(damage, models, tmp_path):
    out = tmp_path / "out"
    plan = language_plan(tmp_path, models)
    straight = train(tmp_path, **plan, save_every=EVERY, output_dir=str(out))
    shutil.rmtree(out / "step-7")
    damage(out / "step-6" / "__0_0.distcp")
    rest = train(tmp_path, **plan, resume=True, save_every=EVERY, output_dir=str(out))
    assert rest.of("resumed")[0]["step"] == 3
    said = [line for line in rest.stderr.splitlines() if "passed over" in line]
    what = (
        "__0_0.distcp is damaged" if damage is flip else "step-6/ is passed over: its file __0_0.distcp has 1000 bytes"
    )
    assert len(said) == 1 and what in said[0], rest.stderr
    assert losses(rest) == {step: row for step, row in losses(straight).items() if step > 3}
    assert [event["step"] for event in rest.of("checkpointed")] == [6, 7]


@pytest.mark.parametrize(
    "damage, name, what",
    [
        (flip, "__0_0.distcp", "__0_0.distcp is damaged"),
        (
            cut,
            "__0_0.distcp",
            "step-7/ is damaged, and there is no other to go on from: its file __0_0.distcp has 1000",
        ),
        (os.remove, "__0_0.distcp", "its file __0_0.distcp is missing"),
        (cut, ".metadata", "step-7/ is damaged, and there is no other to go on from"),
    ],
)
def test_nothing_is_made_of_the_only_checkpoint_where_it_is_damaged(damage, name, what, models, tmp_path):
    out = tmp_path / "out"
    plan = language_plan(tmp_path, models)
    train(tmp_path, **plan, save_every=100, output_dir=str(out))
    damage(out / "step-7" / name)
    run = run_worker(write_plan(tmp_path, **plan, resume=True, output_dir=str(out)))
    assert run.steps == [] and what in run.ended["reason"], run.ended


def test_a_store_that_fails_begins_no_new_run(serve, models, tmp_path):
    server = serve("--root", "memory", "--bucket", "runs")
    environment = bucket_environment(server) | {"ASSAY_STORAGE_MAX_ATTEMPTS": "2"}
    plan = language_plan(tmp_path, models)
    saving = write_plan(tmp_path, **{**plan, "max_steps": 4}, save_every=EVERY, output_dir="s3://runs/llama")
    assert run_worker(saving, env=environment).ended["kind"] == "done"
    resuming = write_plan(tmp_path, **plan, resume=True, save_every=EVERY, output_dir="s3://runs/llama")
    with refusing(server.url, ".metadata") as url:
        run = run_worker(resuming, env=environment | {"ASSAY_STORAGE_ENDPOINT": url})
    assert run.steps == [] and "503" in run.ended["reason"] and ".metadata" in run.ended["reason"], run.ended
    assert run_worker(resuming, env=environment).of("resumed")[0]["step"] == 4


@pytest.mark.parametrize("damage", [cut, flip])
@pytest.mark.parametrize("place", ["local", "out"])
def test_damage_in_one_of_two_places_is_mended_from_the_other(place, damage, models, tmp_path):
    folders = {"local_dir": str(tmp_path / "local"), "output_dir": str(tmp_path / "out")}
    plan = language_plan(tmp_path, models)
    straight = train(tmp_path, **plan, save_every=EVERY, **folders)
    for folder in ("local", "out"):
        shutil.rmtree(tmp_path / folder / "step-7")
    damage(tmp_path / place / "step-6" / "__0_0.distcp")
    rest = train(tmp_path, **plan, resume=True, save_every=EVERY, **folders)
    assert rest.of("resumed")[0]["step"] == 6
    assert losses(rest) == {step: row for step, row in losses(straight).items() if step > 6}
    is_seen = (place, damage) == ("out", cut)  # bytes of what is not read are not looked at
    assert [event["step"] for event in rest.of("checkpointed")] == ([6, 7] if is_seen else [7])
    if is_seen:
        assert stock_state(tmp_path / "out" / "step-6")["progress"]["counted_steps"] == 6


# What stock torch has for an optimiser, and what that keeps.
STOCK = {
    "adamw_torch": (torch.optim.AdamW, ["exp_avg", "exp_avg_sq", "step"]),
    "adagrad": (torch.optim.Adagrad, ["sum", "step"]),
    "rmsprop": (torch.optim.RMSprop, ["square_avg", "step"]),
    "sgd": (torch.optim.SGD, []),
}


@pytest.mark.parametrize("name", STOCK)
def test_stock_torch_goes_on_with_a_full_fine_tune(name, models, tmp_path):
    optimizer_class, kept = STOCK[name]
    plan = language_plan(tmp_path, models, method="full", weight_decay=0.1, optimizer=name)
    run = train(tmp_path, **plan, save_every=EVERY, output_dir=str(tmp_path / "out"))
    model = AutoModelForCausalLM.from_pretrained(models["llama"], dtype=torch.float32)
    optimizer = optimizer_class(
        [
            {"params": [p for n, p in model.named_parameters() if "norm" not in n and not n.endswith("bias")]},
            {"params": [p for n, p in model.named_parameters() if "norm" in n or n.endswith("bias")]},
        ],
        lr=1.0,
    )
    for parameter in model.parameters():
        parameter.grad = torch.zeros_like(parameter)
    optimizer.step()  # so that there are states to load into
    weights, states = get_state_dict(model, optimizer)
    state = {"model": weights, "optimizer": states}
    dcp.load(state, checkpoint_id=str(tmp_path / "out" / "step-6"))
    set_state_dict(model, optimizer, model_state_dict=state["model"], optim_state_dict=state["optimizer"])
    ours = stock_state(tmp_path / "out" / "step-6")
    assert ours["progress"]["counted_steps"] == 6 and ours["lr_scheduler"]["last_epoch"] == 6
    defaults = {key: value for key, value in optimizer.defaults.items() if key not in ("lr", "weight_decay")}
    assert all({**group, **defaults} == group for group in optimizer.param_groups), optimizer.param_groups
    for name, parameter in model.named_parameters():
        assert torch.equal(parameter, ours["model"][name]), name
        assert sorted(optimizer.state[parameter]) == sorted(kept)
        for key in kept:
            assert torch.equal(optimizer.state[parameter][key], ours["optimizer"]["state"][name][key]), (name, key)
            assert key != "step" or optimizer.state[parameter][key] == 6
    assert optimizer.param_groups[0]["weight_decay"] == 0.1 and optimizer.param_groups[1]["weight_decay"] == 0
    assert optimizer.param_groups[0]["lr"] == run.column("learning_rate")[5]


def test_peft_reads_the_adapter_of_a_checkpoint(models, tmp_path):
    plan = language_plan(tmp_path, models, method="lora", lora=LORA)
    plan["save"] = "final"
    out = tmp_path / "out"
    train(tmp_path, **plan, save_every=EVERY, output_dir=str(out))
    base = AutoModelForCausalLM.from_pretrained(models["llama"], dtype=torch.float32)
    config = LoraConfig(r=4, lora_alpha=8, target_modules=LORA["target_modules"], task_type="CAUSAL_LM")
    model = get_peft_model(base, config)
    weights = stock_state(out / "step-7")["model"]
    result = set_peft_model_state_dict(model, weights)
    assert not result.unexpected_keys
    final = load_file(out / "adapter_model.safetensors")
    assert final.keys() == weights.keys()
    assert all(torch.equal(final[name], weights[name]) for name in final)


def bucket_environment(server):
    options = {"ENDPOINT": server.url, "ANONYMOUS": "true", "REGION": "us-east-1", "CONDITIONAL_WRITES": "yes"}
    return os.environ | {f"ASSAY_STORAGE_{name}": value for name, value in options.items()}


def test_checkpoints_in_a_bucket_are_those_in_a_folder(serve, models, tmp_path):
    environment = bucket_environment(serve("--root", "memory", "--bucket", "runs"))
    plan = language_plan(tmp_path, models)
    train(tmp_path, **plan, save_every=EVERY, output_dir=str(tmp_path / "out"))
    run = run_worker(
        write_plan(tmp_path, **{**plan, "max_steps": 4}, save_every=EVERY, output_dir="s3://runs/llama"),
        env=environment,
    )
    assert [event["uri"] for event in run.of("checkpointed")] == ["s3://runs/llama/step-3/", "s3://runs/llama/step-4/"]
    rest = run_worker(
        write_plan(tmp_path, **plan, resume=True, save_every=EVERY, output_dir="s3://runs/llama"), env=environment
    )
    assert rest.ended["kind"] == "done" and rest.of("resumed")[0]["step"] == 4, rest.ended


def test_a_bucket_that_is_not_there_is_said_before_the_first_step(serve, models, tmp_path):
    environment = bucket_environment(serve("--root", "memory", "--bucket", "runs"))
    plan = language_plan(tmp_path, models)
    run = run_worker(write_plan(tmp_path, **plan, save_every=EVERY, output_dir="s3://other/llama"), env=environment)
    assert run.returncode != 0 and run.steps == []
    assert "other" in run.ended["reason"] and "\n" not in run.ended["reason"]
