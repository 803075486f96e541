"""A job of a sweep: a point of checkpoint_sharded_benchmark, measured by `assay run`."""

import json
import logging
import os
import pathlib
import subprocess

from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig, OmegaConf

EXPERIMENT = "checkpoint_sharded_benchmark-v1.0.0"
ROOT = pathlib.Path(__file__).resolve().parents[3]
ASSAY = os.environ.get("ASSAY", ROOT / "build" / "release" / "bin" / "assay")
# Properties of the experiment by the published names, which are its own but for where they stand.
PROPERTIES = {
    "model": "model",
    "world_size": "world_size",
    "thread_count": "thread_count",
    "backend": "backend",
    "epochs": "epochs",
    "client": "client",
    "protocol": "protocol",
    "checkpoint.storage": "storage",
    "checkpoint.sharding_strategy": "sharding_strategy",
    "checkpoint.sync_files": "sync_files",
    "checkpoint.suffix": "suffix",
}
# What says where checkpoints and results go, or nothing to this program.
PLACES = ("path", "store", "disambiguator", "s3.uri", "s3.region", "dynamodb")
RESULTS = "job_results.json"
LOG = logging.getLogger(__name__)


class Refused(Exception):
    """One line: what is wrong with a job."""


def leaves(config, above=""):
    """Names of what the configuration says, values that are missing among them."""
    for key in config:
        name = f"{above}{key}"
        node = None if OmegaConf.is_missing(config, key) else config[key]
        yield from leaves(node, name + ".") if isinstance(node, DictConfig) else [name]


def said(config, name):
    return OmegaConf.select(config, name, throw_on_missing=False)


def place_of(config):
    """What checkpoints are written to: the bucket where the storage is one, else the folder."""
    storage = said(config, "checkpoint.storage") or "disk"
    key = "path" if storage == "disk" else "s3.uri"
    place = said(config, key)
    if place is None:
        example = "+path=/data/runs" if storage == "disk" else "s3.uri=s3://bucket/prefix"
        raise Refused(f"say where checkpoints go: {example}")
    return str(pathlib.Path(place).absolute()) if storage == "disk" else place


def properties_of(config, operation):
    known = [*PROPERTIES, *PLACES]
    for name in leaves(config):
        if name not in known and not name.startswith("dynamodb."):
            raise Refused(f"{name} is none of {', '.join(known)}")
    given = {to: said(config, name) for name, to in PROPERTIES.items() if said(config, name) is not None}
    for name in ("model", "world_size"):
        if name not in given:
            raise Refused(f"say which {name}: +{name}=...")
    # The reference's rules, by which a save need not be on the disk when it ends, but where another is asked for.
    defaults = {"client": "assay", "protocol": "published"}
    return defaults | given | {"uri": place_of(config), "operation": operation}


def run(config, operation):
    options = [word for name, value in properties_of(config, operation).items() for word in ("-p", f"{name}={value}")]
    command = [ASSAY, "run", EXPERIMENT, "--again", "--output", "json", *options]
    if store := said(config, "store"):
        command += ["--store", store]
    region = said(config, "s3.region")
    environment = os.environ | ({"AWS_REGION": region, "AWS_DEFAULT_REGION": region} if region else {})
    done = subprocess.run(command, capture_output=True, text=True, env=environment, stdin=subprocess.DEVNULL)
    if not done.stdout:
        raise Refused((done.stderr.strip().splitlines() or ["assay said nothing"])[-1])
    measured = json.loads(done.stdout)
    if measured["outcome"] != "valid":
        raise Refused(measured["reason"])
    return measured


def utilization(values, name):
    parts = ("n", "mean", "min", "p50", "p75", "p90", "max")
    return {part: values[f"{name}_{part}"] for part in parts if f"{name}_{part}" in values}


def metrics_of(measured):
    """By the published names, of each rank and epoch; the wall time of an epoch is known as a mean alone."""
    values, series = measured["properties"], measured["series"]
    return {
        "throughput_mibs": series["throughput_mibs"],
        "corrected_save_durations_s": series["rank_seconds"],
        "processing_durations_s": [values["processing_durations_s"]],
        "utilization": {name: utilization(values, name) for name in ("cpu_util", "cpu_mem")},
    }


def measure(config, operation):
    """Writes job_results.json into the job's folder. A job that is refused says so, and the sweep goes on."""
    try:
        measured = run(config, operation)
    except Refused as refused:
        LOG.error("%s", refused)
        return
    results = {"config": OmegaConf.to_container(config), "metrics": metrics_of(measured)}
    path = pathlib.Path(HydraConfig.get().runtime.output_dir) / RESULTS
    path.write_text(json.dumps(results, indent=2) + "\n")
    LOG.info("%.0f MiB/s (%s)", measured["properties"]["throughput_mibs"], path)
