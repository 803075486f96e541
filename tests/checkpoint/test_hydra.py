"""Sweeps of the sharded benchmark as the published harness has them: by Hydra itself, whose habits hold here."""

import json
import os
import pathlib
import subprocess
import sys

import pytest

FOLDER = pathlib.Path(__file__).parents[2] / "examples" / "checkpoints" / "dcp_fsdp"
EXPERIMENT = "checkpoint_sharded_benchmark-v1.0.0"


class Sweeps:
    def __init__(self, cli, folder):
        self.assay, self.folder = cli.command()[0], folder
        self.environment = {**os.environ, **cli.environment, "ASSAY": str(self.assay), "PYTHONDONTWRITEBYTECODE": "1"}
        self.store = f"sqlite:///{folder / 'store.db'}"

    def run(self, *overrides, script="save_benchmark.py", places=True):
        own = [f"+path={self.folder / 'nvme'}", f"+store={self.store}"] if places else []
        return subprocess.run(
            [sys.executable, FOLDER / script, *overrides, *own],
            capture_output=True,
            text=True,
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            timeout=300,
        )

    def results(self, scenario):
        (path,) = self.folder.glob(f"multirun/{scenario}/*/run_results.json")
        return path.parent, json.loads(path.read_text())

    def remembered(self):
        """What `assay results` reads back."""
        words = [self.assay, "results", "--experiment", EXPERIMENT, "--store", self.store, "--output", "json"]
        done = subprocess.run(words, capture_output=True, text=True, check=True, env=self.environment)
        return json.loads(done.stdout)


@pytest.fixture
def sweeps(cli, tmp_path):
    return Sweeps(cli, tmp_path)


def test_a_sweep_has_the_published_folders_and_keys(sweeps):
    done = sweeps.run("+model=L7m", "+world_size=1,2", "+thread_count=1", "epochs=2", "+checkpoint.storage=disk")
    assert done.returncode == 0, done.stdout + done.stderr
    folder, run = sweeps.results("sharded_save")
    assert run["scenario"] == "sharded_save" and run["versions"]["hydra"].startswith("1.3")
    assert [job["config"]["world_size"] for job in run["job_results"]] == [1, 2]
    for place, job in enumerate(run["job_results"]):
        assert json.loads((folder / str(place) / "job_results.json").read_text()) == job
        assert (folder / str(place) / ".hydra" / "config.yaml").exists()
        metrics, ranks = job["metrics"], job["config"]["world_size"]
        assert len(metrics["throughput_mibs"]) == len(metrics["corrected_save_durations_s"]) == 2 * ranks
        for rate, seconds in zip(metrics["throughput_mibs"], metrics["corrected_save_durations_s"], strict=True):
            assert rate * seconds == pytest.approx(
                metrics["throughput_mibs"][0] * metrics["corrected_save_durations_s"][0]
            )
        assert metrics["utilization"]["cpu_util"]["n"] > 0
    measured = sweeps.remembered()
    assert sorted(point["entity"]["world_size"] for point in measured) == [1, 2]


def test_a_published_file_is_taken_as_it_is(sweeps):
    """With a list of defaults, values that are said to be missing, and a sweep of its own."""
    conf = sweeps.folder / "conf"
    conf.mkdir()
    (conf / "dcp_fsdp_load.yaml").write_text(
        "defaults:\n  - hydra/callbacks/collate_results\n  - aws/dynamodb\n  - _self_\n"
        "s3:\n  region: ???\n  uri: ???\nepochs: 2\n"
        "hydra:\n  mode: MULTIRUN\n"
        "  sweep:\n    dir: multirun/${hydra.job.config_name}/${now:%Y-%m-%d_%H-%M-%S}\n"
        "  sweeper:\n    params:\n      +model: L7m\n      +backend: gloo\n      +world_size: 2\n"
        "      +thread_count: 2\n      +checkpoint.storage: disk\n      +checkpoint.sharding_strategy: full, hybrid\n"
        "      +checkpoint.sync_files: false\n      +checkpoint.suffix: again\n"
    )
    done = sweeps.run("-cd", str(conf), "-cn", "dcp_fsdp_load", "++world_size=1", script="load_benchmark.py")
    assert done.returncode == 0, done.stdout + done.stderr
    _, run = sweeps.results("dcp_fsdp_load")
    assert [job["config"]["checkpoint"]["sharding_strategy"] for job in run["job_results"]] == ["full", "hybrid"]
    assert all(job["config"]["world_size"] == 1 for job in run["job_results"])
    assert all(point["parameters"]["operation"] == "load" for point in sweeps.remembered())


def test_a_bucket_is_reached_as_the_environment_says(sweeps, serve):
    server = serve("--root", "memory", "--bucket", "runs")
    sweeps.environment |= {
        "AWS_ACCESS_KEY_ID": "AKIATEST",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_ENDPOINT_URL": server.url,
        "AWS_EC2_METADATA_DISABLED": "true",
        "NO_PROXY": "127.0.0.1",
    }
    bucket = ["+checkpoint.storage=s3", "s3.uri=s3://runs/bench", "s3.region=us-east-1", "+checkpoint.suffix=a"]
    done = sweeps.run("+model=L7m", "+world_size=1", "epochs=1", "+client=assay,s3torchconnector", *bucket)
    assert done.returncode == 0, done.stdout + done.stderr
    _, run = sweeps.results("sharded_save")
    assert [job["config"]["client"] for job in run["job_results"]] == ["assay", "s3torchconnector"]
    assert all(min(job["metrics"]["throughput_mibs"]) > 0 for job in run["job_results"])
    assert all(point["entity"]["uri"] == "s3://runs/bench" for point in sweeps.remembered())


@pytest.mark.parametrize(
    ("overrides", "places", "line"),
    [
        (["+layers=L7m", "+world_size=1"], True, "layers is none of model, world_size, "),
        (["+model=L7m"], True, "say which world_size: +world_size=..."),
        (["+model=L7m", "+world_size=1"], False, "say where checkpoints go: +path=/data/runs"),
        (["+model=L7m", "+world_size=1", "+checkpoint.storage=s3"], True, "s3.uri=s3://bucket/prefix"),
        (["+model=L8m", "+world_size=1"], True, "L8m"),
        (["+model=L7m", "+world_size=1", "+checkpoint.storage=gs"], True, "say where checkpoints go"),
    ],
)
def test_a_mistake_is_one_line_and_the_others_of_a_sweep_go_on(sweeps, overrides, places, line):
    done = sweeps.run(*overrides, places=places)
    assert done.returncode == 1
    assert line in done.stdout and "Traceback" not in done.stdout + done.stderr, done.stdout + done.stderr
    assert "0 of 1 jobs measured" in done.stdout
    assert sweeps.results("sharded_save")[1]["job_results"] == []


def test_of_a_sweep_with_a_job_that_is_refused_the_others_are_measured(sweeps):
    done = sweeps.run("+model=L7m", "+world_size=1", "epochs=1", "+client=assay,nobody")
    assert done.returncode == 1 and "nobody" in done.stdout and "1 of 2 jobs measured" in done.stdout
    assert [job["config"]["client"] for job in sweeps.results("sharded_save")[1]["job_results"]] == ["assay"]
