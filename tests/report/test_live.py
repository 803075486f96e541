"""What an exploration does, seen by browsers while it does it: in its own process and in another."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest
from page_server import BIN_DIR, Served

MODEL = {"model_type": "llama", "vocab_size": 8192}
SPACE = """\
metadata: {{ name: tiny }}
entitySpace:
  - {{ identifier: model_name, propertyDomain: {{ values: [{folder}/tiny] }} }}
  - {{ identifier: model_max_length, propertyDomain: {{ values: [16] }} }}
  - {{ identifier: batch_size, propertyDomain: {{ values: [1, 2] }} }}
  - {{ identifier: number_gpus, propertyDomain: {{ values: [0] }} }}
  - {{ identifier: dataset_id, propertyDomain: {{ values: [{folder}/rows.jsonl] }} }}
experiments:
  - experimentIdentifier: finetune_full_benchmark-v1.0.0
    parameterization:
      - {{ property: {{ identifier: max_steps }}, value: 6 }}
      - {{ property: {{ identifier: gradient_accumulation_steps }}, value: 1 }}
"""
# Says what a worker that trains says, each step once a file allows it.
WORKER = """\
#!{python}
import json, os, sys, time

def say(event, **fields):
    print(json.dumps(dict(event=event, **fields)), flush=True)

controller = os.getppid()

def allowed():
    if os.getppid() != controller:
        sys.exit(1)  # as a worker ends whose controller was killed
    return int(open("{folder}/allowed").read() or 0)

plan = json.load(open(sys.argv[sys.argv.index("--plan") + 1]))
steps, rows = plan["max_steps"], plan["batch_size"]
say("started", pid=os.getpid(), libtorch="2.13.0", device="cpu", threads=1, isa="portable")
say("loaded", seconds=0.1, model_type="llama", weights="random", parameters=100, trainable_parameters=100, rows=12,
    planned_steps=steps, layers=2, checkpointed_layers=0, step_bytes=0, available_bytes=0, peak_tensor_bytes=1000)
for i in range(steps):
    while allowed() <= 10 * rows + i:
        time.sleep(0.01)
    seconds = 0.01 + 0.02 * rows
    say("step", step=i + 1, loss=3.0 - i / 4, grad_norm=1.0, learning_rate=1e-5, loss_scale=1.0, skipped=False,
        seconds=seconds, forward_seconds=seconds / 3, backward_seconds=seconds / 3, optimizer_seconds=seconds / 3,
        samples=rows, real_tokens=10 * rows, padded_tokens=0, supervised_tokens=10 * rows, forward_only=0,
        forward_peak_bytes=2000 * rows, backward_peak_bytes=3000 * rows, optimizer_peak_bytes=2500 * rows)
say("ended", kind="done", reason="", stopped_by="max_steps", train_runtime=steps * (0.011 + 0.02 * rows),
    warmup_steps=0, warmup_seconds=0.0, peak_tensor_bytes=3000 * rows, peak_reserved_bytes=0)
"""


class Exploration(Served):
    """`assay explore` whose steps are allowed one by one; with `port` it serves itself there."""

    def __init__(self, folder, port=None):
        self.folder = folder
        self.servers = []
        self.store = folder / "runs.db"
        (folder / "tiny").mkdir()
        (folder / "tiny/config.json").write_text(json.dumps(MODEL))
        (folder / "rows.jsonl").write_text('{"input_ids": [1, 2, 3], "labels": [1, 2, 3]}\n' * 12)
        (folder / "space.yaml").write_text(SPACE.format(folder=folder))
        worker = folder / "worker"
        worker.write_text(WORKER.format(python=sys.executable, folder=folder))
        worker.chmod(0o755)
        self.allow(0)
        command = [BIN_DIR / "assay", "explore", folder / "space.yaml", "--store", self.store]
        home = {"HOME": str(folder), "XDG_CACHE_HOME": str(folder / "cache"), "XDG_DATA_HOME": str(folder / "data")}
        env = os.environ | home | {"ASSAY_WORKER": str(worker)}
        if port is not None:
            self.attach([*command, "--serve", "--serve-port", str(port)], env=env, stdout=subprocess.DEVNULL)
        else:
            self.process = subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def allow(self, steps, batch_size=1):
        """So many steps of the point of that batch size."""
        path = self.folder / "allowed"
        path.with_suffix(".new").write_text(str(10 * batch_size + steps))
        path.with_suffix(".new").rename(path)


@pytest.fixture
def explore(tmp_path):
    running = []

    def start(**options):
        running.append(Exploration(tmp_path, **options))
        return running[-1]

    yield start
    for exploration in running:
        for process in [exploration.process, *exploration.servers]:
            process.send_signal(signal.SIGINT)
            try:
                process.wait(timeout=300)
            except subprocess.TimeoutExpired:
                process.kill()
                raise


def serve_when_there(exploration):
    """A server in a process of its own, once there is a store to serve."""
    for _ in range(3000):
        done = subprocess.run([BIN_DIR / "assay", "operations", "--store", exploration.store], capture_output=True)
        if done.returncode == 0 and b"explore" in done.stdout:
            served = Served(exploration.store)
            exploration.servers.append(served.process)
            return served
        time.sleep(0.05)
    raise AssertionError("the exploration makes no store")


def going(reader, text):
    reader.page.locator(".going").get_by_text(text).first.wait_for()


def follow(exploration, reader):
    """Sees every step of both points."""
    going(reader, "0 of 2 points")
    exploration.allow(3)
    going(reader, "step 3 of 6")
    assert "batch_size 1" in reader.text(".running") and "loss 2.50" in reader.text(".running")
    assert reader.count(".running svg path") == 1
    found = reader.axe()
    assert found == [], json.dumps(found, indent=1)
    exploration.allow(6)
    going(reader, "1 of 2 points")
    going(reader, "at most")
    exploration.allow(1, batch_size=2)
    going(reader, "step 1 of 6")
    reader.page.get_by_role("link", name="batch_size 1").wait_for()
    exploration.allow(6, batch_size=2)
    reader.page.locator(".going").wait_for(state="hidden")
    reader.page.locator("section.table [role=status]").get_by_text("2 of 2").wait_for()


def test_a_server_in_another_process_shows_each_step(explore, read):
    exploration = explore()
    served = serve_when_there(exploration)
    reader = read(served.link)
    reader.page.evaluate("location.hash = 'explore'")
    follow(exploration, reader)
    assert exploration.process.wait(timeout=300) == 0


def gone(exploration, reader):
    """Ctrl-C, while a browser follows: the exit code, and what was said last."""
    exploration.process.send_signal(signal.SIGINT)
    code = exploration.process.wait(timeout=300)
    reader.page.get_by_role("alert").get_by_text("The server does not answer").wait_for()
    reader.messages.clear()  # of a server that is gone
    return code, exploration.process.stderr.read().strip().splitlines()[-1]


def test_explore_serves_itself_where_it_is_told_to_and_goes_on_until_an_interrupt(explore, read, free_port):
    exploration = explore(port=free_port)
    reader = read(exploration.link)
    reader.page.evaluate("location.hash = 'explore'")
    follow(exploration, reader)
    assert exploration.process.poll() is None
    assert "not measured" not in reader.text()
    code, said = gone(exploration, reader)
    assert code == 0 and said == f"still serving at {exploration.url}; Ctrl-C ends it"


def test_explore_that_serves_is_interrupted_like_any_other(explore, read):
    exploration = explore(port=0)
    reader = read(exploration.link)
    exploration.allow(3)
    going(reader, "step 3 of 6")
    code, said = gone(exploration, reader)
    assert code == 130 and "what was measured is kept" in said


def test_a_port_in_use_is_said_before_anything_is_measured(explore):
    exploration = explore(port=0)
    command = [*exploration.process.args[:-1], str(exploration.port)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode in [1, 2] and "in use" in done.stderr.splitlines()[-1]
    assert done.stdout == ""


def test_an_exploration_that_was_killed_is_not_shown_as_going_on(explore, read):
    exploration = explore()
    served = serve_when_there(exploration)
    reader = read(served.link)
    going(reader, "0 of 2 points")
    exploration.process.kill()
    exploration.process.wait()
    reader.page.locator(".going").wait_for(state="hidden")
