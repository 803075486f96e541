"""A connector test by another library: reads the plan and writes the events that assay-worker does.

src/job/connector_plan.h says what the steps are, and which have a process of their own: this program by the plan with
`step`. What each library brings are the classes of CONNECTORS.
"""

import argparse
import contextlib
import importlib
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import zlib

import request_counts
from events import Events, end_with_controller
from text import Rows, load_tokenizer

CONNECTORS = {
    "streaming": ("streaming_connector", "Streaming"),
    "litdata": ("litdata_connector", "Litdata"),
    "fsspec": ("file_connectors", "Fsspec"),
    "s3torchconnector": ("file_connectors", "S3TorchConnector"),
}
#: Where checkpoints of the fine-tunes at the place go.
FINE_TUNES = {"fine_tune": "run", "resume": "run", "fine_tune_again": "again"}
TERMINATED = 130  # as the exit code of assay-worker
#: The process of a step ends with so much more where it has told why.
TOLD = 200
#: Seconds that a step's process has to end by itself.
LAST_SECONDS = 1
#: Numbers of a connector_step that these libraries do not tell.
UNKNOWN = dict.fromkeys((*request_counts.FIELDS, "wait_seconds"), -1)
ZEROS = dict.fromkeys(("start_seconds", "samples", "objects", "bytes", "digest", "first_seconds", "copied_bytes"), 0)


class CannotBe(Exception):
    """The plan asks for what is not here."""


class StepEnded(Exception):
    """The process of a step ended with a code that is not 0."""

    def __init__(self, step, code):
        super().__init__(f"the process of step {step} ended with {code}")
        self.has_told = code > TOLD
        self.code = code - TOLD if self.has_told else 1


class Terminated(BaseException):
    """By SIGTERM, or since the controller is gone."""


def terminate(*_):
    """From here on nothing interrupts: loaders' processes, which end too, would."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    raise Terminated


def cpu_seconds():
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in used)


def digest_of(sample):
    """As job/row_digest.h."""
    return zlib.crc32(sample["prompt"].encode() + b"\0" + sample["completion"].encode())


def device_of(plan):
    """As torch names it: what the plan asks for, or nothing is trained."""
    import torch

    if plan["fine_tune"]["device"] != "cuda":
        return "cpu"
    if not torch.cuda.is_available():
        raise CannotBe(
            f"number_gpus is 1, but torch {torch.__version__} of the Python with the libraries sees no GPU: name one "
            "whose torch does with ASSAY_PEER_PYTHON, or set number_gpus to 0"
        )
    return "cuda:0"


def take_threads(plan):
    """How many train."""
    import torch

    threads = plan["fine_tune"]["threads"] or int(os.environ.get("OMP_NUM_THREADS", 0)) or torch.get_num_threads()
    torch.set_num_threads(threads)
    return threads


class Run:
    def __init__(self, plan, events, folder):
        self.plan, self.events, self.folder = plan, events, folder
        self.device, self.threads = device_of(plan), take_threads(plan)
        self.uri = plan["uri"]
        module, name = CONNECTORS[plan["connector"]]
        self.connector = getattr(importlib.import_module(module), name)(plan, folder)
        self.local = self.connector.local()
        self.counts_requests = getattr(self.connector, "SENDS_BY_BOTOCORE", False)
        if self.counts_requests:
            request_counts.begin()

    def carry_out(self):
        """Whatever ends it, nothing of it stays at the place."""
        try:
            self.make_steps()
        except BaseException:
            shutil.rmtree(self.folder, ignore_errors=True)
            with contextlib.suppress(Exception):
                self.remove_written()
            raise
        self.remove_written()

    def make_steps(self):
        import torch

        where = {"device": self.device, "threads": self.threads, "isa": ""}
        self.events.write("started", pid=os.getpid(), libtorch=torch.__version__.split("+")[0], **where)
        self.remove_written()
        self.measure("optimise", lambda: self.optimise(self.connector, f"{self.uri}/plain", ""))
        self.measure(
            "optimise_compressed",
            lambda: self.optimise(self.connector, f"{self.uri}/packed", self.plan["compression"]),
        )
        self.measure("count", self.count)
        self.measure("size", self.count)
        self.read("stream")
        self.read("stream_compressed")
        self.read("fine_tune")
        last = self.plan["fine_tune"]["max_steps"]
        self.connector.remove(f"{self.uri}/run/checkpoint-{last}")
        self.read("resume")
        self.optimise(self.local, f"{self.folder}/local/plain", "")
        self.read("fine_tune_local")
        self.read("fine_tune_again")

    def read(self, step):
        """A step that reads a data set, in a process of its own: nothing of another step is warm in it, and of what a
        library keeps in a process (shared memory, how processes are started) nothing stands in its way."""
        of_step = {"step": step, "work_dir": self.folder, "step_began_seconds": time.monotonic()}
        path = f"{self.folder}/{step}.json"
        with open(path, "w") as file:
            json.dump(self.plan | of_step, file)
        process = subprocess.Popen([sys.executable, __file__, "--plan", path], stdout=self.events.file)
        try:
            code = process.wait()
        except BaseException:
            process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(LAST_SECONDS)
            process.kill()
            raise
        if code != 0:
            raise StepEnded(step, code)

    def make_step(self, step):
        if step == "fine_tune_local":
            self.fine_tune(step, self.local, f"{self.folder}/local/plain", f"{self.folder}/local/run")
        elif step in FINE_TUNES:
            self.fine_tune(step, self.connector, f"{self.uri}/plain", f"{self.uri}/{FINE_TUNES[step]}")
        else:
            self.measure(step, lambda: self.stream("plain" if step == "stream" else "packed"))

    def measure(self, step, work):
        begin, cpu, before = time.monotonic(), cpu_seconds(), request_counts.totals()
        told = work() or {}
        fields = {"step": step, "seconds": time.monotonic() - begin, "cpu_seconds": cpu_seconds() - cpu}
        if self.plan["step"]:
            fields["start_seconds"] = begin - self.plan["step_began_seconds"]
        if self.counts_requests:
            fields |= {name: now - before[name] for name, now in request_counts.totals().items()}
        self.events.write("connector_step", **(ZEROS | UNKNOWN | told | fields))

    def optimise(self, connector, uri, compression):
        rows = connector.write(self.plan["rows_file"], uri, compression)
        return {"samples": rows, "bytes": os.path.getsize(self.plan["rows_file"])}

    def count(self):
        sizes = [size for name in ("plain", "packed") for size in self.connector.files(f"{self.uri}/{name}").values()]
        return {"objects": len(sizes), "bytes": sum(sizes)}

    def stream(self, name):
        """One pass, shuffled, by as many processes as a training's loader has."""
        import torch

        begin = time.monotonic()
        rows = self.connector.samples(f"{self.uri}/{name}", f"{self.folder}/cache-stream-{name}")
        batch = self.plan["fine_tune"]["batch_size"]
        loader = torch.utils.data.DataLoader(rows, batch_size=batch, num_workers=self.plan["workers"], collate_fn=list)
        told = {"samples": 0, "bytes": 0, "digest": 0, "first_seconds": 0}
        for samples in loader:
            told["first_seconds"] = told["first_seconds"] or time.monotonic() - begin
            told["samples"] += len(samples)
            told["bytes"] += sum(len(text.encode()) for row in samples for text in row.values())
            told["digest"] += sum(map(digest_of, samples))
        return told

    def fine_tune(self, step, connector, data, checkpoints):
        from fine_tune import FineTune

        def train():
            tokenizer = load_tokenizer(self.plan["fine_tune"]["tokenizer"])
            rows = Rows(connector.samples(data, f"{self.folder}/cache-{step}"), tokenizer, self.plan["fine_tune"])
            here = f"{self.folder}/trainer-{step}"
            FineTune(self.plan, self.events, connector, rows, here).train(checkpoints, resumes=step == "resume")
            shutil.rmtree(here, ignore_errors=True)
            return {"samples": self.plan["fine_tune"]["max_steps"] * self.plan["fine_tune"]["batch_size"]}

        self.measure(step, train)

    def remove_written(self):
        for name in ("plain", "packed", "run", "again"):
            self.connector.remove(f"{self.uri}/{name}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--plan", required=True)
    arguments = parser.parse_args()
    with open(arguments.plan) as file:
        plan = json.load(file)
    events = Events()
    signal.signal(signal.SIGTERM, terminate)
    end_with_controller()
    if plan["step"]:
        sys.exit(one_step(plan, events))  # and libraries remove what they share with other processes
    code = whole_test(plan, events)
    sys.stderr.flush()
    # Threads of libraries do not keep the process.
    os._exit(code)


def one_step(plan, events):
    try:
        code = ended_by(plan, events, lambda: Run(plan, events, plan["work_dir"]).make_step(plan["step"]))
        return code and TOLD + code
    except Terminated:  # told by the process that makes the test
        return TERMINATED


def whole_test(plan, events):
    begin = time.monotonic()
    folder = tempfile.mkdtemp(prefix="assay-connector-")
    try:
        code = ended_by(plan, events, lambda: Run(plan, events, folder).carry_out())
    except Terminated:
        events.ended("error", "interrupted by SIGTERM")
        return TERMINATED
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if code == 0:
        events.ended(seconds=time.monotonic() - begin)
    return code


def ended_by(plan, events, work):
    """The exit code of it; tells why where that is not 0."""
    connector = f"connector {plan['connector']}"
    try:
        work()
    except ImportError as error:
        events.ended("invalid", f"{connector} lacks a Python package: {error} (run script/peers)")
        return 2
    except CannotBe as error:
        events.ended("invalid", f"{connector}: {error}")
        return 2
    except StepEnded as error:
        if not error.has_told:
            events.ended("error", f"{connector}: {error}")
        return error.code
    except Exception as error:
        events.ended("error", f"{connector}: " + " ".join(f"{type(error).__name__}: {error}".split()))
        return 1
    return 0


if __name__ == "__main__":
    main()
