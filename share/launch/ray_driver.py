"""Runs plans on a Ray cluster: a job that `assay ... --launcher ray` submits, and talks to while it lives.

Commands come through the cluster's key-value store, where the dashboard's port can put them as packages: JSON objects,
numbered from 0. What is said goes to standard output, which the dashboard streams: lines of "assay RUN JSON", where the
JSON is a line of an agent's (src/launch/agent_lines.h), or of this driver's own, with the key "driver". Every run is a
placement group with a bundle for each of its machines, and a task in each that starts an agent there.
"""

import contextlib
import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time

import ray
from ray.experimental import internal_kv
from ray.util.placement_group import placement_group, remove_placement_group
from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

PAUSE_SECONDS = 0.03
SILENCE_SECONDS = 30  # without a word from the controller it is gone
OTHERS_SECONDS = 12  # that the agents of a run have when a machine of it was lost
LOOK_SECONDS = 0.5  # between looks at whether a run shall end
END_SECONDS = 20  # that an agent has to end its ranks: longer than it gives them
LAST_WORDS_BYTES = 4000

speaking = threading.Lock()


def say(run, text):
    with speaking:
        sys.stdout.write(f"assay {run} {text}\n")
        sys.stdout.flush()


def tell(run, driver, **fields):
    say(run, json.dumps({"driver": driver, **fields}))


def one_line(error):
    return " ".join(str(error).split())[:500]


def whole_lines(pipe):
    """What comes of `pipe` in pieces that end with a line, each as soon as it is there."""
    rest = b""
    while piece := os.read(pipe.fileno(), 1 << 16):
        lines, newline, rest = (rest + piece).rpartition(b"\n")
        if newline:
            yield lines.decode(errors="replace")
    if rest:
        yield rest.decode(errors="replace")


@contextlib.contextmanager
def started(command, environment):
    """A process whose standard input is a pipe that ends with this one, whatever ends that."""
    with tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(
            command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors
        )
        try:
            yield process, errors
        finally:
            process.kill()
            process.wait()


def end_when_told(process, key, ended):
    """By a signal that the agent handles: it ends its ranks, whatever they are, and tells what came of them."""
    while not internal_kv._internal_kv_exists(key):
        if ended.wait(LOOK_SECONDS):
            return
    process.terminate()


def last_words(errors):
    errors.seek(max(0, errors.seek(0, os.SEEK_END) - LAST_WORDS_BYTES))
    lines = errors.read().decode(errors="replace").split("\n")
    return next((line.strip() for line in reversed(lines) if line.strip()), "")


@ray.remote(max_retries=0, num_returns="streaming")
def run_agent(program, arguments, node, plan, environment, end_key):
    """Yields what the agent says, then how it ended. Whoever puts `end_key` into the key-value store ends it."""
    own = {name: value for name, value in os.environ.items() if name != "OMP_NUM_THREADS"}
    with tempfile.TemporaryDirectory(prefix="assay-agent-") as folder:
        path = os.path.join(folder, "plan.json")
        with open(path, "w") as file:
            json.dump(plan, file)
        command = [program, "--plan", path, *arguments, "--node", str(node)]
        ended = threading.Event()
        try:
            with started(command, own | environment) as (process, errors):
                threading.Thread(target=end_when_told, args=(process, end_key, ended), daemon=True).start()
                yield from whole_lines(process.stdout)
                code = process.wait()
                if code != 0:
                    yield json.dumps({"driver": "agent", "node": node, "code": code, "words": last_words(errors)})
        except OSError as error:
            where = socket.gethostname()
            why = f"machine {where}: cannot start {program}: {error.strerror} (install the same build there)"
            yield json.dumps({"driver": "refused", "why": why})
        finally:
            ended.set()


@ray.remote(max_retries=0)
def find_meeting_place():
    """An address of this machine, and a port that is free there."""
    with socket.socket() as listener:
        listener.bind(("", 0))
        return f"{ray.util.get_node_ip_address()}:{listener.getsockname()[1]}"


@ray.remote(max_retries=0)
def ask(command):
    finished = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    return finished.returncode, finished.stdout, finished.stderr[-LAST_WORDS_BYTES:]


def fits(bundle, machine):
    return all(machine.get(name, 0) >= amount for name, amount in bundle.items())


def describe(resources):
    return ", ".join(f"{name} {amount:g}" for name, amount in sorted(resources.items()))


def own_resources(node):
    """Those that are somebody's choice: none that Ray makes of names and sizes."""
    return {name: n for name, n in node["Resources"].items() if ":" not in name and "memory" not in name}


def why_never(bundles):
    """One line where the cluster as it stands can never place `bundles`, one on a machine; else nothing."""
    machines = [own_resources(node) for node in ray.nodes() if node["Alive"]]
    fitting = sum(fits(bundles[0], machine) for machine in machines)
    if fitting >= len(bundles):
        return ""
    kinds = sorted({describe(machine) for machine in machines})
    return (
        f"the cluster has {fitting} machines with {describe(bundles[0])} where {len(bundles)} are needed: "
        f"it has {len(machines)} machines, of {' | '.join(kinds)}"
    )


def after(seconds, function):
    timer = threading.Timer(seconds, function)
    timer.daemon = True
    timer.start()


class Run:
    """One plan on its way: in the queue, on its machines, at its end."""

    def __init__(self, command):
        self.name = command["run"]
        self.command = command
        self.end_key = f"assay-end-{self.name}".encode()
        self.group = None
        self.streams = []
        self.cancelled = threading.Event()
        self.thread = threading.Thread(target=self.carry_out, daemon=True)
        self.thread.start()

    def carry_out(self):
        try:
            if refusal := why_never(self.bundles()):
                tell(self.name, "unplaceable", why=refusal)
            elif self.place():
                self.start()
                self.follow()
        except Exception as error:
            tell(self.name, "failed", why=one_line(error))
        finally:
            if self.group is not None:
                remove_placement_group(self.group)
            self.streams = []
            internal_kv._internal_kv_del(self.end_key)
            tell(self.name, "done")

    def bundles(self):
        return [dict(self.command["resources"]) for _ in range(self.command["nodes"])]

    def place(self):
        """Waits in Ray's queue. False when cancelled there."""
        strategy = "STRICT_SPREAD" if self.command["nodes"] > 1 else "STRICT_PACK"
        self.group = placement_group(self.bundles(), strategy=strategy)
        ready = self.group.ready()
        while not ray.wait([ready], timeout=0.5)[0]:
            if self.cancelled.is_set():
                return False
        return not self.cancelled.is_set()

    def options(self, node):
        resources = dict(self.command["resources"])
        return {
            "num_cpus": resources.pop("CPU", 0),
            "num_gpus": resources.pop("GPU", 0),
            "resources": resources,
            "scheduling_strategy": PlacementGroupSchedulingStrategy(self.group, placement_group_bundle_index=node),
        }

    def start(self):
        shared = list(self.command["arguments"])
        if self.command["ranks"] > 1:
            meeting_place = self.meeting_place()
            if meeting_place is None:
                return
            shared += ["--meet", meeting_place, "--job", self.name]
        for node in range(self.command["nodes"]):
            self.streams.append(
                run_agent.options(**self.options(node)).remote(
                    self.command["agent"], shared, node, self.command["plan"], self.command["environment"], self.end_key
                )
            )
        tell(self.name, "started")

    def meeting_place(self):
        """None where the run was cancelled before its first machine said one: it may have been lost."""
        answer = find_meeting_place.options(**self.options(0)).remote()
        while not ray.wait([answer], timeout=LOOK_SECONDS)[0]:
            if self.cancelled.is_set():
                ray.cancel(answer, force=True)
                return None
        return ray.get(answer)

    def follow(self):
        threads = [
            threading.Thread(target=self.follow_node, args=(node, stream), daemon=True)
            for node, stream in enumerate(self.streams)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def follow_node(self, node, stream):
        try:
            for piece in stream:
                for line in ray.get(piece).split("\n"):
                    say(self.name, line)
        except ray.exceptions.TaskCancelledError:
            tell(self.name, "lost", node=node, why="it was cancelled")
        except Exception as error:
            tell(self.name, "lost", node=node, why=one_line(error))
            after(OTHERS_SECONDS, self.cancel)

    def cancel(self):
        """Returns at once; agents that do not end are ended, without a word of theirs."""
        self.cancelled.set()
        if self.thread.is_alive():
            internal_kv._internal_kv_put(self.end_key, b"1")
            after(END_SECONDS, self.kill)

    def kill(self):
        for stream in self.streams:
            with contextlib.suppress(Exception):
                ray.cancel(stream, force=True)


def answer(command):
    """Runs a program on a machine that has the resources, and tells what it printed."""

    def carry_out():
        try:
            resources = dict(command["resources"])
            if refusal := why_never([resources]):
                tell(command["run"], "unplaceable", why=refusal)
                return
            options = {"num_cpus": resources.pop("CPU", 0), "num_gpus": resources.pop("GPU", 0), "resources": resources}
            code, out, errors = ray.get(ask.options(**options).remote(command["command"]))
            tell(command["run"], "answer", code=code, out=out, words=one_line(errors))
        except Exception as error:
            tell(command["run"], "refused", why=one_line(error))
        finally:
            tell(command["run"], "done")

    threading.Thread(target=carry_out, daemon=True).start()


class Commands:
    def __init__(self, operation):
        self.operation = operation
        self.number = 0

    def next(self):
        """Nothing where none has come yet."""
        key = f"gcs://assay-{self.operation}-{self.number}.zip".encode()
        text = internal_kv._internal_kv_get(key)
        if text is None:
            return None
        internal_kv._internal_kv_del(key)
        self.number += 1
        return json.loads(text)


def main():
    operation = sys.argv[1]
    ray.init(address="auto", log_to_driver=False, logging_level="ERROR", namespace=f"assay-{operation}")
    resources = ray.cluster_resources()
    tell("-", "ready", ray=ray.__version__, cpus=resources.get("CPU", 0), gpus=resources.get("GPU", 0))
    commands = Commands(operation)
    runs = {}
    heard = time.monotonic()
    while time.monotonic() - heard < SILENCE_SECONDS:
        command = commands.next()
        if command is None:
            time.sleep(PAUSE_SECONDS)
            continue
        heard = time.monotonic()
        do = command["do"]
        if do == "run":
            runs = {name: run for name, run in runs.items() if run.thread.is_alive()}
            runs[command["run"]] = Run(command)
        elif do == "ask":
            answer(command)
        elif do == "cancel" and command["run"] in runs:
            runs[command["run"]].cancel()
        elif do == "end":
            break
    for run in runs.values():
        run.cancel()
    end = time.monotonic() + END_SECONDS + OTHERS_SECONDS
    for run in runs.values():
        run.thread.join(max(0, end - time.monotonic()))
    ray.shutdown()


if __name__ == "__main__":
    main()
