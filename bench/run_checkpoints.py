"""Checkpoints beside torch.distributed.checkpoint, s3torchconnector and Lightning: saved and loaded, in turns.

Each figure is a point of one of the two checkpoint benchmarks, measured as `assay run` measures it: two ranks hold the
state, saves on the disk end written through, what was loaded is compared with what was saved. Buckets are in the
embedded server, in memory, on the same cores as the clients: loopback, not a cloud. Both sides save the same state,
and each reads the other's. script/bench checkpoints calls this with the programs built.
"""

import argparse
import datetime
import json
import math
import pathlib
import statistics
import subprocess
import sys
import tempfile

from checkpoints.content import check_both_ways
from checkpoints.points import Points, sharded, single
from harness import cli, machine, page
from harness.choice import of_names
from harness.intervals import bootstrap_interval, median_ratio
from harness.machine import ROOT
from harness.table import markdown_table, verdict

from storage import server

MIB = 2**20
# Of stores that ranks without data are held against real ones with: what each lets through is met first.
LIMITS = {
    "connections": "bandwidth: {connection: 4MB}",
    "the machine": "bandwidth: {connection: 40MB, total: 10MB}",
    "latency": "latency: {read: {median: 200ms, p99: 200ms}, write: {median: 300ms, p99: 300ms}}",
}
THREADS = (1, 2, 4)  # of the others' writers: their best one counts
BEYOND_BYTES = 256 * MIB


def parse_arguments():
    parser = argparse.ArgumentParser(prog="script/bench checkpoints", description=__doc__)
    cli.add_bin_dir(parser, "assay and assay-worker")
    parser.add_argument("--parts", default="", help=f"some of {', '.join(PARTS)}")
    parser.add_argument("--sizes", default="1GiB,4GiB", help="of the sharded states")
    parser.add_argument(
        "--turns", type=int, default=2, help="turns A B A B of 1 GiB and of files; of 4 GiB half as many"
    )
    parser.add_argument("--repeats", type=int, default=3, help="saves or loads in each turn")
    parser.add_argument("--layers", type=int, default=100, help="of the Lightning file's model")
    parser.add_argument("--quick", action="store_true", help="small states, one turn: does every part work?")
    parser.add_argument("--work-dir", type=pathlib.Path, help="a folder on the disk that is measured")
    parser.add_argument("--output-dir", type=pathlib.Path, default=ROOT / "bench" / "results")
    given = parser.parse_args()
    given.parts = of_names(parser, given.parts, PARTS)
    given.sizes = ["28MB"] if given.quick else of_names(parser, given.sizes, ("1GiB", "4GiB"))
    if given.quick:
        given.turns, given.repeats, given.layers = 1, 2, 10
    return given


MODELS = {"28MB": "L7m", "1GiB": "L270m", "4GiB": "L1b"}


class Benchmark:
    def __init__(self, given, points):
        self.given, self.points = given, points
        self.lines = []
        self.beyond = {}  # of ours, the most by what was done

    def states(self):
        return [sharded(MODELS[size], size, self.given.repeats) for size in self.given.sizes]

    def turns_of(self, state):
        return max(1, self.given.turns // 2) if state.title == "4GiB" else self.given.turns

    def measured(self, state, client, place, operation, **more):
        """Spans, of which each repeat has one."""
        one = self.points.measure(state, client, place, operation, **more)
        if client.startswith("assay"):
            key = f"{state.title}, {place} {operation}"
            # Of a system that does not tell it is as much as one likes.
            beyond = one["properties"].get("memory_beyond_bytes", math.inf)
            self.beyond[key] = max(self.beyond.get(key, 0), beyond)
        rate = one["properties"]["mib_per_s"]
        print(f"    {state.title} {place} {operation}, {client}: {rate:.0f} MiB/s", flush=True)
        return one["series"]["span_seconds"], one["properties"]["state_bytes"]

    def row(self, name, pairs, state_bytes, peer, at_least, aim=None):
        """Pairs of (ours, theirs) in seconds."""
        ours, theirs = (state_bytes / MIB / statistics.median(side) for side in zip(*pairs, strict=True))
        ratio, interval = median_ratio(pairs), bootstrap_interval(pairs)
        text = f"{ratio:.2f}" + (f" ({interval[0]:.2f} to {interval[1]:.2f})" if interval else "")
        aim = aim or at_least
        asked = [f"{at_least:g}" + (f" / {aim:g}" if aim != at_least else ""), verdict(ratio, at_least, aim)]
        self.lines.append([name, f"{ours:.0f}", f"{theirs:.0f}", peer, text, *asked])

    def beside(self, name, state, place, operation, peer, at_least, aim=None, theirs=None, **more):
        """In turns A B B A, so that what one leaves to the disk to do meets both; `theirs` are the peer's own
        properties."""
        pairs, spans = [], {}
        sides = [("assay", {}), (peer, theirs or {})]
        for _ in range(self.turns_of(state)):
            for client, own in sides:
                spans[client], state_bytes = self.measured(state, client, place, operation, **more, **own)
            pairs += zip(spans["assay"], spans[peer], strict=True)
            sides.reverse()
        settings = "".join(f", {key} {value}" for key, value in (theirs or {}).items())
        self.row(name, pairs, state_bytes, peer + settings, at_least, aim)

    def disk(self):
        for state in self.states():
            for name, peer, at_least in (
                ("save to disk", "torch", 1.5),
                ("the same beside a raw parallel write", "raw", 0.85),
            ):
                theirs = self.best_threads(state, peer, "disk", "save")
                self.beside(f"{state.title}, {name}", state, "disk", "save", peer, at_least, theirs=theirs)
            warm = {"clear_cache": "False"}
            theirs = self.best_threads(state, "torch", "disk", "load", **warm)
            self.beside(f"{state.title}, warm load", state, "disk", "load", "torch", 1.2, 1.5, theirs=theirs, **warm)

    def best_threads(self, state, client, place, operation, **more):
        """Those with which `client` is fastest, as properties of its points."""
        spans = {
            threads: statistics.median(self.measured(state, client, place, operation, thread_count=threads, **more)[0])
            for threads in THREADS
        }
        return {"thread_count": min(spans, key=spans.get)}

    def bucket(self):
        for operation in ("save", "load"):
            for state in self.states():
                # A reader has one thread a rank; what its files are cut into counts all the same.
                theirs = self.best_threads(state, "s3torchconnector", "s3", operation)
                name = f"{state.title}, {operation} {'to' if operation == 'save' else 'from'} the embedded server"
                self.beside(name, state, "s3", operation, "s3torchconnector", 2, theirs=theirs)

    def lightning(self):
        state = single(self.given.layers, self.given.repeats)
        self.beside(f"{state.title}, save to disk", state, "disk", "save", "lightning", 2)
        for operation in ("save", "load"):
            name = f"{state.title}, {operation}, embedded server, fsspec"
            self.beside(name, state, "s3", operation, "lightning", 2)

    def stall(self):
        """What a save has the steps of a fine-tune wait for, and a state whose next update comes at once."""
        stalls = {"async": [], "sync": []}
        for writer in ("async", "sync") * self.given.turns:
            # After the last no step follows: the run waits for all of it.
            stalls[writer] += [saved["stall_seconds"] for saved in self.fine_tune(writer)["checkpoints"][:-1]]
        self.add_share("fine-tune, stall of an asynchronous save", stalls["async"], stalls["sync"], at_most=0.1)
        for state in self.states():
            stalls = {"assay-async": [], "assay": []}
            for client in tuple(stalls) * self.turns_of(state):
                saves = self.points.measure(state, client, "disk", "save")["properties"]
                stalls[client].append(saves["stall_seconds_median"])
            self.add_share(f"{state.title}, a copy that nothing goes on beside", *stalls.values())

    def add_share(self, name, part, whole, at_most=None):
        part, whole = statistics.median(part), statistics.median(whole)
        share = part / whole
        asked = ["-", "-"]
        if at_most:
            asked = [f"at most {at_most:.0%}", verdict(share, at_most, at_most, larger_is_better=False)]
        self.lines.append([name, f"{part:.3f} s", f"{whole:.3f} s", "assay, synchronous", f"{share:.1%}", *asked])

    def fine_tune(self, writer=None):
        """What is said of one whose checkpoints are written so; None: it writes none."""
        steps, every = (6, 3) if self.given.quick else (24, 6)
        given = ["--model", "smollm2-135m", "--data", "news-tokens-16384plus-entries-4096", "--max-steps", steps]
        given += ["--method", "lora" if self.given.quick else "full", "--batch-size", 1, "--model-max-length", 64]
        with tempfile.TemporaryDirectory(dir=self.points.folder) as place:
            saves = ["--save-every", every, "--checkpoint-writer", writer, "--output-dir", place] if writer else []
            said = self.points.run("tune", *given, *saves, "--output", "json")
        seconds = said["step_seconds"][1:]
        print(f"    fine-tune, {writer or 'no'} saves: {sum(seconds):.0f} s of steps", flush=True)
        return said

    def steps(self):
        """A fine-tune whose checkpoints are written beside it, and the same without any, in turns."""
        seconds = {None: [], "async": []}
        for writer in tuple(seconds) * self.given.turns:
            seconds[writer] += self.fine_tune(writer)["step_seconds"][1:]
        # The 99th percentile lies between the longest two: no step is left out, and none is made up.
        p99 = {writer: statistics.quantiles(s, n=100, method="inclusive")[98] for writer, s in seconds.items()}
        ratio = p99["async"] / p99[None]
        line = ["fine-tune, p99 of a step while it saves", f"{p99['async']:.2f} s", f"{p99[None]:.2f} s"]
        asked = ["at most 1.3", verdict(ratio, 1.3, 1.3, larger_is_better=False)]
        self.lines.append([*line, "assay, no saves", f"{ratio:.2f}", *asked])

    def modelled(self):
        """Ranks without data beside real ones, both of a store that lets through as much."""
        for limit, text in LIMITS.items():
            profile = self.points.folder / "profile.yaml"
            profile.write_text(text)
            with server.serve(self.given.bin_dir, "--profile", profile) as url:
                points = Points(self.given.bin_dir, self.points.folder, url)
                for ranks in (1, 2, 4):
                    for operation in ("save", "load"):
                        self.add_modelled(points, ranks, operation, limit, profile)

    def add_modelled(self, points, ranks, operation, limit, profile):
        state = sharded("L7m", "28MB", 2)
        seconds = {
            client: points.measure(state, client, "s3", operation, world_size=ranks, **more)["properties"]
            for client, more in (("assay", {}), ("modelled", {"profile": profile, "ranks_per_machine": ranks}))
        }
        real, modelled = (seconds[client]["span_seconds_median"] for client in ("assay", "modelled"))
        name = f"{ranks} ranks without data, {operation} limited by {limit}"
        print(f"    {name}: {modelled:.2f} s, and {real:.2f} s of real ones", flush=True)
        asked = ["0.67 to 1.5", "yes" if 1 / 1.5 <= modelled / real <= 1.5 else "**no**"]
        figures = [f"{modelled:.2f} s", f"{real:.2f} s", "assay, real ranks", f"{modelled / real:.2f}"]
        self.lines.append([name, *figures, *asked])

    def content(self):
        tensors = check_both_ways(self.points, self.states()[0])
        line = ["stock torch reads ours, and we theirs", f"{tensors} tensors", f"{tensors} tensors"]
        self.lines.append([*line, "torch", "the same to the bit", "all", "yes"])

    def memory_lines(self):
        lines = []
        for name, value in self.beyond.items():
            asked = ["at most 256 MiB", verdict(value, BEYOND_BYTES, BEYOND_BYTES, larger_is_better=False)]
            told = f"{value / MIB:.0f} MiB" if math.isfinite(value) else "not told"
            lines.append([f"memory of a rank beyond the state: {name}", told, "-", "-", "-", *asked])
        return lines


PARTS = {
    "content": Benchmark.content,
    "disk": Benchmark.disk,
    "bucket": Benchmark.bucket,
    "lightning": Benchmark.lightning,
    "stall": Benchmark.stall,
    "steps": Benchmark.steps,
    "modelled": Benchmark.modelled,
}


def versions():
    program = (
        "import torch, lightning, s3torchconnector as s; print(torch.__version__, lightning.__version__, s.__version__)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    torch, lightning, connector = done.stdout.split()
    return f"torch {torch}, Lightning {lightning}, s3torchconnector {connector}"


def page_of(benchmark, load, failures):
    given = benchmark.given
    head = ["work", "ours, MiB/s", "peer, MiB/s", "peer", "ratio (95 %)", "at least / aim", "reached"]
    not_measured = "".join(f"**Not measured:** {failure}\n\n" for failure in failures)
    return (
        f"# Checkpoints beside torch, s3torchconnector and Lightning, {datetime.date.today()}\n\n"
        f"Two ranks (of a Lightning file one), {given.turns} turns A B of {given.repeats} saves or loads each (of 4 GiB"
        f" half as many turns), in {given.work_dir or 'the temporary folder'}. Saves to disk end written through on"
        f" both sides. {versions()}. Commit {machine.git_commit()}, {machine.cpu_name()}; load average {load:.2f} at"
        f" the begin, {machine.load_average():.2f} at the end.\n\n"
        f"    {machine.command_line('checkpoints')}\n\n"
        f"{markdown_table(head, benchmark.lines + benchmark.memory_lines())}\n\n{not_measured}"
        "MiB/s are of the state over the span of all ranks, medians. The ratio is theirs to ours in seconds, its"
        " interval a bootstrap over pairs. A warm load finds the files in the page cache. The server is in memory, on"
        " the cores of the clients. Ours checks a CRC32C of every byte that it loads, the others check nothing.\n"
    )


def measure_parts(benchmark, publish):
    """Each part, after which `publish` is told why some were not measured. What a part lacks takes no other with it."""
    failures = []
    for part in benchmark.given.parts:
        print(f"{part}:", flush=True)
        try:
            PARTS[part](benchmark)
        except RuntimeError as error:
            failures.append(f"{part}: {error}")
            print(f"    {failures[-1]}", flush=True)
        publish(failures)
    return failures


def main():
    given = parse_arguments()
    load = machine.load_average()
    with (
        tempfile.TemporaryDirectory(dir=given.work_dir) as name,
        server.serve(given.bin_dir) as url,
    ):
        benchmark = Benchmark(given, Points(given.bin_dir, pathlib.Path(name), url))
        failures = measure_parts(
            benchmark,
            lambda failures: page.publish(page_of(benchmark, load, failures), given.output_dir, "checkpoints"),
        )
    return 1 if failures else 0


if __name__ == "__main__":
    cli.run(main, json.JSONDecodeError)
