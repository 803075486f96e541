"""Texts that tokenisers stumble over."""

import random

COMBINING = [
    "e\u0301",
    "e\u0301\u0323",
    "\u0323\u0301e",
    "a\u0345\u0334",
    "\u1100\u1161\u11a8",
    "한글 각",
    "\u0344",
    "Å\u212b\u00c5",
    "ﬁ ﬃ ㎏ ①② Ⅷ ½",
]
EMOJI = ["👨‍👩‍👧‍👦", "🏳️‍🌈 🏴‍☠️", "👍🏽👍🏿", "🇩🇪🇫🇷🇯", "1️⃣#️⃣", "❤️❤"]
SCRIPTS = [
    "שלום עולם",
    "مرحبا بالعالم ١٢٣",
    "नमस्ते दुनिया १२३",
    "สวัสดีชาวโลก",
    "你好，世界。中文分词",
    "こんにちは、世界ｶﾀｶﾅ",
    "Привет, мир",
    "Ünïcödé façade",
    "ǅ ǆ Ǆ İ ı ſ ß ẞ ŉ",
]
CONTRACTIONS = [
    "I'm you're he'll they've don't it's I'd",
    "I'M YOU'RE HE'LL THEY'VE DON'T IT'S I'D",
    "'s't're've'm'll'd",
    "'S'T'RE",
    "a'ſx 'ſ x'ﬆ",
    "''s ' s 'so 'tis",
    "it’s don’t",
]
NUMBERS = [
    "0 12 123 1234 12345 1234567890",
    "3.14159 1,000,000 -5 1e10 0xFF",
    "v1.2.3-rc4",
    "٣٤٥ ५६७ ⅓ ² Ⅻ 〇",
    "a1b22c333d4444",
    "1 2  3   4",
]
SPACES = [
    " ",
    "  ",
    "\n",
    "\r\n",
    "\t",
    " \n",
    "\n ",
    " \n \n ",
    "\n\n\n",
    "a  b",
    "a   b",
    "a\n\nb",
    "a \n b",
    "a\t\tb",
    "a \t b",
    "  leading",
    "trailing  ",
    "\u00a0a\u00a0b",
    "a\u3000b",
    "\u2003\u2003x",
    "a\u200bb",
    "\u2028x\u2029y",
    "x\u0085y",
    "\u1680z",
    "\ufeffbom",
    "a\r\r\nb",
    "end \n",
    "end\r",
    "x \u00a0 y",
    "\u180e \u180ea",
    "   \n   def f():\n\t\treturn 1\n\n\n",
    "\x1c\x1d\x1e\x1f a",
    "\x0b\x0cb",
]
CONTROL = [
    "\x00",
    "a\x00b",
    "\x01\x02\x7f",
    "\x80\x9f\xad",
    "\ufffd\ufffe\uffff",
    "\U0010ffff\U000e0001\U000f0000",
    "\\ud800 \\udfff",
]
SYMBOLS = [
    "!!!",
    "...",
    "?!?!",
    "a.b.c",
    "foo_bar__baz",
    "http://a.b/c?d=e&f=g#h",
    "x=y+z;",
    "$100 €5 ¥7",
    "/path/to//file\n/next",
    "\\n\\t",
    "`code`",
    "a/b\n/c//",
    "<|",
    "|>",
    "<s>",
    "</s>",
    "<0x41>",
    "<unk>",
    "▁▁a ▁b",
    "Ġa Ċ",
]
ADDED = [
    "<|endoftext|>",
    "a<|endoftext|>b",
    "a <|endoftext|> b",
    "<|endoftext|><|endoftext|>",
    "<|endoftext",
    "<|im_start|>user\nhi<|im_end|>\n",
    "x<mask>y",
    "x  <mask>  y",
    "<mask><mask>",
    "word wordy word. sword",
    "  [STRIP]  [STRIP] a",
    "Über ÜBER über",
    "a[LONG]b[LONG][LONGER]c",
    "  \n<mask>\n  ",
    "tok tok1 1tok tok_ _tok",
    "<s>hi</s> <unk><pad>",
]


def long_runs():
    yield "a" * 5000
    yield " " * 3000 + "x"
    yield "\n" * 1000
    yield "ab" * 3000
    yield "0123456789" * 300
    yield "é" * 2000
    yield "!?" * 1500
    yield "漢字" * 1200
    yield "\U0001f600" * 700
    yield "Aa" * 1500 + "'s" * 500
    yield "x" * 49 + " " + "y" * 48 + " " + "z" * 25


def random_texts(seed, count):
    """Random characters: from all of Unicode, from small alphabets that hit the rules of the patterns, and both."""
    rng = random.Random(seed)
    planes = [
        (0, 0x7F),
        (0x80, 0x24F),
        (0x250, 0x7FF),
        (0x800, 0xFFF),
        (0x1000, 0x2FFF),
        (0x3000, 0xD7FF),
        (0xE000, 0xFFFF),
        (0x10000, 0x10FFFF),
    ]
    tricky = list(" \n\r\t'sSTtreREvdlmMD1234567890abcXYZ.,/!-_<|>▁") + [
        "\u00a0",
        "\u0301",
        "é",
        "ſ",
        "中",
        "한",
        "ǅ",
        "ʰ",
        "½",
        "٣",
        "\u200d",
        "😀",
        "\u0600",
    ]
    for i in range(count):
        length = rng.randint(1, 60)
        if i % 3 == 0:
            yield "".join(chr(rng.randint(*rng.choice(planes))) for _ in range(length))
        elif i % 3 == 1:
            yield "".join(rng.choices(tricky, k=length))
        else:
            yield "".join(
                rng.choice(tricky) if rng.random() < 0.7 else chr(rng.randint(*rng.choice(planes)))
                for _ in range(length)
            )


def texts():
    lists = [COMBINING, EMOJI, SCRIPTS, CONTRACTIONS, NUMBERS, SPACES, CONTROL, SYMBOLS, ADDED]
    found = [text for group in lists for text in group]
    found += ["", "a", "Hello world", "The quick brown fox jumps over the lazy dog."]
    found += [a + b for a in ADDED[:8] for b in SPACES[:12]]
    found += [" ".join(group) for group in lists] + ["".join(group) for group in lists]
    found += list(long_runs())
    # A byte sequence cannot hold a lone surrogate; Python's random characters can.
    found += [text.encode("utf-8", "replace").decode() for text in random_texts(20261121, 4000)]
    return found


ILL_FORMED = [
    b"\xff",
    b"a\xc3",
    b"\xc3(",
    b"\xe2\x82",
    b"\xe2\x82a",
    b"\xf0\x9f\x98",
    b"\xf0\x9f\x98\xffz",
    b"\xed\xa0\x80",
    b"\xc0\x80",
    b"\xf5\x80\x80\x80",
    b"\x80\x80 ok",
    b"ab\xfe\xffcd\xf4\x90\x80\x80",
]
