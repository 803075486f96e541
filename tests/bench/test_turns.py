import sys

import pytest
from fakes import make_run
from harness import losses, process, rows, turns

ROW = rows.Row("x", "a row", "lora", rows.PEFT, 2.0, 3.0, warmup=1, steps=1)
FLOAT32 = rows.Row("y", "another", "full", rows.TRANSFORMERS, 2.0, 3.0, dtype="float32")
ON_GPU = rows.Row("z", "on a GPU", "full", rows.TRANSFORMERS, 2.0, 3.0, device="cuda")


def quiet(_):
    pass


def test_sides_take_turns():
    calls = []

    def side(name):
        return lambda: calls.append(name) or make_run()

    assert len(list(turns.run_turns(ROW, side("A"), side("B"), 3, say=quiet))) == 3
    assert calls == list("ABABAB")


def test_a_turn_keeps_both_runs_and_their_differences():
    theirs = make_run(losses=[4.001, 3.0], step_seconds=[9.0, 2.0])
    (turn,) = turns.run_turns(ROW, make_run, lambda: theirs, 1, say=quiet)
    assert turn["ours"]["step_seconds"] == [9.0, 1.0]
    assert turn["theirs"]["step_seconds"] == [9.0, 2.0]
    assert turn["loss_difference"] == pytest.approx(0.001 / 4.001)
    assert turn["grad_norm_difference"] == 0


# Two processes that hold memory of which so many bytes are their own, for two seconds from when both have written them.
HOLD = """\
import os, time
held = bytearray(b"x") * (96 << 20)
written, write = os.pipe()
child = os.fork()
for i in range(0, {}, 4096):
    held[i] = 1
if not child:
    os.write(write, b"x")
    time.sleep(3600)
os.read(written, 1)
time.sleep(2)
os.kill(child, 9)
os.waitpid(child, 0)
"""


def test_memory_of_all_processes_is_summed_and_what_they_share_counts_once():
    peaks = {}
    for name, written in {"shared": 0, "apart": 96 << 20}.items():
        done = process.run([sys.executable, "-c", HOLD.format(written)], sum_memory=True)
        assert done.exit_code == 0, done.tail()
        peaks[name] = done.max_rss_bytes / (1 << 20)
    assert 96 < peaks["shared"] < 180
    assert 192 < peaks["apart"]


def test_unequal_losses_end_the_row_in_its_first_turn():
    calls = []

    def theirs():
        calls.append("B")
        return make_run(losses=[4.0, 3.1])

    with pytest.raises(losses.Differ, match="losses differ by 3.226%"):
        list(turns.run_turns(ROW, make_run, theirs, 5, say=quiet))
    assert calls == ["B"]


@pytest.mark.parametrize(
    ("row", "ours", "theirs", "agree"),
    [
        (ROW, [10.0, 10.0], [10.0, 10.005], True),
        (ROW, [10.0, 10.0], [10.0, 10.006], False),
        (ROW, [10.0], [10.0, 10.0], False),
        (ROW, [], [], False),
        (ROW, [10.0, float("nan")], [10.0, 10.0], False),
        (FLOAT32, [10.0, 10.0], [10.000009, 10.0], True),
        (FLOAT32, [10.0, 10.0], [10.000011, 10.0], False),
        (ON_GPU, [10.0, 10.0], [10.0, 10.19], True),
    ],
)
def test_tolerance_of_losses(row, ours, theirs, agree):
    if agree:
        losses.check(row, make_run(losses=ours), make_run(losses=theirs))
    else:
        with pytest.raises(losses.Differ):
            losses.check(row, make_run(losses=ours), make_run(losses=theirs))


@pytest.mark.parametrize("row", [ROW, FLOAT32])
def test_a_gradient_that_is_one_percent_too_long_is_noticed(row):
    losses.check(row, make_run(grad_norms=[1.0, 1.0]), make_run(grad_norms=[1.0, 1.00002]))
    with pytest.raises(losses.Differ, match="gradient norms"):
        losses.check(row, make_run(grad_norms=[1.0, 1.01]), make_run(grad_norms=[1.0, 1.0]))


def test_the_neighbour_works_as_long_as_the_row(monkeypatch, tmp_path):
    script = tmp_path / "neighbour.py"
    script.write_text("import time\nprint('busy', flush=True)\ntime.sleep(60)\n")
    monkeypatch.setattr(turns, "NEIGHBOUR", script)
    started = []
    popen = turns.subprocess.Popen
    monkeypatch.setattr(turns.subprocess, "Popen", lambda *a, **k: started.append(popen(*a, **k)) or started[-1])
    with turns.neighbour(True):
        assert started[0].poll() is None
    assert started[0].poll() is not None
    with turns.neighbour(False):
        assert len(started) == 1


def test_a_neighbour_that_does_not_start_is_said(monkeypatch, tmp_path):
    monkeypatch.setattr(turns, "NEIGHBOUR", tmp_path / "none.py")
    with pytest.raises(RuntimeError, match="neighbour"), turns.neighbour(True):
        pass
