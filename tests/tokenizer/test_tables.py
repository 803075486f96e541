"""The tables of Unicode that are read off the `tokenizers` library are of the version that the tests run against."""

import pathlib

import pytest
import tokenizers

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("kind", ["regex", "unicode"])
def test_tables_are_of_the_installed_version(kind):
    path = ROOT / f"src/data/tokenizer/{kind}_tables.inc"
    tool = f"tools/make_{kind}_tables.py"
    head = path.read_text().partition("\n")[0]
    expected = f"// Written by {tool} from tokenizers {tokenizers.__version__}; not edited by hand."
    assert head == expected, f"run .venv/bin/python {tool}"


def test_documentation_names_the_installed_version():
    text = " ".join((ROOT / "docs/data.md").read_text().split())
    assert f"`tokenizers` library {tokenizers.__version__}" in text
