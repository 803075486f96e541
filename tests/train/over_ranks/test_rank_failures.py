"""One rank at fault: every rank ends in time with one line that names it."""

import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess

import pytest
import reference
import tiny
from nodes import wait_for
from ports import free_port, is_listening
from ranks import finish_ranks, of_kind, start_ranks
from safetensors.torch import load_file, save_file
from test_resume import bucket_environment
from worker import WORKER, write_plan


@pytest.fixture
def plan(models, tmp_path):
    return tiny.plan_of(tmp_path, models["llama"], save="none", max_steps=3, plugin="FULL_SHARD")


def ends_of(processes, expect):
    """How each ends: one line, within the two minutes of finish_ranks()."""
    ends = [of_kind(events, "ended")[-1] for events in finish_ranks(processes, expect)]
    for rank, end in enumerate(ends):
        assert "\n" not in end["reason"] and end["reason"].startswith(f"rank {rank}: "), end
    return ends


def with_another(tmp_path, plan, rank, ranks=4, **changes):
    """Ranks of which one has another plan."""
    folders = [tmp_path / "most", tmp_path / "one"]
    for folder in folders:
        folder.mkdir()
    common = write_plan(folders[0], **{**plan, "number_ranks": ranks})
    other = write_plan(folders[1], **{**plan, **changes, "number_ranks": ranks})
    return start_ranks(common, ranks, plan_of_rank={rank: other})


def copy_of_model(plan, folder):
    return shutil.copytree(plan["model_dir"], folder)


def other_weights(plan, tmp_path):
    folder = copy_of_model(plan, tmp_path / "other")
    weights = load_file(folder / "model.safetensors")
    save_file({name: tensor + 1 for name, tensor in weights.items()}, folder / "model.safetensors", {"format": "pt"})
    return {"model_dir": str(folder)}


def other_heads(plan, tmp_path):
    folder = copy_of_model(plan, tmp_path / "other")
    config = json.loads((folder / "config.json").read_text()) | {"num_attention_heads": 3}
    (folder / "config.json").write_text(json.dumps(config))
    return {"model_dir": str(folder)}


def other_rows(plan, tmp_path):
    return {"tokens_file": tiny.save_rows(tiny.make_rows(96, longest=30, seed=4), tmp_path / "other.tok")}


@pytest.mark.parametrize(
    ("changes_of", "what"),
    [
        (other_weights, "model"),
        (other_heads, "model"),
        (other_rows, "rows"),
        (lambda *_: {"batch_size": 4}, "batch_size 4, rank {common} has 2"),
        (lambda *_: {"knobs": {"prefetch": 3}}, "knobs/prefetch 3"),
        (lambda *_: {"lora": {"target_modules": ["q_proj", "v_proj", "k_proj"]}}, 'lora/target_modules/2 "k_proj"'),
    ],
)
@pytest.mark.parametrize("odd", [0, 2])
def test_a_rank_with_something_else_is_named(odd, changes_of, what, plan, tmp_path):
    what = what.format(common=1 if odd == 0 else 0)
    for end in ends_of(with_another(tmp_path, plan, odd, 3, **changes_of(plan, tmp_path)), 2):
        assert f"rank {odd} has {what}" in end["reason"], end
        assert end["kind"] == "invalid"


def test_a_prompt_is_compared_by_what_it_holds(models, plan, tmp_path):
    """Not by where each machine has it."""
    start = reference.save_prompt(models["llama"], tmp_path / "start", 5)
    plan |= {"method": "prompt", "prompt": {"adapter_dir": start}}
    copy = shutil.copytree(start, tmp_path / "copy")
    finish_ranks(with_another(tmp_path, plan, 1, 2, prompt={"adapter_dir": str(copy)}))
    prompt = load_file(copy / "adapter_model.safetensors")
    save_file({name: tensor + 1 for name, tensor in prompt.items()}, copy / "adapter_model.safetensors")
    (tmp_path / "other").mkdir()
    for end in ends_of(with_another(tmp_path / "other", plan, 1, 3, prompt={"adapter_dir": str(copy)}), 2):
        assert "rank 1 has adapter" in end["reason"] and end["kind"] == "invalid", end


def test_ranks_with_lists_of_other_lengths_are_told_apart(plan, tmp_path):
    plans = []
    for rank, modules in enumerate((["q_proj"], ["q_proj", "k_proj"], ["q_proj", "o_proj"])):
        (tmp_path / str(rank)).mkdir()
        lora = {"method": "lora", "lora": {"rank": 4, "target_modules": modules}}
        plans.append(write_plan(tmp_path / str(rank), **plan, **lora, number_ranks=3))
    for end in ends_of(start_ranks(plans[0], 3, plan_of_rank=dict(enumerate(plans))), 2):
        assert 'rank 1 has lora/target_modules/1 "k_proj", rank 0 has none' in end["reason"], end


def test_a_budget_that_decides_what_ranks_do_together_is_the_same_on_all(plan, tmp_path):
    plan |= {"plugin": "gemini", "knobs": {"placement": "auto"}, "memory_budget_bytes": 1 << 30}
    for end in ends_of(with_another(tmp_path, plan, 1, memory_budget_bytes=1 << 29), 2):
        assert "memory_budget_bytes" in end["reason"] and "all ranks of a run need the same plan" in end["reason"], end


@pytest.mark.parametrize("key", ["model_dir", "tokens_file"])
def test_a_rank_without_its_files_is_named(key, plan, tmp_path):
    for rank, end in enumerate(ends_of(with_another(tmp_path, plan, 1, 3, **{key: "/no/such/thing"}), 2)):
        assert "/no/such/thing" in end["reason"] and end["kind"] == "invalid"
        assert rank == 1 or end["reason"].startswith(f"rank {rank}: rank 1 could not read")


def test_a_row_that_no_model_reads_is_the_reason_of_all(plan, tmp_path):
    """Whichever rank it is dealt to."""
    rows = tiny.make_rows(96, longest=30)
    rows[5]["input_ids"][2] = tiny.VOCAB + 3
    plan["tokens_file"] = tiny.save_rows(rows, tmp_path / "bad.tok")
    for end in ends_of(start_ranks(write_plan(tmp_path, **plan, number_ranks=3), 3), 2):
        assert f"token id {tiny.VOCAB + 3}, but the model's vocabulary has {tiny.VOCAB} entries" in end["reason"], end
        assert end["kind"] == "invalid"


def test_a_rank_with_too_little_memory_is_named(plan, tmp_path):
    for rank, end in enumerate(ends_of(with_another(tmp_path, plan, 3, memory_budget_bytes=100_000), 1)):
        assert end["kind"] == "out_of_memory" and "the memory budget is 97.7 KiB" in end["reason"]
        assert rank == 3 or end["reason"].startswith(f"rank {rank}: rank 3 has no room: ")


@pytest.mark.parametrize("machines", [1, 2])
def test_memory_that_ends_within_a_step_on_one_rank_is_the_reason_of_all(machines, plan, tmp_path):
    """What is foretold is needed for sure to 95 % alone: with less than that share a run is not refused before it."""
    plan |= {"plugin": "torch_ddp"}
    events = finish_ranks(start_ranks(write_plan(tmp_path, **plan, number_ranks=4), 4, machines))[0]
    peak = max(each["peak_bytes"] for each in of_kind(events, "memory") if each["source"] == "predicted")
    (tmp_path / "short").mkdir()
    short = write_plan(tmp_path / "short", **plan, number_ranks=4, memory_budget_bytes=int(0.96 * peak))
    ranks = start_ranks(tmp_path / "plan.json", 4, machines, plan_of_rank={2: short})
    for rank, end in enumerate(ends_of(ranks, 1)):
        assert end["kind"] == "out_of_memory" and "out of memory in " in end["reason"], end
        assert rank == 2 or "rank 2 failed: out of memory in " in end["reason"], end


def test_a_stopped_rank_is_named_on_all_others(plan, tmp_path):
    first, stopped, last = ranks = start_endless(plan, tmp_path, ASSAY_COMM_STOPPED_TIMEOUT="2")
    stopped.send_signal(signal.SIGSTOP)
    for process in (first, last):
        ended = json.loads(process.communicate(timeout=300)[0].splitlines()[-1])
        assert f"rank 1 (process {stopped.pid}) was lost in collective" in ended["reason"], ended
        assert ended["reason"].endswith("its process has been stopped for 2.00 s")
    stopped.send_signal(signal.SIGCONT)
    assert f"rank 1 (process {stopped.pid}) was lost" in stopped.communicate(timeout=300)[0].splitlines()[-1]
    assert [process.returncode for process in ranks] == [1, 1, 1]


def start_endless(plan, tmp_path, **environment):
    """Three ranks that have made their first steps."""
    path = write_plan(tmp_path, **{**plan, "max_steps": 1_000_000, "number_ranks": 3})
    ranks = start_ranks(path, 3, **environment)
    for process in ranks:
        while '"event":"rank_step"' not in (line := process.stdout.readline()):
            assert line
    return ranks


def workers_of(controller):
    children = pathlib.Path(f"/proc/{controller.pid}/task").glob("*/children")
    return sorted(int(pid) for path in children for pid in path.read_text().split())


def shares_memory(pid):
    return "/memfd:assay-control" in pathlib.Path(f"/proc/{pid}/maps").read_text()


def test_assay_says_in_one_line_which_rank_is_stuck(tmp_path, models):
    """The ranks find it and tell each other; who started them hears it from the one that ends first."""
    rows = tmp_path / "rows.jsonl"
    rows.write_text('{"input_ids": [1, 2, 3, 4]}\n' * 40)
    shutil.copytree(models["llama"], tmp_path / "model")
    command = [WORKER.parent / "assay", "tune", "--model", tmp_path / "model", "--data", rows, "--max-steps", "1000000"]
    command += ["--number-ranks", "3", "--plugin", "FULL_SHARD", "--batch-size", "1"]
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache"), "ASSAY_COMM_STOPPED_TIMEOUT": "2"}
    controller = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
    wait_for(lambda: len(workers_of(controller)) == 3 and all(map(shares_memory, workers_of(controller))))
    stuck = workers_of(controller)[1]
    os.kill(stuck, signal.SIGSTOP)
    _, err = controller.communicate(timeout=300)
    (line,) = [line for line in err.splitlines() if "was lost" in line]
    assert f"rank 1 (process {stuck}) was lost in collective" in line, err
    assert controller.returncode == 1
    assert not pathlib.Path(f"/proc/{stuck}").exists()


def test_what_ranks_share_has_no_name_that_could_stay(plan, tmp_path):
    ranks = start_endless(plan, tmp_path)
    maps = [pathlib.Path(f"/proc/{process.pid}/maps").read_text() for process in ranks]
    for process in ranks:
        process.kill()
        process.communicate()
    for text in maps:
        assert "/memfd:assay" in text and "/dev/shm" not in text and "/tmp/torch" not in text


def test_a_rank_killed_within_a_step_is_named(plan, tmp_path):
    first, victim, last = start_endless(plan, tmp_path)
    victim.send_signal(signal.SIGKILL)
    victim.communicate()
    for process in (first, last):
        ended = json.loads(process.communicate(timeout=300)[0].splitlines()[-1])
        assert f"rank 1 (process {victim.pid}) was lost in collective" in ended["reason"]
        assert ended["reason"].endswith("its process has ended") and ended["kind"] == "error"


def test_a_port_in_use_is_one_line_on_every_rank(plan, tmp_path):
    path = write_plan(tmp_path, **plan, number_ranks=2)
    with socket.socket() as taken:
        taken.bind(("0.0.0.0", 0))
        taken.listen()
        ranks = start_ranks(path, 2, port=taken.getsockname()[1], ASSAY_COMM_START_TIMEOUT="2")
        first, second = ends_of(ranks, 1)
    assert "the port is in use" in first["reason"]
    assert "another program has the port" in second["reason"]


def test_a_machine_that_never_comes_is_named_on_every_rank(plan, tmp_path):
    path, port = write_plan(tmp_path, **plan, number_ranks=4), free_port()
    ranks = start_ranks(path, 4, machines=2, port=port, only=[0])
    wait_for(lambda: is_listening(port))
    ranks += start_ranks(path, 4, machines=2, port=port, only=[1], ASSAY_COMM_START_TIMEOUT="3")
    for end in ends_of(ranks, 1):
        assert "ranks 2 and 3 did not come" in end["reason"]


def test_what_takes_long_to_remove_loses_nobody(serve, tmp_path):
    """The first rank removes what an earlier run of a benchmark left, and the others wait longer than for a message."""
    (tmp_path / "slow.yaml").write_text("latency: {list: {median: 4s, p99: 4s}}\n")
    server = serve("--root", "memory", "--bucket", "runs", "--profile", tmp_path / "slow.yaml")
    plan = {"kind": "checkpoint", "number_ranks": 2, "tensors": ["w 64x64"], "repeats": 1, "timeout_seconds": 1}
    path = write_plan(tmp_path, **plan, output_dir="s3://runs/bench")
    events = finish_ranks(start_ranks(path, 2, **bucket_environment(server)))
    assert [event["operation"] for event in of_kind(events[0], "checkpoint_transfer")] == ["save"]
