"""Learning rates of a run against transformers' get_scheduler."""

import pytest
import tiny
import torch
from transformers import get_scheduler
from worker import train


def reference_rates(name, learning_rate, warmup_steps, total_steps):
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=learning_rate)
    scheduler = get_scheduler(name, optimizer, num_warmup_steps=warmup_steps, num_training_steps=total_steps)
    rates = []
    for _ in range(total_steps):
        rates.append(scheduler.get_last_lr()[0])
        optimizer.step()
        scheduler.step()
    return rates


@pytest.mark.parametrize("name", ["cosine", "linear", "constant", "constant_with_warmup"])
@pytest.mark.parametrize(
    "ratio, steps, warmup_steps", [(0.03, 40, 2), (0.0, 7, 0), (0.5, 9, 5), (0.03, 1, 1), (1.0, 4, 4)]
)
def test_rates_are_those_of_transformers(models, tmp_path, name, ratio, steps, warmup_steps):
    run = train(
        tmp_path,
        model_dir=models["llama"],
        tokens_file=tiny.save_rows(tiny.make_rows(1, longest=8), tmp_path / "rows.tok"),
        batch_size=1,
        max_steps=steps,
        learning_rate=3e-4,
        lr_scheduler_type=name,
        warmup_ratio=ratio,
    )
    assert run.column("learning_rate") == pytest.approx(reference_rates(name, 3e-4, warmup_steps, steps), rel=1e-12)
