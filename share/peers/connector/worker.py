"""A connector test by another library: reads the plan and writes the events that assay-worker does.

src/job/connector_plan.h says what the steps are; what each library brings are the classes of CONNECTORS.
"""

import argparse
import importlib
import json
import os
import resource
import shutil
import sys
import tempfile
import time

from events import Events, end_with_controller
from text import Rows, load_tokenizer

CONNECTORS = {
    "streaming": ("streaming_connector", "Streaming"),
    "litdata": ("litdata_connector", "Litdata"),
    "fsspec": ("file_connectors", "Fsspec"),
    "s3torchconnector": ("file_connectors", "S3TorchConnector"),
}
#: Numbers of a connector_step that these libraries do not tell.
UNKNOWN = dict.fromkeys(("read_requests", "write_requests", "retries", "received_bytes", "sent_bytes"), -1)
ZEROS = dict.fromkeys(("samples", "objects", "bytes", "first_seconds", "wait_seconds"), 0)


def cpu_seconds():
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in used)


class Run:
    def __init__(self, plan, events, folder):
        self.plan, self.events, self.folder = plan, events, folder
        self.uri = plan["uri"]
        module, name = CONNECTORS[plan["connector"]]
        self.connector = getattr(importlib.import_module(module), name)(plan, folder)
        self.local = self.connector.local()
        self.tokenizer = load_tokenizer(plan["fine_tune"]["tokenizer"])

    def carry_out(self):
        import torch

        threads = plan_threads(self.plan) or torch.get_num_threads()
        torch.set_num_threads(threads)
        where = {"device": "cpu", "threads": threads, "isa": ""}
        self.events.write("started", pid=os.getpid(), libtorch=torch.__version__.split("+")[0], **where)
        self.remove_written()
        self.measure("optimise", lambda: self.optimise(self.connector, f"{self.uri}/plain", ""))
        self.measure(
            "optimise_compressed",
            lambda: self.optimise(self.connector, f"{self.uri}/packed", self.plan["compression"]),
        )
        self.measure("count", self.count)
        self.measure("size", self.count)
        self.measure("stream", self.stream)
        self.fine_tune("fine_tune", self.connector, f"{self.uri}/plain", f"{self.uri}/run")
        last = self.plan["fine_tune"]["max_steps"]
        self.connector.remove(f"{self.uri}/run/checkpoint-{last}")
        self.fine_tune("resume", self.connector, f"{self.uri}/plain", f"{self.uri}/run", resumes=True)
        here = f"{self.folder}/local"
        self.optimise(self.local, f"{here}/plain", "")
        self.fine_tune("fine_tune_local", self.local, f"{here}/plain", f"{here}/run")
        self.remove_written()

    def measure(self, step, work):
        begin, cpu = time.monotonic(), cpu_seconds()
        told = work() or {}
        seconds = time.monotonic() - begin
        fields = {"step": step, "seconds": seconds, "cpu_seconds": cpu_seconds() - cpu}
        self.events.write("connector_step", **(ZEROS | UNKNOWN | told | fields))

    def optimise(self, connector, uri, compression):
        rows = connector.write(self.plan["rows_file"], uri, compression)
        return {"samples": rows, "bytes": os.path.getsize(self.plan["rows_file"])}

    def count(self):
        sizes = [size for name in ("plain", "packed") for size in self.connector.files(f"{self.uri}/{name}").values()]
        return {"objects": len(sizes), "bytes": sum(sizes)}

    def stream(self):
        """One pass, shuffled, by as many processes as a training's loader has."""
        import torch

        begin = time.monotonic()
        rows = self.connector.samples(f"{self.uri}/plain", f"{self.folder}/cache-stream")
        batch = self.plan["fine_tune"]["batch_size"]
        loader = torch.utils.data.DataLoader(rows, batch_size=batch, num_workers=self.plan["workers"], collate_fn=list)
        told = {"samples": 0, "bytes": 0, "first_seconds": 0, "wait_seconds": 0}
        asked = time.monotonic()
        for samples in loader:
            now = time.monotonic()
            told["wait_seconds"] += now - asked
            told["first_seconds"] = told["first_seconds"] or now - begin
            told["samples"] += len(samples)
            told["bytes"] += sum(len(text.encode()) for row in samples for text in row.values())
            asked = time.monotonic()
        return told

    def fine_tune(self, step, connector, data, checkpoints, resumes=False):
        from fine_tune import FineTune

        def train():
            rows = Rows(connector.samples(data, f"{self.folder}/cache-{step}"), self.tokenizer, self.plan["fine_tune"])
            here = f"{self.folder}/trainer-{step}"
            FineTune(self.plan, self.events, connector, rows, here).train(checkpoints, resumes)
            shutil.rmtree(here, ignore_errors=True)
            return {"samples": self.plan["fine_tune"]["max_steps"] * self.plan["fine_tune"]["batch_size"]}

        self.measure(step, train)

    def remove_written(self):
        for name in ("plain", "packed", "run"):
            self.connector.remove(f"{self.uri}/{name}")


def plan_threads(plan):
    return plan["fine_tune"]["threads"] or int(os.environ.get("OMP_NUM_THREADS", 0))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--plan", required=True)
    with open(parser.parse_args().plan) as file:
        plan = json.load(file)
    events = Events()
    end_with_controller()
    begin = time.monotonic()
    folder = tempfile.mkdtemp(prefix="assay-connector-")
    try:
        Run(plan, events, folder).carry_out()
    except ImportError as error:
        events.ended("invalid", f"connector {plan['connector']} lacks a Python package: {error} (run script/peers)")
        return 2
    except Exception as error:
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        events.ended("error", f"connector {plan['connector']}: {reason}")
        return 1
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    events.ended(seconds=time.monotonic() - begin)
    return 0


if __name__ == "__main__":
    code = main()
    sys.stderr.flush()
    # Threads of libraries do not keep the process.
    os._exit(code)
