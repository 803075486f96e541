"""Conversations by the tokeniser's own chat template: the text of transformers, and the loss on what assistants say."""

import json
import os
import pathlib
import subprocess

import pytest
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

ROOT = pathlib.Path(__file__).resolve().parents[2]
ENCODE_ROWS = pathlib.Path(os.environ["ASSAY_BIN_DIR"]) / "encode_rows"
MASKED = -100
MARKS = ["<s>", "</s>", "<|im_start|>", "<|im_end|>", "<|eot_id|>", "<|start_header_id|>", "<|end_header_id|>"]

LLAMA3 = (
    "{% set loop_messages = messages %}{% for message in loop_messages %}{% set content = '<|start_header_id|>' + "
    "message['role'] + '<|end_header_id|>\n\n'+ message['content'] | trim + '<|eot_id|>' %}{% if loop.index0 == 0 %}"
    "{% set content = bos_token + content %}{% endif %}{{ content }}{% endfor %}{% if add_generation_prompt %}"
    "{{ '<|start_header_id|>assistant<|end_header_id|>\n\n' }}{% endif %}"
)
QWEN25 = r"""{%- if tools %}
    {{- '<|im_start|>system\n' }}
    {%- for tool in tools %}
        {{- "\n" }}
        {{- tool | tojson }}
    {%- endfor %}
    {{- "<|im_end|>\n" }}
{%- else %}
    {%- if messages[0]['role'] == 'system' %}
        {{- '<|im_start|>system\n' + messages[0]['content'] + '<|im_end|>\n' }}
    {%- else %}
        {{- '<|im_start|>system\nYou are Qwen, created by Alibaba Cloud. You are a helpful assistant.<|im_end|>\n' }}
    {%- endif %}
{%- endif %}
{%- for message in messages %}
    {%- if (message.role == "user") or (message.role == "system" and not loop.first) or (message.role == "assistant" and not message.tool_calls) %}
        {{- '<|im_start|>' + message.role + '\n' + message.content + '<|im_end|>' + '\n' }}
    {%- elif message.role == "assistant" %}
        {{- '<|im_start|>' + message.role }}
        {%- if message.content %}
            {{- '\n' + message.content }}
        {%- endif %}
        {%- for tool_call in message.tool_calls %}
            {{- '\n<tool_call>\n{"name": "' }}
            {{- tool_call.name }}
        {%- endfor %}
        {{- '<|im_end|>\n' }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\n' }}
{%- endif %}
"""
MISTRAL = (
    "{{ bos_token }}{% for message in messages %}{% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}"
    "{{ raise_exception('Conversation roles must alternate user/assistant/user/assistant/...') }}{% endif %}"
    "{% if message['role'] == 'user' %}{{ '[INST] ' + message['content'] + ' [/INST]' }}"
    "{% elif message['role'] == 'assistant' %}{{ message['content'] + eos_token}}{% else %}"
    "{{ raise_exception('Only user and assistant roles are supported!') }}{% endif %}{% endfor %}"
)
SMOLLM2 = (
    "{% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' %}"
    "{{ '<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging Face<|im_end|>\n' }}"
    "{% endif %}{{'<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n'}}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
GRANITE = r"""{%- if messages[0]['role'] == 'system' %}
    {%- set system_message = messages[0]['content'] %}
    {%- set loop_messages = messages[1:] %}
{%- else %}
    {%- set system_message = "Knowledge Cutoff Date: April 2024.
Today's Date: " + strftime_now('%B %d, %Y') + ".
You are Granite, developed by IBM." %}
    {%- set loop_messages = messages %}
{%- endif %}
{{- '<|start_of_role|>system<|end_of_role|>' + system_message + '<|end_of_text|>
' }}
{%- for message in loop_messages %}
    {{- '<|start_of_role|>' + message['role'] + '<|end_of_role|>' + message['content'] + '<|end_of_text|>
' }}
    {%- if loop.last and add_generation_prompt %}
        {{- '<|start_of_role|>assistant' }}
            {%- if controls %}
                {{- ' ' + controls | tojson()}}
            {%- endif %}
        {{- '<|end_of_role|>' }}
    {%- endif %}
{%- endfor %}"""
CHATML = (
    "{% for message in messages %}{{'<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>'"
    " + '\n'}}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
#: With what ends a turn of the assistant.
TEMPLATES = {
    "llama3": (LLAMA3, "<|eot_id|>"),
    "qwen2.5": (QWEN25, "<|im_end|>"),
    "mistral": (MISTRAL, "</s>"),
    "smollm2": (SMOLLM2, "<|im_end|>"),
    "granite": (GRANITE, "<|end_of_text|>"),
}
TALK = [
    {"role": "user", "content": "  What is d'être étonnée — “yes”? 😀 "},
    {"role": "assistant", "content": "An astonishment.\n\nOf her own."},
    {"role": "user", "content": "More?"},
    {"role": "assistant", "content": "No more."},
]
SYSTEM = {"role": "system", "content": "You are Anne."}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Of a small tokeniser, without a template."""
    folder = tmp_path_factory.mktemp("tokenizer")
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=900, special_tokens=MARKS, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False
    )
    text = (ROOT / "share/corpus/austen/persuasion.txt").read_text(encoding="utf-8")
    tokenizer.train_from_iterator(text.split("\n\n")[:300], trainer)
    tokenizer.save(str(folder / "tokenizer.json"))
    return folder


@pytest.fixture
def with_template(folder, tmp_path):
    """Makes a copy of the tokeniser that has a template in its configuration, or in a file of its own."""

    def make(template, own_file=False, **config):
        copy = tmp_path / f"tokenizer-{len(list(tmp_path.iterdir()))}"
        copy.mkdir()
        (copy / "tokenizer.json").write_bytes((folder / "tokenizer.json").read_bytes())
        config = {"tokenizer_class": "PreTrainedTokenizerFast", "bos_token": "<s>", "eos_token": "</s>", **config}
        if own_file:
            (copy / "chat_template.jinja").write_text(template)
        elif template is not None:
            config["chat_template"] = template
        (copy / "tokenizer_config.json").write_text(json.dumps(config))
        return copy

    return make


def run(tmp_path, folder, talks):
    data = tmp_path / "talks.jsonl"
    data.write_text("".join(json.dumps({"messages": talk}) + "\n" for talk in talks))
    command = [ENCODE_ROWS, str(data), str(folder), "R:", "512", str(tmp_path / "cache")]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)


def encode(*arguments):
    done = run(*arguments)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def refused(*arguments):
    done = run(*arguments)
    assert done.returncode == 2 and done.stderr.count("\n") == 1, done
    return done.stderr


def labels_of(encoding, text, answers):
    """Of a text whose answers stand in it in this order."""
    spans, at = [], 0
    for answer in answers:
        begin = text.index(answer, at)
        at = begin + len(answer)
        spans.append((begin, at))
    inside = [any(begin <= e - 1 < end for begin, end in spans) for _, e in encoding.offsets]
    return [i if answer else MASKED for i, answer in zip(encoding.ids, inside)]


@pytest.mark.parametrize("name", TEMPLATES)
@pytest.mark.parametrize("own_file", [False, True], ids=["in-config", "own-file"])
def test_text_is_that_of_transformers(with_template, name, own_file, tmp_path):
    template, end = TEMPLATES[name]
    folder = with_template(template, own_file)
    reference = PreTrainedTokenizerFast.from_pretrained(folder)
    talks = [TALK, TALK[:2]] + ([] if name == "mistral" else [[SYSTEM, *TALK], [TALK[0], TALK[1], TALK[1]]])
    for talk, row in zip(talks, encode(tmp_path, folder, talks), strict=True):
        text = reference.apply_chat_template(talk, tokenize=False)
        encoding = reference.backend_tokenizer.encode(text, add_special_tokens=False)
        assert row["input_ids"] == encoding.ids
        answers = [turn["content"] + end for turn in talk if turn["role"] == "assistant"]
        assert row["labels"] == labels_of(encoding, text, answers)


def test_a_template_of_chatml_is_what_there_is_without_one(with_template, tmp_path):
    with_one, without = with_template(CHATML), with_template(None)
    assert encode(tmp_path, with_one, [TALK, [SYSTEM, *TALK]]) == encode(tmp_path, without, [TALK, [SYSTEM, *TALK]])


def test_generation_blocks_say_themselves_what_is_learned(with_template, tmp_path):
    template = (
        "{%- for message in messages -%}[{{ message.role }}]{% if message.role == 'assistant' %}"
        "{% generation %}{{ message.content }}<|im_end|>{% endgeneration %}{% else %}{{ message.content }}{% endif %}\n"
        "{% endfor %}turns: {{ messages | length }}"  # which no earlier rendering begins with
    )
    folder = with_template(template)
    reference = PreTrainedTokenizerFast.from_pretrained(folder)
    expected = reference.apply_chat_template(TALK, return_dict=True, return_assistant_tokens_mask=True)
    (row,) = encode(tmp_path, folder, [TALK])
    assert row["input_ids"] == expected["input_ids"]
    assert [label != MASKED for label in row["labels"]] == [bool(mask) for mask in expected["assistant_masks"]]


def test_of_several_templates_the_default_one_is_taken(with_template, tmp_path):
    several = [
        {"name": "tool_use", "template": "{{ raise_exception('no') }}"},
        {"name": "default", "template": SMOLLM2},
    ]
    assert encode(tmp_path, with_template(several), [TALK]) == encode(tmp_path, with_template(SMOLLM2), [TALK])


def test_what_is_kept_of_rows_depends_on_the_template(with_template, tmp_path):
    """Tokens are found again in the cache only where the template is the same."""
    folder = with_template(SMOLLM2, own_file=True)
    before = encode(tmp_path, folder, [TALK])
    assert encode(tmp_path, folder, [TALK]) == before
    (folder / "chat_template.jinja").write_text(CHATML)
    assert encode(tmp_path, folder, [TALK]) != before


@pytest.mark.parametrize(
    ("template", "reason"),
    [
        (MISTRAL, "Conversation roles must alternate"),
        ("{% for message in messages %}", "line 1: Unexpected end of template"),
        ("{{ messages[0].content.nothing() }}", "has no attribute 'nothing'"),
        ("{{ messages.append(1) }}", "unsafe"),
        ("{{ ''.__class__.__mro__ }}", "unsafe"),
        ("{{ 'a' * 10000000000 }}", "MemoryError"),
        ("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", "calls itself without end"),
        ("{{ messages | length }} turns", "turn 2 otherwise"),
    ],
    ids=["refuses", "syntax", "attribute", "changes", "escapes", "memory", "recursion", "not-a-prefix"],
)
def test_a_template_that_fails_is_one_line(with_template, template, reason, tmp_path):
    talk = [{"role": "system", "content": "s"}, TALK[1], TALK[2], TALK[3]]
    folder = with_template(template)
    line = refused(tmp_path, folder, [TALK[:2] if reason.startswith("line") else talk])
    assert f"talks.jsonl:1: the chat template in {folder}/tokenizer_config.json: " in line
    assert reason in line


def test_an_endless_loop_is_one_line(with_template, tmp_path):
    ones = "{% for a in range(99999) %}{% for b in range(99999) %}{% for c in range(99999) %}{% endfor %}{% endfor %}"
    line = refused(tmp_path, with_template(ones + "{% endfor %}"), [TALK])
    assert "did not end within 10 s: it may loop without end" in line


def test_without_jinja2_it_says_what_to_install(with_template, tmp_path, monkeypatch):
    python = tmp_path / "python"
    python.write_text('#!/bin/sh\nexec python3 -S -I "$@"\n')
    python.chmod(0o755)
    monkeypatch.setenv("ASSAY_PYTHON", str(python))
    done = run(tmp_path, with_template(SMOLLM2), [TALK])
    assert done.returncode != 0 and done.stderr.count("\n") == 1
    assert "rendered by jinja2" in done.stderr and "ASSAY_PYTHON" in done.stderr
