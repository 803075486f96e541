"""From measured points of the checkpoint benchmarks to the lines of its table."""

from types import SimpleNamespace

import run_checkpoints
from checkpoints.points import sharded, single

GIB = 2**30
GIVEN = SimpleNamespace(sizes=["1GiB"], turns=2, repeats=3, layers=10, quick=False)


class FakePoints:
    """Each client takes as long as it is said to; a stall is a tenth."""

    folder = None

    def __init__(self, **seconds):
        self.seconds, self.asked = seconds, []

    def measure(self, state, client, place, operation, **more):
        self.asked.append((client, place, operation, more))
        seconds = self.seconds[client.replace("-", "_")]
        properties = {
            "mib_per_s": 1024 / seconds,
            "state_bytes": GIB,
            "memory_beyond_bytes": 300 << 20 if place == "s3" else 0,
            "stall_seconds_median": seconds / 10,
        }
        return {"series": {"span_seconds": [seconds] * GIVEN.repeats}, "properties": properties}

    def run(self, verb, *words):
        """A fine-tune whose saves but the last have it wait, and whose steps take, as long as its writer is said to."""
        assert verb == "tune"
        writer = words[words.index("--checkpoint-writer") + 1] if "--checkpoint-writer" in words else "none"
        stalls = [{"stall_seconds": seconds} for seconds in (self.seconds[writer], 100)]
        return {"step_seconds": [9.0] + [self.seconds[writer]] * 23, "checkpoints": stalls}


def test_both_sides_take_turns_and_a_ratio_says_how_much_faster_ours_is():
    benchmark = run_checkpoints.Benchmark(GIVEN, FakePoints(assay=1, torch=2))
    state = sharded("L270m", "1GiB", GIVEN.repeats)
    benchmark.beside("a save", state, "disk", "save", "torch", 1.5, 3, theirs={"thread_count": 4})
    assert [client for client, *_ in benchmark.points.asked] == ["assay", "torch", "torch", "assay"]
    assert [more for *_, more in benchmark.points.asked][:2] == [{}, {"thread_count": 4}]
    assert benchmark.lines == [
        ["a save", "1024", "512", "torch, thread_count 4", "2.00 (2.00 to 2.00)", "1.5 / 3", "yes"]
    ]


def test_the_slowest_steps_are_held_against_those_of_a_run_without_saves():
    benchmark = run_checkpoints.Benchmark(GIVEN, FakePoints(**{"none": 1.0, "async": 1.25}))
    benchmark.steps()
    assert benchmark.lines[0][-3:] == ["1.25", "at most 1.3", "aim"]


def test_ranks_without_data_are_held_against_real_ones():
    class ByRanks(FakePoints):
        def measure(self, state, client, place, operation, **more):
            measured = super().measure(state, client, place, operation, **more)
            measured["properties"]["span_seconds_median"] = self.seconds[client]
            return measured

    benchmark = run_checkpoints.Benchmark(GIVEN, None)
    for modelled in (1.2, 2):
        benchmark.add_modelled(ByRanks(assay=1, modelled=modelled), 4, "load", "connections", "profile.yaml")
    assert [row[-3:] for row in benchmark.lines] == [["1.20", "0.67 to 1.5", "yes"], ["2.00", "0.67 to 1.5", "**no**"]]


def test_what_is_asked_for_is_not_reached():
    benchmark = run_checkpoints.Benchmark(GIVEN, FakePoints(assay=2, lightning=2))
    benchmark.beside("a file", single(10, GIVEN.repeats), "disk", "save", "lightning", 2)
    assert benchmark.lines[0][-3:] == ["1.00 (1.00 to 1.00)", "2", "**no**"]


def test_the_best_number_of_threads_is_the_peers():
    class ByThreads(FakePoints):
        def measure(self, *arguments, thread_count=1, **more):
            self.seconds["s3torchconnector"] = {1: 3, 2: 1, 4: 2}[thread_count]
            return super().measure(*arguments, thread_count=thread_count, **more)

    benchmark = run_checkpoints.Benchmark(GIVEN, ByThreads(assay=1))
    state = sharded("L270m", "1GiB", 3)
    assert benchmark.best_threads(state, "s3torchconnector", "s3", "save") == {"thread_count": 2}
    benchmark.bucket()
    assert {row[3] for row in benchmark.lines} == {"s3torchconnector, thread_count 2"}


def test_a_stall_is_held_against_the_synchronous_save_and_memory_against_its_bound():
    seconds = {"async": 0.5, "sync": 10, "assay": 10, "assay_async": 2, "s3torchconnector": 9}
    benchmark = run_checkpoints.Benchmark(GIVEN, FakePoints(**seconds))
    benchmark.stall()
    assert [row[-3:] for row in benchmark.lines] == [["5.0%", "at most 10%", "aim"], ["20.0%", "-", "-"]]
    benchmark.bucket()
    last = benchmark.memory_lines()[-1]
    assert last[-1] == "**no**" and last[1] == "300 MiB"


def test_a_part_that_fails_takes_no_other_with_it(monkeypatch):
    def fails(benchmark):
        raise RuntimeError("the disk is full")

    monkeypatch.setattr(run_checkpoints, "PARTS", {"disk": fails, "stall": run_checkpoints.Benchmark.stall})
    given = SimpleNamespace(**vars(GIVEN), parts=["disk", "stall"])
    benchmark = run_checkpoints.Benchmark(
        given, FakePoints(**{"async": 0.5, "sync": 10, "assay": 10, "assay_async": 2})
    )
    published = []
    assert run_checkpoints.measure_parts(benchmark, published.append) == ["disk: the disk is full"]
    assert len(published) == 2 and len(benchmark.lines) == 2
