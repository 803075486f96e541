"""The worker as a program: accounting, determinism, and how it ends."""

import contextlib
import hashlib
import json
import os
import pathlib
import resource
import shutil
import signal
import subprocess
from unittest import mock

import gptq
import pytest
import tiny
import torch
from safetensors.torch import load_file, save_file
from transformers import (
    AutoConfig,
    BloomConfig,
    GPTBigCodeConfig,
    GraniteMoeConfig,
    GraniteMoeHybridConfig,
    LlamaConfig,
    MixtralConfig,
    Qwen3Config,
)
from worker import MASKED, WORKER, run_worker, train, write_plan

LENGTH = 24


@pytest.fixture
def plan(models, tmp_path):
    """Fields of a small valid plan; tests change them."""
    return {
        "model_dir": models["llama"],
        "tokens_file": tiny.save_rows(tiny.make_rows(11), tmp_path / "rows.tok"),
        "model_max_length": LENGTH,
        "batch_size": 3,
        "max_steps": 4,
        "dtype": "float32",
    }


def refused(tmp_path, plan, **changes):
    """The one line that a run refused as the user's mistake ends with."""
    run = run_worker(write_plan(tmp_path, **{**plan, **changes}))
    assert run.returncode == 2, run
    assert run.ended["kind"] == "invalid"
    assert not run.steps
    assert run.stderr == f"assay-worker: {run.ended['reason']}\n"
    return run.ended["reason"]


def test_counts_are_exact(plan, tmp_path):
    rows = tiny.make_rows(11)
    run = train(tmp_path, **plan, gradient_accumulation_steps=2)
    assert run.of("loaded")[0]["rows"] == 11
    batches = [rows[0:3], rows[3:6], rows[6:9], rows[9:11]]
    for step, window in zip(run.steps, [batches[0:2], batches[2:4]] * 2):
        lengths = [[min(len(row["input_ids"]), LENGTH) for row in batch] for batch in window]
        assert step["samples"] == sum(map(len, window))
        assert step["real_tokens"] == sum(map(sum, lengths))
        assert step["padded_tokens"] == sum(max(batch) * len(batch) - sum(batch) for batch in lengths)
        labels = [label for batch in window for row in batch for label in row["labels"][1:LENGTH]]
        assert step["supervised_tokens"] == sum(label != MASKED for label in labels)


def test_events_tell_the_whole_story(plan, tmp_path):
    run = train(tmp_path, **plan)
    foretold = ["memory", "memory", "memory_need"]
    assert [event["event"] for event in run.events] == (
        ["started", *foretold, "loaded"] + ["step", "rank_step"] * 4 + ["ended"]
    )
    started, loaded = run.events[0], run.events[4]
    assert started["device"] in ("cpu", "cuda:0") and started["threads"] == 1
    assert loaded["weights"] == "file" and loaded["planned_steps"] == 4
    assert loaded["parameters"] == loaded["trainable_parameters"] > 50_000
    assert run.column("step") == [1, 2, 3, 4]
    for step in run.steps:
        parts = step["forward_seconds"] + step["backward_seconds"] + step["optimizer_seconds"]
        assert 0 < parts <= step["seconds"]
        assert min(step["forward_peak_bytes"], step["backward_peak_bytes"], step["optimizer_peak_bytes"]) > 0
    began = 0
    for step, of_rank in zip(run.steps, run.of("rank_step"), strict=True):
        assert of_rank["seconds"] == step["seconds"] and of_rank["forward_seconds"] == step["forward_seconds"]
        assert of_rank["data_seconds"] > 0 and of_rank["exposed_communication_seconds"] == 0
        assert of_rank["began_seconds"] > began
        began = of_rank["began_seconds"] + of_rank["seconds"]
    # Parameters, gradients and two moments are alive at once in the optimiser's step.
    assert run.steps[-1]["optimizer_peak_bytes"] >= 4 * 4 * loaded["parameters"]
    assert run.ended["stopped_by"] == "max_steps"
    assert run.ended["train_runtime"] >= sum(run.column("seconds"))
    assert run.ended["peak_tensor_bytes"] >= max(run.column("backward_peak_bytes"))


def test_lora_counts_its_parameters(plan, tmp_path):
    full = train(tmp_path, **plan).of("loaded")[0]
    lora = train(tmp_path, **plan, method="lora", lora={"rank": 2, "target_modules": ["q_proj"]}).of("loaded")[0]
    assert lora["trainable_parameters"] == 2 * 2 * (48 + 48)
    assert lora["parameters"] == full["parameters"] + lora["trainable_parameters"]


def test_weights_are_random_when_there_is_only_a_config(plan, tmp_path):
    AutoConfig.from_pretrained(plan["model_dir"]).save_pretrained(tmp_path / "bare")
    plan["model_dir"] = str(tmp_path / "bare")
    first, again, other = (train(tmp_path, **plan, seed=seed) for seed in (1, 1, 2))
    assert first.of("loaded")[0]["weights"] == "random"
    assert first.column("loss") == again.column("loss") != other.column("loss")


def test_quantised_weights_are_a_choice_for_adapters_on_one_rank(plan, tmp_path):
    plan |= {"quantize_bits": 4, "method": "lora"}
    assert "quantised weights are not trained: choose the method lora or prompt" in refused(
        tmp_path, plan, method="full"
    )
    assert "trained on one rank only, not on 2" in refused(tmp_path, plan, number_ranks=2)
    assert "quantize_bits is 5: it must be 2, 3, 4 or 8" in refused(tmp_path, plan, quantize_bits=5)
    assert "quantize_group_size is 0" in refused(tmp_path, plan, quantize_group_size=0)


def test_a_quantised_folder_says_what_it_is(plan, tmp_path):
    with mock.patch.dict(tiny.SHAPE, hidden_size=64, intermediate_size=96):
        model = tiny.make_model("llama")
    plan["model_dir"] = str(gptq.save(model, gptq.quantise(model), tmp_path / "model"))
    assert "quantised weights are not trained" in refused(tmp_path, plan)
    message = refused(tmp_path, plan, method="lora", quantize_bits=4)
    assert "are quantised to 4 bits already: leave quantize_bits out" in message
    run = train(tmp_path, **plan | {"method": "lora", "max_steps": 1})
    assert run.of("loaded")[0]["weights"] == "file, 4 bits"


def test_a_folder_that_is_quantised_in_part_says_how_much(plan, tmp_path):
    with mock.patch.dict(tiny.SHAPE, hidden_size=64, intermediate_size=96):
        model = tiny.make_model("llama")
    tensors = gptq.quantise(model, plain=("lm_head", "k_proj", "v_proj"))
    plan["model_dir"] = str(gptq.save(model, tensors, tmp_path / "model"))
    products = 7 * model.config.num_hidden_layers
    run = train(tmp_path, **plan | {"method": "lora", "max_steps": 1})
    expected = f"file, 4 bits in {products - 2 * model.config.num_hidden_layers} of {products} products"
    assert run.of("loaded")[0]["weights"] == expected


@pytest.mark.parametrize("method", ["lora", "prompt"])
def test_weights_of_few_bits_take_little_memory_and_learn(method, tmp_path):
    """The products are most of this model; beside them there are embeddings, the adapter and its states."""
    larger = {"hidden_size": 512, "intermediate_size": 2048, "num_hidden_layers": 4}
    with mock.patch.dict(tiny.SHAPE, larger):
        tiny.CONFIGS["llama"]().save_pretrained(tmp_path / "model")
    settings = dict(dtype="bfloat16", method=method, max_steps=8, learning_rate=5e-2, batch_size=1)
    plan = tiny.plan_of(tmp_path, str(tmp_path / "model"), **(settings | {"save": "none"}))
    plain, quantised = (train(tmp_path, **plan, quantize_bits=bits) for bits in (0, 4))
    assert quantised.of("loaded")[0]["weights"] == "random, rounded to 4 bits"
    held = [run.of("loaded")[0]["peak_tensor_bytes"] for run in (plain, quantised)]
    assert held[1] < 0.65 * held[0], "while it is loaded, with the weight that is being rounded"
    assert quantised.column("loss")[-1] < quantised.column("loss")[0]


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
@pytest.mark.parametrize("method", ["full", "lora"])
def test_a_run_repeats_bit_for_bit(plan, tmp_path, dtype, method):
    def digest(name, threads):
        out = tmp_path / name
        run = train(
            tmp_path,
            **{**plan, "dtype": dtype, "threads": threads, "learning_rate": 1e-3},
            method=method,
            lora={"dropout": 0.3},
            shuffle=True,
            save="final",
            output_dir=str(out),
        )
        (weights,) = out.glob("*.safetensors")
        return run.column("loss"), hashlib.sha256(weights.read_bytes()).hexdigest()

    for threads in (1, 2, 4):
        assert digest(f"first{threads}", threads) == digest(f"second{threads}", threads)


# Relative; sums over rows are split by the number of threads in libtorch's products.
def assert_same_course(run, other, tolerance):
    assert len(run.steps) == len(other.steps) > 1
    assert run.column("loss") == pytest.approx(other.column("loss"), rel=tolerance)
    assert run.column("grad_norm") == pytest.approx(other.column("grad_norm"), rel=10 * tolerance)


@pytest.mark.parametrize("isa", ["portable", "avx2"])
@pytest.mark.parametrize(("dtype", "tolerance"), [("float32", 1e-5), ("bfloat16", 5e-3), ("float16", 1e-3)])
def test_lower_instruction_sets_compute_the_same(plan, tmp_path, monkeypatch, isa, dtype, tolerance):
    best = train(tmp_path, **{**plan, "dtype": dtype})
    monkeypatch.setenv("ASSAY_CPU_ISA", isa)
    forced = train(tmp_path, **{**plan, "dtype": dtype})
    if forced.of("started")[0]["isa"] != isa:
        pytest.skip(f"this processor has no {isa}")
    assert_same_course(forced, best, tolerance)


@pytest.mark.parametrize(("dtype", "tolerance"), [("float32", 1e-5), ("bfloat16", 5e-3), ("float16", 1e-3)])
@pytest.mark.parametrize("method", ["full", "lora"])
def test_any_number_of_threads_computes_the_same(plan, tmp_path, dtype, tolerance, method):
    fields = {**plan, "dtype": dtype, "method": method, "learning_rate": 1e-5}
    one, *others = (train(tmp_path, **{**fields, "threads": threads}) for threads in (1, 2, 4, 16))
    for run in others:
        assert_same_course(run, one, tolerance)


def has_amx_bf16():
    flags = next(line for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("flags"))
    return "amx_bf16" in flags.split()


@pytest.mark.skipif(not has_amx_bf16(), reason="this processor has no AMX tiles for bfloat16")
@pytest.mark.parametrize("method", ["full", "lora"])
def test_amx_tiles_compute_the_same(plan, tmp_path, monkeypatch, method):
    """oneDNN multiplies bfloat16 by AMX where there is some; rows of several blocks with odd ends."""
    rows = tiny.save_rows(tiny.make_rows(9, shortest=60, longest=120, masked=0.2), tmp_path / "long.tok")
    fields = {**plan, "tokens_file": rows, "model_max_length": 128, "dtype": "bfloat16", "method": method}
    tiles = train(tmp_path, **fields)
    monkeypatch.setenv("ONEDNN_MAX_CPU_ISA", "AVX512_CORE_BF16")
    assert_same_course(train(tmp_path, **fields), tiles, 5e-3)


def test_a_worker_that_waits_for_a_reader_ends_with_its_controller(plan, tmp_path):
    """Its output is a pipe that is full and stays open: only the end of the lifeline can tell it."""
    read_end, write_end = os.pipe()
    os.set_blocking(write_end, False)
    with contextlib.suppress(BlockingIOError):
        while True:
            os.write(write_end, b"x" * 4096)
    os.set_blocking(write_end, True)
    command = [WORKER, "--plan", write_plan(tmp_path, **plan)]
    environment = os.environ | {"ASSAY_LIFELINE": "1"}
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=write_end, env=environment) as worker:
        worker.stdin.close()
        try:
            assert worker.wait(timeout=300) != 0
        finally:
            worker.kill()
    os.close(read_end)
    os.close(write_end)


def test_the_order_follows_the_seed(plan, tmp_path):
    in_order = train(tmp_path, **plan).column("loss")
    shuffled = {seed: train(tmp_path, **plan, shuffle=True, seed=seed).column("loss") for seed in (1, 2)}
    assert len({tuple(losses) for losses in (in_order, *shuffled.values())}) == 3


def test_packs_are_rows_that_do_not_see_each_other(plan, tmp_path):
    rows = tiny.make_rows(12, shortest=10, longest=10)
    plan |= {"tokens_file": tiny.save_rows(rows, tmp_path / "even.tok"), "model_max_length": 25, "max_steps": 5}
    packed = train(tmp_path, **plan | {"batch_size": 2}, packing=True)
    assert packed.column("loss") == train(tmp_path, **plan | {"batch_size": 4}).column("loss")
    assert packed.column("samples") == [4] * 5
    assert packed.of("loaded")[0]["rows"] == 12


def test_packs_hold_what_fits(plan, tmp_path):
    rows = tiny.make_rows(11, shortest=3, longest=14)
    lengths = [len(row["input_ids"]) for row in rows]
    plan |= {"tokens_file": tiny.save_rows(rows, tmp_path / "short.tok"), "batch_size": 1, "max_steps": -1}
    epoch = train(tmp_path, **plan, packing=True, shuffle=True)
    assert max(epoch.column("real_tokens")) <= LENGTH
    assert sum(epoch.column("real_tokens")) == sum(lengths) and sum(epoch.column("samples")) == 11
    assert len(epoch.steps) < 11


def test_noise_on_embeddings_follows_the_seed_and_the_row(plan, tmp_path):
    plain = train(tmp_path, **plan).column("loss")
    noisy = {seed: train(tmp_path, **plan, neftune_noise_alpha=20, seed=seed).column("loss") for seed in (1, 2)}
    assert len({tuple(losses) for losses in (plain, *noisy.values())}) == 3
    assert train(tmp_path, **plan, neftune_noise_alpha=20, seed=1).column("loss") == noisy[1]
    # However the rows of a step are cut into batches.
    alone = train(tmp_path, **plan | {"batch_size": 1}, gradient_accumulation_steps=3, neftune_noise_alpha=20, seed=1)
    assert alone.column("loss") == pytest.approx(noisy[1], rel=1e-5)


def test_a_window_without_supervision_changes_nothing(plan, tmp_path):
    rows = tiny.make_rows(6)
    for row in rows[:3]:
        row["labels"] = [MASKED] * len(row["labels"])
    plan["tokens_file"] = tiny.save_rows(rows, tmp_path / "masked.tok")
    out = tmp_path / "out"
    one = train(tmp_path, **{**plan, "max_steps": 1}, warmup_ratio=0.0, save="final", output_dir=str(out))
    assert one.column("loss") == [0.0] and one.column("grad_norm") == [0.0]
    before = pathlib.Path(plan["model_dir"], "model.safetensors")

    after = load_file(out / "model.safetensors")
    for name, tensor in load_file(before).items():
        assert torch.equal(tensor, after[name])
    two = train(tmp_path, **{**plan, "max_steps": 2})
    assert two.steps[1]["loss"] > 1.0


def save_steep_model(plan, folder):
    """A model with a sound loss whose gradient norm is beyond float32: the last norm shrinks what its head blows up."""
    shutil.copytree(plan["model_dir"], folder)
    weights = load_file(folder / "model.safetensors")
    weights["model.norm.weight"] *= 1e-26
    weights["lm_head.weight"] *= 1e26
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    return str(folder)


@pytest.mark.parametrize("steps", [1, 3])
def test_gradients_that_are_not_finite_end_the_run_before_the_update(plan, tmp_path, steps):
    out = tmp_path / "out"
    fields = {**plan, "model_dir": save_steep_model(plan, tmp_path / "steep"), "max_steps": steps}
    run = run_worker(write_plan(tmp_path, **fields, save="final", output_dir=str(out)))
    assert run.returncode == 2
    assert run.ended["kind"] == "diverged"
    assert run.ended["reason"].startswith("the gradient norm of step 1 is infinite")
    assert [step["loss"] > 0 for step in run.steps] == [True]
    assert not run.of("saved") and not list(out.glob("*.safetensors"))


def test_stop_after_seconds(plan, tmp_path):
    run = train(tmp_path, **{**plan, "max_steps": 10**6}, stop_after_seconds=0.3)
    assert run.ended["stopped_by"] == "stop_after_seconds"
    assert run.ended["train_runtime"] > 0.3
    assert sum(run.column("seconds")[:-1]) <= 0.3, "a step began when the time was over"


def test_epochs(plan, tmp_path):
    run = train(tmp_path, **{**plan, "max_steps": -1}, num_train_epochs=2)
    assert run.ended["stopped_by"] == "epochs"
    assert len(run.steps) == run.of("loaded")[0]["planned_steps"] == 8
    assert sum(run.column("samples")) == 22


def test_memory_budget(plan, tmp_path):
    unlimited = train(tmp_path, **plan)
    peak = unlimited.ended["peak_tensor_bytes"]
    assert train(tmp_path, **plan, memory_budget_bytes=peak + 1).ended["peak_tensor_bytes"] == peak
    run = run_worker(write_plan(tmp_path, **plan, memory_budget_bytes=peak - 4096))
    assert run.returncode == 1
    assert run.ended["kind"] == "out_of_memory"
    assert run.ended["peak_tensor_bytes"] <= peak - 4096
    assert run.ended["reason"].startswith("out of memory in ") and " of step " in run.ended["reason"]
    assert "\n" not in run.ended["reason"]
    tiny_budget = run_worker(write_plan(tmp_path, **plan, memory_budget_bytes=1000))
    assert tiny_budget.ended["kind"] == "out_of_memory"
    assert "and the memory budget is 1000 " in tiny_budget.ended["reason"]


@pytest.mark.parametrize(
    "changes, words",
    [
        ({"batchsize": 4}, ["batchsize", "batch_size"]),
        ({"schema": 99}, ["schema"]),
        ({"batch_size": "four"}, ["batch_size"]),
        ({"batch_size": 0}, ["batch_size"]),
        ({"model_max_length": 0}, ["model_max_length"]),
        ({"gradient_accumulation_steps": -1}, ["gradient_accumulation_steps"]),
        ({"max_steps": 0}, ["max_steps"]),
        ({"max_steps": -1, "num_train_epochs": 0}, ["num_train_epochs"]),
        ({"learning_rate": -1}, ["learning_rate"]),
        ({"packing": True, "tokens_file": "", "data_uri": "shards"}, ["packing"]),
        ({"label_smoothing": 1.5}, ["label_smoothing", "1 or less"]),
        ({"neftune_noise_alpha": -1}, ["neftune_noise_alpha"]),
        ({"warmup_ratio": 2}, ["warmup_ratio"]),
        ({"method": "prefix"}, ["method"]),
        ({"dtype": "float64"}, ["float64", "bfloat16"]),
        ({"optimizer": "lion_8bit"}, ["lion_8bit", "not supported yet"]),
        ({"optimizer": "adamw"}, ["adamw"]),
        ({"loss_scale": "on"}, ["loss_scale", "auto, off"]),
        ({"lr_scheduler_type": "cosin"}, ["cosine"]),
        ({"auto_stop_method": "SOON"}, ["SOON", "WARMUP_60S_STABLE_120S_OR_10_STEPS"]),
        ({"device": "tpu"}, ["tpu"]),
        ({"threads": -2}, ["threads"]),
        ({"save": "final"}, ["output_dir"]),
        ({"save": "final", "output_dir": "/proc/version/out"}, ["/proc/version/out"]),
        ({"model_dir": "/nowhere/model"}, ["/nowhere/model"]),
        ({"tokens_file": "/nowhere/rows.tok"}, ["/nowhere/rows.tok"]),
        ({"method": "lora", "lora": {"target_modules": ["nothing"]}}, ["nothing"]),
        ({"method": "lora", "lora": {"adapter_dir": "/nowhere/adapter"}}, ["/nowhere/adapter"]),
    ],
)
def test_a_wrong_plan_gets_one_line(plan, tmp_path, changes, words):
    reason = refused(tmp_path, plan, **changes)
    assert "\n" not in reason
    for word in words:
        assert word in reason


def test_a_plan_that_cannot_be_read(tmp_path):
    (tmp_path / "broken.json").write_text('{"schema": 1,')
    for path in (tmp_path / "broken.json", tmp_path / "missing.json", tmp_path):
        run = run_worker(path)
        assert run.returncode == 2 and run.ended["kind"] == "invalid"
        assert str(path) in run.ended["reason"]


def test_wrong_data_sets_get_one_line(plan, tmp_path):
    whole = pathlib.Path(plan["tokens_file"]).read_bytes()
    for name, content in {"cut": whole[:-10], "other": b"x" * 200, "empty": b""}.items():
        path = tmp_path / name
        path.write_bytes(content)
        assert str(path) in refused(tmp_path, plan, tokens_file=str(path))
    none = tiny.save_rows([], tmp_path / "none.tok")
    assert "no rows" in refused(tmp_path, plan, tokens_file=none)
    tiny.write_token_file(tmp_path / "large.tok", tiny.make_rows(3), tiny.VOCAB + 1)
    assert "vocabulary" in refused(tmp_path, plan, tokens_file=str(tmp_path / "large.tok"))
    lying = tiny.save_rows([{"input_ids": [1, tiny.VOCAB, 3], "labels": [1, 2, 3]}], tmp_path / "lying.tok")
    assert f"token id {tiny.VOCAB}" in refused(tmp_path, plan, tokens_file=lying)


def test_other_ranks_than_the_plan_has_are_refused(plan, tmp_path):
    meeting = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "9", "LOCAL_RANK": "1", "LOCAL_WORLD_SIZE": "2"}
    run = run_worker(write_plan(tmp_path, **plan), env={**os.environ, **meeting, "RANK": "1", "WORLD_SIZE": "2"})
    assert run.returncode == 2 and "the plan is for 1 rank, but WORLD_SIZE says 2" in run.ended["reason"]
    alone = run_worker(write_plan(tmp_path, **plan), env={**os.environ, "RANK": "0", "WORLD_SIZE": "1"})
    assert alone.returncode == 0


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_cuda_is_refused_without_a_gpu(plan, tmp_path):
    assert "cuda" in refused(tmp_path, plan, device="cuda")


@pytest.mark.parametrize("method", ["full", "lora"])
def test_a_disk_that_fills_up_leaves_nothing_behind(plan, tmp_path, method):
    out = tmp_path / "out"
    limit = 8192  # bytes a file may have: writing beyond fails as on a full disk
    run = run_worker(
        write_plan(tmp_path, **plan, method=method, lora={"rank": 16}, save="final", output_dir=str(out)),
        preexec_fn=lambda: (
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN),
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
        ),
        restore_signals=False,
    )
    assert run.returncode == 1 and run.ended["kind"] == "error"
    assert len(run.steps) == 4
    assert str(out) in run.ended["reason"] and "\n" not in run.ended["reason"]
    assert not list(out.glob("*.safetensors*")) and not [path for path in out.iterdir() if "tmp" in path.name]


def start_long_run(plan, tmp_path, **options):
    """A worker that would train for very long; returns once its first step is done."""
    path = write_plan(tmp_path, **{**plan, "max_steps": 10**7})
    process = subprocess.Popen([WORKER, "--plan", path], stdout=subprocess.PIPE, text=True, **options)
    lines = []
    while not lines or json.loads(lines[-1])["event"] != "step":
        lines.append(process.stdout.readline())
    return process, lines


def test_kill_leaves_whole_events(plan, tmp_path):
    process, lines = start_long_run(plan, tmp_path)
    process.send_signal(signal.SIGKILL)
    lines += process.stdout.readlines()
    assert process.wait() == -signal.SIGKILL
    assert all(line.endswith("\n") for line in lines)
    told = {"started", "memory", "memory_need", "loaded", "step"}
    assert {json.loads(line)["event"] for line in lines} - {"rank_step"} == told  # which is told a step later


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_termination_ends_a_run(plan, tmp_path, number):
    process, lines = start_long_run(plan, tmp_path)
    process.send_signal(number)
    lines += process.stdout.readlines()
    assert process.wait(timeout=300) == 130
    ended = json.loads(lines[-1])
    assert ended["event"] == "ended" and ended["reason"] == f"interrupted by {number.name}"


def test_a_controller_that_died_ends_the_worker_quietly(plan, tmp_path):
    process, _ = start_long_run(plan, tmp_path, stderr=subprocess.PIPE)
    process.stdout.close()
    assert process.wait(timeout=300) == 130
    assert process.stderr.read() == ""


def test_command_line():
    def call(*arguments):
        return subprocess.run([WORKER, *arguments], check=False, capture_output=True, text=True, timeout=300)

    version = call("--version")
    assert version.returncode == 0 and version.stdout.startswith("assay-worker ") and "libtorch" in version.stdout
    assert "--plan FILE" in call("--help").stdout
    for arguments in ([], ["--plan"], ["--nope"], ["--version", "x"]):
        wrong = call(*arguments)
        assert wrong.returncode == 2 and wrong.stdout == "" and "usage:" in wrong.stderr


def test_ceilings_are_json():
    done = subprocess.run([WORKER, "--ceilings"], check=False, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0
    report = json.loads(done.stdout)
    assert report["threads"] >= 1 and report["device"]
    assert [product["dtype"] for product in report["products"]] == ["float32", "bfloat16", "float16"]
    assert all(product["tflops"] > 1e-3 for product in report["products"])


def activation_plan(plan, tmp_path, family=LlamaConfig, **own):
    """A model whose activations outweigh everything else, with random weights."""
    shape = {**tiny.SHAPE, "hidden_size": 256, "intermediate_size": 512, "num_hidden_layers": 6, "head_dim": 64}
    family(**{**shape, **own}, tie_word_embeddings=True).save_pretrained(tmp_path / "wide")
    rows = tiny.save_rows(tiny.make_rows(32, shortest=90, longest=120, masked=0), tmp_path / "wide.tok")
    return {
        **plan,
        "model_dir": str(tmp_path / "wide"),
        "tokens_file": rows,
        "model_max_length": 128,
        "batch_size": 16,
        "max_steps": 2,
        "dtype": "bfloat16",
    }


def step_peak(run):
    return max(max(run.column("forward_peak_bytes")), max(run.column("backward_peak_bytes")))


#: Rows of a token's experts are what it holds most of.
NARROW_EXPERTS = {"intermediate_size": 32, "num_local_experts": 16, "num_experts_per_tok": 8}
#: Layers of Mamba-2 alone.
HYBRID = {
    "num_local_experts": 0,
    "layer_types": ["mamba"] * 6,
    "shared_intermediate_size": 512,
    "mamba_n_heads": 8,
    "mamba_d_state": 64,
}


@pytest.mark.parametrize(
    ("family", "own"),
    [
        (LlamaConfig, {}),
        (Qwen3Config, {}),
        (LlamaConfig, {"attention_dropout": 0.2}),
        (GPTBigCodeConfig, {"n_inner": 512}),
        (BloomConfig, {}),
        (MixtralConfig, {"num_local_experts": 4}),
        (GraniteMoeConfig, NARROW_EXPERTS),
        (GraniteMoeHybridConfig, HYBRID),
    ],
    ids=["llama", "qwen3", "dropout", "gpt_bigcode", "bloom", "mixtral", "granitemoe", "granitemoehybrid"],
)
@pytest.mark.parametrize("layers", ["off", "3", "on"])
def test_a_step_takes_the_memory_it_is_expected_to(plan, tmp_path, layers, family, own):
    run = train(tmp_path, **activation_plan(plan, tmp_path, family, **own), gradient_checkpointing=layers)
    (loaded,) = run.of("loaded")
    assert loaded["layers"] == 6 and loaded["checkpointed_layers"] == {"off": 0, "3": 3, "on": 6}[layers]
    weights_and_states = 3 * 2 * loaded["parameters"]
    assert step_peak(run) == pytest.approx(weights_and_states + loaded["step_bytes"], rel=0.1)


@pytest.mark.parametrize("method", ["full", "lora"])
@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_products_through_float32_are_expected_too(plan, tmp_path, monkeypatch, dtype, method):
    """A head whose float32 copies outweigh everything else, on a processor that has no 16-bit products."""
    monkeypatch.setenv("ASSAY_CPU_ISA", "avx2")
    fields = activation_plan(plan, tmp_path)
    shape = {**tiny.SHAPE, "hidden_size": 256, "vocab_size": 16000, "num_hidden_layers": 1}
    LlamaConfig(**shape, tie_word_embeddings=True).save_pretrained(fields["model_dir"])
    run = train(tmp_path, **{**fields, "dtype": dtype, "method": method})
    (loaded,) = run.of("loaded")
    # Weights, and, where they are trained, moments; of float16 these and a copy of the weights are float32.
    of_a_parameter = {"bfloat16": 3 * 2, "float16": 2 + 3 * 4}[dtype] if method == "full" else 2
    assert step_peak(run) == pytest.approx(of_a_parameter * loaded["parameters"] + loaded["step_bytes"], rel=0.1)


def test_automatic_checkpointing_fits_a_step_into_the_budget(plan, tmp_path):
    fields = activation_plan(plan, tmp_path)
    most = step_peak(train(tmp_path, **fields, gradient_checkpointing="off"))
    least = step_peak(train(tmp_path, **fields, gradient_checkpointing="on"))
    budget = (most + least) // 2 + (most - least) // 10
    run = train(tmp_path, **fields, gradient_checkpointing="auto", memory_budget_bytes=budget)
    (loaded,) = run.of("loaded")
    assert 0 < loaded["checkpointed_layers"] < 6
    one_less = str(loaded["checkpointed_layers"] - 1)
    assert step_peak(run) <= budget < step_peak(train(tmp_path, **fields, gradient_checkpointing=one_less))
    free = train(tmp_path, **fields, gradient_checkpointing="auto")
    assert free.of("loaded")[0]["checkpointed_layers"] == 0 and free.of("loaded")[0]["available_bytes"] > most
