"""kill -9 at seeded moments of a save that replaces another: always the old checkpoint or the new one."""

import json
import os
import random
import signal
import subprocess
import time

import pytest
import torch
import torch.distributed.checkpoint as dcp
from safetensors.torch import load_file

# Of each test; more of them: ASSAY_CRASH_MOMENTS=500 python -m pytest tests/checkpoint/test_crashes.py
MOMENTS = int(os.environ.get("ASSAY_CRASH_MOMENTS", "40"))


def state(seed):
    generator = torch.Generator().manual_seed(seed)
    return {f"layer.{i}": torch.randn(256, 1024, generator=generator) for i in range(8)} | {"seed": seed}


def seconds_of(cli, *arguments):
    begin = time.monotonic()
    cli.run(*arguments)
    return time.monotonic() - begin


class Moments:
    """When to kill: some come too late to stop it. What else the machine does changes how long it takes, so that each
    tells the next ones whether to come earlier."""

    def __init__(self, seed, duration):
        self._rng = random.Random(seed)
        self._longest = 1.3 * duration

    def next_seconds(self):
        return self._rng.uniform(0, self._longest)

    def tell(self, too_late):
        self._longest *= 0.7 if too_late else 1.1


def moments_until(met, most=MOMENTS):
    """The numbers of so many moments; of more, where those have not met all that is to be met."""
    yield from range(most)
    for moment in range(most, 5 * most):
        if met():
            return
        yield moment


def kill_after(cli, seconds, *arguments):
    process = subprocess.Popen(
        cli.command(*arguments), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=cli.environment
    )
    time.sleep(seconds)
    process.send_signal(signal.SIGKILL)
    process.wait(timeout=300)


def seed_at(cli, place):
    """Which of the states stands there; every byte of it is checked on the way."""
    items = {item["name"].removeprefix("state_dict."): item for item in cli.json("inspect", place)["items"]}
    cli.run("verify", place)
    return items["seed"]["value"]


def stock_tensors(place, form):
    """As the library reads them that defines the format."""
    if form in ("pt", "ckpt"):
        saved = torch.load(place, weights_only=True)
        saved = saved.get("state_dict", saved)
        return {name: tensor for name, tensor in saved.items() if name != "seed"}
    if form == "safetensors":
        index = json.loads((place / "model.safetensors.index.json").read_text())
        files = {name: load_file(place / name) for name in set(index["weight_map"].values())}
        return {name: files[file][name] for name, file in index["weight_map"].items()}
    tensors = {name: torch.empty_like(tensor) for name, tensor in state(0).items() if name != "seed"}
    dcp.load(tensors, storage_reader=dcp.FileSystemReader(place), no_dist=True)
    return tensors


def assert_stock_reads(place, form, seed):
    found = stock_tensors(place, form)
    expected = {name: tensor for name, tensor in state(seed).items() if name != "seed"}
    assert found.keys() == expected.keys()
    for name, tensor in expected.items():
        assert torch.equal(found[name], tensor), name


def crash_matrix(cli, tmp_path, target, form, options, moments, check=lambda found: None):
    for seed in (0, 1):
        torch.save(state(seed), tmp_path / f"{seed}.pt")
    cli.convert(tmp_path / "0.pt", target, form, *options)
    replace = ("--format", form, "--overwrite", *options)
    duration = min(seconds_of(cli, "convert", tmp_path / "0.pt", target, *replace) for _ in range(3))
    when = Moments(form, duration)
    stands, met = 0, set()
    for _ in moments_until(lambda: len(met) == 2, moments):
        new = 1 - stands
        kill_after(cli, when.next_seconds(), "convert", tmp_path / f"{new}.pt", target, *replace)
        found = seed_at(cli, target)
        assert found in (stands, new)
        met.add("new" if found == new else "old")
        when.tell(too_late=found == new)
        stands = found
        if form != "ckpt":  # which has the state under another name
            assert cli.json("diff", tmp_path / f"{found}.pt", target)["different"] == 0
        check(found)
    return met


@pytest.mark.parametrize("form", ["pt", "ckpt", "safetensors", "dcp"])
def test_old_or_new_in_a_folder(cli, tmp_path, form):
    """For stock readers as for ours."""
    target = tmp_path / "run" / (f"x.{form}" if form in ("pt", "ckpt") else "x")
    options = {"dcp": ("--ranks", "3"), "safetensors": ("--ranks", "2")}.get(form, ())
    met = crash_matrix(
        cli, tmp_path, target, form, options, MOMENTS, check=lambda found: assert_stock_reads(target, form, found)
    )
    assert met == {"old", "new"}
    # What the crashes left is found, and the checkpoint is not part of it.
    cli.run("rm", tmp_path / "run", "--leftovers", "--older-than", 0)
    seed_at(cli, target)
    assert cli.run("rm", tmp_path / "run", "--leftovers", "--older-than", 0).stdout == ""


def test_old_or_new_in_a_bucket(bucket, tmp_path):
    met = crash_matrix(bucket, tmp_path, f"{bucket.uri}/run/x", "dcp", ("--ranks", "2"), MOMENTS)
    assert met == {"old", "new"}


def test_a_first_save_is_there_or_not(cli, tmp_path):
    torch.save(state(3), tmp_path / "s.pt")
    duration = seconds_of(cli, "convert", tmp_path / "s.pt", tmp_path / "warm", "--format", "dcp", "--ranks", "3")
    when = Moments(0, duration)
    met = set()
    for i in moments_until(lambda: len(met) == 2):
        target = tmp_path / f"run{i}"
        kill_after(cli, when.next_seconds(), "convert", tmp_path / "s.pt", target, "--format", "dcp", "--ranks", "3")
        listed = cli.json("ls", target) if target.exists() and any(target.iterdir()) else []
        met.add(len(listed))
        when.tell(too_late=bool(listed))
        if listed:
            assert seed_at(cli, target) == 3
        else:  # and the next save finds nothing in its way
            cli.convert(tmp_path / "s.pt", target, "dcp", "--ranks", 3)
            assert seed_at(cli, target) == 3
    assert met == {0, 1}


def test_retention_that_is_cut_off_leaves_whole_checkpoints(cli, tmp_path):
    torch.save(state(5), tmp_path / "s.pt")
    last = 4
    when, met = None, set()
    for i in moments_until(lambda: len(met) > 1, max(4, MOMENTS // 4)):
        run = tmp_path / f"run{i}"
        for step in range(1, last + 1):
            cli.convert(tmp_path / "s.pt", run / f"step-{step}", "dcp", "--ranks", 2, "--step", step)
        command = ("rm", run, "--keep", 1)
        if when is None:
            when = Moments(4, seconds_of(cli, *command))
        else:
            kill_after(cli, when.next_seconds(), *command)
        listed = cli.json("ls", run)
        when.tell(too_late=len(listed) == 1)
        met.add(len(listed))
        assert last in [checkpoint["step"] for checkpoint in listed]
        for checkpoint in listed:
            assert seed_at(cli, checkpoint["uri"]) == 5
        cli.run(*command)
        assert [checkpoint["step"] for checkpoint in cli.json("ls", run)] == [last]
    assert len(met) > 1, met


def test_two_saves_to_one_place(cli, tmp_path):
    """One wins, the other says so, and neither leaves a mixture. Until both had begun before either was done."""
    for seed in (0, 1):
        torch.save(state(seed), tmp_path / f"{seed}.pt")
    met = set()
    for i in range(100):
        if i >= 8 and "nothing was saved" in met:
            break
        target = tmp_path / f"run{i}"
        running = [
            subprocess.Popen(
                cli.command("convert", tmp_path / f"{seed}.pt", target, "--format", "dcp", "--ranks", "2"),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                text=True,
                env=cli.environment,
            )
            for seed in (0, 1)
        ]
        errors = [process.communicate(timeout=300)[1] for process in running]
        codes = [process.returncode for process in running]
        assert codes.count(0) == 1, errors
        for code, error in zip(codes, errors):
            assert code in (0, 1, 2) and error.count("\n") == (0 if code == 0 else 1), error
        assert seed_at(cli, target) == codes.index(0)
        (said,) = [error for error in errors if error]
        met |= {words for words in ("nothing was saved", "already") if words in said}
    assert "nothing was saved" in met
