"""Tokenisers of the families that models use, trained here and now by the `tokenizers` library."""

import struct
import unicodedata

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
LLAMA3 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
CL100K = (
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+"
)
QWEN2 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
O200K = (
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
TEKKEN = (
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"
    r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*"
    r"|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
# No scanner of its own: goes through the regular expression engine.
DEEPSEEK = r"[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"

PATTERNS = {"gpt2": GPT2, "llama3": LLAMA3, "cl100k": CL100K, "qwen2": QWEN2, "o200k": O200K, "tekken": TEKKEN}

SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]


def byte_level(training, pre_tokenizer, normalizer=None, post_processor=None, vocab_size=3000, **model):
    tokenizer = Tokenizer(models.BPE(**model))
    tokenizer.pre_tokenizer = pre_tokenizer
    tokenizer.decoder = decoders.ByteLevel()
    if normalizer is not None:
        tokenizer.normalizer = normalizer
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size,
        special_tokens=SPECIAL,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(training, trainer)
    if post_processor is not None:
        tokenizer.post_processor = post_processor
    return tokenizer


def gpt2(training):
    return byte_level(
        training,
        pre_tokenizers.ByteLevel(add_prefix_space=False),
        post_processor=processors.ByteLevel(trim_offsets=False),
    )


def roberta(training):
    tokenizer = byte_level(training, pre_tokenizers.ByteLevel(add_prefix_space=True))
    tokenizer.post_processor = processors.RobertaProcessing(("<|im_end|>", 2), ("<|im_start|>", 1))
    tokenizer.add_special_tokens([AddedToken("<mask>", lstrip=True, rstrip=True, normalized=False)])
    tokenizer.add_tokens([AddedToken("word", single_word=True), AddedToken("tok", single_word=True, normalized=False)])
    return tokenizer


def split_then_bytes(pattern, **kwargs):
    def build(training):
        steps = [
            pre_tokenizers.Split(Regex(pattern), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
        return byte_level(training, pre_tokenizers.Sequence(steps), **kwargs)

    return build


def llama3(training):
    template = processors.TemplateProcessing(single="<|im_start|> $A", special_tokens=[("<|im_start|>", 1)])
    both = processors.Sequence([processors.ByteLevel(trim_offsets=False), template])
    return split_then_bytes(LLAMA3, ignore_merges=True, post_processor=both)(training)


def smollm2(training):
    steps = [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    return byte_level(training, pre_tokenizers.Sequence(steps))


def digits_with_prefix(training):
    steps = [pre_tokenizers.Digits(individual_digits=False), pre_tokenizers.ByteLevel(add_prefix_space=True)]
    return byte_level(training, pre_tokenizers.Sequence(steps))


def spm_bpe(training, normalizer, pre_tokenizer, decoder, byte_fallback=True, fuse_unk=True):
    """A BPE model as converted from SentencePiece: characters, <0xHH> for the rest."""
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", byte_fallback=byte_fallback, fuse_unk=fuse_unk))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always")
    fallback = [f"<0x{byte:02X}>" for byte in range(256)] if byte_fallback else []
    trainer = trainers.BpeTrainer(
        vocab_size=3000, special_tokens=["<unk>", "<s>", "</s>", *fallback], limit_alphabet=120, show_progress=False
    )
    tokenizer.train_from_iterator(training, trainer)
    tokenizer = without_added(tokenizer, fallback)
    tokenizer.normalizer, tokenizer.pre_tokenizer, tokenizer.decoder = normalizer, pre_tokenizer, decoder
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", 1), ("</s>", 2)]
    )
    return tokenizer


def without_added(tokenizer, contents):
    """The same tokeniser with `contents` in the vocabulary only, not among the added tokens."""
    import json

    described = json.loads(tokenizer.to_str())
    described["added_tokens"] = [t for t in described["added_tokens"] if t["content"] not in set(contents)]
    return Tokenizer.from_str(json.dumps(described))


def llama2(training):
    """The older form: a normaliser writes the spaces, and the whole text is one word."""
    normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )
    return spm_bpe(training, normalizer, None, decoder)


def mistral(training):
    scheme = pre_tokenizers.Metaspace(prepend_scheme="first", split=False)
    decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )
    return spm_bpe(training, None, scheme, decoder)


def metaspace_unk(training):
    return spm_bpe(
        training, None, pre_tokenizers.Metaspace(), decoders.Metaspace(), byte_fallback=False, fuse_unk=False
    )


def unigram(training, normalizer=None, byte_fallback=False, scheme="always"):
    tokenizer = Tokenizer(models.Unigram())
    if normalizer is not None:
        tokenizer.normalizer = normalizer
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme=scheme)
    tokenizer.decoder = decoders.Metaspace(prepend_scheme=scheme)
    fallback = [f"<0x{byte:02X}>" for byte in range(256)] if byte_fallback else []
    trainer = trainers.UnigramTrainer(
        vocab_size=2500, special_tokens=["<pad>", "</s>", "<unk>", *fallback], unk_token="<unk>", show_progress=False
    )
    # The library needs 20 s for all of the text; the scripts at its end come in nines, so that each is met.
    tokenizer.train_from_iterator(training[::7], trainer)
    if byte_fallback:
        import json

        described = json.loads(without_added(tokenizer, fallback).to_str())
        described["model"]["byte_fallback"] = True
        tokenizer = Tokenizer.from_str(json.dumps(described))
    tokenizer.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 1)])
    return tokenizer


def t5(training):
    steps = [normalizers.Precompiled(charsmap()), normalizers.Replace(Regex(" {2,}"), " ")]
    return unigram(training, normalizers.Sequence(steps))


def albert(training):
    steps = [
        normalizers.Replace("``", '"'),
        normalizers.Replace("''", '"'),
        normalizers.NFKD(),
        normalizers.StripAccents(),
        normalizers.Lowercase(),
    ]
    return unigram(training, normalizers.Sequence([*steps, normalizers.Precompiled(charsmap())]))


def bert(training):
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]", max_input_chars_per_word=100))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    trainer = trainers.WordPieceTrainer(
        vocab_size=3000, special_tokens=["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"], show_progress=False
    )
    tokenizer.train_from_iterator(training, trainer)
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    tokenizer.add_tokens(
        [AddedToken("Über", normalized=True), AddedToken("[STRIP]", lstrip=True, rstrip=True, normalized=False)]
    )
    return tokenizer


def word_level(training):
    tokenizer = Tokenizer(models.WordLevel(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.Nmt(), normalizers.NFKC(), normalizers.Strip(), normalizers.Lowercase()]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Whitespace(), pre_tokenizers.Punctuation("contiguous")]
    )
    tokenizer.train_from_iterator(
        training, trainers.WordLevelTrainer(vocab_size=3000, special_tokens=["[UNK]"], show_progress=False)
    )
    return tokenizer


def end_of_word(training):
    """The first GPT's: a suffix ends a word."""
    tokenizer = Tokenizer(
        models.BPE(unk_token="<unk>", end_of_word_suffix="</w>", continuing_subword_prefix="@@", fuse_unk=True)
    )
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.decoder = decoders.BPEDecoder("</w>")
    trainer = trainers.BpeTrainer(
        vocab_size=3000,
        special_tokens=["<unk>"],
        end_of_word_suffix="</w>",
        continuing_subword_prefix="@@",
        limit_alphabet=80,
        show_progress=False,
    )
    tokenizer.train_from_iterator(training, trainer)
    return tokenizer


def behaviors(training):
    """Every behaviour of Split, and what it leaves of inverted and literal patterns."""
    steps = [
        pre_tokenizers.Split("\n", "merged_with_previous"),
        pre_tokenizers.Split(Regex(r"\d+"), "contiguous"),
        pre_tokenizers.Split(Regex(r"[A-Z]"), "merged_with_next"),
        pre_tokenizers.Split("-", "removed"),
        pre_tokenizers.Split(Regex(r"\s+|\w+|[^\s\w]+"), "removed", invert=True),
        pre_tokenizers.Punctuation("merged_with_previous"),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
    ]
    return byte_level(training, pre_tokenizers.Sequence(steps))


def many_added(training):
    tokenizer = smollm2(training)
    tokenizer.normalizer = normalizers.NFC()
    plain = [
        AddedToken("[LONG]"),
        AddedToken("[LONGER]"),
        AddedToken("  ", normalized=False),
        AddedToken("\n\n", normalized=False),
        AddedToken("é"),
    ]
    stripped = [
        AddedToken("[STRIP]", lstrip=True),
        AddedToken("<mask>", rstrip=True),
        AddedToken("word", single_word=True),
        AddedToken("tok", single_word=True),
    ]
    tokenizer.add_tokens(plain + stripped)
    return tokenizer


# Name to builder, and whether it is also run on all of the real text.
DEFINITIONS = {
    "gpt2": (gpt2, True),
    "roberta": (roberta, False),
    "llama3": (llama3, True),
    "cl100k": (split_then_bytes(CL100K), False),
    "qwen2": (split_then_bytes(QWEN2, normalizer=normalizers.NFC()), True),
    "o200k": (split_then_bytes(O200K), False),
    "tekken": (split_then_bytes(TEKKEN), False),
    "deepseek": (split_then_bytes(DEEPSEEK), False),
    "smollm2": (smollm2, True),
    "digits with prefix": (digits_with_prefix, False),
    "behaviors": (behaviors, False),
    "added": (many_added, False),
    "llama2": (llama2, True),
    "mistral": (mistral, False),
    "metaspace unk": (metaspace_unk, False),
    "unigram": (unigram, False),
    "unigram bytes": (lambda training: unigram(training, byte_fallback=True, scheme="never"), False),
    "t5": (t5, True),
    "albert": (albert, False),
    "bert": (bert, False),
    "word level": (word_level, False),
    "end of word": (end_of_word, False),
}


def charsmap():
    """A precompiled character map in SentencePiece's format: NFKC of the lower planes, spaces, and some sequences."""
    rules = {}
    for c in [*range(0x80, 0x3000), *range(0xFB00, 0xFFFE)]:
        text = chr(c)
        if unicodedata.normalize("NFKC", text) != text:
            rules[text] = unicodedata.normalize("NFKC", text)
    rules |= {space: " " for space in ["\t", "\n", "\r", "\u00a0", "\u3000", "\u2003", "\u200b"]}
    rules |= {
        base + mark: unicodedata.normalize("NFC", base + mark) for base in "aeiouAEIOU" for mark in "\u0300\u0301\u0308"
    }
    rules |= {"\x01": "", "\u00ad": ""}
    replacements, values = b"", {}
    for key, text in sorted(rules.items()):
        values[key.encode()] = len(replacements)
        replacements += text.encode() + b"\0"
    units = double_array(values)
    return struct.pack(f"<I{len(units)}I", 4 * len(units), *units) + replacements


def double_array(values):
    """A Darts double array (32-bit units: label, leaf flag, offset to the children) for a map of bytes to numbers."""
    trie = {}
    for key, value in values.items():
        node = trie
        for byte in key:
            node = node.setdefault(byte, {})
        node[0] = value
    units, used_bases, first_free = [0] * 256, {0}, 1
    taken = {0}

    def place(node, position):
        nonlocal first_free
        while first_free in taken:
            first_free += 1
        base = max(1, first_free - max(node))
        while base in used_bases or any(base ^ label in taken for label in node):
            base += 1
        used_bases.add(base)
        if len(units) < base + 512:
            units.extend([0] * (base + 512 - len(units)))
        taken.update(base ^ label for label in node)
        units[position] |= (position ^ base) << 10 | (256 if 0 in node else 0)
        for label, child in node.items():
            if label == 0:
                units[base] = child | 1 << 31
            else:
                units[base ^ label] = label
        for label, child in node.items():
            if label != 0:
                place(child, base ^ label)

    place(trie, 0)
    return units
