"""Ids and labels of every row shape against a plain reimplementation on the `tokenizers` wheel.

The reference: trl's DataCollatorForCompletionOnlyLM (last match of the template's ids; fms-hf-tuning drops the first
two ids of the template) and SFTTrainer's prompt-completion rows (as many tokens masked as the prompt has). Answers of a
chat are found here by character offsets, which the C++ side does not have.
"""

import json
import os
import pathlib
import subprocess

import pytest
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

ROOT = pathlib.Path(__file__).resolve().parents[2]
ENCODE_ROWS = pathlib.Path(os.environ["ASSAY_BIN_DIR"]) / "encode_rows"
TEMPLATE = "\n### Response:"
LLAMA3 = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
SPECIAL = ["<unk>", "<s>", "</s>", "<|im_start|>", "<|im_end|>"]


def corpus_lines():
    text = (ROOT / "share/corpus/austen/persuasion.txt").read_text(encoding="utf-8")
    return text.split("\n\n")


def train(kind):
    """A small tokeniser of one of three families; all put <s> in front of a text."""
    if kind == "metaspace":
        tokenizer = Tokenizer(models.BPE(byte_fallback=True, unk_token="<unk>", fuse_unk=True))
        tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("\u2581"), normalizers.Replace(" ", "\u2581")])
        tokenizer.decoder = decoders.Sequence([decoders.ByteFallback(), decoders.Fuse()])
        byte_tokens = [f"<0x{b:02X}>" for b in range(256)]
        trainer = trainers.BpeTrainer(vocab_size=1500, special_tokens=SPECIAL + byte_tokens, max_token_length=8)
        # Without a pre-tokeniser the trainer would see whole paragraphs; words are enough.
        words = [word for line in corpus_lines()[:400] for word in line.split()]
        tokenizer.train_from_iterator(words, trainer)
    else:
        tokenizer = Tokenizer(models.BPE())
        byte_level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=kind == "gpt2")
        tokenizer.pre_tokenizer = (
            byte_level
            if kind == "gpt2"
            else pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(LLAMA3), "isolated"), byte_level])
        )
        tokenizer.decoder = decoders.ByteLevel()
        alphabet = pre_tokenizers.ByteLevel.alphabet()
        trainer = trainers.BpeTrainer(vocab_size=1500, special_tokens=SPECIAL, initial_alphabet=alphabet)
        tokenizer.train_from_iterator(corpus_lines() + [f"### Input:\n\n{TEMPLATE}"] * 50, trainer)
    bos = tokenizer.token_to_id("<s>")
    tokenizer.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", bos)])
    return tokenizer


@pytest.fixture(scope="module", params=["gpt2", "llama3", "metaspace"])
def tokenizer(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp(request.param)
    tokenizer = train(request.param)
    tokenizer.save(str(folder / "tokenizer.json"))
    config = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"}
    (folder / "tokenizer_config.json").write_text(json.dumps(config))
    # Read back, so that both sides stand on the same file.
    return Tokenizer.from_file(str(folder / "tokenizer.json")), folder


def encode_rows(tmp_path, data, folder, max_length):
    command = [ENCODE_ROWS, str(data), str(folder), TEMPLATE, str(max_length), str(tmp_path / "cache")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def write(path, rows):
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return path


def with_eos(tokenizer, ids):
    eos = tokenizer.token_to_id("</s>")
    return ids if ids and ids[-1] == eos else ids + [eos]


def end_of_last_match(ids, pattern):
    for start in range(len(ids) - len(pattern), -1, -1):
        if ids[start : start + len(pattern)] == pattern:
            return start + len(pattern)
    return None


def expect_text(tokenizer, row, cut):
    ids = with_eos(tokenizer, tokenizer.encode(row["output"]).ids)[:cut]
    pattern = tokenizer.encode(TEMPLATE, add_special_tokens=False).ids
    end = end_of_last_match(ids, pattern)
    if end is None:
        end = end_of_last_match(ids, pattern[2:])
    end = len(ids) if end is None else end
    return ids, [-100] * end + ids[end:]


def expect_pair(tokenizer, row, cut):
    prompt = len(tokenizer.encode(row["prompt"]).ids)
    ids = with_eos(tokenizer, tokenizer.encode(row["prompt"] + row["completion"]).ids)[:cut]
    return ids, ([-100] * prompt + ids[prompt:])[:cut]


def expect_chat(tokenizer, row, cut):
    text, answers = "", []
    for message in row["messages"]:
        text += f"<|im_start|>{message['role']}\n"
        begin = len(text)
        text += f"{message['content']}<|im_end|>"
        if message["role"] == "assistant":
            answers.append((begin, len(text)))
        text += "\n"
    encoding = tokenizer.encode(text, add_special_tokens=False)
    inside = [any(begin <= e - 1 < end for begin, end in answers) for s, e in encoding.offsets]
    labels = [i if answer else -100 for i, answer in zip(encoding.ids, inside)]
    return encoding.ids[:cut], labels[:cut]


def expect(tokenizer, row, cut):
    if "input_ids" in row:
        return row["input_ids"][:cut], row.get("labels", row["input_ids"])[:cut]
    if "messages" in row:
        return expect_chat(tokenizer, row, cut)
    return expect_pair(tokenizer, row, cut) if "prompt" in row else expect_text(tokenizer, row, cut)


def compare(tokenizer, rows, got, max_length):
    cut = max(256, 1 << (max_length - 1).bit_length())
    assert len(got) == len(rows)
    for row, mine in zip(rows, got):
        ids, labels = expect(tokenizer, row, cut)
        assert mine["input_ids"] == ids[:max_length], row
        assert mine["labels"] == labels[:max_length], row


PASSAGE = (
    "Anne found an unexpected interest here.\nShe felt its application to herself, d'être étonnée 12345 times — “yes”."
)


def test_text_rows(tokenizer, tmp_path):
    tokenizer, folder = tokenizer
    rows = [
        {"output": f"### Input:\n{PASSAGE}\n\n### Response: {PASSAGE}"},
        {"output": f"### Input:\n{PASSAGE} \n\n### Response:{PASSAGE}"},
        {"output": f"### Input:\n{PASSAGE}\n### Response:\n{PASSAGE}"},
        {"output": f"a\n\n### Response: first\n\n### Response: second {PASSAGE}"},
        {"output": "a\n\n### Response: ends with its own </s>"},
    ]
    compare(tokenizer, rows, encode_rows(tmp_path, write(tmp_path / "d.jsonl", rows), folder, 512), 512)


def test_prompt_and_completion_rows(tokenizer, tmp_path):
    tokenizer, folder = tokenizer
    rows = [
        {"prompt": PASSAGE, "completion": " " + PASSAGE},
        {"prompt": "Q: 2+2?\nA:", "completion": " 4"},
        {"prompt": "ends with a space ", "completion": "and goes on"},
        {"prompt": "", "completion": "no prompt at all"},
    ]
    compare(tokenizer, rows, encode_rows(tmp_path, write(tmp_path / "d.jsonl", rows), folder, 512), 512)


def test_chat_rows(tokenizer, tmp_path):
    tokenizer, folder = tokenizer
    turns = [
        {"role": "system", "content": "You are Anne."},
        {"role": "user", "content": PASSAGE},
        {"role": "assistant", "content": "Yes."},
        {"role": "user", "content": "More?"},
        {"role": "assistant", "content": f"{PASSAGE}\n\nThe end."},
    ]
    rows = [{"messages": turns}, {"messages": turns[:3]}, {"messages": turns[1:4]}]
    compare(tokenizer, rows, encode_rows(tmp_path, write(tmp_path / "d.jsonl", rows), folder, 512), 512)


def test_long_rows_are_cut_as_if_tokenised_whole(tokenizer, tmp_path):
    tokenizer, folder = tokenizer
    text = " ".join(" ".join(corpus_lines()[10:600]).split())
    assert len(text) > 150_000
    rows = [
        {"output": f"### Input:\n short \n\n### Response: {text}"},
        {"prompt": "short", "completion": f" {text}"},
        {"messages": [{"role": "user", "content": "short"}, {"role": "assistant", "content": text}]},
    ]
    for max_length in (256, 300, 2048):
        got = encode_rows(tmp_path, write(tmp_path / "d.jsonl", rows), folder, max_length)
        assert all(len(row["input_ids"]) == max_length for row in got)
        compare(tokenizer, rows, got, max_length)


def test_tokens_and_mixed_rows_keep_their_lines(tokenizer, tmp_path):
    tokenizer, folder = tokenizer
    rows = [
        {"input_ids": [5, 6, 7], "labels": [-100, 6, 7]},
        {"input_ids": [8, 9]},
        {"output": "a\n\n### Response: b"},
        {"prompt": "a", "completion": " b"},
    ]
    data = write(tmp_path / "d.jsonl", rows)
    data.write_text("\n" + data.read_text(encoding="utf-8"), encoding="utf-8")
    got = encode_rows(tmp_path, data, folder, 512)
    compare(tokenizer, rows, got, 512)
    assert [row["line"] for row in got] == [2, 3, 4, 5]


def test_a_generated_data_set(tokenizer, tmp_path):
    tokenizer, folder = tokenizer
    got = encode_rows(tmp_path, "news-chars-512-entries-256", folder, 1024)
    assert len(got) == 256
    words = " ".join(
        "".join(p.read_text(encoding="utf-8") for p in sorted((ROOT / "share/corpus/austen").glob("*.txt"))).split()
    )
    rows = []
    for i in range(256):
        first, second = words[1024 * i : 1024 * i + 512], words[1024 * i + 512 : 1024 * (i + 1)]
        rows.append(
            {
                "output": "Write a response that appropriately completes the remainder of the following input text."
                f"\n\n### Input:\n{first}\n\n### Response: {second}"
            }
        )
    compare(tokenizer, rows, got, 1024)
