"""The trainer against the `tokenizers` library's, and what both libraries read in its files."""

import json
import os
import pathlib
import subprocess

import pytest
from test_parity import TOOL, assert_same_ids, corpus_files, encode, library_sources, read_texts
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import AutoTokenizer

ROOT = pathlib.Path(__file__).resolve().parents[2]
KEPT = ROOT / "share" / "tokenizers" / "assay-8k"
SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]


def train_by_library(texts, vocab_size):
    tokenizer = Tokenizer(models.BPE())
    steps = [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(steps)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size,
        special_tokens=SPECIAL,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    return json.loads(tokenizer.to_str())["model"]


def train(folder, files, vocab_size):
    path = folder / "tokenizer.json"
    subprocess.run([TOOL, "train", path, str(vocab_size), *files], check=True)
    return path, json.loads(path.read_text())["model"]


@pytest.mark.parametrize(
    "vocab_size, files", [(8192, corpus_files()), (4000, library_sources()[::9]), (600, library_sources()[:3])]
)
def test_vocabulary_and_merges_are_those_of_the_library(vocab_size, files, tmp_path):
    files = [path for path in files if path.read_bytes().decode("utf-8", "replace").encode() == path.read_bytes()]
    theirs = train_by_library([path.read_bytes().decode() for path in files], vocab_size)
    _, ours = train(tmp_path, files, vocab_size)
    assert ours["vocab"] == theirs["vocab"]
    assert ours["merges"] == theirs["merges"]


def test_both_read_the_kept_tokenizer_alike(tmp_path):
    (tmp_path / "tokenizer.json").write_bytes((KEPT / "tokenizer.json").read_bytes())
    tokenizer = Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    assert tokenizer.get_vocab_size() == 8192
    texts = (
        read_texts(corpus_files(), 10 << 20)
        + read_texts(library_sources()[::20], 1 << 20)
        + ["<|im_start|>user\nHi<|im_end|>"]
    )
    expected = [e.ids for e in tokenizer.encode_batch_fast(texts, add_special_tokens=False)]
    assert_same_ids(encode(tmp_path, tokenizer, texts), expected, texts)


def test_transformers_reads_the_kept_folder():
    tokenizer = AutoTokenizer.from_pretrained(KEPT)
    assert tokenizer.eos_token_id == 0
    assert (
        tokenizer("It is 1811.")["input_ids"]
        == Tokenizer.from_file(str(KEPT / "tokenizer.json")).encode("It is 1811.").ids
    )
    messages = [{"role": "user", "content": "Hi"}]
    assert tokenizer.apply_chat_template(messages, tokenize=False) == "<|im_start|>user\nHi<|im_end|>\n"


def test_bad_files_end_in_one_line(tmp_path):
    bad = {
        "missing": None,
        "truncated": (KEPT / "tokenizer.json").read_text()[:5000],
        "merge": '{"model": {"type": "BPE", "vocab": {"a": 0}, "merges": ["a b"]}}',
    }
    for name, content in bad.items():
        path = tmp_path / f"{name}.json"
        if content is not None:
            path.write_text(content)
        done = subprocess.run([TOOL, "encode", path, os.devnull], capture_output=True, text=True)
        assert done.returncode == 2
        assert done.stderr.count("\n") == 1 and str(path) in done.stderr, done.stderr
