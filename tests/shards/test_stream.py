"""Streams: the samples and the order of the real StreamingDataset, gone on with by other ranks, over damage and kills."""

import json
import random
import re
import shlex
import signal
import subprocess

import pytest
from conftest import put_folder, write_rows


def make(cli, tmp_path, count=600, name="set", **options):
    draw = random.Random(count)
    rows = [{"n": i, "text": "x" * draw.randint(0, 300)} for i in range(count)]
    source = write_rows(tmp_path / f"{name}.jsonl", rows)
    flags = [part for key, value in options.items() for part in (f"--{key.replace('_', '-')}", value)]
    cli.run("convert", source, tmp_path / name, "--size-limit", "4000", *flags)
    return tmp_path / name


def numbers(cli, *arguments):
    return [json.loads(line)["n"] for line in cli.run("read", *arguments).stdout.splitlines()]


ORDERS = [
    {"shuffle_algo": "py1e", "block": 100},
    {"shuffle_algo": "py1br", "block": 64, "canonical": 2},
    {"shuffle_algo": "py1s"},
    {"shuffle_algo": "naive", "seed": 3},
    {"shuffle_algo": "py2s", "canonical": 4},
    {"shuffle_algo": "none"},
]


def flags_of(order):
    flags = ["--shuffle", order["shuffle_algo"]]
    for name, flag in (("seed", "--seed"), ("block", "--block"), ("canonical", "--canonical-nodes")):
        flags += [flag, order[name]] if name in order else []
    return flags


def test_samples_are_those_of_the_real_dataset(cli, real, tmp_path):
    for name, compression in (("plain", ""), ("packed", "zstd")):
        folder = make(cli, tmp_path, name=name, compression=compression)
        jobs = [
            {"stream": str(folder), "batch": 4, "epochs": 2, "local": str(tmp_path / f"{name}{i}")} | order
            for i, order in enumerate(ORDERS)
        ]
        for order, theirs in zip(ORDERS, real(*jobs), strict=True):
            ours = numbers(cli, folder, "--batch", 4, "--epochs", 2, *flags_of(order))
            assert ours == [sample["n"] for sample in theirs["samples"]], order


def test_the_order_is_what_is_read(cli, tmp_path):
    folder = make(cli, tmp_path)
    for rank in range(3):
        world = ["--ranks", 3, "--rank", rank, "--batch", 5, "--block", 50]
        order = [int(line) for line in cli.run("order", folder, *world, "--epoch", 0).stdout.split()]
        assert numbers(cli, folder, *world) == [sample for sample in order if sample >= 0]


def test_other_ranks_go_on_with_the_same_order(cli, bucket, tmp_path):
    folder = make(cli, tmp_path, compression="zstd")
    put_folder(bucket, folder, f"{bucket.uri}/set")
    whole = numbers(cli, folder, "--batch", 24, "--block", 64)
    states = [tmp_path / f"state{rank}.json" for rank in range(4)]
    for rank in range(2):  # five batches by two ranks
        flags = ["--ranks", 2, "--rank", rank, "--batch", 12, "--block", 64, "--state", states[rank], "--count", 60]
        numbers(bucket, f"{bucket.uri}/set", *flags, "--cache", tmp_path / "shards")
    saved = states[0].read_text()
    assert saved == states[1].read_text()
    rest = []
    for rank in range(4):  # and the rest by four, from the folder
        states[rank].write_text(saved)
        flags = ["--ranks", 4, "--rank", rank, "--batch", 6, "--state", states[rank]]
        rest.append(numbers(cli, folder, *flags))
    for batch in range((600 - 120) // 24):
        together = [n for of_rank in rest for n in of_rank[6 * batch : 6 * batch + 6]]
        assert sorted(together) == sorted(whole[120 + 24 * batch : 144 + 24 * batch])
    assert json.loads(states[0].read_text())["epoch"] == 1


def test_samples_that_canonical_nodes_repeat_come_once_a_resume(cli, tmp_path):
    folder = make(cli, tmp_path, count=10)
    flags = [folder, "--canonical-nodes", 3]
    whole = numbers(cli, *flags)
    assert len(whole) == 12  # three canonical nodes of four
    for count in range(8, 13):
        state = tmp_path / f"state{count}.json"
        first = numbers(cli, *flags, "--count", count, "--state", state)
        assert first + numbers(cli, *flags, "--state", state) == whole


def test_what_changed_is_refused_by_name(cli, tmp_path):
    folder = make(cli, tmp_path)
    state = tmp_path / "state.json"
    numbers(cli, folder, "--count", 16, "--batch", 8, "--state", state)
    for flags, words in (
        (["--batch", 4], "its global batch was 8 and is 4 now"),
        (["--batch", 8, "--seed", 1], "its seed was 9176 and is 1 now"),
        (["--batch", 8, "--shuffle", "naive"], "its shuffle was"),
    ):
        assert words in cli.refused("read", folder, *flags, "--state", state)
    cli.run("convert", write_rows(tmp_path / "more.jsonl", [{"n": 600, "text": ""}]), folder, "--append")
    assert f"its data set file://{folder}/ was" in cli.refused("read", folder, "--batch", 8, "--state", state)


def test_lost_and_damaged_shards(cli, tmp_path):
    folder = make(cli, tmp_path)
    lost, damaged = folder / "shard.00002.mds", folder / "shard.00005.mds"
    lost.unlink()
    damaged.write_bytes(damaged.read_bytes()[:-1] + b"!")
    assert "shard.0000" in cli.refused("read", folder)
    ended = cli.run("read", folder, "--skip-damaged")
    kept = {json.loads(line)["n"] for line in ended.stdout.splitlines()}
    shards = cli.json("inspect", folder)["shards"]
    missing = shards[2]["samples"] + shards[5]["samples"]
    assert len(kept) == 600 - missing and f"{missing} samples of damaged shards were left out" in ended.stderr


def test_a_cache_of_a_crash_is_not_trusted(bucket, tmp_path):
    folder = make(bucket, tmp_path, count=5000)
    put_folder(bucket, folder, f"{bucket.uri}/set")
    cache = tmp_path / "shards"
    cache.mkdir()
    (cache / "mine.txt").write_text("of somebody else")
    flags = [f"{bucket.uri}/set", "--cache", cache, "--cache-limit", "100k", "--memory", "20k"]
    for seconds in (0.05, 0.1, 0.2):
        process = subprocess.Popen(bucket.command("read", *flags), env=bucket.environment, stdout=subprocess.DEVNULL)
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(seconds)
        process.send_signal(signal.SIGKILL)
        process.wait()
    for file in cache.glob("*.shard"):  # as a power cut leaves them
        file.write_bytes(file.read_bytes()[:-60] + bytes(60))
    assert numbers(bucket, *flags) == numbers(bucket, folder)
    assert (cache / "mine.txt").read_text() == "of somebody else"
    assert sum(file.stat().st_size for file in cache.glob("assay-*.shard")) <= 100_000
    assert not list(cache.glob("*.claim"))


def test_a_cache_that_cannot_be_written_is_refused(cli, tmp_path):
    folder = make(cli, tmp_path)
    (tmp_path / "file").write_text("")
    assert "the cache" in cli.refused("read", folder, "--cache", tmp_path / "file")


def test_a_full_disk_ends_no_stream(cli, tmp_path):
    folder = make(cli, tmp_path, compression="zstd")
    command = cli.command("read", folder, "--cache", tmp_path / "shards")
    script = f"ulimit -f 1; exec {shlex.join(command)} | cat"  # a block of 1 KiB; a pipe is no file
    full = subprocess.run(["bash", "-c", script], env=cli.environment, capture_output=True, text=True)
    assert [json.loads(line)["n"] for line in full.stdout.splitlines()] == numbers(cli, folder)
    said = re.fullmatch(r"assay data: (\d+) shards could not be kept: the cache: .*\n", full.stderr)
    assert said, full.stderr
    kept = [file.name for file in (tmp_path / "shards").iterdir()]
    assert all(name.endswith(".shard") for name in kept)
    assert int(said[1]) + len(kept) == len(cli.json("inspect", folder)["shards"])


FAULTS = """\
faults:
  - {fault: return, status: 503, rate: 0.02, operations: [GetObject]}
  - {fault: truncate, rate: 0.01, operations: [GetObject]}
  - {fault: bit-flip, rate: 0.01, operations: [GetObject]}
  - {fault: reset, rate: 0.01, operations: [GetObject]}
"""


def test_faults_change_nothing(bucket, serve, tmp_path):
    folder = make(bucket, tmp_path)
    (tmp_path / "faults.yaml").write_text(FAULTS)
    server = serve("--root", "memory", "--bucket", "test", "--profile", tmp_path / "faults.yaml")
    bucket.environment["ASSAY_STORAGE_ENDPOINT"] = server.url
    put_folder(bucket, folder, "s3://test/set")
    assert numbers(bucket, "s3://test/set", "--memory", "20k") == numbers(bucket, folder)


def test_bench_says_what_it_cost(cli, tmp_path):
    folder = make(cli, tmp_path, compression="zstd")
    measured = cli.json("bench", folder, "--decode")
    assert [one["samples"] for one in measured["passes"]] == [600, 600]
    first, second = measured["passes"]
    assert first["fetched_bytes"] == cli.json("inspect", folder)["stored_bytes"] and second["fetched_bytes"] == 0
    assert 0 <= first["stall_fraction"] <= 1 and measured["state_bytes"] > 100


def test_bench_says_how_well_a_shuffle_mixes_and_what_it_costs(cli, tmp_path):
    folder = make(cli, tmp_path, compression="zstd", count=2000)
    bench = ["bench", folder, "--all-shuffles", "--passes", 1, "--memory", "40k", "--block", 100]
    by_name = {one["shuffle"]: one["passes"][0] for one in cli.json(*bench)["shuffles"]}
    assert set(by_name) == {"naive", "py1s", "py1br", "py1e", "py2s", "none"}
    assert all(one["samples"] >= 2000 for one in by_name.values())
    assert by_name["none"]["spread"] == pytest.approx(3 / 2000)
    assert by_name["naive"]["spread"] == pytest.approx(1, abs=0.1)
    assert by_name["none"]["spread"] < by_name["py1e"]["spread"] < by_name["naive"]["spread"]
    stored = cli.json("inspect", folder)["stored_bytes"]
    assert by_name["none"]["fetched_bytes"] == stored < by_name["naive"]["fetched_bytes"]
