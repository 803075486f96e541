"""A benchmark as a command: the places that many are given, and how one ends."""

import pathlib
import sys

from .machine import ROOT


def whole_path(text):
    return pathlib.Path(text).resolve()


def add_bin_dir(parser, holds):
    parser.add_argument("--bin-dir", type=whole_path, required=True, help=f"the folder of {holds}")


def add_data_dir(parser):
    parser.add_argument("--data-dir", type=whole_path, default=ROOT / "build" / "bench-data")


def run(main, *failures):
    """Ends the program as `main` returns; one of these failures, and what programs and files bring about, is one line."""
    try:
        sys.exit(main())
    except (RuntimeError, OSError, *failures) as error:
        sys.exit(f"script/bench: {error}")
