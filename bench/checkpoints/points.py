"""Points of the checkpoint benchmarks, measured by `assay run` as anybody's are."""

import dataclasses
import json
import os
import subprocess

from harness.machine import ROOT

from storage import server

SHARDED, SINGLE = "checkpoint_sharded_benchmark-v1.0.0", "checkpoint_single_benchmark-v1.0.0"


@dataclasses.dataclass(frozen=True)
class State:
    """What is saved: a model of the sharded benchmark, or layers of the single-file one."""

    experiment: str
    title: str
    properties: dict  # without client, uri and operation
    repeats: str  # the property's name


def sharded(model, title, repeats):
    return State(SHARDED, title, {"model": model, "world_size": 2, "epochs": repeats}, "epochs")


def single(layers, repeats):
    return State(SINGLE, f"Lightning file of {layers} layers", {"layers": layers, "steps": repeats}, "steps")


class Points:
    """Measures points in a folder of a disk, and in a bucket of an embedded server."""

    def __init__(self, bin_dir, folder, url):
        self.assay = bin_dir / "assay"
        self.folder = folder
        bucket = {name: value for name, value in server.environment(url).items() if name != "PATH"}
        self.environment = dict(os.environ, CUDA_VISIBLE_DEVICES="") | bucket | {"S3_ENDPOINT_URL": url}
        self.places = {"disk": str(folder / "disk"), "s3": f"s3://{server.BUCKET}"}

    def run(self, *words):
        command = [str(word) for word in [self.assay, *words]]
        done = subprocess.run(command, env=self.environment, capture_output=True, text=True, check=False, cwd=ROOT)
        if done.returncode != 0:
            lines = done.stderr.strip().splitlines() or ["it said nothing"]
            raise RuntimeError(f"{' '.join(command)}: {lines[-1]}")
        return json.loads(done.stdout)

    def measure(self, state, client, place, operation, **more):
        """The measurement of one point: its "properties" and "series"."""
        given = state.properties | {"client": client, "uri": self.places[place], "operation": operation} | more
        options = [word for name, value in given.items() for word in ("-p", f"{name}={value}")]
        store = f"sqlite:///{self.folder / 'store.db'}"
        measured = self.run("run", state.experiment, *options, "--again", "--store", store, "--output", "json")
        if measured["outcome"] != "valid":
            raise RuntimeError(f"{state.title}, {client}, {operation}: {measured['reason']}")
        return measured

    def spans(self, *arguments, **more):
        return self.measure(*arguments, **more)["series"]["span_seconds"]
