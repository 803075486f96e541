"""Runs `assay` as tests/cli does, whose fixtures these are."""

import importlib.util
import os
import pathlib
import sys

import pytest

TESTS = pathlib.Path(__file__).parents[1]
sys.path.insert(0, str(TESTS / "support"))

_spec = importlib.util.spec_from_file_location("cli_fixtures", TESTS / "cli" / "conftest.py")
cli = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(cli)

assay, model, rows, space = cli.assay, cli.model, cli.rows, cli.space
quick_worker, slow_worker = cli.quick_worker, cli.slow_worker


# Clusters of Ray and Slurm need more than two cores to start in time: they are tested when asked. They are the fixture
# `cluster` of a file; what needs none is tested always.
def pytest_collection_modifyitems(items):
    for item in items:
        if "cluster" in item.fixturenames and not os.environ.get("ASSAY_TEST_CLUSTERS"):
            item.add_marker(pytest.mark.skip(reason="ASSAY_TEST_CLUSTERS is not set"))
