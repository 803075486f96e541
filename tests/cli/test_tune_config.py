"""assay tune --config: options out of a file, and back into one."""

import json

import pytest


def write(path, text):
    path.write_text(text)
    return path


def losses(assay, *arguments):
    return json.loads(assay.ok("tune", *arguments, "--output", "json"))["losses"]


@pytest.fixture
def config(model, rows, tmp_path):
    return write(
        tmp_path / "run.yaml",
        f"""\
model: {model}
data: {rows}
batch_size: 2   # as transformers spells it
max-steps: 3
learning-rate: 1e-3
method: lora
target-modules: [q_proj, k_proj]
shuffle: true
use-rslora: true
gradient-checkpointing: on
warmup-ratio: null
""",
    )


def given(model, rows):
    words = ["--model", model, "--data", rows, "--batch-size", 2, "--max-steps", 3, "--learning-rate", 1e-3]
    words += ["--method", "lora", "--target-modules", "q_proj,k_proj", "--shuffle", "--use-rslora"]
    return [*words, "--gradient-checkpointing"]


def test_a_file_says_what_the_command_line_says(assay, model, rows, config):
    assert losses(assay, "--config", config) == losses(assay, *given(model, rows))


def test_the_command_line_wins(assay, model, rows, config):
    wanted = losses(assay, *given(model, rows), "--seed", 7, "--no-shuffle", "--max-steps", 2)
    assert losses(assay, f"--config={config}", "--seed", 7, "--no-shuffle", "--max-steps", 2) == wanted


def test_the_effective_configuration_is_printed_and_reproduces_the_run(assay, config, tmp_path):
    text = assay.ok(
        "tune", "--config", config, "--seed", 7, "--response-template", "\n### Response: é", "--print-config"
    )
    effective = text.splitlines()
    for line in ("batch-size: 2", "seed: 7", "shuffle: true", "# warmup-ratio: 0.03; images 0.3"):
        assert line in effective
    assert 'response-template: "\\n### Response: é"' in effective
    again = write(tmp_path / "again.yaml", text)
    assert losses(assay, "--config", again) == losses(assay, "--config", config, "--seed", 7)
    assert assay.ok("tune", "--config", again, "--print-config") == text


def test_it_stands_beside_what_the_run_writes(assay, config, tmp_path):
    out = tmp_path / "out"
    saving = ["--save", "final", "--output-dir", out]
    first = losses(assay, "--config", config, *saving)
    assert losses(assay, "--config", out / "run.yaml") == first


def test_an_option_that_may_come_again_is_a_list(assay, model, rows, config):
    text = assay.ok("tune", "--config", config, "--resource", "gpu=1", "--resource", "ram=2", "--print-config")
    assert 'resource: ["gpu=1", "ram=2"]' in text.splitlines()
    config.write_text(text)
    assert assay.ok("tune", "--config", config, "--print-config") == text


def test_every_option_can_stand_in_a_file(assay, model, rows):
    text = assay.ok("tune", "--model", model, "--data", rows, "--print-config")
    named = {line.removeprefix("# ").split(":")[0] for line in text.splitlines()[1:]}
    shown = {
        word.strip(",").removeprefix("--")
        for line in assay.ok("tune", "--help").splitlines()
        if line.startswith("  ")
        for word in line.split()[:1]
        if word.startswith("--")
    }
    names = {name.split(",")[0] for name in shown} - {"help", "config", "print-config"}
    assert names <= named, names - named


@pytest.mark.parametrize(
    "line, said",
    [
        ("batchsize: 4", "run.yaml:3: unknown key 'batchsize' (did you mean 'batch-size'?)"),
        ("config: other.yaml", "run.yaml:3: unknown key 'config'"),
        ("max-steps: 3\nmax_steps: 4", "run.yaml:4: 'max_steps' is set twice"),
        ("use-rslora: maybe", "run.yaml:3: 'use-rslora' is 'maybe': expected true or false"),
        ("seed: {a: 1}", "run.yaml:3: 'seed' is a map"),
        ("seed: [1", "run.yaml:"),
        ("seed: many", "--seed"),
    ],
)
def test_a_mistake_is_one_line(assay, model, rows, tmp_path, line, said):
    path = write(tmp_path / "run.yaml", f"model: {model}\ndata: {rows}\n{line}\n")
    assert said in assay.refused("tune", "--config", path)


def test_a_file_that_is_not_there_or_no_map(assay, tmp_path):
    assert "absent.yaml" in assay.refused("tune", "--config", tmp_path / "absent.yaml")
    listed = write(tmp_path / "list.yaml", "- 1\n")
    assert "list.yaml:1: a configuration is a map" in assay.refused("tune", "--config", listed)
    empty = write(tmp_path / "empty.yaml", "")
    assert "--model is required" in assay.refused("tune", "--config", empty)
