"""The connector test as an experiment, run for real: by this program, and by the libraries that it is held against."""

import json
import subprocess

import pytest
import served
from conftest import Cli, write_rows
from test_tune import CONFIG, TEXT

EXPERIMENT = "connector_finetune_benchmark-v1.0.0"
ROWS = 24
STEPS = "optimise optimise_compressed count size stream fine_tune resume fine_tune_local".split()
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

    def ended(self, connector, uri, **more):
        given = self.point | {"connector": connector, "uri": uri} | more
        options = [word for name, value in given.items() for word in ("-p", f"{name}={value}")]
        store = f"sqlite:///{self.folder / 'store.db'}"
        command = [served.ASSAY, "run", EXPERIMENT, *options, "--store", store, "--output", "json"]
        return subprocess.run(
            [str(word) for word in command],
            env=self.client.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=500,
        )

    def measured(self, *arguments, **more):
        ended = self.ended(*arguments, **more)
        assert ended.returncode == 0, (ended.stdout, ended.stderr)
        measurement = json.loads(ended.stdout)
        assert measurement["outcome"] == "valid", (measurement["reason"], ended.stderr)
        return measurement["properties"]

    def below(self, uri):
        listed = [served.ASSAY, "object", "ls", "--recursive", f"{uri}/"]
        return subprocess.run(listed, env=self.client.environment, capture_output=True, text=True).stdout


@pytest.fixture
def bench(serve, tmp_path):
    """Reached by the variables that all libraries know, which this program knows too."""
    server = serve("--root", "memory", "--bucket", "test")
    keys = {"AWS_ACCESS_KEY_ID": "AKIATEST", "AWS_SECRET_ACCESS_KEY": "test", "AWS_EC2_METADATA_DISABLED": "true"}
    place = {"AWS_REGION": "us-east-1", "AWS_DEFAULT_REGION": "us-east-1", "AWS_ENDPOINT_URL": server.url}
    place |= {"S3_ENDPOINT_URL": server.url, "NO_PROXY": "127.0.0.1", "CUDA_VISIBLE_DEVICES": ""}
    return Experiment(Cli(tmp_path, keys | place | {"TMPDIR": str(tmp_path)}), tmp_path)


def check(values):
    assert all(values[f"{step}_seconds"] > 0 for step in STEPS)
    assert values["rows"] == ROWS and values["objects"] > 4 and values["total_bytes"] > 0
    assert values["stream_samples_per_second"] > 0 and values["first_sample_seconds"] > 0
    assert values["real_tokens_per_second"] > 0 and values["local_real_tokens_per_second"] > 0
    assert values["checkpoints"] == 2 and values["checkpoint_bytes"] > 0
    low, high = values["bucket_cost_percent_ci_low"], values["bucket_cost_percent_ci_high"]
    assert low <= values["bucket_cost_percent"] <= high
    assert 0 < values["time_to_first_step"] < values["fine_tune_seconds"]
    assert 0 < values["resumed_time_to_first_step"] < values["resume_seconds"]


@pytest.mark.parametrize("connector", ["assay", "assay-copy"])
def test_ours_in_a_bucket(bench, connector):
    values = bench.measured(connector, "s3://test/here", cache_limit="1MiB")
    check(values)
    assert values["loss_difference"] == values["resumed_loss_difference"] == 0
    assert values["read_requests"] > values["objects"] / 2 and values["write_requests"] > values["objects"]
    assert values["requests_usd"] > 0 and values["sent_bytes"] > values["total_bytes"] / 2
    assert bench.below("s3://test/here") == ""


def test_ours_in_a_folder(bench, tmp_path):
    values = bench.measured("assay", tmp_path / "place")
    check(values)
    assert values["read_requests"] == 0 and "requests_usd" not in values
    assert [path for path in (tmp_path / "place").rglob("*") if path.is_file()] == []


@pytest.mark.parametrize("connector", ["fsspec"])
def test_others_in_a_bucket(bench, connector):
    values = bench.measured(connector, "s3://test/here")
    check(values)
    assert "read_requests" not in values and values["final_loss"] < 12
    assert bench.below("s3://test/here") == ""


def test_what_cannot_be_is_said(bench, tmp_path):
    ended = bench.ended("fsspec", tmp_path / "place", compression="br")
    assert "has no compression br" in ended.stdout + ended.stderr
    lost = bench.ended("assay", "s3://nowhere/here")
    assert lost.returncode != 0 and "nowhere" in lost.stdout + lost.stderr
