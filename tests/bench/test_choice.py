"""Which rows a caller gets."""

import argparse

import pytest
from harness import choice


def test_names_come_in_the_known_order():
    parser = argparse.ArgumentParser()
    assert choice.of_names(parser, "", ["a", "b"]) == ["a", "b"]
    assert choice.of_names(parser, "c,a", ["a", "b", "c"]) == ["a", "c"]


def test_an_unknown_name_is_told_with_those_there_are(capsys):
    with pytest.raises(SystemExit):
        choice.of_names(argparse.ArgumentParser(), "a,x", ["a", "b"])
    assert "no row is called x (there are a, b)" in capsys.readouterr().err
