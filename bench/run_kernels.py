"""Every kernel's micro-benchmark beside the ceilings that `assay doctor` measures in the same run.

script/bench kernels calls this with the programs built.
"""

import argparse
import datetime
import os
import pathlib
import subprocess

from harness import cli, doctor, kernels, machine, page
from harness.machine import ROOT
from harness.table import markdown_table

PROGRAMS = ("bench_products", "bench_attention", "bench_elementwise", "bench_optimizer", "bench_step")


def parse_arguments():
    parser = argparse.ArgumentParser(prog="script/bench kernels", description=__doc__)
    cli.add_bin_dir(parser, "bench_*, assay, assay-worker")
    parser.add_argument("--filter", default=".", help="regular expression of the benchmarks' names")
    parser.add_argument("--seconds", type=float, default=0.3, help="least time of each benchmark")
    parser.add_argument("--output-dir", type=pathlib.Path, default=ROOT / "bench" / "results")
    return parser.parse_args()


def run_program(path, arguments):
    """The Results of one program; threads that wait sleep, as in the worker."""
    command = [str(path), "--benchmark_format=json", f"--benchmark_min_time={arguments.seconds}"]
    command += [f"--benchmark_filter={arguments.filter}"]
    environment = {**os.environ, "OMP_WAIT_POLICY": "passive"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    if done.returncode != 0:
        raise RuntimeError(f"{path.name} ended with exit code {done.returncode}: {done.stderr.strip()[-2000:]}")
    return kernels.parse(done.stdout) if done.stdout.strip() else []


def report(about, results, load, command):
    ceilings = doctor.ceilings(about)
    peaks = ", ".join(f"{dtype} {tflops:.3f} TFLOP/s" for dtype, tflops in ceilings["tflops"].items())
    cache = about["machine"]["l3_total_bytes"]
    lines = [kernels.line(result, ceilings, cache) for result in results]
    today = datetime.date.today()
    return (
        f"# Kernels, {today}\n\n"
        f"Commit {about['versions']['commit']}, {doctor.describe(about)}; load average {load:.2f} before.\n\n"
        f"    {command}\n\n"
        f"Ceilings by `assay doctor` in this run: {peaks}; memory {ceilings['memory_gb_per_s']:.1f} GB/s. A kernel that"
        f" multiplies is held against the products' peak of its dtype, one that passes over memory against the"
        f" bandwidth, unless what it passes over fits in the {cache / 2**20:.0f} MiB of last-level cache.\n\n"
        f"{markdown_table(kernels.HEAD, lines)}\n"
    )


def main():
    arguments = parse_arguments()
    load = machine.load_average()
    print("==> assay doctor", flush=True)
    about = doctor.examine(arguments.bin_dir / "assay", ROOT / "build")
    results = []
    for name in PROGRAMS:
        print(f"==> {name}", flush=True)
        results += map(kernels.with_step_rate, run_program(arguments.bin_dir / name, arguments))
    if not results:
        raise RuntimeError(f"no benchmark matches {arguments.filter}")
    text = report(about, results, load, machine.command_line("kernels"))
    page.publish(text, arguments.output_dir, "kernels")


if __name__ == "__main__":
    cli.run(main)
