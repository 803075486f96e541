"""Vision transformers over tensor, pipeline and data ranks."""

import json
import re

import pytest
import torch
from ranks import of_kind
from safetensors.torch import load_file
from vit import HYBRID, assert_same_course, run, start


@pytest.mark.parametrize(("tensor", "stages"), [(2, 1), (1, 2), (2, 2)])
def test_hybrid_parallel_follows_one_rank(tensor, stages, vit_model, vit_alone, tmp_path):
    knobs = {"tp_size": tensor, "pp_size": stages, "microbatches": 2}
    results = run(tmp_path, tensor * stages, model_dir=str(vit_model), knobs=knobs, **HYBRID)
    assert_same_course(results[0], vit_alone, 1e-5, 1e-3)
    topology = of_kind(results[0], "topology")[0]
    assert (topology["data_ranks"], topology["tensor_ranks"], topology["pipeline_stages"]) == (1, tensor, stages)
    totals = {(event["group"], event["operation"]) for event in of_kind(results[0], "collective")}
    assert (("tensor", "all_reduce") in totals) == (tensor > 1)
    # The first stage sends activations in one group and receives gradients in another, where neither holds up the other.
    assert (("pipeline", "send") in totals) == (stages > 1)
    assert (("pipeline gradients", "receive") in totals) == (stages > 1)
    assert ("pipeline", "receive") not in totals


@pytest.mark.parametrize("plugin", ["FULL_SHARD", "SHARD_GRAD_OP"])
def test_tensor_ranks_of_data_ranks_that_shard_follow_one_rank(plugin, vit_model, vit_alone, tmp_path):
    plan = {**HYBRID, "plugin": plugin, "batch_size": 2, "knobs": {"tp_size": 2, "prefetch": 1}}
    results = run(tmp_path, 4, model_dir=str(vit_model), **plan)
    assert_same_course(results[0], vit_alone, 1e-5, 1e-3)
    topology = of_kind(results[0], "topology")[0]
    assert (topology["data_ranks"], topology["shard_ranks"], topology["tensor_ranks"]) == (2, 2, 2)


def test_hybrid_parallel_evaluates_saves_and_foretells(vit_model, image_file, tmp_path):
    plan = {
        "model_dir": str(vit_model),
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


@pytest.mark.parametrize(
    ("knobs", "ranks", "message"),
    [
        ({"tp_size": 4, "pp_size": 1}, 4, "2 attention heads do not divide by tp_size 4"),
        ({"tp_size": 1, "pp_size": 3}, 3, "2 layers are fewer than pp_size 3"),
        ({"tp_size": 2, "pp_size": 2}, 2, "2 ranks do not divide into tp_size 2 x pp_size 2"),
        ({"tp_size": 1, "pp_size": 2, "microbatches": 3}, 2, "batch_size 4 does not divide into microbatches 3"),
    ],
)
def test_meshes_that_cannot_be_end_with_one_line(knobs, ranks, message, vit_model, tmp_path):
    results = run(tmp_path, ranks, expect=2, model_dir=str(vit_model), knobs=knobs, **HYBRID)
    ended = of_kind(results[0], "ended")[0]
    assert message in ended["reason"] and "\n" not in ended["reason"]


def test_a_rank_lost_in_a_pipeline_is_named(vit_model, tmp_path):
    knobs = {"tp_size": 1, "pp_size": 2, "microbatches": 2}
    plan = {"model_dir": str(vit_model), "knobs": knobs, "max_steps": 1_000_000, **HYBRID}
    first, last = start(tmp_path, 2, **plan)
    while '"event":"step"' not in first.stdout.readline():
        assert first.poll() is None
    last.kill()
    last.communicate()
    ended = json.loads(first.communicate(timeout=300)[0].splitlines()[-1])
    # Between two messages there are collectives of the step's end.
    assert re.search(
        rf"rank 1 \(process {last.pid}\) was lost in (message .* of group pipeline|collective)", ended["reason"]
    )
