"""Lightning's checkpoints of the demo Transformer: one file, through fsspec or s3torchconnector's CheckpointIO."""

import os
import time

import lightning
import places
import torch
from lightning.pytorch.demos import Transformer

VOCABULARY, TOKENS = 33278, 35


class Demo(lightning.LightningModule):
    def __init__(self, layers):
        super().__init__()
        self.model = Transformer(vocab_size=VOCABULARY, nlayers=layers)

    def training_step(self, batch, _):
        inputs, targets = batch
        return torch.nn.functional.nll_loss(self.model(inputs, targets), targets.view(-1))

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)


def plugins(client):
    if client != "s3torchconnector":
        return []
    from s3torchconnector.lightning import S3LightningCheckpoint

    region, endpoint, config = places.s3_settings()
    return [S3LightningCheckpoint(region, s3client_config=config, endpoint=endpoint)]


class SingleFileState:
    def __init__(self, plan):
        self.plan = plan
        torch.manual_seed(plan["seed"])
        self.demo = Demo(plan["layers"])
        self.optimizer = self.demo.configure_optimizers()
        quiet = {"logger": False, "enable_checkpointing": False, "enable_progress_bar": False}
        quiet |= {"enable_model_summary": False, "default_root_dir": os.environ.get("TMPDIR", "/tmp")}
        self.trainer = lightning.Trainer(max_steps=1, accelerator="cpu", plugins=plugins(plan["client"]), **quiet)
        row = torch.randint(0, VOCABULARY, (TOKENS + 1,))
        self.trainer.fit(self.demo, torch.utils.data.DataLoader([(row[:-1], row[1:])]))
        self.loaded = None
        self.bytes = sum(parameter.numel() * 4 for parameter in self.demo.parameters())
        if not places.is_bucket(plan["output_dir"]):
            os.makedirs(plan["output_dir"], exist_ok=True)

    def place(self, step):
        return f"{self.plan['output_dir']}/step-{step}.ckpt"

    def advance(self, step):
        """Its loss and seconds."""
        begin = time.monotonic()
        row = torch.randint(0, VOCABULARY, (1, TOKENS + 1))
        loss = self.demo.training_step((row[:, :-1], row[:, 1:]), 0)
        loss.backward()
        self.optimizer.step()
        self.optimizer.zero_grad()
        return loss.item(), time.monotonic() - begin

    def save(self, step):
        place = self.place(step)
        self.trainer.save_checkpoint(place)
        if self.plan["sync_files"] and not places.is_bucket(place):
            places.sync_file(place)

    def prepare_load(self):
        """Lightning takes the memory itself."""

    def load(self, step):
        self.loaded = self.trainer.strategy.load_checkpoint(self.place(step), weights_only=True)

    def verify(self):
        for name, parameter in self.demo.state_dict().items():
            if not torch.equal(parameter, self.loaded["state_dict"][name]):
                raise RuntimeError(f"'{name}' was loaded with other values than were saved")
        self.loaded = None

    def remove(self, step):
        places.remove(self.place(step))
