"""Vision transformers on ranks of several machines, and as torchrun starts them."""

import json
import subprocess
import sys

import pytest
import vit
from ranks import free_port, of_kind
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
    command = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node=2", f"--master-port={free_port()}"]
    done = subprocess.run(
        [*command, "--no-python", WORKER, "--plan", path],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    events = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    vit.assert_same_course(events, vit_alone, 1e-5, 1e-3)
