"""Runs that go on on other numbers of ranks and under other strategies than wrote their checkpoints."""

import json
import os
import subprocess
from pathlib import Path

import pytest
import tiny
import torch
import torch.distributed.checkpoint as dcp
import vit
from holding_proxy import HoldingProxy
from ranks import column, finish_ranks, of_kind, start_ranks
from served import ASSAY
from test_checkpoint_writers import check_same, listed
from test_resume import LORA, bucket_environment, flip
from torch.distributed.checkpoint.state_dict_loader import _load_state_dict_from_keys
from transformers import AutoModelForCausalLM
from worker import train, write_plan

ROWS_A_STEP = 8
SMALL_CHUNKS = {"min_chunk_size_m": 0.006, "search_range_m": 0.006, "hidden_dim": 32}
# Each goes on where the one before it stopped: ranks, data ranks among them, plugin, knobs.
LEGS = [
    (1, 1, "torch_ddp", {}),
    (2, 2, "FULL_SHARD", {}),
    (4, 4, "low_level_zero", {"zero_stage": 1}),
    (2, 1, "hybrid_parallel", {"tp_size": 2}),
    (2, 2, "gemini", SMALL_CHUNKS),
    (2, 1, "hybrid_parallel", {"pp_size": 2}),
    (4, 4, "HYBRID_SHARD", {}),
    (4, 2, "hybrid_parallel", {"tp_size": 2, "zero_stage": 1}),
    (2, 2, "torch_ddp", {}),
    (1, 1, "torch_ddp", {}),
]
STEPS_A_LEG = 2


def run_ranks(folder, ranks, **plan):
    path = write_plan(folder, **plan, number_ranks=ranks)
    return finish_ranks(start_ranks(path, ranks))


def ends_of(processes):
    """Why each rank of a run that fails ended, and what it said on standard error."""
    outputs = [process.communicate(timeout=300) for process in processes]
    assert all(process.returncode in (1, 2) for process in processes), outputs
    return [(json.loads(stdout.splitlines()[-1])["reason"], stderr) for stdout, stderr in outputs]


def figures(events):
    return {row["step"]: (row["loss"], row["grad_norm"]) for row in of_kind(events, "step")}


@pytest.mark.parametrize(
    ("model", "method", "legs"),
    [
        ("llama", "full", LEGS),
        ("granite", "full", LEGS),
        ("llama", "lora", LEGS),
        ("llama", "prompt", [LEGS[leg] for leg in (0, 1, 3, 5, 2)]),
    ],
)
def test_a_language_model_goes_on_under_every_strategy(model, method, legs, models, tmp_path):
    plan = tiny.plan_of(
        tmp_path,
        models[model],
        rows=tiny.make_rows(64, longest=30),
        method=method,
        lr_scheduler_type="constant",
        shuffle=True,
        save="none",
        **({"lora": LORA} if method == "lora" else {}),
    )
    last = STEPS_A_LEG * len(legs)
    straight = train(tmp_path, **plan | {"max_steps": last, "gradient_accumulation_steps": 4})
    want = {row["step"]: (row["loss"], row["grad_norm"]) for row in straight.steps}
    seen = {}
    for leg, (ranks, data_ranks, plugin, knobs) in enumerate(legs):
        results = run_ranks(
            tmp_path,
            ranks,
            **plan
            | {
                "max_steps": STEPS_A_LEG * (leg + 1),
                "gradient_accumulation_steps": ROWS_A_STEP // 2 // data_ranks,
                "plugin": plugin,
                "knobs": knobs,
                "save_every": 100,
                "resume": True,
                "output_dir": str(tmp_path / "out"),
            },
        )
        assert results[0][-1]["kind"] == "done", (plugin, results[0][-1])
        seen |= figures(results[0])
    assert seen.keys() == want.keys()
    for step, (loss, norm) in want.items():
        assert seen[step][0] == pytest.approx(loss, rel=1e-5), step
        assert seen[step][1] == pytest.approx(norm, rel=1e-3), step


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize(
    ("plugin", "knobs"),
    [("torch_ddp", {}), ("FULL_SHARD", {}), ("hybrid_parallel", {"tp_size": 2}), ("hybrid_parallel", {"pp_size": 2})],
)
def test_ranks_go_on_bit_for_bit_in_16_bits(plugin, knobs, dtype, models, tmp_path):
    shared = tiny.plan_of(
        tmp_path,
        models["llama"],
        rows=tiny.make_rows(32),
        max_steps=5,
        plugin=plugin,
        knobs=knobs,
        dtype=dtype,
        lr_scheduler_type="constant",
        save="none",
    )
    straight = run_ranks(tmp_path, 2, **shared)
    places = {"save_every": 100, "resume": True, "output_dir": str(tmp_path / "out")}
    first = run_ranks(tmp_path, 2, **shared | places | {"max_steps": 3})
    rest = run_ranks(tmp_path, 2, **shared | places)
    assert of_kind(rest[0], "resumed")[0]["step"] == 3
    for name in ("step", "loss", "grad_norm", "loss_scale", "skipped"):
        assert column(first[0], name) + column(rest[0], name) == column(straight[0], name), name


@pytest.mark.parametrize(
    ("plugin", "knobs"),
    [
        ("torch_ddp", {}),
        ("low_level_zero", {"zero_stage": 2}),
        ("FULL_SHARD", {}),
        ("FULL_SHARD", {"offload_param_frac": 1, "offload_optim_frac": 1}),
        ("gemini", {"offload_optim_frac": 1, "placement": "auto", **SMALL_CHUNKS}),
        ("hybrid_parallel", {"pp_size": 2}),
    ],
)
def test_what_is_copied_beside_a_step_is_what_stood_before_it(plugin, knobs, models, tmp_path):
    plan = tiny.plan_of(tmp_path, models["llama"], rows=tiny.make_rows(64), save="none", max_steps=6)
    plan |= {"plugin": plugin, "knobs": knobs, "save_every": 2}
    for writer in ("async", "sync"):
        run_ranks(tmp_path, 2, **plan, checkpoint_writer=writer, output_dir=str(tmp_path / writer))
    for step in (2, 4, 6):
        check_same(tmp_path / "async" / f"step-{step}", tmp_path / "sync" / f"step-{step}")


def test_all_ranks_pass_over_what_one_of_them_reads_damaged(models, tmp_path):
    plan = tiny.plan_of(tmp_path, models["llama"], rows=tiny.make_rows(64), save="none", max_steps=4)
    plan |= {"plugin": "FULL_SHARD", "lr_scheduler_type": "constant", "output_dir": str(tmp_path / "out")}
    straight = run_ranks(tmp_path, 2, **plan, save_every=2)
    flip(tmp_path / "out" / "step-4" / "__1_0.distcp")
    rest = run_ranks(tmp_path, 2, **plan, save_every=2, resume=True)
    assert of_kind(rest[0], "resumed")[0]["step"] == 2
    assert figures(rest[0]) == {step: row for step, row in figures(straight[0]).items() if step > 2}
    assert listed(str(tmp_path / "out")) == [2, 4]


def test_a_rank_that_still_reads_what_another_read_damaged_goes_on_from_the_one_before(serve, models, tmp_path):
    environment = bucket_environment(server := serve("--root", "memory", "--bucket", "runs"))
    plan = tiny.plan_of(tmp_path, models["llama"], rows=tiny.make_rows(64), save="none", max_steps=4)
    plan |= {"plugin": "FULL_SHARD", "save_every": 2, "output_dir": "s3://runs/llama", "number_ranks": 2}
    finish_ranks(start_ranks(write_plan(tmp_path, **plan), 2, **environment))
    shard = "s3://runs/llama/step-4/__1_0.distcp"
    subprocess.run([ASSAY, "object", "cp", shard, tmp_path / "shard"], check=True, env=environment)
    flip(tmp_path / "shard")
    subprocess.run([ASSAY, "object", "cp", tmp_path / "shard", shard], check=True, env=environment)
    path = write_plan(tmp_path, **plan, resume=True)
    with HoldingProxy(int(server.url.rpartition(":")[2]), "/step-4/__0_0.distcp") as proxy:
        slow = {0: {"ASSAY_STORAGE_ENDPOINT": proxy.url}}
        rest = finish_ranks(start_ranks(path, 2, environment_of_rank=slow, **environment))
    assert proxy.seen.is_set()
    assert of_kind(rest[0], "resumed")[0]["step"] == 2


def nice_values(process):
    """Of its threads."""
    threads = Path(f"/proc/{process.pid}/task").iterdir()
    return {int((thread / "stat").read_text().rpartition(")")[2].split()[16]) for thread in threads}


def test_what_the_training_waits_for_yields_to_nobody(serve, models, tmp_path):
    """Though the writer of later checkpoints does."""
    environment = bucket_environment(server := serve("--root", "memory", "--bucket", "runs"))
    plan = tiny.plan_of(tmp_path, models["llama"], rows=tiny.make_rows(8), save="none", max_steps=2)
    plan |= {"save_every": 2, "output_dir": "s3://runs/llama", "checkpoint_writer": "async"}
    finish_ranks(start_ranks(write_plan(tmp_path, **plan), 1, **environment))
    path = write_plan(tmp_path, **plan, resume=True)
    with HoldingProxy(int(server.url.rpartition(":")[2]), "/step-2/__0_0.distcp") as proxy:
        (process,) = start_ranks(path, 1, **environment | {"ASSAY_STORAGE_ENDPOINT": proxy.url})
        try:
            assert proxy.seen.wait(60)
            assert nice_values(process) == {os.nice(0)}
        finally:
            process.kill()
            process.communicate()


def test_ranks_write_beside_the_training_to_a_disk_first_and_to_a_bucket_after(serve, models, tmp_path):
    environment = bucket_environment(serve("--root", "memory", "--bucket", "runs"))
    plan = tiny.plan_of(tmp_path, models["llama"], rows=tiny.make_rows(64), save="none", max_steps=8)
    plan |= {"plugin": "FULL_SHARD", "lr_scheduler_type": "constant", "save_every": 2}
    local = tmp_path / "local"
    both = plan | {"output_dir": "s3://runs/llama", "local_dir": str(local), "checkpoint_writer": "async"}
    first = write_plan(tmp_path, **both, number_ranks=2)
    events = finish_ranks(start_ranks(first, 2, **environment))[0]
    assert [event["step"] for event in of_kind(events, "checkpointed")][-1] == 8
    for event in of_kind(events, "checkpointed"):
        assert 0 < event["local_seconds"] < event["remote_seconds"]
    said = [(event["event"], event.get("step")) for event in events]
    assert said.index(("checkpointed", 2)) > said.index(("step", 3)), "the ranks waited for the writer"
    assert listed(local) == listed("s3://runs/llama", environment)
    run_ranks(tmp_path, 2, **plan | {"output_dir": str(tmp_path / "sync")})
    for folder in (local, "s3://runs/llama"):
        same = subprocess.run(
            [ASSAY, "checkpoint", "diff", f"{folder}/step-8", tmp_path / "sync" / "step-8"],
            capture_output=True,
            text=True,
            env=environment,
        )
        assert same.returncode == 0, same.stdout + same.stderr
    # What the disk alone has comes to the bucket when the ranks go on.
    subprocess.run([ASSAY, "object", "rm", "--recursive", "s3://runs/llama/step-8/"], check=True, env=environment)
    again = write_plan(tmp_path, **both | {"max_steps": 9, "resume": True}, number_ranks=2)
    events = finish_ranks(start_ranks(again, 2, **environment))[0]
    assert of_kind(events, "resumed")[0]["step"] == 8
    assert {8, 9} <= set(listed("s3://runs/llama", environment))


def test_a_vision_transformer_goes_on_under_other_strategies(vit_model, image_file, tmp_path):
    shared = {"model_dir": str(vit_model), "train_file": str(image_file), "learning_rate": 1e-3, "batch_size": 4}
    shared |= {"lr_scheduler_type": "constant"}
    straight = vit.run(tmp_path, **shared, max_steps=6)[0]
    seen = {}
    legs = [(1, "torch_ddp", {}), (2, "FULL_SHARD", {}), (2, "hybrid_parallel", {"tp_size": 2})]
    for leg, (ranks, plugin, knobs) in enumerate(legs):
        batch_size = 4 if plugin == "hybrid_parallel" else 4 // ranks
        events = vit.run(
            tmp_path,
            ranks,
            **shared | {"batch_size": batch_size},
            max_steps=2 * (leg + 1),
            plugin=plugin,
            knobs=knobs,
            save_every=100,
            resume=True,
            output_dir=str(tmp_path / "out"),
        )[0]
        seen |= figures(events)
    want = figures(straight)
    assert [loss for loss, _ in seen.values()] == pytest.approx([loss for loss, _ in want.values()], rel=1e-5)


def test_stock_torch_and_transformers_read_what_ranks_wrote(models, tmp_path):
    plan = tiny.plan_of(tmp_path, models["llama"], rows=tiny.make_rows(64), save="final", max_steps=2)
    out = tmp_path / "out"
    results = run_ranks(tmp_path, 4, **plan, plugin="FULL_SHARD", save_every=1, output_dir=str(out))
    assert [event["step"] for event in of_kind(results[0], "checkpointed")] == [1, 2]
    assert len(list((out / "step-2").glob("*.distcp"))) == 4
    state = _load_state_dict_from_keys(checkpoint_id=str(out / "step-2"))
    model = AutoModelForCausalLM.from_pretrained(models["llama"], dtype=torch.float32)
    weights = {"model": model.state_dict()}
    dcp.load(weights, checkpoint_id=str(out / "step-2"))
    model.load_state_dict(weights["model"])
    final = AutoModelForCausalLM.from_pretrained(out, dtype=torch.float32)
    for name, parameter in final.named_parameters():
        assert torch.equal(parameter, model.get_parameter(name)), name
        assert state["optimizer"]["state"][name]["exp_avg_sq"].shape == parameter.shape
        assert state["optimizer"]["state"][name]["step"] == 2


def test_a_rank_that_is_far_slower_than_the_others_is_given_up_and_named(serve, models, tmp_path):
    plan = tiny.plan_of(tmp_path, models["llama"], rows=tiny.make_rows(64), save="none", max_steps=4)
    server = serve("--root", "memory", "--bucket", "runs")
    shared = {"plugin": "FULL_SHARD", "output_dir": "s3://runs/llama", "resume": True}
    path = write_plan(tmp_path, **plan, **shared, number_ranks=2, save_every=2, timeout_seconds=8)
    processes = start_ranks(
        path,
        2,
        environment_of_rank={1: {"ASSAY_STORAGE_BANDWIDTH_BYTES_PER_S": "2000"}},
        **bucket_environment(server),
    )
    ends = ends_of(processes)
    reasons = [reason for reason, _ in ends]
    # It is given up by itself, or by the others where it does not come to say so in time.
    assert all("rank 1" in reason and "write its part of s3://runs/llama/step-2/" in reason for reason in reasons), (
        reasons
    )
    assert "rank 1 still has to write its part of" in ends[0][1]
    # Nothing of it is offered: the next run, with a rank that is as fast, begins anew.
    path = write_plan(tmp_path, **plan, **shared, number_ranks=2, save_every=2)
    results = finish_ranks(start_ranks(path, 2, **bucket_environment(server)))
    assert of_kind(results[0], "resumed") == []
    assert [event["step"] for event in of_kind(results[0], "checkpointed")] == [2, 4]
