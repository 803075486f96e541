"""What the documents say of the command line, and the examples that they name."""

import json
import pathlib
import re
import shlex

import pytest
from commands_page import page

ROOT = pathlib.Path(__file__).parents[2]


def test_the_page_of_the_command_line_is_the_programs_own():
    made = page()
    assert made.count("\n## assay ") > 20 and "## assay object cp\n" in made
    assert (ROOT / "docs" / "commands.md").read_text() == made, (
        "run python tests/cli/commands_page.py > docs/commands.md"
    )


def test_the_readme_names_only_verbs_that_there_are():
    known = set(re.findall(r"^## assay (\S+)$", page(), re.MULTILINE))
    blocks = re.findall(r"^```\n(.*?)^```", (ROOT / "README.md").read_text(), re.MULTILINE | re.DOTALL)
    named = set(re.findall(r"^(?:\$ )?assay ([a-z-]+) ", "".join(blocks), re.MULTILINE))
    assert named and named <= known


# Beside the spaces stands the pod of Kubernetes that one of them runs in.
SPACES = sorted(path for path in (ROOT / "examples").glob("*/*.yaml") if path.name != "pod.yaml")


@pytest.mark.parametrize("path", SPACES, ids=lambda path: path.stem)
def test_every_example_is_a_space_that_can_be_explored(assay, path):
    out = assay.ok("explore", path, "--dry-run", "--max-points", 2, "--store", f"sqlite:///{assay.home}/store.db")
    assert ": 2 would be measured" in out


def commands_of(path):
    """The lines of an example's head that begin with assay."""
    return [shlex.split(line[1:])[1:] for line in path.read_text().splitlines() if line.startswith("#   assay ")]


def test_the_fine_tuning_example_runs_with_its_own_commands(assay, tmp_path, monkeypatch):
    path = ROOT / "examples" / "fine-tuning" / "space.yaml"
    store = ["--store", f"sqlite:///{tmp_path}/store.db"]
    explore, results, report, recommend = commands_of(path)
    assert {command[1] for command in (explore, results, report, recommend)} == {"examples/fine-tuning/space.yaml"}
    monkeypatch.chdir(tmp_path)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    assert "4 points: 4 measured" in assay.ok(*explore, *store)
    assert "4 points: 4 valid" in assay.ok(*results, *store).replace("4 of 4", "4")
    assay.ok(*report, *store)
    assert (tmp_path / "fine-tuning.html").stat().st_size > 10000
    assert json.loads(assay.ok(*recommend, *store, "--output", "json"))[0]["objection"] == ""
