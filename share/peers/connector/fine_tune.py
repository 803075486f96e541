"""LoRA by transformers.Trainer and peft; checkpoints go where the connector puts files."""

import os
import shutil
import time

import places
import torch
from file_places import is_bucket
from peft import LoraConfig, get_peft_model
from text import collate
from transformers import AutoConfig, AutoModelForCausalLM, Trainer, TrainerCallback, TrainingArguments

RANK_STEP_ZEROS = dict.fromkeys(
    "rank transfer_seconds forward_seconds backward_seconds optimizer_seconds communication_seconds"
    " exposed_communication_seconds hidden_communication_seconds forward_exposed_seconds backward_exposed_seconds"
    " optimizer_exposed_seconds offload_seconds".split(),
    0,
)


def make_model(fine_tune):
    dtype = getattr(torch, fine_tune["dtype"])
    folder = fine_tune["model_dir"]
    torch.manual_seed(fine_tune["seed"])
    if any(name.endswith(".safetensors") for name in os.listdir(folder)):
        model = AutoModelForCausalLM.from_pretrained(folder, dtype=dtype)
    else:
        model = AutoModelForCausalLM.from_config(AutoConfig.from_pretrained(folder), dtype=dtype)
    lora = fine_tune["lora"]
    settings = {"r": lora["rank"], "lora_alpha": lora["alpha"], "lora_dropout": lora["dropout"]}
    config = LoraConfig(target_modules=lora["target_modules"], task_type="CAUSAL_LM", **settings)
    return get_peft_model(model, config)


class Teller(TrainerCallback):
    """Writes a step and a rank_step of each."""

    def __init__(self, run):
        self.run = run
        self.seconds = self.began = 0.0

    def on_step_begin(self, *_, **__):
        self.run.wait_for_device()
        self.began = time.monotonic()

    def on_step_end(self, *_, **__):
        self.run.wait_for_device()
        self.seconds = time.monotonic() - self.began

    def on_log(self, _, state, *__, logs, **___):
        if "loss" not in logs:
            return
        waited = self.run.take_waited()
        seconds = self.seconds + waited
        self.run.events.step(state.global_step, logs["loss"], seconds, real_tokens=self.run.take_tokens())
        times = {"began_seconds": self.began - waited, "seconds": seconds, "data_seconds": waited}
        told = {"step": state.global_step, "loss_scale": 1, "skipped": False}
        self.run.events.write("rank_step", **(RANK_STEP_ZEROS | times | told))


class UploadingTrainer(Trainer):
    def __init__(self, run, **settings):
        super().__init__(**settings)
        self.run = run

    def get_batch_samples(self, *arguments, **named):
        """Where batches are taken, of whatever loader Trainer has made of its own, as it does after a resume."""
        begin = time.monotonic()
        taken = super().get_batch_samples(*arguments, **named)
        self.run.waited += time.monotonic() - begin
        return taken

    def training_step(self, model, inputs, *rest, **more):
        self.run.tokens += int(inputs["attention_mask"].sum())
        return super().training_step(model, inputs, *rest, **more)

    def _save_checkpoint(self, *arguments, **named):
        begin = time.monotonic()
        super()._save_checkpoint(*arguments, **named)
        self.run.upload(self.state.global_step, begin)


class FineTune:
    def __init__(self, plan, events, connector, rows, folder):
        self.plan, self.events, self.connector, self.rows, self.folder = plan, events, connector, rows, folder
        self.tokens, self.uri, self.waited = 0, "", 0.0

    def train(self, uri, resumes):
        self.uri = uri
        fine_tune = self.plan["fine_tune"]
        begin = time.monotonic()
        trainer = UploadingTrainer(
            self,
            model=make_model(fine_tune),
            args=self.arguments(fine_tune),
            train_dataset=self.rows,
            data_collator=collate,
            callbacks=[Teller(self)],
        )
        trainer.train(resume_from_checkpoint=self.fetch_last(begin) if resumes else None)

    def arguments(self, fine_tune):
        return TrainingArguments(
            output_dir=self.folder,
            per_device_train_batch_size=fine_tune["batch_size"],
            max_steps=fine_tune["max_steps"],
            learning_rate=fine_tune["learning_rate"],
            weight_decay=fine_tune["weight_decay"],
            max_grad_norm=fine_tune["max_grad_norm"],
            optim="adamw_torch",
            lr_scheduler_type="constant",
            logging_steps=1,
            logging_nan_inf_filter=False,
            save_strategy="steps",
            save_steps=fine_tune["save_every"],
            seed=fine_tune["seed"],
            dataloader_num_workers=self.plan["workers"],
            use_cpu=fine_tune["device"] == "cpu",
            bf16=False,
            remove_unused_columns=False,
            disable_tqdm=True,
            report_to=[],
        )

    def wait_for_device(self):
        """What was launched is of the step that launched it."""
        if self.plan["fine_tune"]["device"] == "cuda":
            torch.cuda.synchronize()

    def take_waited(self):
        """Since it was asked before."""
        waited, self.waited = self.waited, 0.0
        return waited

    def take_tokens(self):
        tokens, self.tokens = self.tokens, 0
        return tokens

    def upload(self, step, begin):
        """Trainer's own files are a stage on the way: they are not written through, and do not stay."""
        name = f"checkpoint-{step}"
        uri, here = f"{self.uri}/{name}", os.path.join(self.folder, name)
        size = self.connector.put_folder(here, uri)
        if not is_bucket(uri):
            places.sync_folder(uri)
        seconds = time.monotonic() - begin
        shutil.rmtree(here)
        of_place = {"remote_seconds": seconds} if is_bucket(uri) else {"local_seconds": seconds}
        times = {"stall_seconds": seconds, "local_seconds": 0, "remote_seconds": 0} | of_place
        self.events.write("checkpointed", step=step, uri=uri, bytes=size, **times)

    def fetch_last(self, begin):
        step = max(int(name.split("/")[0].rsplit("-", 1)[1]) for name in self.connector.files(self.uri))
        uri, here = f"{self.uri}/checkpoint-{step}", os.path.join(self.folder, f"fetched/checkpoint-{step}")
        self.connector.get_folder(uri, here)
        self.events.write("resumed", step=step, uri=uri, seconds=time.monotonic() - begin)
        return here
