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


# A point over several raylets takes minutes at times on two cores: tests of a cluster of Ray run when asked.
def pytest_collection_modifyitems(items):
    for item in items:
        if item.path.name == "test_ray.py" and "cluster" in item.fixturenames:
            if not os.environ.get("ASSAY_TEST_CLUSTERS"):
                item.add_marker(pytest.mark.skip(reason="ASSAY_TEST_CLUSTERS is not set"))
