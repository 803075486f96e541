"""Runs `assay` as a user does: in a home of its own, on a tiny model, with the output caught."""

import contextlib
import errno
import json
import os
import pathlib
import subprocess
import sys
import time

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))

BIN = pathlib.Path(os.environ["ASSAY_BIN_DIR"])

TINY_CONFIG = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "vocab_size": 8192,
    "max_position_embeddings": 512,
    "rms_norm_eps": 1e-5,
    "rope_theta": 10000.0,
    "hidden_act": "silu",
    "initializer_range": 0.02,
    "tie_word_embeddings": True,
}

SPACE = """\
entitySpace:
  - {{ identifier: model_name, propertyDomain: {{ values: [{model}] }} }}
  - {{ identifier: model_max_length, propertyDomain: {{ values: [16, 32] }} }}
  - {{ identifier: batch_size, propertyDomain: {{ values: [1, 2] }} }}
  - {{ identifier: number_gpus, propertyDomain: {{ values: [0] }} }}
  - {{ identifier: dataset_id, propertyDomain: {{ values: [{data}] }} }}
experiments:
  - experimentIdentifier: finetune_full_benchmark-v1.0.0
    parameterization:
      - {{ property: {{ identifier: max_steps }}, value: {steps} }}
      - {{ property: {{ identifier: gradient_accumulation_steps }}, value: 1 }}
"""


# Says what a worker that trains says, at once: for tests of what is made of it.
WORKER = """\
#!{python}
import json, os, sys

def say(event, **fields):
    print(json.dumps(dict(event=event, **fields)), flush=True)

plan = json.load(open(sys.argv[sys.argv.index("--plan") + 1]))
steps, rows = plan["max_steps"], plan["batch_size"]
say("started", pid=os.getpid(), libtorch="2.13.0", device="cpu", threads=1, isa="portable")
say("loaded", seconds=0.1, model_type="llama", weights="random", parameters=100, trainable_parameters=100, rows=12,
    planned_steps=steps, layers=2, checkpointed_layers=0, step_bytes=0, available_bytes=0, peak_tensor_bytes=1000)
for i in range(steps):
    seconds = 0.01 + 0.02 * rows + 0.0001 * (i % 3)
    say("step", step=i + 1, loss=3.0, grad_norm=1.0, learning_rate=1e-5, loss_scale=1.0, skipped=False,
        seconds=seconds, forward_seconds=seconds / 3, backward_seconds=seconds / 3, optimizer_seconds=seconds / 3,
        samples=rows, real_tokens=10 * rows, padded_tokens=0, supervised_tokens=10 * rows, forward_only=0,
        forward_peak_bytes=2000 * rows, backward_peak_bytes=3000 * rows, optimizer_peak_bytes=2500 * rows)
say("ended", kind="done", reason="", stopped_by="max_steps", train_runtime=steps * (0.011 + 0.02 * rows),
    warmup_steps=0, warmup_seconds=0.0, peak_tensor_bytes=3000 * rows, peak_reserved_bytes=0)
"""


class Assay:
    """The program with an environment in which nothing of the user's own is seen or touched."""

    def __init__(self, home: pathlib.Path):
        self.home = home
        self.env = dict(os.environ)
        self.env |= {"HOME": str(home), "XDG_CACHE_HOME": str(home / "cache"), "XDG_DATA_HOME": str(home / "data")}
        self.env["ASSAY_TEST_HOME"] = str(home)  # names the test to its workers, wherever they run

    def start(self, *arguments, **options):
        return subprocess.Popen(
            [str(BIN / "assay"), *map(str, arguments)],
            env=self.env,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            **options,
        )

    def __call__(self, *arguments, timeout=300):
        process = self.start(*arguments)
        out, err = process.communicate(timeout=timeout)
        return subprocess.CompletedProcess(arguments, process.returncode, out, err)

    def ok(self, *arguments):
        result = self(*arguments)
        assert result.returncode == 0, result.stderr
        return result.stdout

    def refused(self, *arguments, code=2):
        """The one line on standard error that says what is wrong."""
        result = self(*arguments)
        assert result.returncode == code, (result.returncode, result.stdout, result.stderr)
        lines = [line for line in result.stderr.splitlines() if line.startswith(("assay ", "assay:"))]
        assert len(lines) == 1, result.stderr
        return lines[0]


@pytest.fixture
def assay(tmp_path):
    home = tmp_path / "home"
    home.mkdir()
    return Assay(home)


@pytest.fixture
def quick_worker(assay, tmp_path):
    """Runs end at once with made-up figures."""
    path = tmp_path / "quick-worker"
    path.write_text(WORKER.format(python=sys.executable))
    path.chmod(0o755)
    assay.env["ASSAY_WORKER"] = str(path)


@pytest.fixture
def slow_worker(assay, quick_worker, space):
    """Runs of four steps, of which that of a point which is behind goes on for ever: only a signal ends it."""
    text = space.read_text()
    space.write_text(text.replace("{ identifier: max_steps }, value: 2", "{ identifier: max_steps }, value: 4"))
    assert space.read_text() != text
    worker = pathlib.Path(assay.env["ASSAY_WORKER"])
    text = worker.read_text()
    assert text.count('    say("step"') == 1
    waits = '    if i == 2 and rows == 1 and plan["model_max_length"] == 32: import time; time.sleep(10000)\n'
    worker.write_text(text.replace('    say("step"', f'{waits}    say("step"'))


@pytest.fixture
def gate(assay, quick_worker, tmp_path):
    """A pipe at which every run waits before it says that it is loaded, until `with gate(process)` ends."""
    path = tmp_path / "gate"
    os.mkfifo(path)
    worker = pathlib.Path(assay.env["ASSAY_WORKER"])
    text = worker.read_text()
    assert text.count('say("loaded"') == 1
    worker.write_text(text.replace('say("loaded"', f'open("{path}").read()\nsay("loaded"'))

    @contextlib.contextmanager
    def held(process):
        """From when a run of `process` waits at the gate."""
        end = time.monotonic() + 300
        while (pipe := open_to_write(path)) is None:
            assert process.poll() is None and time.monotonic() < end, "no run comes to the gate"
            time.sleep(0.02)
        try:
            yield
        finally:
            os.close(pipe)

    return held


def open_to_write(path):
    """None where nobody reads from it."""
    try:
        return os.open(path, os.O_WRONLY | os.O_NONBLOCK)
    except OSError as error:
        if error.errno != errno.ENXIO:
            raise
        return None


@pytest.fixture
def model(tmp_path):
    """A model folder that holds only a configuration: weights are random."""
    folder = tmp_path / "tiny"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(TINY_CONFIG))
    return folder


@pytest.fixture
def rows(tmp_path):
    """Pre-tokenised rows of 10 to 40 tokens, the first third of each masked."""
    path = tmp_path / "rows.jsonl"
    with path.open("w") as file:
        for i in range(12):
            ids = [(7 * i + 13 * k) % 8192 for k in range(10 + (i * 11) % 31)]
            masked = len(ids) // 3
            file.write(json.dumps({"input_ids": ids, "labels": [-100] * masked + ids[masked:]}) + "\n")
    return path


@pytest.fixture
def space(tmp_path, model, rows):
    """Four points of the full fine-tuning benchmark."""
    path = tmp_path / "space.yaml"
    path.write_text(SPACE.format(model=model, data=rows, steps=2))
    return path
