"""Runs both sides of a row in turns A B A B, so that what the machine does meanwhile meets both."""

import contextlib
import os
import subprocess
import sys
from dataclasses import asdict

from harness import losses
from harness.machine import ROOT

NEIGHBOUR = ROOT / "bench" / "peers" / "neighbour.py"


@contextlib.contextmanager
def neighbour(wanted):
    """Another busy process on the machine while the block runs."""
    if not wanted:
        yield
        return
    process = subprocess.Popen(
        [sys.executable, str(NEIGHBOUR)], stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, env=dict(os.environ)
    )
    try:
        if not process.stdout.readline():
            raise RuntimeError("the busy neighbour did not start")
        yield
    finally:
        process.terminate()
        process.wait()


def run_turns(row, run_ours, run_theirs, turns, say=print):
    """Yields {"ours", "theirs", "loss_difference", "grad_norm_difference"} of each turn.

    The runners are called without arguments and return a Run. The first turn's check comes before any second turn:
    losses.Differ ends the row.
    """
    with neighbour(row.neighbour):
        for turn in range(1, turns + 1):
            ours, theirs = run_ours(), run_theirs()
            loss, norm = losses.check(row, ours, theirs)
            say(f"    turn {turn}/{turns}: {describe(row, ours, theirs)}, losses differ by {loss:.3%}")
            yield {
                "ours": asdict(ours),
                "theirs": asdict(theirs),
                "loss_difference": loss,
                "grad_norm_difference": norm,
            }


def describe(row, ours, theirs):
    if row.measures == "start":
        mine, other = ours.first_step_seconds, theirs.first_step_seconds
        return f"first step after {mine:.2f} s, peer {other:.2f} s, ratio {other / mine:.1f}"
    mine, other = ours.measured_seconds(row) / row.steps, theirs.measured_seconds(row) / row.steps
    return f"{mine:.2f} s a step, peer {other:.2f} s, ratio {other / mine:.2f}"
