"""assay tune: what it prints, what it saves, and how it ends when things go wrong."""

import json
import os
import pathlib
import shutil
import signal
import struct
import subprocess
import time

import psutil
import pytest


def tune(model, rows, *more):
    return ["tune", "--model", model, "--data", rows, "--batch-size", 2, "--max-steps", 3, *more]


def test_json_result_is_complete_and_exact(assay, model, rows):
    result = json.loads(assay.ok(*tune(model, rows, "--output", "json", "--model-max-length", 32)))
    lengths = [min(len(json.loads(line)["input_ids"]), 32) for line in rows.read_text().splitlines()[:6]]
    assert result["real_tokens"] == sum(lengths)
    assert result["padded_tokens"] == sum(2 * max(pair) - sum(pair) for pair in zip(lengths[::2], lengths[1::2]))
    assert len(result["losses"]) == len(result["grad_norms"]) == len(result["step_seconds"]) == 3
    assert result["weights"] == "random"
    assert result["real_tokens_per_second"] > 0 and result["max_rss_gib"] > 0 and result["peak_tensor_bytes"] > 0


@pytest.mark.parametrize(
    ("options", "checkpointed"),
    [([], 0), (["off"], 0), (["on"], 2), (["1"], 1), (["auto"], 0), ([None], 2)],
    ids=["none", "off", "on", "one", "auto", "bare"],
)
def test_gradient_checkpointing_takes_a_number_of_layers(assay, model, rows, options, checkpointed):
    given = ["--gradient-checkpointing", *filter(None, options)] if options else []
    result = json.loads(assay.ok(*tune(model, rows, *given, "--output", "json")))
    assert (result["checkpointed_layers"], result["layers"]) == (checkpointed, 2)


def test_help_shows_no_default_that_is_none(assay):
    text = assay.ok("tune", "--help")
    assert "--gradient-checkpointing [off|on|auto|N]\n" in text and "=on" not in text
    assert "without this option off" in " ".join(text.split())


def test_gradient_checkpointing_names_what_it_takes(assay, model, rows):
    assert "off, on, auto or a number of layers" in assay.refused(
        *tune(model, rows, "--gradient-checkpointing", "some")
    )


@pytest.mark.parametrize(
    ("options", "scale", "skipped"),
    [
        (["--dtype", "float16"], 65536, 0),
        (["--dtype", "float16", "--loss-scale", "off"], 1, 0),
        (["--dtype", "float16", "--loss-scale", "1e30"], 1e30, 3),
        (["--dtype", "float32"], 1, 0),
    ],
    ids=["auto", "off", "too large", "float32"],
)
def test_the_loss_scale_and_the_steps_that_it_cost(assay, model, rows, options, scale, skipped):
    result = json.loads(assay.ok(*tune(model, rows, *options, "--output", "json")))
    assert result["loss_scales"] == [scale] * 3
    assert result["skipped_steps"] == skipped


def test_loss_scale_names_what_it_takes(assay, model, rows):
    assert "auto, off or a positive number" in assay.refused(*tune(model, rows, "--loss-scale", "some"))


def test_full_model_saves_and_loads_back(assay, model, rows, tmp_path):
    out = tmp_path / "out"
    assay.ok(*tune(model, rows, "--save", "final", "--output-dir", out))
    again = json.loads(assay.ok(*tune(out, rows, "--output", "json")))
    assert again["weights"] == "file"


def test_weights_are_saved_in_files_of_the_size_that_is_asked_for(assay, model, rows, tmp_path):
    out = tmp_path / "out"
    saving = ["--dtype", "float32", "--save", "final", "--output-dir", out]
    assay.ok(*tune(model, rows, *saving, "--max-shard-mib", 1))
    assert len(list(out.glob("model-*.safetensors"))) == 2
    assay.ok(*tune(model, rows, *saving))
    assert [path.name for path in out.glob("*.safetensors")] == ["model.safetensors"]


def test_a_run_goes_on_from_its_last_checkpoint(assay, model, rows, tmp_path):
    out = tmp_path / "out"
    command = ["tune", "--model", model, "--data", rows, "--batch-size", 2, "--output-dir", out, "--output", "json"]
    command += ["--save-every", 2, "--keep", 1, "--resume"]
    first = json.loads(assay.ok(*command, "--max-steps", 3))
    assert [checkpoint["step"] for checkpoint in first["checkpoints"]] == [2, 3] and "resumed" not in first
    assert first["checkpoints"][0]["uri"].endswith("/out/step-2/")
    second = json.loads(assay.ok(*command, "--max-steps", 4))
    assert second["resumed"]["step"] == 3 and second["steps"] == 1
    assert assay.ok("checkpoint", "ls", out).count("step-") == 1


def test_lora_continues_from_its_own_adapter(assay, model, rows, tmp_path):
    out = tmp_path / "adapter"
    assay.ok(*tune(model, rows, "--method", "lora", "--save", "final", "--output-dir", out))
    assert (out / "adapter_model.safetensors").exists()
    assay.ok(*tune(model, rows, "--method", "lora", "--adapter", out))


def test_a_prompt_starts_as_its_text_and_is_continued(assay, model, rows, tmp_path):
    out = tmp_path / "prompt"
    prompt = ["--method", "prompt", "--prompt-length", 3, "--prompt-text", "Say what follows:"]
    assay.ok(*tune(model, rows, *prompt, "--save", "final", "--output-dir", out))
    config = json.loads((out / "adapter_config.json").read_text())
    assert (config["num_virtual_tokens"], config["prompt_tuning_init_text"]) == (3, "Say what follows:")
    assay.ok(*tune(model, rows, "--method", "prompt", "--adapter", out))


def test_same_seed_same_numbers(assay, model, rows):
    first, second = (json.loads(assay.ok(*tune(model, rows, "--output", "json"))) for _ in range(2))
    assert first["losses"] == second["losses"] and first["grad_norms"] == second["grad_norms"]


def test_text_rows_use_the_projects_tokeniser(assay, model, tmp_path):
    data = tmp_path / "text.jsonl"
    with data.open("w") as file:
        for i in range(6):
            file.write(
                json.dumps({"output": f"### Input: number {i}\n\n### Response: it was the best of times"}) + "\n"
            )
            file.write(json.dumps({"prompt": "One, two, ", "completion": "three."}) + "\n")
            file.write(
                json.dumps({"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Ho"}]})
                + "\n"
            )
    result = json.loads(assay.ok(*tune(model, data, "--output", "json")))
    assert 0 < result["supervised_tokens"] < result["real_tokens"]


@pytest.mark.parametrize("option", ["--memory-cap", "--memory-budget"])
def test_a_memory_cap_ends_in_one_line(assay, model, rows, option):
    line = assay.refused(*tune(model, rows, option, "1MiB"), code=1)
    assert "memory" in line and "budget" in line


def test_the_table_tells_the_loss_of_steps_that_bore_any(assay, quick_worker, model, rows):
    worker = pathlib.Path(assay.env["ASSAY_WORKER"])
    text = worker.read_text().replace("loss=3.0", "loss=[0.0, 3.0, 2.0][i]")
    worker.write_text(text.replace("supervised_tokens=10 * rows", "supervised_tokens=10 * rows if i else 0"))
    assert "3.0000 at first, 2.0000 at last" in assay.ok(*tune(model, rows))
    worker.write_text(text.replace("supervised_tokens=10 * rows", "supervised_tokens=0"))
    assert "none: no step had supervised tokens" in assay.ok(*tune(model, rows))


def test_a_run_that_diverged_is_a_failed_run(assay, model, rows, quick_worker):
    worker = pathlib.Path(assay.env["ASSAY_WORKER"])
    worker.write_text(worker.read_text().replace('kind="done", reason=""', 'kind="diverged", reason="the loss is NaN"'))
    assert "the loss is NaN" in assay.refused(*tune(model, rows), code=1)


def test_killed_worker_leaves_one_clear_line(assay, model, rows):
    process = assay.start("tune", "--model", model, "--data", rows, "--max-steps", 1000000)
    worker = wait_for_worker(process.pid)
    time.sleep(0.5)
    os.kill(worker, signal.SIGKILL)
    _, err = process.communicate(timeout=300)
    assert process.returncode == 1
    assert "SIGKILL" in err.splitlines()[-1]


def test_interrupt_stops_the_worker(assay, model, rows):
    process = assay.start("tune", "--model", model, "--data", rows, "--max-steps", 1000000)
    worker = wait_for_worker(process.pid)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=300)
    assert process.returncode == 130
    with pytest.raises(ProcessLookupError):
        os.kill(worker, 0)


def wait_for_worker(pid):
    for _ in range(6000):
        children = psutil.Process(pid).children()
        if children:
            return children[0].pid
        time.sleep(0.05)
    raise AssertionError("no worker was started")


# ---- what is refused ----


def test_missing_model_folder(assay, rows):
    assert "no-such-model" in assay.refused(*tune("no-such-model", rows))


def test_missing_data(assay, model):
    assert "absent.jsonl" in assay.refused(*tune(model, "absent.jsonl"))


def test_family_that_comes_later(assay, rows):
    assert "llava_next" in assay.refused(*tune("granite-vision-3.2-2b", rows))


@pytest.mark.parametrize(
    "row, said",
    [
        ('{"input_ids": [1, 2', ":2"),
        ("[1, 2]", ":2"),
        ('{"text": "x"}', ":2"),
        ('{"input_ids": [1, 2], "labels": [1]}', ":2"),
        ('{"input_ids": [1, 9000]}', ":2"),
        ('{"output": "no template here"}', "Response"),
    ],
)
def test_bad_row_names_file_and_line(assay, model, tmp_path, row, said):
    data = tmp_path / "bad.jsonl"
    data.write_text('{"input_ids": [1, 2, 3]}\n' + row + "\n")
    line = assay.refused(*tune(model, data))
    assert "bad.jsonl" in line and said in line


def test_empty_data_set(assay, model, tmp_path):
    data = tmp_path / "empty.jsonl"
    data.write_text("\n")
    assert "empty.jsonl" in assay.refused(*tune(model, data))


def test_template_gone_after_truncation(assay, model, tmp_path):
    data = tmp_path / "long.jsonl"
    data.write_text(json.dumps({"output": "word " * 50 + "\n### Response: yes"}) + "\n")
    line = assay.refused(*tune(model, data, "--model-max-length", 16))
    assert "long.jsonl: the responses of all its 1 rows are gone" in line


def test_rows_whose_response_is_cut_away_are_counted_and_trained_beside_the_others(assay, model, tmp_path):
    data = tmp_path / "mixed.jsonl"
    rows = ["word " * 50 + "\n### Response: yes", *["a\n### Response: yes"] * 3]
    data.write_text("".join(json.dumps({"output": row}) + "\n" for row in rows))
    finished = assay(*tune(model, data, "--model-max-length", 16, "--batch-size", 1, "--max-steps", 4))
    assert finished.returncode == 0, finished.stderr
    assert "1 of 4 rows bear no loss at 16 tokens" in finished.stderr


def test_what_a_model_folder_holds_is_used_or_refused(assay, model, saved, rows, tmp_path):
    text = tmp_path / "text.jsonl"
    text.write_text(json.dumps({"prompt": "a", "completion": "b"}) + "\n")
    (saved / "tokenizer.model").write_text("")
    assert "tokenizer.model" in assay.refused(*tune(saved, text))
    assert json.loads(assay.ok(*tune(saved, rows, "--output", "json")))["tokenizer"] == ""
    (model / "pytorch_model-00001-of-00002.bin").write_text("")
    assert "pytorch_model-00001-of-00002.bin" in assay.refused(*tune(model, rows))


def test_a_saved_model_has_the_tokeniser_that_it_was_trained_with(assay, model, tmp_path):
    text = tmp_path / "text.jsonl"
    text.write_text(json.dumps({"prompt": "a", "completion": "b"}) + "\n")
    out = tmp_path / "out"
    first = json.loads(assay.ok(*tune(model, text, "--save", "final", "--output-dir", out, "--output", "json")))
    assert first["tokenizer"].endswith("assay-8k")
    again = json.loads(assay.ok(*tune(out, text, "--output", "json")))
    assert (again["weights"], again["tokenizer"]) == ("file", str(out))


def test_a_plan_is_written_for_other_launchers(assay, model, rows, tmp_path):
    plan = tmp_path / "plan.json"
    said = assay.ok(*tune(model, rows, "--write-plan", plan))
    assert f"assay-worker --plan {plan}" in said
    assert json.loads(plan.read_text())["model_dir"] == str(model)


def test_a_word_that_is_no_verb(assay):
    assert "there is no verb 'tuen'; did you mean 'tune'?" in assay.refused("tuen")
    assert "there is no verb 'lss'; did you mean 'ls'? (see assay object --help)" in assay.refused("object", "lss")


def test_a_pipe_as_data_is_named(assay, model, tmp_path):
    pipe = tmp_path / "pipe.jsonl"
    os.mkfifo(pipe)
    assert "is a pipe or a device" in assay.refused(*tune(model, pipe))


@pytest.fixture
def saved(assay, model, rows, tmp_path):
    out = tmp_path / "saved"
    assay.ok(*tune(model, rows, "--max-steps", 1, "--save", "final", "--output-dir", out))
    return out


def rewrite_header(path, change):
    raw = path.read_bytes()
    (length,) = struct.unpack("<Q", raw[:8])
    header = change(json.loads(raw[8 : 8 + length]))
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + raw[8 + length :])


def with_entry(**values):
    def change(header):
        header["model.norm.weight"] |= values
        return header

    return change


@pytest.mark.parametrize(
    "change",
    [with_entry(data_offsets=[0, 1 << 40]), with_entry(shape=[7]), with_entry(dtype="Q8")],
    ids=["end", "shape", "dtype"],
)
def test_header_that_lies(assay, saved, rows, change):
    rewrite_header(saved / "model.safetensors", change)
    line = assay.refused(*tune(saved, rows))
    assert "model.safetensors" in line and "model.norm.weight" in line


def test_truncated_weights(assay, saved, rows):
    path = saved / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-1000])
    assert "model.safetensors" in assay.refused(*tune(saved, rows))


def test_tokeniser_larger_than_the_model(assay, model, tmp_path):
    config = json.loads((model / "config.json").read_text())
    (model / "config.json").write_text(json.dumps(config | {"vocab_size": 300}))
    data = tmp_path / "text.jsonl"
    data.write_text(json.dumps({"prompt": "a", "completion": "b"}) + "\n")
    assert "vocabulary" in assay.refused(*tune(model, data))


def test_output_folder_that_cannot_be_one(assay, model, rows, tmp_path):
    (tmp_path / "file").write_text("")
    line = assay.refused(*tune(model, rows, "--save", "final", "--output-dir", tmp_path / "file" / "out"))
    assert "file/out" in line


@pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("mount"), reason="needs to mount a small disk")
def test_full_disk_leaves_nothing_half_written(assay, model, rows, tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", disk], capture_output=True).returncode != 0:
        pytest.skip("this machine does not let us mount a small disk")
    try:
        line = assay.refused(*tune(model, rows, "--save", "final", "--output-dir", disk / "out"), code=1)
        assert "No space left" in line
        assert not list(disk.rglob("*.safetensors"))
    finally:
        subprocess.run(["umount", disk], check=True)


@pytest.mark.parametrize(
    "arguments",
    [
        ["--method", "prefix"],
        ["--dtype", "int8"],
        ["--batch-size", "0"],
        ["--bach-size", "4"],
        ["--memory-budget", "lots"],
    ],
)
def test_bad_options(assay, model, rows, arguments):
    line = assay.refused("tune", "--model", model, "--data", rows, *arguments)
    assert arguments[0] in line or arguments[1] in line


@pytest.mark.parametrize(
    "arguments, said",
    [
        (["--batch-size", "4.5"], "--batch-size: must be a whole number of 1 or more, not '4.5'"),
        (["--seed", "-1"], "--seed: must be a whole number of 0 or more, not '-1'"),
        (["--warmup-ratio", "nan"], "--warmup-ratio: must be a number from 0 to 1, not 'nan'"),
        (["--stop-after-seconds", "nan"], "--stop-after-seconds: must be a number of -1 or more, not 'nan'"),
        (["--gradient-checkpointing", "99"], "gradient_checkpointing is 99, but the model has 2 layers"),
        (["--lora-rank", "8"], "--lora-rank goes with --method lora"),
        (["--adapter", "somewhere"], "--adapter goes with --method lora or prompt"),
        (["--prompt-length", "4"], "--prompt-length goes with --method prompt"),
        (["--method", "lora", "--prompt-text", "Hi"], "--prompt-text goes with --method prompt"),
        (
            ["--method", "prompt", "--adapter", "a", "--prompt-length", "8"],
            "--prompt-length is what the adapter in a says",
        ),
        (["--method", "lora", "--lora-alpha", "inf"], "--lora-alpha: must be a number of 0 or more, not 'inf'"),
        (["--method", "lora", "--lora-dropout", "nan"], "--lora-dropout: must be a number from 0 to 0.99, not 'nan'"),
        (["--method", "lora", "--target-modules", ""], "--target-modules: names no module"),
        (["--method", "lora", "--adapter", "a", "--lora-rank", "8"], "--lora-rank is what the adapter in a says"),
        (["--output-dir", "out"], "--output-dir is where --save final, --save-every and --trace put their files"),
        (["--max-shard-mib", "4768"], "--max-shard-mib goes with --save final"),
        (["--keep", "2"], "--keep goes with --save-every N"),
        (["--save-every", "-1"], "--save-every: must be a whole number of 0 or more, not '-1'"),
        (["--save-every", "2"], "add --output-dir DIR"),
        (["--save-every", "2", "--output-dir", "ftp://x/y"], "ftp"),
        (["--save", "final", "--output-dir", "s3://bucket/x"], "--save final and --trace write to a folder alone"),
        (["--method", "lora", "--max-shard-mib", "1"], "--max-shard-mib goes with --method full"),
        (["--max-shard-mib", str(2**44)], "--max-shard-mib: is too large"),
        (["--bucket-mib", "4"], "bucket_mib is 4.0, but one rank shares its work with nobody"),
        (["--communication-dtype", "bfloat16"], "communication_dtype is"),
    ],
)
def test_options_that_would_be_ignored_or_changed_are_refused(assay, model, rows, arguments, said):
    assert said in assay.refused("tune", "--model", model, "--data", rows, *arguments)


def test_a_model_that_cannot_fit_is_refused_at_once(assay, rows):
    line = assay.refused(*tune("llama3.1-405b", rows), code=1)
    assert "this needs" in line and "gradients" in line and "and the machine has" in line


def test_zero_steps_are_as_many_as_the_epochs_have(assay, model, rows):
    result = json.loads(assay.ok(*tune(model, rows, "--max-steps", 0, "--batch-size", 1, "--output", "json")))
    assert result["steps"] == sum(1 for _ in rows.open())


def test_zero_seconds_are_no_limit(assay, model, rows):
    limit = ("--stop-after-seconds", 0, "--max-steps", 3)
    assert json.loads(assay.ok(*tune(model, rows, *limit, "--output", "json")))["steps"] == 3
