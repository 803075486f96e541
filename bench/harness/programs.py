"""The two sides: how each program is called for a table row, and what its output says."""

import json
import pathlib
import sys
import tempfile
from dataclasses import dataclass, field

from harness import process
from harness.machine import ROOT

PEER = ROOT / "bench" / "peers" / "sft.py"
#: What each program writes to standard error when it is ready and its first step begins.
OUR_FIRST_STEP = "loaded in"
OUR_KERNELS = "loading on"
OUR_EXTRAS = ("peak_tensor_bytes", "model_load_seconds", "layers", "checkpointed_layers")
PEER_FIRST_STEP = "first step begins"


@dataclass
class Run:
    """One run of one side."""

    losses: list
    grad_norms: list
    step_seconds: list
    first_step_seconds: float  # from the command to the begin of the first step
    peak_bytes: int  # of resident memory, over ranks of all together; on a GPU of its tensors
    cpu_seconds: float
    wall_seconds: float
    load_before: float
    others_cores: float
    extra: dict = field(default_factory=dict)  # what only one side tells

    def measured_seconds(self, row):
        """Of the steps after the warm-up."""
        return sum(self.step_seconds[row.warmup :])


@dataclass(frozen=True)
class Places:
    bin_dir: pathlib.Path
    data_dir: pathlib.Path


def our_command(row, workload, places):
    command = [places.bin_dir / "assay", "tune", "--model", workload.model, "--data", workload.data]
    command += ["--method", row.method, "--batch-size", row.batch, "--max-steps", row.all_steps]
    command += ["--model-max-length", row.longest, "--dtype", row.dtype, "--output", "json"]
    command += ["--device", row.device]
    if row.ranks > 1:
        command += ["--number-ranks", row.ranks, "--plugin", row.plugin]
    if row.gradient_checkpointing:
        command += ["--gradient-checkpointing=on"]
    elif row.our_checkpointed_layers:
        command += [f"--gradient-checkpointing={row.our_checkpointed_layers}"]
    if row.method == "lora":
        command += ["--adapter", workload.adapter]
    return [str(part) for part in command]


def peer_command(row, workload):
    command = [sys.executable]
    if row.ranks > 1:
        command += ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", row.ranks]
    command += [PEER, "--model", workload.model, "--data", workload.data]
    command += ["--method", row.method, "--batch", row.batch, "--steps", row.all_steps, "--dtype", row.dtype]
    if row.gradient_checkpointing:
        command += ["--gradient-checkpointing"]
    if row.peer_shards:
        command += ["--fsdp2"]
    if row.method == "lora":
        command += ["--adapter", workload.adapter]
    return [str(part) for part in command]


def read(finished, command, first_step_line, device_peak="", extra=()):
    """The Run out of what a program printed; a failed program is a RuntimeError.

    `device_peak` names the report's field with the peak of memory, of rows on a GPU.
    """
    begin = finished.first_line_with(first_step_line)
    if finished.exit_code != 0 or begin is None:
        raise RuntimeError(
            f"{' '.join(command)}\nended with exit code {finished.exit_code}"
            f"{'' if begin is not None else ' and no first step'}:\n{finished.tail()}"
        )
    report = json.loads(finished.stdout.splitlines()[-1])
    return Run(
        losses=report["losses"],
        grad_norms=report["grad_norms"],
        step_seconds=report["step_seconds"],
        first_step_seconds=begin,
        peak_bytes=report[device_peak] if device_peak else finished.max_rss_bytes,
        cpu_seconds=finished.cpu_seconds,
        wall_seconds=finished.wall_seconds,
        load_before=finished.load_before,
        others_cores=finished.others_cores,
        extra={name: report[name] for name in extra if name in report},
    )


def check_instruction_set(row, line):
    """A worker keeps its own choice where it cannot do what the environment asks for: that would be another row."""
    wanted = row.environment.get("ASSAY_CPU_ISA")
    if wanted and f", {wanted})" not in line:
        raise RuntimeError(f"the row {row.name} is about {wanted} kernels, but the worker said: {line or 'nothing'}")


#: By command.
PEAKS_OF_RANKS = {}


def with_memory_of_ranks(run, row, command, environment):
    """Over ranks the peak is that of a further run, one for all turns: reading it takes time from the ranks."""
    if row.ranks > 1:
        key = tuple(command)
        if key not in PEAKS_OF_RANKS:
            finished = process.run(command, environment, sum_memory=True)
            if finished.exit_code != 0:
                raise RuntimeError(
                    f"{' '.join(command)}\nended with exit code {finished.exit_code}:\n{finished.tail()}"
                )
            PEAKS_OF_RANKS[key] = finished.max_rss_bytes
        run.peak_bytes = PEAKS_OF_RANKS[key]
    return run


def run_ours(row, workload, places):
    """With an empty cache folder, so that rows become a token file within the run, as they do in the peer."""
    command = our_command(row, workload, places)
    with tempfile.TemporaryDirectory(dir=places.data_dir) as cache:
        environment = {**row.rank_environment, "XDG_CACHE_HOME": cache}
        finished = process.run(command, environment)
        device_peak = "peak_tensor_bytes" if row.device == "cuda" else ""
        run = read(finished, command, OUR_FIRST_STEP, device_peak, OUR_EXTRAS)
        check_instruction_set(row, finished.line_with(OUR_KERNELS))
        return with_memory_of_ranks(run, row, command, environment)


def run_peer(row, workload):
    command = peer_command(row, workload)
    device_peak = "peak_device_bytes" if row.device == "cuda" else ""
    finished = process.run(command, row.rank_environment)
    run = read(finished, command, PEER_FIRST_STEP, device_peak, ["peer"])
    return with_memory_of_ranks(run, row, command, row.rank_environment)
