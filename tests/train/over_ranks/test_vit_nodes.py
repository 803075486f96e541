"""Vision transformers on ranks of several machines, and as torchrun starts them."""

import json

import pytest
import vit
from nodes import start_nodes
from ports import free_port
from ranks import of_kind
from worker import WORKER


@pytest.mark.parametrize("plugin", ["torch_ddp", "low_level_zero", "FULL_SHARD", "HYBRID_SHARD"])
def test_ranks_of_several_machines_train_as_one_rank(plugin, vit_model, tmp_path, vit_alone):
    ranks = 4 if plugin == "HYBRID_SHARD" else 2
    knobs = {"zero_stage": 1} if plugin == "low_level_zero" else {}
    events = vit.run(
        tmp_path,
        ranks,
        machines=2,
        model_dir=str(vit_model),
        learning_rate=1e-3,
        plugin=plugin,
        precision="fp32",
        knobs=knobs,
    )
    assert of_kind(events[0], "topology")[0]["backend"] == ("shm+gloo" if ranks == 4 else "gloo")
    vit.assert_same_course(events[0], vit_alone, 1e-5, 1e-3)


def test_torchrun_starts_the_ranks_of_a_plan(vit_model, tmp_path, vit_alone):
    options = {"model_dir": str(vit_model), "learning_rate": 1e-3, "plugin": "FULL_SHARD", "precision": "fp32"}
    path = vit.write_plan(tmp_path, 2, **options)
    (node,) = start_nodes(tmp_path, [WORKER, "--plan", path], [2], free_port())
    assert node.agent.wait(300) == 0, node.errors("assay-worker")
    events = [json.loads(line) for line in node.texts("stdout")[0].splitlines()]
    vit.assert_same_course(events, vit_alone, 1e-5, 1e-3)
