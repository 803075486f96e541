"""Checkpoints of Lightning: written by us and resumed by Trainer.fit(ckpt_path=...), and the reverse."""

import pytest
import torch
from states import assert_same

lightning = pytest.importorskip("lightning")


class Model(lightning.LightningModule):
    def __init__(self, width=6):
        super().__init__()
        self.save_hyperparameters()
        self.layers = torch.nn.Sequential(torch.nn.Linear(4, width), torch.nn.Tanh(), torch.nn.Linear(width, 1))
        self.losses = []

    def training_step(self, batch, index):
        loss = self.layers(batch).square().mean()
        self.losses.append(float(loss.detach()))
        return loss

    def configure_optimizers(self):
        optimizer = torch.optim.AdamW(self.parameters(), lr=1e-2)
        return [optimizer], [torch.optim.lr_scheduler.StepLR(optimizer, 1, 0.5)]


def fit(tmp_path, epochs, ckpt_path=None, seed=0):
    """The model after so many epochs, its losses, and the trainer."""
    torch.manual_seed(seed)
    model = Model()
    data = torch.utils.data.DataLoader(torch.arange(32.0).reshape(8, 4) / 32, batch_size=4)
    trainer = lightning.Trainer(
        max_epochs=epochs,
        accelerator="cpu",
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        default_root_dir=tmp_path,
    )
    trainer.fit(model, data, ckpt_path=ckpt_path)
    return model, trainer


def test_a_training_goes_on_from_what_we_wrote(cli, tmp_path):
    whole, _ = fit(tmp_path, 4)
    _, trainer = fit(tmp_path, 2)
    trainer.save_checkpoint(tmp_path / "stock.ckpt")
    cli.convert(tmp_path / "stock.ckpt", tmp_path / "ours.ckpt", "ckpt")
    stock, ours = (torch.load(tmp_path / f"{name}.ckpt", weights_only=False) for name in ("stock", "ours"))
    assert_same(stock, ours)
    resumed, trainer = fit(tmp_path, 4, tmp_path / "ours.ckpt", seed=1)
    assert resumed.losses == whole.losses[len(whole.losses) // 2 :]
    assert trainer.global_step == 8
    assert_same(dict(whole.state_dict()), dict(resumed.state_dict()))
    loaded = Model.load_from_checkpoint(tmp_path / "ours.ckpt")
    assert loaded.hparams.width == 6


@pytest.mark.parametrize("way", ["dcp", "safetensors"])
def test_through_other_formats_and_back(cli, tmp_path, way):
    _, trainer = fit(tmp_path, 1)
    trainer.save_checkpoint(tmp_path / "stock.ckpt")
    target = tmp_path / ("folder" if way == "dcp" else "one.safetensors")
    cli.convert(tmp_path / "stock.ckpt", target, way)
    cli.convert(target, tmp_path / "back.ckpt", "ckpt")
    stock, back = (torch.load(tmp_path / f"{name}.ckpt", weights_only=False) for name in ("stock", "back"))
    assert_same(stock, back)
    _, trainer = fit(tmp_path, 2, tmp_path / "back.ckpt", seed=1)
    assert trainer.global_step == 4


def test_bare_weights_start_a_training(cli, tmp_path):
    model, _ = fit(tmp_path, 1)
    torch.save(model.state_dict(), tmp_path / "weights.pt")
    cli.convert(tmp_path / "weights.pt", tmp_path / "step-9.ckpt", "ckpt")
    resumed, trainer = fit(tmp_path, 1, tmp_path / "step-9.ckpt", seed=1)
    loaded = torch.load(tmp_path / "step-9.ckpt", weights_only=True)
    assert_same(dict(model.state_dict()), dict(loaded["state_dict"]), types=False)


def test_listed_with_its_step(cli, tmp_path):
    _, trainer = fit(tmp_path, 2)
    trainer.save_checkpoint(tmp_path / "run/last.ckpt")
    cli.convert(tmp_path / "run/last.ckpt", tmp_path / "run/ours.ckpt", "ckpt")
    listed = {entry["uri"].rsplit("/", 1)[1]: entry for entry in cli.json("ls", tmp_path / "run")}
    assert listed["ours.ckpt"]["step"] == 4 and listed["ours.ckpt"]["manifest"]
    assert listed["last.ckpt"]["format"] == "ckpt" and not listed["last.ckpt"]["manifest"]
