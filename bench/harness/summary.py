"""What the turns of a row come to."""

import statistics
from dataclasses import dataclass

from harness import rows
from harness.flops import Work
from harness.intervals import bootstrap_interval, median_ratio
from harness.rows import Row

GIB = 2**30


@dataclass(frozen=True)
class Side:
    seconds: float  # median over turns of a measured step's mean; for "start" rows until the first step
    tokens_per_second: float  # real tokens
    tflops: float  # operations that the step needs, over its time
    peak_gib: float  # median over turns


@dataclass(frozen=True)
class Summary:
    row: Row
    turns: int
    ours: Side
    theirs: Side
    ratio: float  # how many times faster we are
    interval: tuple  # of the ratio, or None
    memory_ratio: float  # our peak over the peer's
    loss_difference: float  # largest over turns
    flops: float  # mean of the measured steps
    tokens: float
    bytes: float

    def share(self, side, ceilings):
        """Of the product peak of the row's dtype."""
        return side.tflops / ceilings["tflops"][self.row.dtype]

    def bandwidth_share(self, side, ceilings):
        """What weights, gradients and states alone take of the memory bandwidth; None on a GPU, whose bandwidth the
        doctor does not measure."""
        if self.row.device == "cuda":
            return None
        return self.bytes / side.seconds / 1e9 / ceilings["memory_gb_per_s"]


def turn_seconds(row, run):
    """Of one run: a measured step, or the time until the first step."""
    if row.measures == "start":
        return run["first_step_seconds"]
    return sum(run["step_seconds"][row.warmup :]) / row.steps


def side(row, runs, flops, tokens):
    seconds = statistics.median(turn_seconds(row, run) for run in runs)
    return Side(
        seconds=seconds,
        tokens_per_second=tokens / seconds,
        tflops=flops / seconds / 1e12,
        peak_gib=statistics.median(run["peak_bytes"] for run in runs) / GIB,
    )


def summarise(entry):
    """The Summary of a row's entry in the results; needs at least one turn."""
    row = rows.from_dict(entry["row"])
    work = [Work(**step) for step in entry["work"][row.warmup :]]
    flops = statistics.fmean(step.flops for step in work)
    tokens = statistics.fmean(step.tokens for step in work)
    turns = entry["turns"]
    ours, theirs = ([turn[name] for turn in turns] for name in ("ours", "theirs"))
    pairs = [(turn_seconds(row, a), turn_seconds(row, b)) for a, b in zip(ours, theirs, strict=True)]
    memory = [(b["peak_bytes"], a["peak_bytes"]) for a, b in zip(ours, theirs, strict=True)]
    return Summary(
        row=row,
        turns=len(turns),
        ours=side(row, ours, flops, tokens),
        theirs=side(row, theirs, flops, tokens),
        ratio=median_ratio(pairs),
        interval=bootstrap_interval(pairs),
        memory_ratio=median_ratio(memory),
        loss_difference=max(turn["loss_difference"] for turn in turns),
        flops=flops,
        tokens=tokens,
        bytes=work[0].bytes,
    )
