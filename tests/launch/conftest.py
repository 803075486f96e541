"""Runs `assay` as tests/cli does, whose fixtures these are."""

import importlib.util
import pathlib
import sys

TESTS = pathlib.Path(__file__).parents[1]
sys.path.insert(0, str(TESTS / "support"))

_spec = importlib.util.spec_from_file_location("cli_fixtures", TESTS / "cli" / "conftest.py")
cli = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(cli)

assay, model, rows, space = cli.assay, cli.model, cli.rows, cli.space
quick_worker, slow_worker = cli.quick_worker, cli.slow_worker
