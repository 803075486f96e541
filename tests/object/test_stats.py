"""What --stats counts, and what bench puts around a store."""

import json

import pytest

BYTES = 20_000_000


def counts(ended, store="s3://test"):
    return json.loads(ended.stderr)[store]


def requests(counted):
    return {(one["method"], one["status"]): one["count"] for one in counted["requests"]}


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(bytes(BYTES))
    return path


def test_copies_are_counted(cli, file, tmp_path):
    put = counts(cli.run("put", file, "s3://test/k", "--part-size", "5MiB", "--stats=json"))
    assert requests(put)[("PUT", 200)] == 4 and requests(put)[("POST", 200)] == 2
    assert put["bytes_sent"] >= BYTES and put["operations"]["write"]["bytes"] == BYTES
    assert put["connections"] >= 1 and put["retries"] == 0
    latency = put["request_latency"]
    assert latency["count"] == sum(requests(put).values())
    assert 0 < latency["p50_seconds"] <= latency["p90_seconds"] <= latency["p99_seconds"]
    get = counts(cli.run("get", "s3://test/k", tmp_path / "back", "--stats=json"))
    assert get["bytes_asked"] == get["bytes_used"] == BYTES <= get["bytes_received"]
    both = json.loads(cli.run("cp", "s3://test/k", "s3://other/k", "--stats=json").stderr)
    assert set(both) == {"s3://test", "s3://other"}


def test_listing_and_removal_are_counted(cli, file):
    cli.run("put", file, "s3://test/k")
    assert requests(counts(cli.run("ls", "s3://test", "--stats=json"))) == {("GET", 200): 1}
    removed = counts(cli.run("rm", "-r", "s3://test", "--stats=json"))
    assert removed["operations"]["remove_many"]["calls"] == 1
    table = cli.run("ls", "s3://test", "--stats").stderr.decode()
    assert table.startswith("s3://test: ") and "list" in table and "p99" in table


def test_failures_are_counted_where_asked(cli):
    ended = cli.run("cat", "s3://test/none", code=2)
    assert ended.stderr.count(b"\n") == 1
    ended = cli.run("get", "s3://test/none", "-", "--stats", code=2).stderr.decode()
    assert "404" in ended and ended.splitlines()[-1].startswith("assay object")


def test_retries_are_counted(serve, make_cli, file, tmp_path):
    profile = tmp_path / "faults.yaml"
    profile.write_text("faults:\n  - {fault: return, status: 503, rate: 0.3}\n")
    cli = make_cli(serve("--root", "memory", "--profile", profile, "--bucket", "test", "--seed", 3).url)
    put = counts(cli.run("put", file, "s3://test/k", "--part-size", "5MiB", "--stats=json"))
    answered = requests(put)
    assert put["retries"] == sum(count for (_, status), count in answered.items() if status == 503) > 0


def test_bench_prints_what_it_cost(cli):
    ended = cli.run("bench", "s3://test", "--size", "1MiB", "--repeats", 1)
    assert b"MiB per CPU s" in ended.stdout and b"s3://test: " in ended.stderr


def test_bench_from_afar(cli):
    near = ("bench", "mem://near", "--size", 1000, "--repeats", 1, "--output", "json")
    # Of twenty one has a processor for itself.
    assert min(json.loads(cli.run(*near, "--repeats", 20).stdout)[0]["seconds"]) < 0.1
    far = json.loads(cli.run(*near, "--latency", "150ms").stdout)
    assert all(row["seconds"][0] >= 0.15 for row in far)
    slow = json.loads(cli.run(*near, "--latency", "1ms,0,4kB").stdout)
    assert all(row["seconds"][0] >= 0.25 for row in slow)
    assert "20ms" in cli.refused("bench", "mem://near", "--latency", "fast")


def test_bench_on_a_store_that_fails(cli, tmp_path):
    record = tmp_path / "record"
    mixed = ("bench", "mem://failing", "--work", "mixed", "--count", 400, "--output", "json")
    ended = cli.run(*mixed, "--fault", "refuse:0.1", "--fault", "lose-answer:0.1:write", "--record", record)
    found = json.loads(ended.stdout)
    assert found["wrong"] == 0 and found["errors"] > 20 and "a fault was asked for" in found["first_error"]
    lines = [json.loads(line) for line in record.read_text().splitlines()]
    # Every error of the bench is a call that failed; that nothing is there may be what was expected.
    failed = [line for line in lines if line["status"] not in ("ok", "not_found")]
    assert len(lines) >= 400 and len(failed) >= found["errors"]
    assert {"io", "failed_precondition"} >= {line["status"] for line in failed}
    assert {"write", "read_whole", "copy", "remove", "list"} <= {line["op"] for line in lines}
    # The check itself can fail.
    ended = cli.run(*mixed, "--fault", "flip-bit:0.2", code=1)
    assert json.loads(ended.stdout)["wrong"] > 0
    assert "KIND:RATE" in cli.refused("bench", "mem://failing", "--fault", "refuse")
