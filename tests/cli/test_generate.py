"""assay generate: the text of transformers, as it comes; and assay tune's sample."""

import json
import pathlib
import shutil

import pytest
import torch
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, LlamaConfig, PreTrainedTokenizerFast

TOKENIZER = pathlib.Path(__file__).resolve().parents[2] / "share/tokenizers/assay-8k"
PROMPT = "It is a truth"


def save(folder, **config):
    """A small model with random weights and the project's tokeniser."""
    torch.manual_seed(2)
    shape = dict(hidden_size=48, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4, vocab_size=8192)
    model = AutoModelForCausalLM.from_config(LlamaConfig(**{**shape, **config}, initializer_range=0.3))
    model.generation_config.eos_token_id = None
    model.save_pretrained(folder)
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copy(TOKENIZER / name, folder)
    return model.eval()


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "model"


def text_of(model, folder, count=20, **options):
    """What transformers puts behind the prompt, and its ids."""
    tokenizer = PreTrainedTokenizerFast.from_pretrained(folder)
    given = tokenizer(PROMPT, return_tensors="pt").input_ids
    options = {"do_sample": False, "pad_token_id": 0, "eos_token_id": None, **options}
    with torch.no_grad():
        ids = model.generate(input_ids=given, attention_mask=torch.ones_like(given), max_new_tokens=count, **options)[
            0
        ].tolist()
    decode = lambda ids: tokenizer.decode(ids, skip_special_tokens=True)  # noqa: E731
    return decode(ids)[len(decode(given[0].tolist())) :], ids[given.shape[1] :]


def generate(folder, *more):
    options = ["--prompt", PROMPT, "--max-new-tokens", 20, "--dtype", "float32", "--threads", 1]
    return ["generate", "--model", folder, *options, *more]


def test_the_text_is_that_of_transformers(assay, folder):
    text, ids = text_of(save(folder), folder)
    assert assay.ok(*generate(folder)) == text + "\n"
    result = json.loads(assay.ok(*generate(folder, "--output", "json")))
    assert (result["text"], result["ids"]) == (text, ids)
    assert (result["outcome"], result["stopped_by"], result["weights"]) == ("done", "max_new_tokens", "file")


def test_drawn_text_is_that_of_the_seed(assay, folder):
    model = save(folder)
    torch.manual_seed(5)
    text, _ = text_of(model, folder, do_sample=True, top_k=30, top_p=1.0, temperature=1.0)
    assert assay.ok(*generate(folder, "--top-k", 30, "--seed", 5)) == text + "\n"
    assert assay.ok(*generate(folder, "--top-k", 30, "--seed", 6)) != text + "\n"


@pytest.mark.parametrize("file", ["generation_config.json", "config.json"])
def test_the_model_says_which_token_ends_the_text(assay, folder, file):
    _, ids = text_of(save(folder), folder)
    end = ids[5]
    for name in ("generation_config.json", "config.json"):
        config = json.loads((folder / name).read_text())
        config["eos_token_id"] = [end, 9999] if name == file else None
        (folder / name).write_text(json.dumps(config))
    result = json.loads(assay.ok(*generate(folder, "--output", "json")))
    assert result["ids"] == ids[: ids.index(end) + 1] and result["stopped_by"] == "eos"


def test_an_adapter_is_on(assay, folder, tmp_path):
    model = save(folder)
    wrapped = get_peft_model(model, LoraConfig(r=4, target_modules=["q_proj", "down_proj"]))
    for name, parameter in wrapped.named_parameters():
        if "lora_B" in name:
            torch.nn.init.normal_(parameter, std=0.5)
    wrapped.save_pretrained(tmp_path / "adapter")
    text, _ = text_of(wrapped.eval(), folder)
    assert assay.ok(*generate(folder, "--adapter", tmp_path / "adapter")) == text + "\n"


def test_a_chat_is_in_the_template_of_the_tokeniser(assay, folder):
    save(folder)
    config = json.loads((folder / "tokenizer_config.json").read_text())
    del config["chat_template"]
    (folder / "tokenizer_config.json").write_text(json.dumps(config))
    assert "has no chat template" in assay.refused(*generate(folder, "--chat"))
    template = (
        "{% for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %}{% if add_generation_prompt %}[A]{% endif %}"
    )
    (folder / "chat_template.jinja").write_text(template)
    tokenizer = PreTrainedTokenizerFast.from_pretrained(folder)
    text = tokenizer.apply_chat_template(
        [{"role": "user", "content": PROMPT}], add_generation_prompt=True, tokenize=False
    )
    expected = tokenizer(text, add_special_tokens=False).input_ids
    result = json.loads(assay.ok(*generate(folder, "--chat", "--output", "json")))
    assert result["plan"]["sample"]["prompt_ids"] == expected


def test_random_weights_are_said_to_be(assay, model):
    done = assay(*generate(model))
    assert done.returncode == 0 and "the model has no weights" in done.stderr


def test_mistakes_are_one_line(assay, folder, model, tmp_path):
    save(folder)
    assert "no tokens" in assay.refused("generate", "--model", folder, "--prompt", "")
    assert "leave --top-p out" in assay.refused(*generate(folder, "--temperature", 0, "--top-p", 0.5))
    assert "adapter_config.json" in assay.refused(*generate(folder, "--adapter", tmp_path / "nothing"))
    (folder / "tokenizer.json").unlink()
    assert "tokenizer" in assay.refused(*generate(folder))
    config = json.loads((model / "config.json").read_text())
    (model / "config.json").write_text(json.dumps({**config, "vocab_size": 100}))
    assert "vocabulary" in assay.refused(*generate(model))


def test_tune_shows_a_sample_before_and_after(assay, folder, tmp_path):
    model = save(folder)
    text, _ = text_of(model, folder, count=8)
    data = tmp_path / "rows.jsonl"
    data.write_text((json.dumps({"prompt": PROMPT, "completion": " universally acknowledged"}) + "\n") * 8)
    arguments = [
        *("tune", "--model", folder, "--data", data, "--dtype", "float32", "--learning-rate", 0.02),
        *("--max-steps", 25, "--warmup-ratio", 0, "--sample-prompt", PROMPT, "--sample-tokens", 8),
    ]
    samples = json.loads(assay.ok(*arguments, "--output", "json"))["samples"]
    assert samples["before"] == text
    assert samples["after"].startswith(" universally acknowledged")
    table = assay.ok(*arguments)
    assert f"sample before the training:\n{text}\n" in table
    assert table.index("sample before") < table.index("sample after the training:\n universally acknowledged")


def test_a_sample_is_of_one_rank(assay, folder, tmp_path, rows):
    save(folder)
    line = assay.refused("tune", "--model", folder, "--data", rows, "--number-ranks", 2, "--sample-prompt", PROMPT)
    assert "made by one rank" in line
