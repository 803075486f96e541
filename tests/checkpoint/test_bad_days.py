"""Stores that fail and users who interrupt: what is there is right, or nothing is, and one line says why."""

import signal
import subprocess
import time

import pytest
import torch


def state():
    generator = torch.Generator().manual_seed(0)
    return {f"layer.{i}": torch.randn(300, 1000, generator=generator) for i in range(6)} | {"step": 3}


def attempt(client, *arguments):
    """Whether it worked; if not, one line said why."""
    ended = subprocess.run(
        client.command(*arguments), capture_output=True, text=True, env=client.environment, timeout=300
    )
    assert ended.returncode in (0, 1, 2), ended.stderr
    assert ended.stderr.count("\n") == (0 if ended.returncode == 0 else 1), ended.stderr
    return ended.returncode == 0


@pytest.mark.parametrize("profile", ["bad-day", "lying"])
def test_right_or_a_clear_error(serve, client_of, tmp_path, profile):
    """Throttling, resets, truncation, flipped bits, lies: through all formats, and back."""
    torch.save(state(), tmp_path / "stock.pt")
    outcomes = {"right": 0, "error": 0}
    for seed in range(4):
        root = tmp_path / f"objects{seed}"
        server = serve("--root", root, "--bucket", "test", "--profile", profile, "--seed", seed)
        client = client_of(server)

        for form, options in (("dcp", ("--ranks", "3")), ("safetensors", ("--ranks", "2")), ("pt", ())):
            place = f"s3://test/{form}" + (".pt" if form == "pt" else "")
            done = attempt(client, "convert", tmp_path / "stock.pt", place, "--format", form, *options)
            if not done:
                outcomes["error"] += 1
                continue
            back = tmp_path / f"back-{seed}-{form}.pt"
            if attempt(client, "convert", place, back, "--format", "pt"):
                loaded = torch.load(back)
                assert all(torch.equal(loaded[name], tensor) for name, tensor in state().items() if name != "step")
                outcomes["right"] += 1
            else:
                assert not back.exists()
                outcomes["error"] += 1
        server.kill()
    assert outcomes["right"] >= (10 if profile == "bad-day" else 1), outcomes


def test_ctrl_c_leaves_nothing(cli, tmp_path):
    torch.save({f"w{i}": torch.randn(1000, 1000) for i in range(40)}, tmp_path / "large.pt")
    process = subprocess.Popen(
        cli.command("convert", tmp_path / "large.pt", tmp_path / "run" / "x", "--format", "dcp", "--ranks", "8"),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env=cli.environment,
    )
    while process.poll() is None and not (tmp_path / "run").exists():
        time.sleep(0.001)
    process.send_signal(signal.SIGINT)
    error = process.communicate(timeout=300)[1]
    left = [path for path in (tmp_path / "run").rglob("*") if path.is_file()]
    if process.returncode == 0:  # it was done before
        cli.run("verify", tmp_path / "run" / "x")
    else:
        assert process.returncode == 130 and error.count("\n") == 1, error
        assert left == []
