"""Evaluation on held-out rows against transformers' of the same weights, and what follows from its losses."""

import math

import pytest
import ranks
import reference
import tiny
import torch
from test_curves import BASE, NAMES
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments
from worker import MASKED, run_worker, train, write_plan

STEPS = 8
HELD_OUT = tiny.make_rows(7, seed=9)


def plan_of(folder, model_dir, **fields):
    return {
        **BASE,
        "model_dir": model_dir,
        "tokens_file": tiny.save_rows(tiny.make_rows(11), folder / "rows.tok"),
        "eval_tokens_file": tiny.save_rows(HELD_OUT, folder / "held-out.tok"),
        "dtype": "float32",
        "max_steps": STEPS,
        **fields,
    }


def evaluate(model, folder, rows=tuple(HELD_OUT)):
    """In one batch: transformers takes the mean of the batches' means, which is that of all tokens for one alone."""
    arguments = TrainingArguments(
        output_dir=str(folder), use_cpu=True, report_to=[], disable_tqdm=True, per_device_eval_batch_size=len(rows)
    )
    trainer = Trainer(model=model, args=arguments, eval_dataset=reference.Rows(rows), data_collator=reference.collate)
    return trainer.evaluate()["eval_loss"]


@pytest.mark.parametrize("case", ["full", "lora", "smoothed"])
@pytest.mark.parametrize("family", ["llama", "granite", "mixtral"])
def test_the_loss_is_that_of_transformers(models, tmp_path, family, case):
    adapter = reference.save_adapter(models[family], tmp_path / "adapter") if case == "lora" else None
    method = {"method": "lora", "lora": {"adapter_dir": adapter}} if adapter else {}
    smoothing = {"label_smoothing": 0.3} if case == "smoothed" else {}
    run = train(tmp_path, **plan_of(tmp_path, models[family], eval_every=3, batch_size=2), **method, **smoothing)
    events = run.of("held_out_loss")
    assert [event["step"] for event in events] == [3, 6, STEPS]
    settings = {NAMES[name]: value for name, value in {**BASE, **smoothing}.items() if name in NAMES}
    _, model = reference.train(
        models[family], tiny.make_rows(11), tmp_path / "trainer", adapter=adapter, **settings | {"max_steps": STEPS}
    )
    assert events[-1]["loss"] == pytest.approx(evaluate(model, tmp_path), rel=1e-4)
    assert events[-1]["perplexity"] == pytest.approx(math.exp(events[-1]["loss"]))
    assert events[-1]["rows"] == len(HELD_OUT)
    assert events[-1]["tokens"] == sum(label != MASKED for row in HELD_OUT for label in row["labels"][1:])


def test_the_loss_of_weights_that_do_not_change(models, tmp_path):
    """To 1e-5, whatever the batches, and what only training has: dropout, noise and smoothed targets."""
    want = evaluate(AutoModelForCausalLM.from_pretrained(models["llama"], dtype=torch.float32), tmp_path)
    fields = {"learning_rate": 0, "max_steps": 1, "neftune_noise_alpha": 50, "label_smoothing": 0.5}
    fields |= {"method": "lora", "lora": {"dropout": 0.5}}
    for batch_size in (1, 3, 8):
        run = train(tmp_path, **plan_of(tmp_path, models["llama"], **fields) | {"batch_size": batch_size})
        assert run.of("held_out_loss")[0]["loss"] == pytest.approx(want, rel=1e-5)


def test_evaluations_change_nothing_of_the_training(models, tmp_path):
    plan = plan_of(tmp_path, models["llama"], method="lora", lora={"dropout": 0.3}, neftune_noise_alpha=5)
    often = train(tmp_path, **plan, eval_every=1)
    never = train(tmp_path, **{name: value for name, value in plan.items() if name != "eval_tokens_file"})
    assert often.column("loss") == never.column("loss") and not never.of("held_out_loss")
    assert len(often.of("held_out_loss")) == STEPS


@pytest.mark.parametrize(
    "fields",
    [
        {"plugin": "torch_ddp"},
        {"plugin": "FULL_SHARD", "number_ranks": 3},
        {"plugin": "low_level_zero", "knobs": {"zero_stage": 2}},
        {"plugin": "hybrid_parallel", "knobs": {"tp_size": 2}},
        {"plugin": "hybrid_parallel", "knobs": {"pp_size": 2}},
    ],
)
def test_over_ranks_it_is_the_same(models, tmp_path, fields):
    plan = {"schema": 1, "threads": 1, **plan_of(tmp_path, models["llama"], eval_every=3, batch_size=6)}
    alone = train(tmp_path, **plan).of("held_out_loss")
    number = fields.get("number_ranks", 2)
    data_ranks = 1 if fields["plugin"] == "hybrid_parallel" else number
    over = write_plan(tmp_path, **plan | {"number_ranks": number, "batch_size": 6 // data_ranks} | fields)
    events = ranks.finish_ranks(ranks.start_ranks(over, number))
    told = ranks.of_kind(events[0], "held_out_loss")
    assert [event["loss"] for event in told] == pytest.approx([event["loss"] for event in alone], rel=1e-5)
    assert [(event["step"], event["rows"], event["tokens"]) for event in told] == [
        (event["step"], event["rows"], event["tokens"]) for event in alone
    ]
    assert not any(ranks.of_kind(of_rank, "held_out_loss") for of_rank in events[1:])


def steps_until(losses, patience):
    """As transformers' EarlyStoppingCallback counts."""
    best, since = math.inf, 0
    for step, loss in enumerate(losses, 1):
        best, since = (loss, 0) if loss < best else (best, since + 1)
        if since == patience:
            return step
    raise AssertionError("the losses do not rise")


def rising(folder, models, **fields):
    """What is learned by heart of few rows makes others less likely."""
    return plan_of(
        folder, models["llama"], eval_every=1, max_steps=40, learning_rate=5e-3, lr_scheduler_type="constant", **fields
    )


def test_early_stopping_ends_the_run(models, tmp_path):
    plan = rising(tmp_path, models)
    losses = [event["loss"] for event in train(tmp_path, **plan).of("held_out_loss")]
    for patience in (1, 3):
        run = train(tmp_path, **plan, early_stopping=patience)
        assert run.ended["stopped_by"] == "early_stopping"
        assert len(run.steps) == steps_until(losses, patience) < 40


def test_patience_is_kept_over_a_resumption(models, tmp_path):
    plan = rising(tmp_path, models, early_stopping=3)
    end = len(train(tmp_path, **plan).steps)
    saving = {**plan, "save_every": 1, "output_dir": str(tmp_path / "out")}
    train(tmp_path, **saving | {"max_steps": end - 1})
    rest = train(tmp_path, **saving, resume=True)
    assert [step["step"] for step in rest.steps] == [end]
    assert rest.ended["stopped_by"] == "early_stopping"


def test_the_best_checkpoint_is_that_of_the_lowest_evaluation(models, tmp_path):
    out = tmp_path / "out"
    plan = rising(tmp_path, models, early_stopping=3, save_every=1, keep_best=1, keep_best_by="eval_loss")
    run = train(tmp_path, **plan, output_dir=str(out))
    losses = {event["step"]: event["loss"] for event in run.of("held_out_loss")}
    best = min(losses, key=losses.get)
    assert best < len(run.steps)
    assert sorted(path.name for path in out.iterdir()) == sorted({f"step-{best}", f"step-{len(run.steps)}"})


@pytest.mark.parametrize(
    "fields, words",
    [
        ({"eval_tokens_file": "", "eval_every": 2}, ["eval_every", "held out"]),
        ({"early_stopping": 2}, ["early_stopping", "eval_every"]),
        ({"keep_best": 1, "keep_best_by": "eval_loss", "save_every": 3, "eval_every": 2}, ["save_every 3", "2"]),
        ({"keep_best_by": "accuracy"}, ["keep_best_by", "eval_loss"]),
        ({"eval_every": -1}, ["eval_every"]),
    ],
)
def test_what_cannot_be_evaluated_is_refused(models, tmp_path, fields, words):
    plan = plan_of(tmp_path, models["llama"], output_dir=str(tmp_path / "out"))
    run = run_worker(write_plan(tmp_path, **plan | fields))
    assert run.returncode == 2 and all(word in run.ended["reason"] for word in words), run.ended


def test_held_out_rows_without_supervision_are_refused(models, tmp_path):
    rows = [{"input_ids": row["input_ids"], "labels": [MASKED] * len(row["labels"])} for row in HELD_OUT]
    plan = plan_of(tmp_path, models["llama"])
    plan["eval_tokens_file"] = tiny.save_rows(rows, tmp_path / "masked.tok")
    run = run_worker(write_plan(tmp_path, **plan))
    assert run.returncode == 2 and "masked.tok: none of" in run.ended["reason"]
