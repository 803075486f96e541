#!/usr/bin/env python3
"""Writes src/data/tokenizer/unicode_tables.inc, the character classes of the tokeniser.

The `tokenizers` library takes its classes from four places (Oniguruma, Rust's standard library and two crates) that
follow different versions of Unicode. Same ids need the same classes, so each class is read off that library, code
point by code point. Normalisation and lower-casing come from libutf8proc; only what differs from it is written.
"""

import ctypes
import ctypes.util
import pathlib
import unicodedata

import tokenizers
from tokenizers import Regex, normalizers, pre_tokenizers

OUTPUT = pathlib.Path(__file__).resolve().parent.parent / "src/data/tokenizer/unicode_tables.inc"
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

    def lower(self, code_point):
        return chr(self.library.utf8proc_tolower(code_point))


def normalisation_barriers(utf8proc):
    """Code points younger than the library's normalisation data: it passes them on, with no class and no mapping."""
    found = set()
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


def lowercase_changes(utf8proc):
    """Code point to the text the library lower-cases it to, where utf8proc's simple mapping gives another."""
    reference = normalizers.Lowercase()
    pairs = ((c, reference.normalize_str(chr(c))) for c in CODE_POINTS)
    return [(c, text) for c, text in pairs if text != utf8proc.lower(c)]


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


def main():
    utf8proc = Utf8proc()
    masks = {}
    for bit, (name, members) in enumerate(classes().items()):
        print(f"{name}: {len(members)} code points")
        for c in members:
            masks[c] = masks.get(c, 0) | 1 << bit
    class_rows = [f"{{0x{a:x}, 0x{b:x}, 0x{v:x}}}" for a, b, v in ranges(masks)]
    barrier_rows = [f"{{0x{a:x}, 0x{b:x}}}" for a, b, _ in ranges(dict.fromkeys(normalisation_barriers(utf8proc), 1))]
    lower_rows = [
        f"{{0x{c:x}, 0x{ord(t[0]):x}, 0x{ord(t[1]) if len(t) > 1 else 0:x}}}" for c, t in lowercase_changes(utf8proc)
    ]
    OUTPUT.write_text(
        f"// Written by tools/make_unicode_tables.py from tokenizers {tokenizers.__version__}; not edited by hand.\n"
        "// clang-format off\n"
        f"constexpr ClassRange kClassRanges[] = {{\n{wrap(class_rows)}\n}};\n\n"
        f"constexpr CodePointRange kNormalisationBarriers[] = {{\n{wrap(barrier_rows)}\n}};\n\n"
        f"constexpr LowercaseChange kLowercaseChanges[] = {{\n{wrap(lower_rows)}\n}};\n"
    )
    print(f"{len(class_rows)} class ranges, {len(barrier_rows)} barriers, {len(lower_rows)} lower-case changes")


if __name__ == "__main__":
    main()
