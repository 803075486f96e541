"""The connector test as an experiment, run for real: by this program, and by the libraries that it is held against."""

import contextlib
import json
import os
import pathlib
import re
import signal
import subprocess
import time

import apart
import pytest
import served
from conftest import Cli, write_rows
from holding_proxy import HoldingProxy
from test_tune import CONFIG, TEXT

EXPERIMENT = "connector_finetune_benchmark-v1.0.0"
ROWS = 24
STEPS = "optimise optimise_compressed count size stream stream_compressed fine_tune resume".split()
STEPS += ["fine_tune_local", "fine_tune_again"]
#: When something first came of a step that a process of its own made.
FIRSTS = {"stream": "first_batch_seconds", "fine_tune": "time_to_first_step", "resume": "resumed_time_to_first_step"}
FIRSTS |= {"fine_tune_local": "local_time_to_first_step"}
PEERS = pathlib.Path(__file__).parent / "apart" / "connector_peers.py"
WORKER = pathlib.Path(__file__).parents[2] / "share" / "peers" / "connector-worker"
POINT = {
    "model_max_length": 64,
    "batch_size": 4,
    "max_steps": 4,
    "checkpoint_every": 2,
    "shard_size": 600,
    "threads": 1,
}


class Experiment:
    def __init__(self, client, folder):
        self.client, self.folder = client, folder
        model = folder / "model"
        model.mkdir()
        (model / "config.json").write_text(json.dumps(CONFIG))
        rows = write_rows(folder / "rows.jsonl", TEXT[:ROWS])
        self.point = POINT | {"model_name": model, "dataset_id": rows}

    def command(self, connector, uri, **more):
        given = self.point | {"connector": connector, "uri": uri} | more
        options = [word for name, value in given.items() for word in ("-p", f"{name}={value}")]
        store = f"sqlite:///{self.folder / 'store.db'}"
        command = [served.ASSAY, "run", EXPERIMENT, *options, "--store", store, "--output", "json"]
        return [str(word) for word in command]

    def ended(self, *arguments, **more):
        return subprocess.run(
            self.command(*arguments, **more),
            env=self.client.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=500,
        )

    def measurement(self, *arguments, **more):
        ended = self.ended(*arguments, **more)
        assert ended.returncode == 0, (ended.stdout, ended.stderr)
        self.told = ended.stderr
        measurement = json.loads(ended.stdout)
        assert measurement["outcome"] == "valid", (measurement["reason"], ended.stderr)
        return measurement

    def measured(self, *arguments, **more):
        return self.measurement(*arguments, **more)["properties"]

    def below(self, uri):
        listed = [served.ASSAY, "object", "ls", "--recursive", f"{uri}/"]
        return subprocess.run(listed, env=self.client.environment, capture_output=True, text=True).stdout


def reached(url):
    """By the variables that all libraries know, which this program knows too."""
    keys = {"AWS_ACCESS_KEY_ID": "AKIATEST", "AWS_SECRET_ACCESS_KEY": "test", "AWS_EC2_METADATA_DISABLED": "true"}
    place = {"AWS_REGION": "us-east-1", "AWS_DEFAULT_REGION": "us-east-1", "AWS_ENDPOINT_URL": url}
    return keys | place | {"S3_ENDPOINT_URL": url, "NO_PROXY": "127.0.0.1", "CUDA_VISIBLE_DEVICES": ""}


@pytest.fixture
def bench(serve, tmp_path):
    server = serve("--root", "memory", "--bucket", "test")
    return Experiment(Cli(tmp_path, reached(server.url) | {"TMPDIR": str(tmp_path)}), tmp_path)


@pytest.fixture(scope="module")
def parts(tmp_path_factory):
    """What parts of the libraries' side answer, by their names: one process is asked, which loads libraries once."""
    folder = tmp_path_factory.mktemp("parts")
    (folder / "from" / "deep").mkdir(parents=True)
    (folder / "from" / "a").write_text("1")
    (folder / "from" / "deep" / "b").write_text("22")
    server = served.Server("--root", "memory", "--bucket", "test")
    place = {"uri": "s3://test/peers", "folder": str(folder), "environment": reached(server.url)}
    questions = [
        {"ask": "rows_over_nothing"},
        {"ask": "epochs_of_files", "names": [f"{name}.jsonl" for name in "abcd"]},
        place | {"ask": "clients_of_fsspec"},
        place | {"ask": "clients_of_streaming"},
        place | {"ask": "uploads_after_a_removal"},
        {"ask": "waits_of_a_resume", "folder": str(folder)},
    ]
    try:
        answers = apart.answer(PEERS, questions, folder)
    finally:
        server.stop()
    return {question["ask"]: answer for question, answer in zip(questions, answers, strict=True)}


def check(values):
    assert all(values[f"{step}_seconds"] > 0 for step in STEPS)
    assert values["rows"] == ROWS and values["total_bytes"] > 0
    assert values["stream_samples_per_second"] > 0 and values["first_batch_seconds"] > 0
    assert values["stream_compressed_samples_per_second"] > 0
    assert values["real_tokens_per_second"] > 0 and values["local_real_tokens_per_second"] > 0
    assert values["checkpoints"] == 2 and values["checkpoint_bytes"] > 0
    assert values["checkpoint_remote_seconds"] > 0 and values["checkpoint_local_seconds"] > 0
    assert values["real_tokens_per_second"] < values["real_tokens_per_second_without_checkpoints"]
    assert "bucket_cost_percent" in values
    for step, first in FIRSTS.items():
        start = values[f"{step}_start_seconds"]
        # An event's way to the store may take as long as a first step.
        assert 0 < start <= values[first] < start + values[f"{step}_seconds"]


@pytest.mark.parametrize("connector", ["assay", "assay-copy"])
def test_ours_in_a_bucket(bench, connector):
    values = bench.measured(connector, "s3://test/here", cache_limit="1MiB", priced_as="oci")
    check(values)
    assert values["loss_difference"] == values["resumed_loss_difference"] == 0
    assert values["read_requests"] > values["objects"] / 2 and values["write_requests"] > values["objects"]
    assert values["requests_usd"] > 0 and values["read_amplification"] >= 1
    assert values["sent_bytes"] > values["total_bytes"] / 2
    assert bench.below("s3://test/here") == ""


def test_ours_in_a_folder(bench, tmp_path):
    values = bench.measured("assay", tmp_path / "place")
    check(values)
    assert values["read_requests"] == 0 and "requests_usd" not in values and "read_amplification" not in values
    assert [path for path in (tmp_path / "place").rglob("*") if path.is_file()] == []


OTHERS = {
    "fsspec": "s3fs",
    "streaming": "mosaicml-streaming",
    "litdata": "litdata",
    "s3torchconnector": "s3torchconnector",
}
#: One object, as by default: of a loader's processes one has none. Of the others several.
ONE_OBJECT = "s3torchconnector"


@pytest.mark.parametrize("connector", OTHERS)
def test_others_in_a_bucket(bench, connector):
    shard_size = "64MiB" if connector == ONE_OBJECT else 600
    measurement = bench.measurement(connector, "s3://test/here", shard_size=shard_size)
    values, libraries = measurement["properties"], measurement["provenance"]["libraries"]
    check(values)
    assert f"{OTHERS[connector]} " in libraries
    assert "transformers " in libraries and "peft " in libraries
    assert "stream_stall_fraction" not in values
    assert "loading on cpu (1 threads)\n" in bench.told and " left\n" not in bench.told
    if connector in ("fsspec", "streaming"):
        assert values["read_requests"] > values["objects"] / 2 and values["write_requests"] > values["objects"]
        assert values["sent_bytes"] > values["total_bytes"]
    else:
        assert "read_requests" not in values
    assert (values["objects"] == 2) == (connector == ONE_OBJECT)
    assert values["loss_difference"] == 0
    assert bench.below("s3://test/here") == ""


def wait_for(condition, process):
    deadline = time.monotonic() + 300
    while not condition():
        assert process.poll() is None and time.monotonic() < deadline, process.communicate()
        time.sleep(0.05)


@pytest.mark.parametrize("connector", ["assay", "fsspec"])
def test_nothing_stays_of_a_test_that_is_ended(bench, tmp_path, connector):
    command = bench.command(connector, "s3://test/here", max_steps=100000, checkpoint_every=2)
    process = subprocess.Popen(
        command, env=bench.client.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    wait_for(lambda: "/run/" in bench.below("s3://test/here"), process)
    assert list(tmp_path.glob("assay-connector*"))
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=300)
    assert process.returncode != 0
    assert bench.below("s3://test/here") == ""
    assert list(tmp_path.glob("assay-connector*")) == []


def test_what_is_on_its_way_when_a_test_is_ended_does_not_stay(bench):
    place = bench.client.environment["AWS_ENDPOINT_URL"]
    with HoldingProxy(int(place.rpartition(":")[2]), "__0_0.distcp", seconds=0.5) as late:
        process = subprocess.Popen(
            bench.command("assay", "s3://test/here", max_steps=100000, checkpoint_every=2),
            env=bench.client.environment | {"AWS_ENDPOINT_URL": late.url},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        wait_for(late.seen.is_set, process)
        process.send_signal(signal.SIGTERM)
        assert process.wait(300) != 0
        assert late.delivered.wait(300)
    time.sleep(0.2)  # for the server to write it
    assert bench.below("s3://test/here") == ""


def test_nothing_is_written_behind_the_end_of_a_test_that_writes_its_data_set(bench):
    rows = write_rows(bench.folder / "many.jsonl", TEXT[:ROWS] * 2000)
    process = subprocess.Popen(
        bench.command("assay", "s3://test/here", dataset_id=rows),
        env=bench.client.environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    wait_for(lambda: "/plain/" in bench.below("s3://test/here"), process)
    process.send_signal(signal.SIGTERM)
    assert process.wait(300) != 0
    assert bench.below("s3://test/here") == ""


def process_of(plan):
    """That which carries out the plan of that name below a folder, or none."""
    for command in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            if command.read_bytes().endswith(f"/{plan}\0".encode()):
                return int(command.parent.name)
    return None


def test_a_killed_step_ends_the_test(bench, tmp_path):
    command = bench.command("assay", "s3://test/here", max_steps=100000)
    process = subprocess.Popen(
        command, env=bench.client.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    plans = []
    wait_for(lambda: plans.extend(tmp_path.glob("assay-connector*/fine_tune.json")) or plans, process)
    plan = f"{plans[0].parent.name}/fine_tune.json"
    wait_for(lambda: process_of(plan), process)
    os.kill(process_of(plan), signal.SIGKILL)
    told = b"".join(process.communicate(timeout=300)).decode()
    assert process.returncode != 0 and "killed by signal 9" in told, told
    assert bench.below("s3://test/here") == ""
    assert list(tmp_path.glob("assay-connector*")) == []


def test_a_loader_process_without_files_has_no_rows(parts):
    assert parts["rows_over_nothing"] == [0, 1]


def test_passes_over_files_have_all_rows_in_another_order(parts):
    first, second, again, alone = parts["epochs_of_files"]
    whole = sorted(f"{name}{number}" for name in "abcd" for number in range(5))
    assert second == again
    for rows in zip(first, second, strict=True):
        assert sorted(rows[0] + rows[1]) == whole
    for passes in (first, second, alone):
        assert passes[0] != passes[1] and sorted(passes[0]) == sorted(passes[1])
    assert sorted(alone[0]) == whole


def test_steps_behind_a_resume_tell_how_long_they_waited(parts):
    whole, resumed = parts["waits_of_a_resume"]
    assert whole == [[step, True] for step in (1, 2, 3, 4)]
    assert resumed == [[step, True] for step in (3, 4)]


def test_processes_of_a_loader_share_no_connection_of_streaming(parts):
    assert parts["clients_of_streaming"] == [[True], 3]


def billed(metrics):
    """What the store has answered, as it would be billed."""
    found = re.findall(r'assay_object_requests_total\{operation="(\w+)"[^}]*\} (\d+)', metrics)

    def of(*kinds):
        return sum(int(count) for operation, count in found if operation.startswith(kinds))

    return {"read_requests": of("Get", "Head"), "write_requests": of("") - of("Get", "Head", "Delete")}


def test_fsspec_has_one_client_for_all_calls(parts):
    answer = parts["clients_of_fsspec"]
    assert answer["made"] == 1
    assert answer["counted"] == answer["counted"] | billed(answer["metrics"])
    assert answer["found"] == {"one-0": 1, "one-1": 1, "one-2": 1, "folder/a": 1, "folder/deep/b": 2}
    assert answer["left"] == {} and answer["back"] == {"a": "1", "deep/b": "22"}


def test_unfinished_uploads_of_libraries_are_removed(parts):
    other = "peers-of-another"
    assert parts["uploads_after_a_removal"] == [[other], [other, other]]


def test_a_library_without_the_gpu_trains_nothing(tmp_path):
    plan = {"connector": "fsspec", "step": "", "uri": str(tmp_path), "fine_tune": {"device": "cuda", "threads": 1}}
    (tmp_path / "plan.json").write_text(json.dumps(plan))
    environment = os.environ | {"CUDA_VISIBLE_DEVICES": "", "TMPDIR": str(tmp_path)}
    command = [WORKER, "--plan", tmp_path / "plan.json"]
    ended = subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    event = json.loads(ended.stdout.splitlines()[-1])
    assert ended.returncode == 2 and event["kind"] == "invalid" and "sees no GPU" in event["reason"], ended.stderr


def test_what_cannot_be_is_said(bench, tmp_path):
    ended = bench.ended("fsspec", tmp_path / "place", compression="br")
    assert "has no compression br" in ended.stdout + ended.stderr
    lost = bench.ended("assay", "s3://nowhere/here")
    assert lost.returncode != 0 and "nowhere" in lost.stdout + lost.stderr
