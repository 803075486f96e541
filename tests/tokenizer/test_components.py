"""Parts of a tokenizer.json on models small enough to write down, against the `tokenizers` library."""

import json
import random
import struct

import pytest
import torture
from definitions import charsmap, double_array
from test_parity import assert_same_ids, encode, run_tool
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers

CHARACTERS = ["▁", "a", "b", " ", "[", "3", "m", "é", "|", "<pad>", "n't"]


def byte_tokenizer():
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(models.BPE({letter: i for i, letter in enumerate(alphabet)}, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    return tokenizer


NORMALIZERS = {
    "map": normalizers.Precompiled(charsmap()),
    "map and strip": normalizers.Sequence([normalizers.Precompiled(charsmap()), normalizers.Strip()]),
    "strip and map": normalizers.Sequence([normalizers.Strip(), normalizers.Precompiled(charsmap())]),
    "map and replace": normalizers.Sequence(
        [normalizers.Precompiled(charsmap()), normalizers.Replace(Regex("^a+"), "")]
    ),
    "strip right": normalizers.Strip(left=False, right=True),
    "without last spaces": normalizers.Replace(Regex(r"\s+$"), ""),
    "without last letter": normalizers.Replace(Regex("a$"), ""),
    "without a letter before": normalizers.Replace(Regex("^a(?=b)"), ""),
    "without letters": normalizers.Replace("ab", ""),
    "without marks": normalizers.Replace(Regex("<[^>]*>"), ""),
    "without spaces": normalizers.Replace(Regex(r"\s+\s"), ""),
    "other letters": normalizers.Replace("ab", "b"),
    "other spaces": normalizers.Replace(Regex(" {2,}"), "m"),
    "nothing to something": normalizers.Sequence([normalizers.Strip(), normalizers.Replace(Regex("^"), "a")]),
    "half a letter": normalizers.Sequence([normalizers.NFD(), normalizers.Replace("e", "")]),
    "half a space": normalizers.Sequence([normalizers.NFKD(), normalizers.Strip()]),
    "joined letters": normalizers.Sequence([normalizers.NFC(), normalizers.Replace("a", "")]),
    "prefix": normalizers.Sequence([normalizers.Prepend("[m"), normalizers.Replace("[", "")]),
    "prefix of what is left": normalizers.Sequence([normalizers.Replace("a", ""), normalizers.Prepend("m")]),
    "bytes": normalizers.Sequence([normalizers.ByteLevel(), normalizers.Replace("Ã", "")]),
    "lower case": normalizers.Sequence([normalizers.Lowercase(), normalizers.Replace("i", "")]),
    "chinese": normalizers.Sequence([normalizers.BertNormalizer(), normalizers.Replace(" 中", "")]),
    "nmt": normalizers.Nmt(),
    "clean text": normalizers.BertNormalizer(lowercase=False),
    "accents": normalizers.Sequence([normalizers.NFD(), normalizers.StripAccents()]),
}

# What stands first vanishes, or does not.
STARTS = ["\x01a", "\x01[3m", "\u00ad a", "\x01\x01a", "\x01", "\x01\u0301a", "\u0301a", "\u200ba", " a", "  a", "a", "é",
          "aab", "\x01aab", "\ta", "\n\na", "\x01 a", " \x01a", "a\x01", "<s>a", "<s>\x01a", "\ufffda", "\x00a", "\x1ba",
          "\ta", "a\t", "ab", "abc", "<b>a", "\t\ta", "\t", "aba", "   a", "\u00e9m", "e\u0301m", "a\u0301b", "a\u0328\u0301b",
          "\u00b4a", "\ufe70a", "\u0130a", "中a", "<s>ab", "<s>\u00e9m", "a b", "aam", "\u00bda"]  # fmt: skip


def unigram():
    return Tokenizer(models.Unigram([("<unk>", 0.0), *((c, -1.0 - i) for i, c in enumerate(CHARACTERS))], unk_id=0))


@pytest.mark.parametrize("name", NORMALIZERS)
@pytest.mark.parametrize("scheme", ["first", "always"])
def test_what_stands_first_gets_the_prefix(name, scheme, tmp_path):
    tokenizer = unigram()
    tokenizer.normalizer = NORMALIZERS[name]
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme=scheme, split=False)
    tokenizer.add_special_tokens(["<s>"])
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    texts = STARTS + torture.CONTROL + torture.COMBINING + torture.SPACES
    assert_same_ids(encode(tmp_path, tokenizer, texts), [tokenizer.encode(text).ids for text in texts], texts)


def test_clusters_are_looked_up_as_one(tmp_path):
    """A map of every first byte to one letter: clusters of less than six bytes become one letter, longer ones several."""
    units = double_array({bytes([byte]): 0 for byte in [*range(1, 0x80), *range(0xC2, 0xF5)]})
    tokenizer = Tokenizer(models.Unigram([("<unk>", 0.0), ("x", -1.0)], unk_id=0))
    tokenizer.normalizer = normalizers.Precompiled(struct.pack(f"<I{len(units)}I", 4 * len(units), *units) + b"x\0")
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    rng = random.Random(3)
    parts = ["a", "\r", "\n", "\u0301", "\u00ad", "\u200d", "\u200c", "©", "®", "☎", "😀", "🏽", "🇩", "ᄀ", "ᅡ", "ᆨ", "가",
             "각", "क", "ত", "\u094d", "\u09cd", "\u0903", "\u093c", "\u0600", "\u0e33", "\u180e", "\u061c", "é"]  # fmt: skip
    texts = ["".join(rng.choices(parts, k=rng.randint(1, 8))) for _ in range(3000)]
    texts += [f"a{chr(c)}{chr(c)}a\u0301©\u200d{chr(c)}" for c in range(0x20, 0x3400)]
    assert_same_ids(encode(tmp_path, tokenizer, texts), [tokenizer.encode(text).ids for text in texts], texts)


def test_a_map_into_the_middle_of_a_character_is_not_followed(tmp_path):
    """The library panics."""
    units = double_array({b"a": 1, b"b": 0})
    damaged = struct.pack(f"<I{len(units)}I", 4 * len(units), *units) + "é\0".encode()
    tokenizer = unigram()
    tokenizer.normalizer = normalizers.Sequence([normalizers.Precompiled(damaged), normalizers.Strip()])
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    assert encode(tmp_path, tokenizer, ["a", "ab"]) == [[2], [2, 8]]


def test_lower_case_of_every_code_point(tmp_path):
    tokenizer = byte_tokenizer()
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    codes = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000 and (c < 0x3400 or 0xA000 <= c < 0x1F000)]
    texts = ["".join(map(chr, codes[i : i + 512])) for i in range(0, len(codes), 512)]
    assert_same_ids(encode(tmp_path, tokenizer, texts), [tokenizer.encode(text).ids for text in texts], texts)


@pytest.mark.parametrize("length", [1, 2, 5])
def test_pieces_of_fixed_length(length, tmp_path):
    tokenizer = unigram()
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.FixedLength(length), pre_tokenizers.Metaspace(prepend_scheme="always")]
    )
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    texts = torture.SCRIPTS + torture.SPACES + torture.EMOJI + ["ab[3ma" * 3]
    assert_same_ids(encode(tmp_path, tokenizer, texts), [tokenizer.encode(text).ids for text in texts], texts)


DECODERS = {
    "ctc": decoders.CTC(),
    "ctc without cleaning": decoders.CTC(pad_token="a", word_delimiter_token="▁", cleanup=False),
    "ctc of other tokens": decoders.CTC(pad_token="[", word_delimiter_token="b"),
    "replace": decoders.Replace(Regex(r"\p{L}|▁"), "x"),
}


@pytest.mark.parametrize("name", DECODERS)
def test_decoders(name, tmp_path):
    tokenizer = unigram()
    tokenizer.decoder = DECODERS[name]
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    lists = [[10, 10, 2, 2, 10, 2, 9, 9, 3, 11], [1, 1, 2, 5, 5, 5, 2], [10], [9], list(range(12)), [11, 4, 11]]
    (tmp_path / "ids.txt").write_text("".join(" ".join(map(str, ids)) + "\n" for ids in lists))
    got = [json.loads(line)[0] for line in run_tool("decode", tmp_path / "tokenizer.json", tmp_path / "ids.txt")]
    assert got == [tokenizer.decode(ids, skip_special_tokens=False) for ids in lists]
