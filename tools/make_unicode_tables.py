#!/usr/bin/env python3
"""Writes src/data/tokenizer/unicode_tables.inc, the character classes of the tokeniser.

The `tokenizers` library takes its classes from four places (Oniguruma, Rust's standard library and two crates) that
follow different versions of Unicode. Same ids need the same classes, so each class is read off that library, code
point by code point. Normalisation comes from libutf8proc, whose versions agree on all that the library knows; what it
may not be asked about is written: what the library takes for unknown, and what this version of libutf8proc does not know
yet.
"""

import ctypes
import ctypes.util
import pathlib
import struct
import sys
import unicodedata

import tokenizers
from tokenizers import Regex, normalizers, pre_tokenizers

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "tokenizer"))

from definitions import double_array  # noqa: E402

OUTPUT = ROOT / "src/data/tokenizer/unicode_tables.inc"
CODE_POINTS = [c for c in range(0x110000) if not 0xD800 <= c <= 0xDFFF]
LINE_WIDTH = 118


def regex_class(pattern):
    """The code points that Oniguruma's character class `pattern` matches."""
    splitter = pre_tokenizers.Split(Regex(pattern), "removed")
    matched = set()
    for begin in range(0, len(CODE_POINTS), 4096):
        chunk = CODE_POINTS[begin : begin + 4096]
        kept = set()
        for _, (first, last) in splitter.pre_tokenize_str("".join(map(chr, chunk))):
            kept.update(range(first, last))
        matched.update(c for i, c in enumerate(chunk) if i not in kept)
    return matched


def splits_from_letters(pre_tokenizer):
    """The code points that `pre_tokenizer` cuts off from a letter before and after them."""
    return {c for c in CODE_POINTS if len(pre_tokenizer.pre_tokenize_str("a" + chr(c) + "a")) > 1}


def removed_by(normalizer):
    return {c for c in CODE_POINTS if normalizer.normalize_str(chr(c)) == ""}


def nfc_unstable():
    """Code points that NFC may change, alone or after another one (quick check No or Maybe, or a combining class)."""
    found = set(range(0x1161, 0x1176)) | set(range(0x11A8, 0x11C3))
    for c in CODE_POINTS:
        text = chr(c)
        if unicodedata.combining(text) or unicodedata.normalize("NFC", text) != text:
            found.add(c)
        parts = unicodedata.normalize("NFD", text)
        if len(parts) > 1 and not 0xAC00 <= c <= 0xD7A3:
            found.add(ord(parts[-1]))
    return found


def bert(**options):
    defaults = {"clean_text": False, "handle_chinese_chars": False, "strip_accents": False, "lowercase": False}
    return normalizers.BertNormalizer(**{**defaults, **options})


def classes():
    """Class name to its code points; the order is that of the bits in unicode.h."""
    upper = regex_class(r"[\p{Lu}\p{Lt}]")
    lower = regex_class(r"\p{Ll}")
    numeric = splits_from_letters(pre_tokenizers.Digits())
    return {
        "upper": upper,
        "lower": lower,
        "other letter": regex_class(r"\p{L}") - upper - lower,
        "mark": regex_class(r"\p{M}"),
        "number": regex_class(r"\p{N}"),
        "space": regex_class(r"\s"),
        "numeric": numeric,
        "punctuation": splits_from_letters(pre_tokenizers.Punctuation()),
        "word": set(CODE_POINTS) - splits_from_letters(pre_tokenizers.Whitespace()),
        "combining": removed_by(normalizers.StripAccents()),
        "control": removed_by(bert(clean_text=True)) - {0, 0xFFFD},
        "nonspacing": removed_by(bert(strip_accents=True)),
        "nfc unstable": nfc_unstable(),
    }


class Utf8proc:
    COMPOSE, DECOMPOSE, COMPATIBILITY, STABLE = 1 << 3, 1 << 4, 1 << 2, 1 << 1
    FORMS = {
        "NFC": STABLE | COMPOSE,
        "NFD": STABLE | DECOMPOSE,
        "NFKC": STABLE | COMPOSE | COMPATIBILITY,
        "NFKD": STABLE | DECOMPOSE | COMPATIBILITY,
    }

    def __init__(self):
        self.library = ctypes.CDLL(ctypes.util.find_library("utf8proc"))
        self.library.utf8proc_map.restype = ctypes.c_ssize_t
        self.libc = ctypes.CDLL(None)

    def normalize(self, form, text):
        raw = text.encode()
        out = ctypes.c_char_p()
        length = self.library.utf8proc_map(raw, len(raw), ctypes.byref(out), self.FORMS[form])
        if length < 0:
            raise ValueError(f"utf8proc_map refused {text!r}")
        return ctypes.string_at(out, length).decode()

    def is_unassigned(self, code_point):
        return self.library.utf8proc_category(code_point) == 0


def normalisation_barriers(utf8proc):
    """Code points younger than the library's normalisation data: it passes them on, with no class and no mapping."""
    found = {c for c in CODE_POINTS if utf8proc.is_unassigned(c)}
    for form in Utf8proc.FORMS:
        reference = getattr(normalizers, form)()
        for c in CODE_POINTS:
            # U+0345 has the combining class 240, U+0334 has 1: a mark moves before or after them by its own class.
            for text in (chr(c), "a\u0345" + chr(c), "a" + chr(c) + "\u0334"):
                if reference.normalize_str(text) != utf8proc.normalize(form, text):
                    found.add(c)
    for c in sorted(found):
        parts = utf8proc.normalize("NFD", chr(c))
        if len(parts) == 2 and normalizers.NFC().normalize_str(parts) == parts:
            found.add(ord(parts[1]))
    return found


def lowercase_changes():
    """(code point, text) of all that lower-casing changes."""
    reference = normalizers.Lowercase()
    pairs = ((c, reference.normalize_str(chr(c))) for c in CODE_POINTS)
    return [(c, text) for c, text in pairs if text != chr(c)]


def cluster_counter():
    """Counts the grapheme clusters of a text, but those of six bytes and more by their characters.

    A map of every first byte to one letter does that: the library looks up shorter clusters as one.
    """
    units = double_array({bytes([byte]): 0 for byte in [*range(1, 0x80), *range(0xC2, 0xF5)]})
    normalizer = normalizers.Precompiled(struct.pack(f"<I{len(units)}I", 4 * len(units), *units) + b"x\0")
    return lambda text: len(normalizer.normalize_str(text))


def grapheme_classes():
    """Class name to code points, in the order of the bits in unicode.h; each told by texts that it joins or parts."""
    count = cluster_counter()
    ka, virama, acute = "\u0915", "\u094d", "\u0301"
    points = CODE_POINTS[1:]
    attached = {c for c in points if count("a" + chr(c)) == 1}
    others = [c for c in points if c not in attached]
    control = {c for c in points if count(chr(c) + 2 * acute) == 2 and len(chr(c).encode()) > 1}
    control |= {c for c in range(1, 0x80) if count(chr(c) + acute) == 2} | {0}
    return {
        "attached": attached,
        "extending": {c for c in attached if count("©" + chr(c) + "\u200d©" + acute) == 5},
        "prepended": {c for c in points if count(chr(c) + "a") == 1},
        "control": control,
        "pictographic": {c for c in others if count("©\u200d" + chr(c)) == 3},
        "consonant": {c for c in others if len(chr(c).encode()) == 3 and count(ka + virama + chr(c) + acute) == 4},
        "linker": {c for c in attached if count(ka + chr(c) + ka + acute) == 4},
    }


def ranges(values):
    """(first, last, value) of runs of equal non-zero values; surrogates count as zero."""
    runs = []
    for c in CODE_POINTS:
        value = values.get(c, 0)
        if value and runs and runs[-1][1] == c - 1 and runs[-1][2] == value:
            runs[-1][1] = c
        elif value:
            runs.append([c, c, value])
    return runs


def wrap(items):
    lines, line = [], "   "
    for item in items:
        if len(line) + len(item) + 2 > LINE_WIDTH:
            lines.append(line)
            line = "   "
        line += f" {item},"
    return "\n".join([*lines, line])


def masks_of(sets):
    masks = {}
    for bit, (name, members) in enumerate(sets.items()):
        print(f"{name}: {len(members)} code points")
        for c in members:
            masks[c] = masks.get(c, 0) | 1 << bit
    return masks


def rows_of(masks):
    return [f"{{0x{a:x}, 0x{b:x}, 0x{v:x}}}" for a, b, v in ranges(masks)]


def main():
    utf8proc = Utf8proc()
    lowercase = lowercase_changes()
    masks = masks_of(classes() | {"cased": {c for c, _ in lowercase}})
    barriers = dict.fromkeys(normalisation_barriers(utf8proc), 1)
    tables = {
        "ClassRange kClassRanges": rows_of(masks),
        "ClassRange kGraphemeClasses": rows_of(masks_of(grapheme_classes())),
        "CodePointRange kNormalisationBarriers": [f"{{0x{a:x}, 0x{b:x}}}" for a, b, _ in ranges(barriers)],
        "LowercaseChange kLowercaseChanges": [
            f"{{0x{c:x}, 0x{ord(t[0]):x}, 0x{ord(t[1]) if len(t) > 1 else 0:x}}}" for c, t in lowercase
        ],
    }
    write(tables)


def write(tables):
    text = f"// Written by tools/make_unicode_tables.py from tokenizers {tokenizers.__version__}; not edited by hand.\n"
    text += "// clang-format off\n"
    text += "\n".join(f"constexpr {name}[] = {{\n{wrap(rows)}\n}};\n" for name, rows in tables.items())
    OUTPUT.write_text(text)
    for name, rows in tables.items():
        print(f"{len(rows)} rows of {name}")


if __name__ == "__main__":
    main()
