"""What the micro-benchmarks of the kernels print, held against the machine's ceilings."""

import json
import re
from dataclasses import dataclass, replace

from harness.flops import MASKED, Shape, step_work

MILLISECONDS = {"ns": 1e-6, "us": 1e-3, "ms": 1.0, "s": 1e3}


@dataclass(frozen=True)
class Result:
    name: str  # without what the runner adds to it
    dtype: str
    wall_ms: float
    cpu_ms: float  # of all threads together
    gflops: float  # 0: not a product
    gb_per_s: float  # 0: not a pass over memory
    mib: float  # that one call passes over; 0: not told

    def share(self, ceilings):
        """Of the ceiling that its rate is bound by; None without a rate."""
        if self.gflops:
            return self.gflops / 1e3 / ceilings["tflops"][self.dtype]
        return self.gb_per_s / ceilings["memory_gb_per_s"] if self.gb_per_s else None


def parse(text):
    """The Results in what a Google Benchmark program prints as JSON."""
    results = []
    for entry in json.loads(text)["benchmarks"]:
        scale = MILLISECONDS[entry["time_unit"]]
        results.append(
            Result(
                name=re.sub(r"/(min_time:[^/]*|process_time|real_time)", "", entry["name"]),
                dtype=entry.get("label", ""),
                wall_ms=entry["real_time"] * scale,
                cpu_ms=entry["cpu_time"] * scale,
                gflops=entry.get("GFLOP/s", 0.0),
                gb_per_s=entry.get("GB/s", 0.0),
                mib=entry.get("MiB", 0.0),
            )
        )
    return results


#: What bench_step works on (bench/kernels/bench_support.h): SmolLM2-135M, the first third of each row masked.
STEP_SHAPE = Shape(576, 1536, 30, 9, 3, 64, 49152, True)
STEP_ROWS = (180, 512, 260, 350)


def with_step_rate(result):
    """A whole step gets the rate of the products that it needs; other results stay as they are."""
    match = re.match(r"decoder_step/(lora|full)/", result.name)
    if not match:
        return result
    rows = [{"input_ids": range(n), "labels": [MASKED] * (n // 3) + [1] * (n - n // 3)} for n in STEP_ROWS]
    work = step_work(STEP_SHAPE, rows, match[1], result.dtype)
    return replace(result, gflops=work.flops / 1e6 / result.wall_ms)


def line(result, ceilings, cache_bytes):
    """Cells of the table; a pass over what fits in the caches is not held against memory."""
    share = result.share(ceilings)
    cached = result.gb_per_s and result.mib * 2**20 < cache_bytes
    rate = f"{result.gflops:.0f} GFLOP/s" if result.gflops else f"{result.gb_per_s:.1f} GB/s" if result.gb_per_s else ""
    return [
        f"`{result.name}`",
        result.dtype,
        f"{result.wall_ms:.3f}",
        f"{result.cpu_ms:.3f}",
        rate,
        "in cache" if cached else "" if share is None else f"{share:.0%}",
    ]


HEAD = ["kernel", "dtype", "wall ms", "CPU ms", "achieved", "share of ceiling"]
