"""The tokeniser's ids and texts against those of the `tokenizers` library, which makes the definitions too."""

import json
import os
import pathlib
import struct
import subprocess
import sys
import sysconfig

import pytest
import torture
from definitions import DEFINITIONS, PATTERNS
from tokenizers import Regex, Tokenizer, models, pre_tokenizers

TOOL = pathlib.Path(os.environ["ASSAY_BIN_DIR"]) / "tokenizer_tool"
ROOT = pathlib.Path(__file__).resolve().parents[2]
REAL_BYTES = 10 << 20


def run_tool(*arguments):
    done = subprocess.run([TOOL, *arguments], capture_output=True)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode().split("\n")[:-1]


def write_texts(path, texts):
    raw = [text if isinstance(text, bytes) else text.encode() for text in texts]
    path.write_bytes(b"".join(struct.pack("<I", len(text)) + text for text in raw))


def encode(folder, tokenizer, texts, verb="encode"):
    write_texts(folder / "texts.bin", texts)
    lines = run_tool(verb, folder / "tokenizer.json", folder / "texts.bin")
    return [list(map(int, line.split())) for line in lines]


def assert_same_ids(got, expected, texts):
    assert len(got) == len(expected)
    for ours, theirs, text in zip(got, expected, texts):
        if ours != theirs:
            at = next((i for i, (a, b) in enumerate(zip(ours, theirs)) if a != b), min(len(ours), len(theirs)))
            pytest.fail(f"{text[:80]!r}...: token {at}: {ours[at : at + 8]} instead of {theirs[at : at + 8]}")


def read_texts(paths, limit):
    texts, size = [], 0
    for path in paths:
        text = path.read_text(encoding="utf-8", errors="replace")
        texts.append(text)
        size += len(text.encode())
        if size >= limit:
            break
    return texts


def library_sources():
    return sorted(pathlib.Path(sysconfig.get_paths()["stdlib"]).rglob("*.py"))


def corpus_files():
    return sorted((ROOT / "share" / "corpus").rglob("*.txt"))


@pytest.fixture(scope="session")
def training():
    """About 1.5 MB of prose and code, with some of every script so that alphabets are not ASCII only."""
    texts = read_texts(library_sources()[::7], 1 << 20) + read_texts(corpus_files(), 400_000)
    return [line for text in texts for line in text.splitlines(keepends=True)] + torture.SCRIPTS * 20


@pytest.fixture(scope="session")
def real_texts():
    """10 MB of real text: the corpus of the project and Python's library."""
    corpus = read_texts(corpus_files(), REAL_BYTES)
    return corpus + read_texts(library_sources(), REAL_BYTES - sum(len(text.encode()) for text in corpus))


@pytest.fixture(scope="session", params=DEFINITIONS)
def definition(request, training, tmp_path_factory):
    build, all_real = DEFINITIONS[request.param]
    folder = tmp_path_factory.mktemp("definition")
    build(training).save(str(folder / "tokenizer.json"))
    return folder, Tokenizer.from_file(str(folder / "tokenizer.json")), all_real


def test_torture_ids(definition):
    folder, tokenizer, _ = definition
    texts = torture.texts()
    expected = [tokenizer.encode(text, add_special_tokens=False).ids for text in texts]
    assert_same_ids(encode(folder, tokenizer, texts), expected, texts)


def test_ids_with_special_tokens(definition):
    folder, tokenizer, _ = definition
    texts = torture.texts()[:60]
    expected = [tokenizer.encode(text).ids for text in texts]
    assert_same_ids(encode(folder, tokenizer, texts, "encode-special"), expected, texts)


def test_ill_formed_utf8_is_read_as_replacement_characters(definition):
    folder, tokenizer, _ = definition
    expected = [
        tokenizer.encode(raw.decode("utf-8", "replace"), add_special_tokens=False).ids for raw in torture.ILL_FORMED
    ]
    assert_same_ids(encode(folder, tokenizer, torture.ILL_FORMED), expected, torture.ILL_FORMED)


def test_real_text_ids(definition, real_texts):
    folder, tokenizer, all_real = definition
    texts = real_texts if all_real else real_texts[::12]
    expected = [e.ids for e in tokenizer.encode_batch_fast(texts, add_special_tokens=False)]
    assert_same_ids(encode(folder, tokenizer, texts), expected, texts)


def test_decoded_text(definition):
    folder, tokenizer, _ = definition
    texts = torture.texts()[:400]
    # Ids cut in the middle leave bytes that are no text; ids in turn reach every token.
    ids = [tokenizer.encode(text).ids for text in texts if text]
    ids += [i[1::2] for i in ids[:100]] + [
        list(range(a, a + 50)) for a in range(0, tokenizer.get_vocab_size() - 50, 50)
    ]
    ids = [i for i in ids if i]
    (folder / "ids.txt").write_text("".join(" ".join(map(str, i)) + "\n" for i in ids))
    got = [json.loads(line) for line in run_tool("decode", folder / "tokenizer.json", folder / "ids.txt")]
    expected = [
        [tokenizer.decode(i, skip_special_tokens=False), tokenizer.decode(i, skip_special_tokens=True)] for i in ids
    ]
    assert len(got) == len(expected)
    for ours, theirs, i in zip(got, expected, ids):
        assert ours == theirs, i[:40]


def word_counter(steps):
    """A tokeniser whose ids are as many as its words, so that texts can be compared by where they are cut."""
    tokenizer = Tokenizer(models.WordLevel({"<unk>": 0, "a": 1, " ": 2}, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(steps)
    return tokenizer


COUNTERS = {name: [pre_tokenizers.Split(Regex(pattern), "isolated")] for name, pattern in PATTERNS.items()}
COUNTERS["smollm2"] = [pre_tokenizers.Digits(True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
COUNTERS["classes"] = [
    pre_tokenizers.Punctuation("contiguous"),
    pre_tokenizers.Whitespace(),
    pre_tokenizers.Digits(False),
]


@pytest.mark.parametrize("name", COUNTERS)
def test_every_character_is_of_the_right_class(name, tmp_path):
    tokenizer = word_counter(COUNTERS[name])
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    # Ideographs, Hangul, private use and the empty planes behave alike: every 61st of them will do.
    dull = [
        range(0x3400, 0xA000),
        range(0xAC00, 0xD7A4),
        range(0xE000, 0xF900),
        range(0x17000, 0x1B000),
        range(0x20000, 0x110000),
    ]
    codes = [c for c in range(0x110000) if not 0xD800 <= c <= 0xDFFF and (c % 61 == 0 or not any(c in r for r in dull))]
    texts = [f"a{chr(c)}b{chr(c)}{chr(c)}1{chr(c)} {chr(c)}\n{chr(c)}'s.{chr(c)}A" for c in codes]
    expected = [e.ids for e in tokenizer.encode_batch_fast(texts, add_special_tokens=False)]
    assert_same_ids(encode(tmp_path, tokenizer, texts), expected, texts)


if __name__ == "__main__":
    sys.exit(pytest.main([__file__, *sys.argv[1:]]))
