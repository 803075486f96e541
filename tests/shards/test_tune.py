"""Trainings whose rows stream out of shards: the losses of the same rows in a file, step by step."""

import json
import subprocess

import pytest
import served
from conftest import Cli, put_folder, write_rows

CONFIG = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "vocab_size": 8192,
    "max_position_embeddings": 512,
    "rms_norm_eps": 1e-5,
    "rope_theta": 10000.0,
    "tie_word_embeddings": True,
    "hidden_act": "silu",
}
# No two alike, so that a row trained on twice, or not at all, shows in the losses.
ROWS = [
    {"input_ids": ids, "labels": ids} for ids in ([(7 * i + j) % 8192 for j in range(3 + i % 17)] for i in range(30))
]
COLUMNS = "input_ids:ndarray:int32,labels:ndarray:int32"
TEXT = [
    {"prompt": f"What is {i} and {i}?", "completion": " The answer is " + " ".join(["so"] * (i % 17)) + f" {2 * i}."}
    for i in range(30)
]


class Tuner:
    def __init__(self, model, cli):
        self.model = model
        self.cli = cli

    def ended(self, data, *options, client=None):
        command = [served.ASSAY, "tune", "--model", self.model, "--data", data, "--dtype", "float32"]
        command += ["--learning-rate", "1e-3", "--lr-scheduler-type", "constant", "--output", "json", *options]
        return subprocess.run(
            [str(word) for word in command],
            env=(client or self.cli).environment,
            capture_output=True,
            text=True,
            timeout=300,
        )

    def run(self, data, *options, batch=4, client=None):
        ended = self.ended(data, "--batch-size", batch, *options, client=client)
        assert ended.returncode == 0, ended.stderr
        return json.loads(ended.stdout)

    def refused(self, data, *options, client=None, code=2):
        """The line that says why."""
        ended = self.ended(data, "--batch-size", "4", *options, client=client)
        assert ended.returncode == code, (ended.returncode, ended.stdout, ended.stderr)
        return ended.stderr.strip().splitlines()[-1]


@pytest.fixture
def tune(cli, tmp_path):
    model = tmp_path / "model"
    model.mkdir()
    (model / "config.json").write_text(json.dumps(CONFIG))
    return Tuner(model, cli)


@pytest.fixture
def shards(cli, tmp_path):
    """The rows as a data set of several shards, and as a file."""
    source = write_rows(tmp_path / "rows.jsonl", ROWS)
    cli.run("convert", source, tmp_path / "set", "--columns", COLUMNS, "--size-limit", "900")
    assert len(list((tmp_path / "set").glob("shard.*.mds"))) > 3
    return tmp_path / "set", source


def test_losses_are_those_of_the_rows_in_a_file(bucket, cli, tune, tmp_path):
    source = write_rows(tmp_path / "rows.jsonl", TEXT)
    cli.run("convert", source, tmp_path / "set", "--size-limit", "500", "--compression", "zstd")
    put_folder(bucket, tmp_path / "set", f"{bucket.uri}/set")
    options = ["--num-train-epochs", "2"]  # of 8 steps, the last of two rows
    expected = tune.run(source, *options)
    assert expected["steps"] == 16
    for data, more in ((tmp_path / "set", []), (f"{bucket.uri}/set", ["--data-cache", tmp_path / "shards"])):
        run = tune.run(data, *options, *more, client=bucket)
        assert run["losses"] == expected["losses"] and run["samples"] == 60
        assert run["data"]["fingerprint"] and 0 <= run["data"]["stall_fraction"] < 1
    assert list((tmp_path / "shards").glob("assay-*.shard"))


def test_what_a_data_set_cost_is_reported(bucket, cli, tune, tmp_path):
    source = write_rows(tmp_path / "rows.jsonl", TEXT)
    cli.run("convert", source, tmp_path / "set", "--size-limit", "500", "--compression", "zstd")
    put_folder(bucket, tmp_path / "set", f"{bucket.uri}/set")
    shards = len(cli.json("inspect", tmp_path / "set")["shards"])
    options = ["--num-train-epochs", "2", "--data-cache", tmp_path / "shards"]
    first = tune.run(f"{bucket.uri}/set", *options, client=bucket)["data"]
    assert first["fetched_shards"] == shards and first["cached_shards"] == first["unkept_shards"] == 0
    # The index and the manifest are asked for too.
    assert first["received_bytes"] >= first["asked_bytes"] > cli.json("inspect", tmp_path / "set")["stored_bytes"]
    assert first["samples"] >= 60 and first["used_bytes"] > 0 and first["requests"] > shards
    assert first["cpu_seconds_per_sample"] == first["cpu_seconds"] / first["samples"] > 0
    again = tune.run(f"{bucket.uri}/set", *options, "--number-ranks", "2", batch=2, client=bucket)["data"]
    assert again["fetched_shards"] == 0 and again["cached_shards"] == 2 * shards
    assert again["requests"] <= 2 * (first["requests"] - shards)
    small = ["--data-cache", tmp_path / "small", "--data-cache-limit", "100"]
    unkept = tune.run(f"{bucket.uri}/set", "--num-train-epochs", "1", *small, client=bucket)["data"]
    assert unkept["unkept_shards"] == unkept["fetched_shards"] >= shards and not list((tmp_path / "small").iterdir())
    of_files = tune.run(tmp_path / "set", *options[:2])["data"]
    assert of_files["requests"] == of_files["received_bytes"] == 0 and of_files["samples"] >= 60


def test_ranks_share_the_rows(tune, shards):
    options = ["--number-ranks", "2", "--max-steps", "9"]
    folder, source = shards
    assert tune.run(folder, *options, batch=2)["losses"] == tune.run(source, *options, batch=2)["losses"]


def test_the_order_of_shuffled_rows_is_that_of_the_stream(cli, tune, shards, tmp_path):
    folder, _ = shards
    order = ["--shuffle", "py1e", "--seed", "7", "--batch", "4", "--epochs", "2"]
    lines = cli.run("read", folder, *order).stdout.splitlines()
    assert len(lines) == 60
    read = write_rows(tmp_path / "read.jsonl", [json.loads(line) for line in lines])
    options = ["--max-steps", "7", "--seed", "7"]  # an epoch is 7 steps of 4 rows and one of 2
    shuffled = tune.run(folder, *options, "--shuffle")["losses"]
    assert tune.run(read, *options)["losses"] == shuffled != tune.run(folder, *options)["losses"]


@pytest.mark.parametrize("ranks", [1, 2])
def test_a_run_goes_on_with_the_next_row(ranks, bucket, tune, shards, tmp_path):
    folder, _ = shards
    put_folder(bucket, folder, f"{bucket.uri}/set")
    data = f"{bucket.uri}/set"
    order = ["--shuffle", "--max-steps"]
    straight = tune.run(data, *order, "19", client=bucket)  # beyond two epochs of 8
    places = ["--output-dir", f"{bucket.uri}/run", "--save-every", "100"]
    first = tune.run(data, *order, "11", *places, client=bucket)
    assert first["losses"] == straight["losses"][:11]
    on_ranks = ["--number-ranks", ranks, "--resume"]
    rest = tune.run(data, *order, "19", *places, *on_ranks, batch=4 // ranks, client=bucket)
    assert rest["losses"] == pytest.approx(straight["losses"][11:], rel=0 if ranks == 1 else 1e-5)
    changed = ["--seed", "5", "--shuffle", "--max-steps", "20", *places, "--resume"]
    assert "the seed" in tune.refused(data, *changed, client=bucket)
    write_rows(tmp_path / "others.jsonl", ROWS[1:])
    bucket.run("convert", tmp_path / "others.jsonl", f"{bucket.uri}/others", "--columns", COLUMNS)
    others = tune.refused(f"{bucket.uri}/others", *order, "20", *places, "--resume", client=bucket)
    assert "the rows" in others


def test_what_cannot_be_trained_on_is_refused(cli, tune, tmp_path):
    cli.run("convert", write_rows(tmp_path / "n.jsonl", [{"n": 1}]), tmp_path / "n")
    assert "has no columns to train on" in tune.refused(tmp_path / "n")
    cli.run("convert", write_rows(tmp_path / "m.jsonl", [{"messages": "of whom?"}]), tmp_path / "m")
    assert "sample 0: " in tune.refused(tmp_path / "m")
    cli.run("convert", write_rows(tmp_path / "bad.jsonl", [{"output": "without the template"}]), tmp_path / "bad")
    refused = tune.refused(tmp_path / "bad")
    assert "sample 0: " in refused and "Response" in refused
    assert "there is no data set at" in tune.refused("file:///nowhere/set/")


def test_what_is_lost_or_damaged_is_named(tune, shards):
    folder, _ = shards
    shard = folder / "shard.00002.mds"
    whole = shard.read_bytes()
    shard.write_bytes(whole[:-5])
    refused = tune.refused(folder)
    assert "shard.00002.mds" in refused and str(len(whole)) in refused
    shard.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    assert "shard.00002.mds" in tune.refused(folder)
    shard.unlink()
    assert "shard.00002.mds" in tune.refused(folder)


def test_a_host_that_is_not_there_is_named(tune, tmp_path):
    options = {"ENDPOINT": "http://127.0.0.1:9", "ANONYMOUS": "true", "REGION": "us-east-1", "MAX_ATTEMPTS": "2"}
    nowhere = Cli(tmp_path, {f"ASSAY_STORAGE_{name}": value for name, value in options.items()})
    assert "127.0.0.1 port 9" in tune.refused("s3://bucket/set", client=nowhere, code=1)
