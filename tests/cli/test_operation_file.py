"""assay explore --operation: the walks that ado's files declare."""

import pytest

WALK = """\
metadata: {{ name: a walk }}
spaces: [space-d1f737-fcb7d1]
actuatorConfigurationIdentifiers: [actuatorconfiguration-sfttrainer-1]
operation:
  module: {{ operatorName: random_walk, operationType: search }}
  parameters:
    numberEntities: {entities}
    batchSize: 1
    singleMeasurement: true
    maxRetries: 1
    samplerConfig: {{ mode: {mode}, samplerType: {kind}, grouping: [model_max_length] }}
    filter: {{ filterMode: {filter} }}
"""


@pytest.fixture
def explore(assay, space, tmp_path, quick_worker):
    """What a walk over the space says, or how it is refused."""
    walk = tmp_path / "walk.yaml"

    def run(*flags, entities="all", mode="sequential", kind="generator", filter="noFilter", how=assay.ok):
        walk.write_text(WALK.format(entities=entities, mode=mode, kind=kind, filter=filter))
        store = f"sqlite:///{tmp_path}/store.db"
        return how("explore", space, "--operation", walk, "--store", store, *flags)

    return run


def test_a_walk_goes_on_where_the_one_before_ended(explore):
    assert "1 measured, 0 replayed" in explore(entities=1)
    assert "0 measured, 1 replayed" in explore(kind="selector", mode="random")
    assert "3 would be measured, 0 replayed" in explore("--dry-run", filter="unmeasured")
    assert "3 measured, 0 replayed" in explore(mode="randomgrouped", filter="unmeasured")
    assert "0 measured, 4 replayed" in explore(filter="measured")
    assert "0 measured, 0 replayed" in explore(filter="partial")


def test_a_walk_replays_what_an_exploration_of_several_experiments_measured(assay, explore, space, tmp_path):
    text = space.read_text()
    full = text[text.index("  - experimentIdentifier") :]
    space.write_text(text + full.replace("finetune_full", "finetune_lora"))
    assert "8 measured" in assay.ok("explore", space, "--store", f"sqlite:///{tmp_path}/store.db")
    assert "0 would be measured, 8 replayed" in explore("--dry-run")
    assert "0 measured, 8 replayed" in explore()


def test_what_of_the_file_does_not_count_is_said(assay, explore):
    said = explore(how=assay).stderr
    assert "walk.yaml: spaces: 'space-d1f737-fcb7d1' does not count here: the walk goes through " in said
    assert "actuatorConfigurationIdentifiers: 'actuatorconfiguration-sfttrainer-1' does not count here" in said


def test_mistakes_are_one_line(assay, explore, space, tmp_path):
    assert "'numberEntities' is 9, more than the 4 that the space has" in explore(entities=9, how=assay.refused)
    assert "has of this space" in explore(entities=1, kind="selector", how=assay.refused)
    assert "--budget does not count beside" in explore("--budget", 2, how=assay.refused)
    assert "walk.yaml: the file's batchSize says it" in explore("--workers", 2, how=assay.refused)
    walk = tmp_path / "walk.yaml"
    assert "this is an operation, not a discovery space" in assay.refused("explore", walk)
    assert "this is a discovery space, not an operation" in assay.refused("explore", space, "--operation", space)
