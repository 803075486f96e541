"""The peer: the same fine-tune by transformers.Trainer (and peft). Prints one JSON object.

Says on standard error when the first training step begins.

It trains a Hugging Face model folder on pre-tokenised JSONL rows ({"input_ids", "labels"}) in file order, right-padded
to the longest row of each batch, with the settings of the reference benchmark: AdamW without decay, cosine schedule,
3 % warm-up, norms clipped to 1. Started by torchrun it is one rank of torch's DDP or, with --fsdp2, of FSDP2, over gloo,
and the first rank prints.
"""

import argparse
import importlib.metadata
import json
import os
import resource
import statistics
import sys
import tempfile
import time

import torch
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from transformers import AutoModelForCausalLM, Trainer, TrainerCallback, TrainingArguments


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", required=True)
    parser.add_argument("--data", required=True)
    parser.add_argument("--method", choices=["full", "lora"], required=True)
    parser.add_argument("--adapter", help="peft folder that a LoRA run starts from")
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--steps", type=int, default=6)
    parser.add_argument("--accumulation", type=int, default=1)
    parser.add_argument("--dtype", default="bfloat16")
    parser.add_argument("--gradient-checkpointing", action="store_true")
    parser.add_argument("--fsdp2", action="store_true", help="shard each layer over the ranks (fully_shard)")
    parser.add_argument("--learning-rate", type=float, default=1e-5)
    parser.add_argument("--targets", default="q_proj,v_proj")
    parser.add_argument("--rank", type=int, default=4)
    parser.add_argument("--alpha", type=int, default=16)
    return parser.parse_args()


def load_model(arguments):
    model = AutoModelForCausalLM.from_pretrained(arguments.model, dtype=getattr(torch, arguments.dtype))
    if arguments.method == "full":
        return model
    from peft import LoraConfig, PeftModel, get_peft_model  # a full fine-tune need not wait for it

    if arguments.adapter:
        return PeftModel.from_pretrained(model, arguments.adapter, is_trainable=True)
    config = LoraConfig(
        r=arguments.rank,
        lora_alpha=arguments.alpha,
        target_modules=arguments.targets.split(","),
        task_type="CAUSAL_LM",
    )
    return get_peft_model(model, config)


class Rows(torch.utils.data.Dataset):
    def __init__(self, path):
        with open(path) as lines:
            self.rows = [json.loads(line) for line in lines]

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        return self.rows[index]


def collate(rows):
    width = max(len(row["input_ids"]) for row in rows)

    def padded(values, filler):
        return torch.tensor([value + [filler] * (width - len(value)) for value in values])

    return {
        "input_ids": padded([row["input_ids"] for row in rows], 0),
        "labels": padded([row["labels"] for row in rows], -100),
        "attention_mask": padded([[1] * len(row["input_ids"]) for row in rows], 0),
    }


class InOrder(Trainer):
    def _get_train_sampler(self, *_):
        return torch.utils.data.SequentialSampler(self.train_dataset)


class Sharded(InOrder):
    """Under FSDP2, which accelerate itself offers on GPUs alone: as its fsdp2_prepare_model() does, each layer is a unit,
    and what is left another one."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        layers = next(module for name, module in self.model.named_modules() if name.endswith("model.layers"))
        for unit in (*layers, self.model):
            fully_shard(unit, mesh=init_device_mesh("cpu", (ranks(),)))
        self.accelerator.prepare_model = lambda model, **_: model

    def _clip_grad_norm(self, model):
        return super()._clip_grad_norm(model).full_tensor()


class StepLog(TrainerCallback):
    def __init__(self):
        self.begins, self.ends, self.logs = [], [], []

    def on_step_begin(self, *_, **__):
        if not self.begins:
            print("first step begins", file=sys.stderr, flush=True)
        self.begins.append(time.perf_counter())

    def on_step_end(self, *_, **__):
        self.ends.append(time.perf_counter())

    def on_log(self, *_, logs, **__):
        if "loss" in logs:
            self.logs.append(logs)

    def step_seconds(self):
        """From the end of one step to the end of the next; the first from its begin."""
        starts = self.begins[:1] + self.ends
        return [end - start for start, end in zip(starts, self.ends)]


def ranks():
    return int(os.environ.get("WORLD_SIZE", "1"))


def training_arguments(arguments, output_dir):
    return TrainingArguments(
        output_dir=output_dir,
        per_device_train_batch_size=arguments.batch,
        gradient_accumulation_steps=arguments.accumulation,
        max_steps=arguments.steps,
        learning_rate=arguments.learning_rate,
        weight_decay=0.0,
        gradient_checkpointing=arguments.gradient_checkpointing,
        gradient_checkpointing_kwargs={"use_reentrant": False} if arguments.gradient_checkpointing else None,
        optim="adamw_torch",
        lr_scheduler_type="cosine",
        warmup_steps=0.03,
        logging_steps=1,
        logging_nan_inf_filter=False,
        save_strategy="no",
        report_to=[],
        disable_tqdm=True,
        use_cpu=not torch.cuda.is_available(),
        ddp_backend="gloo" if ranks() > 1 else None,
    )


def versions(method):
    names = ["transformers", "peft", "torch"] if method == "lora" else ["transformers", "torch"]
    return ", ".join(f"{name} {importlib.metadata.version(name)}" for name in names)


def main():
    arguments = parse_arguments()
    torch.manual_seed(0)
    rows = Rows(arguments.data)
    log = StepLog()
    with tempfile.TemporaryDirectory() as output_dir:
        trainer = (Sharded if arguments.fsdp2 else InOrder)(
            model=load_model(arguments),
            args=training_arguments(arguments, output_dir),
            train_dataset=rows,
            data_collator=collate,
            callbacks=[log],
        )
        trainer.train()
    if os.environ.get("RANK", "0") != "0":
        return
    used_rows = arguments.batch * arguments.accumulation * arguments.steps * ranks()
    used = [rows[index % len(rows)] for index in range(used_rows)]
    step_seconds = log.step_seconds()
    median = statistics.median(step_seconds[1:] or step_seconds)
    report = {
        "peer": versions(arguments.method),
        "losses": [float(entry["loss"]) for entry in log.logs],
        "grad_norms": [float(entry["grad_norm"]) for entry in log.logs],
        "step_seconds": step_seconds,
        "median_step_seconds": median,
        "real_tokens_per_second": sum(len(row["input_ids"]) for row in used) / arguments.steps / median,
        "max_rss_gib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
    }
    if torch.cuda.is_available():
        report["peak_device_bytes"] = torch.cuda.max_memory_allocated()
    print(json.dumps(report))


if __name__ == "__main__":
    main()
