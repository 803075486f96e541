"""The same fine-tune by transformers.Trainer (and peft): what the worker is held against."""

import hashlib
import json
import pathlib

import torch
import vector_math  # noqa: F401
from lion_pytorch import Lion
from peft import LoraConfig, PeftConfig, PeftModel, PeftType, PromptTuningConfig, get_peft_model
from safetensors.torch import load_file
from tiny import lora_targets
from transformers import AutoModelForCausalLM, Trainer, TrainerCallback, TrainingArguments
from worker import MASKED


def collate(rows):
    width = max(len(row["input_ids"]) for row in rows)

    def pad(values, filler):
        return values + [filler] * (width - len(values))

    return {
        "input_ids": torch.tensor([pad(row["input_ids"], 0) for row in rows]),
        "labels": torch.tensor([pad(row["labels"], MASKED) for row in rows]),
        "attention_mask": torch.tensor([pad([1] * len(row["input_ids"]), 0) for row in rows]),
    }


class Rows(torch.utils.data.Dataset):
    def __init__(self, rows):
        self.rows = rows

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        return self.rows[index]


class InOrder(Trainer):
    def _get_train_sampler(self, *_):
        return torch.utils.data.SequentialSampler(self.train_dataset)


class Log(TrainerCallback):
    def __init__(self):
        self.steps = []

    def on_log(self, args, state, control, logs=None, **_):
        if "loss" in logs:
            self.steps.append(logs)


def save_adapter(model_dir, folder, rank=3, alpha=12, targets=None, **options):
    """A peft adapter folder whose B is not zero, for both sides to start from."""
    torch.manual_seed(11)
    model = AutoModelForCausalLM.from_pretrained(model_dir, dtype=torch.float32)
    config = LoraConfig(
        r=rank,
        lora_alpha=alpha,
        target_modules=targets or lora_targets(model.config.model_type),
        task_type="CAUSAL_LM",
        init_lora_weights=False,
        **options,
    )
    get_peft_model(model, config).save_pretrained(folder)
    return str(folder)


def save_prompt(model_dir, folder, length):
    """A peft folder of a prompt drawn at random, for both sides to start from."""
    torch.manual_seed(12)
    model = AutoModelForCausalLM.from_pretrained(model_dir, dtype=torch.float32)
    config = PromptTuningConfig(task_type="CAUSAL_LM", num_virtual_tokens=length, prompt_tuning_init="RANDOM")
    get_peft_model(model, config).save_pretrained(folder)
    return str(folder)


def with_adapter(model, folder):
    config = PeftConfig.from_pretrained(folder)
    if config.peft_type != PeftType.PROMPT_TUNING:
        return PeftModel.from_pretrained(model, folder, is_trainable=True)
    # peft loads no prompt to train it further.
    config.inference_mode = False
    model = get_peft_model(model, config)
    weight = load_file(f"{folder}/adapter_model.safetensors")["prompt_embeddings"]
    model.prompt_encoder["default"].embedding.weight.data.copy_(weight)
    return model


def digest_of(folder):
    files = sorted(path for path in pathlib.Path(folder).iterdir() if path.is_file())
    return hashlib.sha256(b"".join(path.name.encode() + path.read_bytes() for path in files)).hexdigest()


OPTIMIZERS = {"lion_32bit": (Lion, {"betas": (0.9, 0.999)})}
_trained = {}


def train(model_dir, rows, folder, *, adapter=None, dtype="float32", **arguments):
    """Returns the steps' logs (loss, grad_norm, learning_rate) and the trained model, which no test changes: of the same
    model, rows, adapter and settings they are made once."""
    key = json.dumps([model_dir, rows, adapter and digest_of(adapter), dtype, arguments], sort_keys=True)
    if key not in _trained:
        _trained[key] = train_anew(model_dir, rows, folder, adapter, dtype, arguments)
    return _trained[key]


def train_anew(model_dir, rows, folder, adapter, dtype, arguments):
    torch.manual_seed(0)
    model = AutoModelForCausalLM.from_pretrained(model_dir, dtype=getattr(torch, dtype), attn_implementation="eager")
    if adapter:
        model = with_adapter(model, adapter)
    log = Log()
    settings = {"optim": "adamw_torch", "weight_decay": 0.0, "lr_scheduler_type": "cosine", "warmup_steps": 0.03}
    own = OPTIMIZERS.get(arguments.get("optim"))
    if own:  # transformers has these of packages that ask for a GPU
        arguments = {name: value for name, value in arguments.items() if name != "optim"}
    settings |= arguments
    trainer = InOrder(
        model=model,
        optimizer_cls_and_kwargs=own and (own[0], {"lr": settings["learning_rate"], **own[1]}),
        args=TrainingArguments(
            output_dir=str(folder),
            use_cpu=True,
            report_to=[],
            save_strategy="no",
            logging_steps=1,
            disable_tqdm=True,
            logging_nan_inf_filter=False,
            **settings,
        ),
        train_dataset=Rows(rows),
        data_collator=collate,
        callbacks=[log],
    )
    trainer.train()
    return log.steps, model
