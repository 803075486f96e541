"""Makes one file of the results of a sweep's jobs: run_results.json beside their folders."""

import importlib.metadata
import json
import pathlib
import platform
import sys
import time

from hydra.experimental.callback import Callback
from point import RESULTS


def version_of(package):
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


class ResultCollatingCallback(Callback):
    """As the published one, but that it asks no cloud for the machine and writes to no database."""

    def __init__(self):
        self.folder, self.began, self.jobs = None, time.perf_counter(), 0

    def on_job_start(self, config, **_):
        self.jobs += 1
        # Where there is one job alone its folder is the run's.
        own = pathlib.Path(config.hydra.runtime.output_dir)
        self.folder = own.parent if config.hydra.mode.name == "MULTIRUN" else own

    def on_run_end(self, config, **_):
        self.collate(config)

    def on_multirun_end(self, config, **_):
        self.collate(config)

    def collate(self, config):
        found = sorted(self.folder.glob(f"**/{RESULTS}"))
        run = {
            "s3torchconnector_version": version_of("s3torchconnector"),
            "timestamp_utc": time.time(),
            "scenario": config.hydra.job.config_name,
            "disambiguator": config.get("disambiguator"),
            "run_elapsed_time_s": time.perf_counter() - self.began,
            "versions": {
                "python": platform.python_version(),
                "pytorch": version_of("torch"),
                "hydra": version_of("hydra-core"),
            },
            "ec2_metadata": None,
            "job_results": [json.loads(path.read_text()) for path in found],
        }
        path = self.folder / "run_results.json"
        path.write_text(json.dumps(run, indent=2) + "\n")
        print(f"{len(found)} of {self.jobs} jobs measured: {path}")
        if len(found) < self.jobs:
            sys.exit(1)
