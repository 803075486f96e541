"""Rows as ado's SFTTrainer published them: its columns, its ids, numbers as pandas writes them."""

import csv

UTILIZATION = [
    f"{what}_{how}"
    for what in ("gpu_compute_utilization", "gpu_memory_utilization", "gpu_power_watts", "gpu_power_percent")
    for how in ("min", "avg", "max")
]
VALUES = [
    *UTILIZATION[:6],
    "gpu_memory_utilization_peak",
    *UTILIZATION[6:],
    "cpu_compute_utilization",
    "cpu_memory_utilization",
    "train_runtime",
    "train_samples_per_second",
    "train_steps_per_second",
    "train_tokens_per_second",
    "train_tokens_per_gpu_per_second",
    "dataset_tokens_per_second",
    "dataset_tokens_per_second_per_gpu",
]
POINT = [
    "model_name",
    "method",
    "number_gpus",
    "gpu_model",
    "number_nodes",
    "tokens_per_sample",
    "batch_size",
    "enable_roce",
    "fast_moe",
    "fast_kernels",
    "fms_hf_tuning_version",
    "torch_dtype",
]
COLUMNS = ["identifier", "generatorid", "experiment_id", *POINT, *VALUES, "is_valid"]
EXPERIMENTS = {
    "full": "finetune_full_benchmark-v1.0.0",
    "lora": "finetune_lora_benchmark-v1.0.0",
    "gptq-lora": "finetune_gptq-lora_benchmark-v1.0.0",
}


def row(method, model, gpus, tokens, batch, speed, gpu="NVIDIA-A100-SXM4-80GB", power=True):
    """`speed` is nothing where it failed when it ran."""
    dtype = "float16" if method == "gptq-lora" else "bfloat16"
    cells = dict.fromkeys(COLUMNS, "")
    cells |= {
        "identifier": f"model_name.{model}-number_gpus.{gpus}-gpu_model.{gpu}-model_max_length.{tokens}"
        f"-torch_dtype.{dtype}-batch_size.{batch}",
        "generatorid": "explicit_grid_sample_generator",
        "experiment_id": f"SFTTrainer.{EXPERIMENTS[method]}-fms_hf_tuning_version.2.4.0",
        "model_name": model,
        "method": method,
        "number_gpus": f"{gpus}.0",
        "gpu_model": gpu,
        "number_nodes": "1",
        "tokens_per_sample": tokens,
        "batch_size": batch,
        "enable_roce": "0",
        "fast_moe": "0.0",
        "fms_hf_tuning_version": "2.4.0",
        "torch_dtype": dtype,
        "is_valid": 0,
    }
    if speed is not None and batch % gpus == 0:
        cells |= {name: 10.5 + place for place, name in enumerate(VALUES)}
        cells |= {"dataset_tokens_per_second": speed, "dataset_tokens_per_second_per_gpu": speed / gpus, "is_valid": 1}
        if not power:
            cells |= {name: "" for name in VALUES if "power" in name}
    return cells


def some():
    """Of each method and GPU; points that a rule forbids, that failed, and one that was measured twice."""
    rows = [
        row(method, "granite-3.1-2b", gpus, tokens, batch, speed=1000.25 * gpus * (place + 1))
        for place, method in enumerate(EXPERIMENTS)
        for gpus in (1, 2)
        for tokens in (512, 1024)
        for batch in (1, 2)
    ]
    rows.append(row("full", "granite-3.1-2b", 1, 8192, 128, speed=None))
    rows.append(row("lora", "mistral-7b-v0.1", 4, 512, 8, speed=1234.5, gpu="L40S", power=False))
    return [*rows, rows[0], rows[0] | {"dataset_tokens_per_second": 1010.5}]


def write(path, rows, columns=COLUMNS):
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, columns, lineterminator="\n", extrasaction="ignore")
        writer.writeheader()
        writer.writerows(rows)
    return path


def read(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))
