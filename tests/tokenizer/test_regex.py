"""Where regular expressions match and what ids they lead to, against the `tokenizers` library."""

import json
import os
import pathlib
import subprocess

import definitions
import pytest
import torture
from patterns import INVALID, REAL, REFUSED, SYNTAX
from test_parity import assert_same_ids, encode, training, write_texts  # noqa: F401
from tokenizers import Regex, Tokenizer, models, pre_tokenizers

TOOL = pathlib.Path(os.environ["ASSAY_BIN_DIR"]) / "tokenizer_tool"

SMALL = [
    "世界。", "m² 10³ ¼ ½", "1000\u0301 1000", "0000 00000", "a\vb\n\x0bc", "\x0b", "١٢٣ १२ \u0903", "aaaa ab aab b abc ac d",
    "ﬁ ﬆ ß ẞ ss SS st", "K k \u212a ſ s S", "σ ς Σ", "a\na", "a\n", "\n", "bcd ad d", "1.2" * 300, "ǅ ǆ Ǆ", "[a]b-c+,{}", "xbba",
    "e\u0301a", "'s 'S 'ſ", "\r\n\n\x85\u2028\u2029", "!$+^_`|~", "中A 😀é", "aB aC C cd aBd", "a{,} a{ a{1,2",
    "IMGIMGABCZ <sentinel:12>    \t", "12345678 1234567", "\u0378\ue000\U0010ffff",
]  # fmt: skip


def unicode_texts(count):
    return [text.encode("utf-8", "replace").decode() for text in torture.random_texts(11, count)]


def matches(pattern, texts, path):
    """What our program finds, as lists of texts that are not empty; its error instead when it fails."""
    write_texts(path, texts)
    done = subprocess.run([TOOL, "matches", pattern, path], capture_output=True)
    if done.returncode != 0:
        return done.stderr.decode()
    found = []
    for line, text in zip(done.stdout.splitlines(), texts, strict=True):
        places = list(map(int, line.split()))
        pairs = zip(places[::2], places[1::2], strict=True)
        found.append([text.encode()[begin:end].decode() for begin, end in pairs if begin != end])
    return found


def assert_same_matches(pattern, texts, path):
    ours = matches(pattern, texts, path)
    assert isinstance(ours, list), ours
    splitter = pre_tokenizers.Split(Regex(pattern), "removed", invert=True)
    for found, text in zip(ours, texts, strict=True):
        assert found == [piece for piece, _ in splitter.pre_tokenize_str(text)], (pattern, text[:100])


@pytest.mark.parametrize("name", REAL)
def test_matches_of_real_patterns(name, tmp_path):
    texts = SMALL + torture.texts()[:400] + unicode_texts(10_000)
    for pattern in REAL[name]:
        assert_same_matches(pattern, texts, tmp_path / "texts")


@pytest.mark.parametrize("pattern", SYNTAX)
def test_matches_of_syntax(pattern, tmp_path):
    assert_same_matches(pattern, SMALL + torture.texts()[:200] + unicode_texts(200), tmp_path / "texts")


CLASSES = [r"\w", r"[\w]", r"\s", r"\d", r"\p{L}", r"\p{N}", r"\p{P}", r"\p{S}", r"\p{M}", r"\p{Han}", r"\p{Latin}"]


@pytest.mark.parametrize("pattern", [*CLASSES, r"[[:punct:]]", "(?i:[\u0100-\u012f\u0370-\u0386])", r"(?i:\u0345)"])
def test_every_code_point(pattern, tmp_path):
    text = "".join(chr(c) for c in range(0x110000) if not 0xD800 <= c < 0xE000)
    texts = [text[i : i + 65536] for i in range(0, len(text), 65536)]
    assert_same_matches(f"(?:{pattern})+", texts, tmp_path / "texts")


def test_word_boundary_beside_every_character_of_the_lower_planes(tmp_path):
    codes = [*range(0x3400), *range(0xA000, 0xAC00), *range(0xF900, 0x12000), *range(0x1D000, 0x20000)]
    texts = [" ".join(f"{chr(c)}a{chr(c)}" for c in codes[i : i + 2048]) for i in range(0, len(codes), 2048)]
    assert_same_matches(r"\b.", texts, tmp_path / "texts")


@pytest.mark.parametrize("pattern", [r"\d+([._]\d+)*", r"(?:[a-z]\d)*", r"(?:(?:a|b)*c)+", r"(\w|\s)+"])
def test_long_runs(pattern, tmp_path):
    texts = ["1.2" * 819, "1.2" * 50_000, "a1" * 50_000, "abbac" * 20_000, "word " * 20_000]
    assert_same_matches(pattern, texts, tmp_path / "texts")


def test_a_search_without_end_is_an_error(tmp_path):
    error = matches(r"(?:a+)+b|(?:(?:a|aa)+)+c", ["a" * 60], tmp_path / "texts")
    assert isinstance(error, str)
    assert "cannot search 60 characters with the regular expression '(?:a+)+b" in error
    assert "match limit" in error


@pytest.mark.parametrize(("pattern", "cause"), REFUSED)
def test_what_cannot_be_the_same_is_refused_by_name(pattern, cause, tmp_path):
    error = matches(pattern, [], tmp_path / "texts")
    assert isinstance(error, str) and f"regular expression '{pattern}'" in error, error
    assert cause in error and "not supported" in error
    assert error.count("\n") == 1


@pytest.mark.parametrize("pattern", INVALID)
def test_what_the_library_refuses_is_refused(pattern, tmp_path):
    with pytest.raises(Exception, match="Oniguruma error"):
        Regex(pattern)
    error = matches(pattern, [], tmp_path / "texts")
    assert isinstance(error, str) and "regular expression" in error, error


@pytest.fixture(scope="session")
def byte_model(training):  # noqa: F811
    return json.loads(definitions.gpt2(training).to_str())


@pytest.mark.parametrize("name", REAL)
def test_ids_of_real_patterns(name, byte_model, tmp_path):
    splits = [pre_tokenizers.Split(Regex(pattern), "isolated") for pattern in REAL[name]]
    tokenizer = Tokenizer.from_str(json.dumps(byte_model))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [*splits, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]
    )
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    texts = SMALL + torture.texts()[:500]
    expected = [tokenizer.encode(text, add_special_tokens=False).ids for text in texts]
    assert_same_ids(encode(tmp_path, tokenizer, texts), expected, texts)


def test_escapes_as_json_writes_them(tmp_path):
    tokenizer = Tokenizer(models.WordLevel({"<unk>": 0, "a": 1, "中": 2}, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(r"[\u4e00-\u9fff]"), "isolated")
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    texts = ["a中a", "中中", "aa"]
    assert_same_ids(encode(tmp_path, tokenizer, texts), [tokenizer.encode(text).ids for text in texts], texts)
