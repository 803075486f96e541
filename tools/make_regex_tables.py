#!/usr/bin/env python3
"""Writes src/data/tokenizer/regex_tables.inc, what the regular expressions of tokenizer.json know of Unicode.

Every property and every case folding is read off the `tokenizers` library, code point by code point, so that ids follow
its version of Unicode and not that of a library on this machine. The `regex` package gives the names to ask for.
"""

import pathlib
import re
import sys

import tokenizers
from make_unicode_tables import wrap
from regex import _regex_core
from tokenizers import Regex, pre_tokenizers

OUTPUT = pathlib.Path(__file__).resolve().parent.parent / "src/data/tokenizer/regex_tables.inc"
CODE_POINTS = [c for c in range(0x110000) if not 0xD800 <= c <= 0xDFFF]
CHUNK = 1 << 16

BINARY = (
    "Any Assigned Alnum Alpha Alphabetic ASCII Blank Cntrl Digit Graph Lower Lowercase Print Punct Space Upper Uppercase"
    " XDigit Word White_Space Cased Case_Ignorable Dash Default_Ignorable_Code_Point Diacritic Emoji Emoji_Component"
    " Emoji_Modifier Emoji_Modifier_Base Emoji_Presentation Extended_Pictographic Extender Hex_Digit ASCII_Hex_Digit"
    " ID_Start ID_Continue XID_Start XID_Continue Ideographic Unified_Ideograph Join_Control Math Quotation_Mark"
    " Regional_Indicator Sentence_Terminal Terminal_Punctuation Variation_Selector"
).split()
POSIX = "alnum alpha ascii blank cntrl digit graph lower print punct space upper xdigit word".split()


class Domain:
    """The code points that patterns are tried on."""

    def __init__(self, code_points):
        self.chunks = [code_points[i : i + CHUNK] for i in range(0, len(code_points), CHUNK)]
        self.texts = ["".join(map(chr, chunk)) for chunk in self.chunks]

    def ranges(self, pattern):
        """What `pattern`, of one character, matches: a list of (first, last)."""
        splitter = pre_tokenizers.Split(Regex(f"(?:{pattern})+"), "removed", invert=True)
        found = []
        for chunk, text in zip(self.chunks, self.texts, strict=True):
            for _, (begin, end) in splitter.pre_tokenize_str(text):
                for c in chunk[begin:end]:
                    if found and found[-1][1] == c - 1:
                        found[-1][1] = c
                    else:
                        found.append([c, c])
        return found


def members(ranges):
    return [c for first, last in ranges for c in range(first, last + 1)]


def plain_name(name):
    """As Oniguruma compares names."""
    return re.sub(r"[ _-]", "", name).lower()


def names_of(key):
    """The groups of names that mean one value of `key`."""
    groups = {}
    for name, value in _regex_core.PROPERTIES[key][1].items():
        groups.setdefault(value, []).append(plain_name(name))
    return [[name for name in names if name.isalnum()] for names in groups.values()]


def is_known(name):
    try:
        Regex(rf"\p{{{name}}}")
    except Exception:
        return False
    return True


def assigned_domain(everything):
    """All that is assigned but the private planes."""
    found = members(everything.ranges(r"\p{Assigned}"))
    return Domain([c for c in found if not (0xE000 <= c <= 0xF8FF or c >= 0xF0000)])


def properties(everything, assigned):
    """Key to ranges. Keys are names as in \\p{name}, "[name" inside brackets, ":name" as in [[:name:]], and "\\w"."""
    found = {}

    def add(key, ranges):
        found[key] = ranges

    for escape in "wsdh":
        add(f"\\{escape}", everything.ranges(rf"\{escape}"))
        add(f"[\\{escape}", everything.ranges(rf"[\{escape}]"))
    for name in POSIX:
        add(f":{name}", everything.ranges(f"[[:{name}:]]"))
        add(f"[{name}", everything.ranges(rf"[\p{{{name}}}]"))
    for name in BINARY:
        if is_known(name):
            add(plain_name(name), everything.ranges(rf"\p{{{name}}}"))
        else:
            print(f"not known to the library: {name}")
    for names in names_of("GENERALCATEGORY"):
        known = [name for name in names if is_known(name)]
        ranges = everything.ranges(rf"\p{{{known[0]}}}") if known else None
        for name in known:
            add(name, ranges)
    for names in names_of("SCRIPT"):
        known = [name for name in names if is_known(name)]
        if not known:
            continue
        domain = everything if "unknown" in names else assigned
        ranges = domain.ranges(rf"\p{{{known[0]}}}")
        for name in known:
            add(name, ranges)
    return found


def foldings(assigned):
    """Lists of code points that a pattern that ignores case takes for one another."""
    cased = members(assigned.ranges(r"[\p{Lu}\p{Ll}\p{Lt}\p{Mn}\p{Nl}\p{So}]"))
    cased = [
        c for c in cased if not 0x12000 <= c <= 0x16800 and not 0x2200 <= c <= 0x23FF and not 0x1D000 <= c <= 0x1D3FF
    ]
    cased = [c for c in cased if c < 0x1F000]
    text = "".join(map(chr, cased))
    classes = {}
    for c in cased:
        splitter = pre_tokenizers.Split(Regex(f"(?i:[\\x{{{c:x}}}])"), "removed", invert=True)
        same = tuple(sorted(ord(piece) for piece, _ in splitter.pre_tokenize_str(text) if len(piece) == 1))
        if len(same) > 1:
            classes[same] = None
    return sorted(classes)


def multiple_foldings():
    """Code point to the text of several that a pattern that ignores case takes for it."""
    found = []
    for c in CODE_POINTS:
        text = chr(c).casefold()
        if len(text) > 1:
            splitter = pre_tokenizers.Split(Regex(f"(?i:\\x{{{c:x}}})"), "removed", invert=True)
            if [piece for piece, _ in splitter.pre_tokenize_str(text)] == [text]:
                found.append((c, text))
    return found


def steps(ranges):
    """Lengths outside and inside, in turn."""
    out, at = [], 0
    for first, last in ranges:
        out += [first - at, last + 1 - first]
        at = last + 1
    return out


def main():
    everything = Domain(CODE_POINTS)
    assigned = assigned_domain(everything)
    sets, rows, numbers = {}, [], []
    for key, ranges in sorted(properties(everything, assigned).items(), key=lambda item: item[0].encode()):
        identity = tuple(map(tuple, ranges))
        if identity not in sets:
            sets[identity] = (len(numbers), 2 * len(ranges))
            numbers += steps(ranges)
        begin, count = sets[identity]
        name = key.replace("\\", "\\\\")
        rows.append(f'{{"{name}", {begin}, {count}}}')
    classes = ["{" + ", ".join(f"0x{c:x}" for c in same) + "}" for same in foldings(assigned)]
    multiple = [f"{{0x{c:x}, {{{', '.join(f'0x{ord(t):x}' for t in text)}}}}}" for c, text in multiple_foldings()]
    OUTPUT.write_text(
        f"// Written by tools/make_regex_tables.py from tokenizers {tokenizers.__version__}; not edited by hand.\n"
        "// clang-format off\n"
        f"constexpr uint32_t kPropertySteps[] = {{\n{wrap(map(str, numbers))}\n}};\n\n"
        f"constexpr PropertyRow kProperties[] = {{\n{wrap(rows)}\n}};\n\n"
        f"constexpr FoldingClass kFoldingClasses[] = {{\n{wrap(classes)}\n}};\n\n"
        f"constexpr MultipleFolding kMultipleFoldings[] = {{\n{wrap(multiple)}\n}};\n"
    )
    print(f"{len(rows)} properties, {len(numbers)} numbers, {len(classes)} foldings, {len(multiple)} of several")


if __name__ == "__main__":
    sys.exit(main())
