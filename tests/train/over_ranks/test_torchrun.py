"""Language models whose ranks real torchrun starts: an agent for each machine, with files of its own."""

import json
import shutil

import pytest
import tiny
from nodes import end_nodes, has_ended, start_nodes, wait_for
from ports import free_port
from ranks import assert_same_course, of_kind
from safetensors.torch import load_file
from worker import WORKER, train, write_plan

LORA = {"method": "lora", "lora": {"rank": 4, "dropout": 0.1, "target_modules": ["all-linear"]}}


@pytest.fixture
def start_machines(tmp_path, models):
    """Starts a plan whose paths are within each machine's folder."""
    nodes = []

    def start(ranks_of_nodes, *, monitor_seconds=0.5, **plan):
        for number in range(len(ranks_of_nodes)):
            folder = tmp_path / f"node{number}"
            shutil.copytree(models["llama"], folder / "model")
            own = tiny.plan_of(folder, "model", **LORA, **plan)
            own.update(tokens_file="rows.tok", output_dir="out", number_ranks=sum(ranks_of_nodes))
            write_plan(folder, **own)
        program = [WORKER, "--plan", "plan.json"]
        nodes.extend(start_nodes(tmp_path, program, ranks_of_nodes, free_port(), monitor_seconds=monitor_seconds))
        return nodes

    yield start
    end_nodes(nodes)


def events_of(node):
    return [[json.loads(line) for line in text.splitlines()] for text in node.texts("stdout")]


@pytest.mark.parametrize(
    ("ranks_of_nodes", "plugin", "knobs", "backend"),
    [
        ([2, 1], "torch_ddp", {}, "shm+gloo"),
        ([1, 1], "FULL_SHARD", {"prefetch": 1}, "gloo"),
        ([2, 2], "HYBRID_SHARD", {"prefetch": 1}, "shm+gloo"),
        ([2, 2], "hybrid_parallel", {"tp_size": 2, "zero_stage": 1}, "shm+gloo"),
    ],
)
def test_machines_train_as_one_rank(ranks_of_nodes, plugin, knobs, backend, start_machines, models, tmp_path):
    ranks = sum(ranks_of_nodes)
    data_ranks = ranks // knobs.get("tp_size", 1)
    alone = tiny.plan_of(tmp_path, models["llama"], **LORA, gradient_accumulation_steps=12)
    one = train(tmp_path, **alone, output_dir=str(tmp_path / "one"))
    plan = {"gradient_accumulation_steps": 12 // data_ranks, "plugin": plugin, "knobs": knobs}
    first, *others = nodes = start_machines(ranks_of_nodes, **plan)
    for node in nodes:
        assert node.agent.wait(300) == 0, node.errors("assay-worker")
    events = events_of(first)
    assert_same_course(events[0], one.events)
    topology = of_kind(events[0], "topology")[0]
    assert (topology["backend"], topology["data_ranks"]) == (backend, data_ranks)
    assert of_kind(events[0], "ended")[0]["kind"] == "done"
    saved = load_file(first.folder / "out" / "adapter_model.safetensors")
    assert saved.keys() == load_file(tmp_path / "one" / "adapter_model.safetensors").keys()
    for node in others:
        assert all(of_kind(of_rank, "rank_step") and not of_kind(of_rank, "step") for of_rank in events_of(node))
        assert not list((node.folder / "out").iterdir()), "the first rank writes"


def test_a_lost_machine_is_named_and_ends_the_others(start_machines):
    first, last = start_machines([2, 2], max_steps=1_000_000, plugin="FULL_SHARD", monitor_seconds=1000)
    wait_for(
        lambda: all(text.count("rank_step") > 3 for node in (first, last) for text in node.texts("stdout") or [""])
    )
    ranks = first.workers()
    last.kill()
    wait_for(lambda: all(has_ended(pid) for pid in ranks))
    ends = [of_kind(of_rank, "ended")[-1] for of_rank in events_of(first)]
    assert [end["kind"] for end in ends] == ["error", "error"]
    for rank, end in enumerate(ends):
        assert end["reason"].startswith(f"rank {rank}: ") and "\n" not in end["reason"]
        assert "machine 1 (" in end["reason"] and "ranks 2 and 3) was lost in collective" in end["reason"], end
    assert len(first.errors("assay-worker")) == 2
