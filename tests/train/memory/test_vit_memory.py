"""The peaks of a vision transformer's training are foretold."""

import pytest
from ranks import of_kind
from vit import HYBRID, run


def peaks(results, phase):
    """Measured peaks by rank, and the predicted one with its rank."""
    events = [event for of_rank in results for event in of_kind(of_rank, "memory") if event["phase"] == phase]
    measured = {event["rank"]: event["peak_bytes"] for event in events if event["source"] == "measured"}
    predicted = next(event for event in events if event["source"] == "predicted")
    return measured, predicted["rank"], predicted["peak_bytes"]


@pytest.mark.parametrize("checkpointing", ["off", "on"])
@pytest.mark.parametrize(("tensor", "stages"), [(2, 1), (1, 2), (2, 2)])
def test_the_peaks_of_a_mesh_are_foretold(tensor, stages, checkpointing, deeper_vit, tmp_path):
    knobs = {"tp_size": tensor, "pp_size": stages, "microbatches": 4 if stages > 1 else 1}
    plan = {**HYBRID, "batch_size": 8, "max_steps": 2, "gradient_checkpointing": checkpointing}
    results = run(tmp_path, tensor * stages, model_dir=str(deeper_vit), knobs=knobs, **plan)
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
def test_the_peaks_of_split_weights_are_foretold(plugin, ranks, knobs, deeper_vit, tmp_path):
    plan = {"plugin": plugin, "knobs": knobs, "batch_size": 4, "max_steps": 2}
    results = run(tmp_path, ranks, model_dir=str(deeper_vit), **plan)
    for phase, tolerance in (("init", 0.01), ("steady", 0.05)):
        measured, rank, predicted = peaks(results, phase)
        assert predicted == pytest.approx(measured[rank], rel=tolerance), phase


@pytest.mark.parametrize(
    ("plugin", "ranks", "knobs"),
    [
        ("torch_ddp", 2, {}),
        ("FULL_SHARD", 2, {"prefetch": 1}),
        ("torch_ddp", 4, {}),
        ("FULL_SHARD", 4, {"prefetch": 1}),
        ("low_level_zero", 4, {"zero_stage": 2}),
        ("HYBRID_SHARD", 4, {}),
    ],
)
def test_the_peaks_over_machines_are_foretold(plugin, ranks, knobs, deeper_vit, tmp_path):
    """With what goes from machine to machine."""
    plan = {"plugin": plugin, "knobs": knobs, "batch_size": 4, "max_steps": 2, "number_nodes": 2}
    results = run(tmp_path, ranks, machines=2, model_dir=str(deeper_vit), **plan)
    for phase, tolerance in (("init", 0.01), ("steady", 0.05)):
        measured, _, predicted = peaks(results, phase)
        assert predicted == pytest.approx(max(measured.values()), rel=tolerance), phase
