"""kill -9 at seeded moments of a save that replaces another: always the old checkpoint or the new one."""

import os
import random
import signal
import subprocess
import time

import pytest
import torch

# Of each test; more of them: ASSAY_CRASH_MOMENTS=500 python -m pytest tests/checkpoint/test_crashes.py
MOMENTS = int(os.environ.get("ASSAY_CRASH_MOMENTS", "40"))


def state(seed):
    generator = torch.Generator().manual_seed(seed)
    return {f"layer.{i}": torch.randn(256, 1024, generator=generator) for i in range(8)} | {"seed": seed}


def seconds_of(cli, *arguments):
    begin = time.monotonic()
    cli.run(*arguments)
    return time.monotonic() - begin


def kill_after(cli, seconds, *arguments):
    process = subprocess.Popen(
        cli.command(*arguments), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=cli.environment
    )
    time.sleep(seconds)
    process.send_signal(signal.SIGKILL)
    process.wait(timeout=60)


def seed_at(cli, place):
    """Which of the states stands there; every byte of it is checked on the way."""
    items = {item["name"]: item for item in cli.json("inspect", place)["items"]}
    cli.run("verify", place)
    return items["seed"]["value"]


def crash_matrix(cli, tmp_path, target, form, options, moments):
    for seed in (0, 1):
        torch.save(state(seed), tmp_path / f"{seed}.pt")
    cli.convert(tmp_path / "0.pt", target, form, *options)
    replace = ("--format", form, "--overwrite", *options)
    duration = min(seconds_of(cli, "convert", tmp_path / "0.pt", target, *replace) for _ in range(3))
    rng = random.Random(form)
    stands, met = 0, set()
    for _ in range(moments):
        new = 1 - stands
        kill_after(cli, rng.uniform(0, 1.1 * duration), "convert", tmp_path / f"{new}.pt", target, *replace)
        found = seed_at(cli, target)
        assert found in (stands, new)
        met.add("new" if found == new else "old")
        stands = found
        assert cli.json("diff", tmp_path / f"{found}.pt", target)["different"] == 0
    return met


@pytest.mark.parametrize("form", ["pt", "safetensors", "dcp"])
def test_old_or_new_in_a_folder(cli, tmp_path, form):
    target = tmp_path / "run" / ("x.pt" if form == "pt" else "x")
    options = {"dcp": ("--ranks", "3"), "safetensors": ("--ranks", "2")}.get(form, ())
    met = crash_matrix(cli, tmp_path, target, form, options, MOMENTS)
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
    rng = random.Random(0)
    met = set()
    for i in range(MOMENTS):
        target = tmp_path / f"run{i}"
        kill_after(
            cli, rng.uniform(0, 1.1 * duration), "convert", tmp_path / "s.pt", target, "--format", "dcp", "--ranks", "3"
        )
        listed = cli.json("ls", target) if target.exists() and any(target.iterdir()) else []
        met.add(len(listed))
        if listed:
            assert seed_at(cli, target) == 3
        else:  # and the next save finds nothing in its way
            cli.convert(tmp_path / "s.pt", target, "dcp", "--ranks", 3)
            assert seed_at(cli, target) == 3
    assert met == {0, 1}


def test_two_saves_to_one_place(cli, tmp_path):
    """One wins, the other says so, and neither leaves a mixture."""
    for seed in (0, 1):
        torch.save(state(seed), tmp_path / f"{seed}.pt")
    outcomes = set()
    for i in range(8):
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
        errors = [process.communicate(timeout=120)[1] for process in running]
        codes = [process.returncode for process in running]
        assert 0 in codes, errors
        for code, error in zip(codes, errors):
            assert code in (0, 1, 2) and error.count("\n") == (0 if code == 0 else 1), error
        assert seed_at(cli, target) == codes.index(0)
        outcomes.add(tuple(codes))
    assert outcomes
