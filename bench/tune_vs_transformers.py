"""assay tune against transformers.Trainer on one machine: the same weights, rows and settings, in turns A B A B.

Makes a SmolLM2-135M-shaped model with random bfloat16 weights (saved by transformers) and rows of random tokens, runs
both programs in turns, checks that their losses agree, and prints a Markdown table of step times, tokens and memory.

    .venv/bin/python bench/tune_vs_transformers.py --bin-dir build/release/bin --output bench/results/NAME.md
"""

import argparse
import datetime
import json
import os
import pathlib
import platform
import random
import shlex
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
VOCAB = 49152
LOSS_TOLERANCE = 0.02
MASKED = -100


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin-dir", type=pathlib.Path, required=True, help="the folder of assay and assay-worker")
    parser.add_argument("--peer", type=pathlib.Path, default=HERE / "peers" / "sft.py", help="the peer's script")
    parser.add_argument("--methods", default="lora,full")
    parser.add_argument("--turns", type=int, default=2, help="runs of each program a method")
    parser.add_argument("--steps", type=int, default=6)
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--shortest", type=int, default=180)
    parser.add_argument("--longest", type=int, default=512)
    parser.add_argument("--masked", type=float, default=0.0, help="part of each row that bears no loss")
    parser.add_argument("--dtype", default="bfloat16")
    parser.add_argument("--threads", type=int, default=0, help="of each program; 0: all")
    parser.add_argument("--output", type=pathlib.Path, help="write the table to this file as well")
    return parser.parse_args()


def make_model(folder):
    import torch
    from transformers import AutoModelForCausalLM, LlamaConfig

    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=VOCAB,
        hidden_size=576,
        intermediate_size=1536,
        num_hidden_layers=30,
        num_attention_heads=9,
        num_key_value_heads=3,
        max_position_embeddings=8192,
        rope_theta=100000.0,
        rms_norm_eps=1e-5,
        tie_word_embeddings=True,
        initializer_range=0.041666666666666664,
        bos_token_id=1,
        eos_token_id=2,
    )
    model = AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16)
    model.save_pretrained(folder)
    return model


def make_adapter(model, folder):
    """Both programs start from one adapter, since they draw random numbers in different ways."""
    from peft import LoraConfig, get_peft_model

    config = LoraConfig(r=4, lora_alpha=16, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM")
    get_peft_model(model, config).save_pretrained(folder)


def make_rows(arguments):
    generator = random.Random(0)
    rows = []
    for _ in range(arguments.batch * arguments.steps):
        ids = [generator.randrange(VOCAB) for _ in range(generator.randint(arguments.shortest, arguments.longest))]
        masked = int(len(ids) * arguments.masked)
        rows.append({"input_ids": ids, "labels": [MASKED] * masked + ids[masked:]})
    return rows


def write_jsonl(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def run(command, environment=None):
    """The JSON object on the last line of a program that must succeed."""
    done = subprocess.run(
        command, check=False, capture_output=True, text=True, env={**os.environ, **(environment or {})}
    )
    if done.returncode != 0:
        sys.exit(f"{shlex.join(map(str, command))} ended with exit code {done.returncode}:\n{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


def run_ours(arguments, folder, method):
    command = [arguments.bin_dir / "assay", "tune", "--model", folder / "model", "--data", folder / "rows.jsonl"]
    command += ["--method", method, "--batch-size", str(arguments.batch), "--max-steps", str(arguments.steps)]
    command += ["--model-max-length", str(arguments.longest), "--dtype", arguments.dtype, "--output", "json"]
    command += ["--threads", str(arguments.threads)]
    if method == "lora":
        command += ["--adapter", folder / "adapter"]
    return run(command)


def run_peer(arguments, folder, method):
    command = [sys.executable, arguments.peer, "--model", folder / "model", "--data", folder / "rows.jsonl"]
    command += ["--method", method, "--batch", str(arguments.batch), "--steps", str(arguments.steps)]
    command += ["--dtype", arguments.dtype]
    if method == "lora":
        command += ["--adapter", folder / "adapter"]
    return run(command, {"OMP_NUM_THREADS": str(arguments.threads)} if arguments.threads else None)


def largest_difference(ours, theirs):
    return max(abs(a - b) / abs(b) for a, b in zip(ours, theirs, strict=True))


def measure(arguments, folder, method):
    ours, theirs = [], []
    for _ in range(arguments.turns):
        ours.append(run_ours(arguments, folder, method))
        theirs.append(run_peer(arguments, folder, method))
    difference = largest_difference(ours[0]["losses"], theirs[0]["losses"])
    if difference > LOSS_TOLERANCE:
        sys.exit(f"{method}: losses differ by {difference:.2%}: {ours[0]['losses']} and {theirs[0]['losses']}")
    return ours, theirs, difference


def median_step(run):
    """The median without the first step, which warms caches up; a peer may give it as `median_step_s` by itself."""
    return statistics.median(run["step_seconds"][1:]) if "step_seconds" in run else run["median_step_s"]


def table(arguments, results):
    lines = [
        (
            "| method | turn | ours s/step | transformers s/step | ratio | ours peak RSS GiB | transformers GiB |"
            " loss difference |"
        ),
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for method, (ours, theirs, difference) in results.items():
        for turn, (a, b) in enumerate(zip(ours, theirs), 1):
            lines.append(
                f"| {method} | {turn} | {median_step(a):.3f} | {median_step(b):.3f} |"
                f" {median_step(b) / median_step(a):.2f} | {a['max_rss_gib']:.2f} | {b['max_rss_gib']:.2f} |"
                f" {difference:.3%} |"
            )
    return "\n".join(lines)


def cpu_name():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.processor()


def main():
    arguments = parse_arguments()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        model = make_model(folder / "model")
        make_adapter(model, folder / "adapter")
        rows = make_rows(arguments)
        write_jsonl(folder / "rows.jsonl", rows)
        results = {method: measure(arguments, folder, method) for method in arguments.methods.split(",")}
    options = {name.replace("_", "-"): value for name, value in vars(arguments).items() if name != "output"}
    shown = [
        f"--{name}={os.path.relpath(value) if isinstance(value, pathlib.Path) else value}"
        for name, value in options.items()
    ]
    command = shlex.join(["python", os.path.relpath(__file__, HERE.parent), *shown])
    text = (
        f"# Fine-tune against transformers, {datetime.date.today()}\n\n"
        f"SmolLM2-135M shape, random weights, {arguments.dtype}, batch {arguments.batch}, rows of"
        f" {arguments.shortest} to {arguments.longest} tokens, {arguments.masked:.0%} of each masked,"
        f" {arguments.steps} steps, median of all but the first.\n"
        f"{cpu_name()}, {len(os.sched_getaffinity(0))} cores.\n\n"
        f"    {command}\n\n{table(arguments, results)}\n"
    )
    print(text)
    if arguments.output:
        arguments.output.write_text(text)


if __name__ == "__main__":
    main()
