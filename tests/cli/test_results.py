"""What was measured, as tables and files tell it: of which machine, how much of the space, on what weights."""

import json
import pathlib
import re
import statistics
import threading
import uuid

import pytest
import stores

FULL = "finetune_full_benchmark-v1.0.0"
LORA = "finetune_lora_benchmark-v1.0.0"


pytestmark = pytest.mark.usefixtures("quick_worker")


@pytest.fixture
def store(tmp_path):
    return f"sqlite:///{tmp_path}/store.db"


@pytest.fixture
def explored(assay, space, store):
    assay.ok("explore", space, "--store", store)
    return space


def copy_to_host(assay, store, host, slower):
    """The store's measurements once more, as if another machine had made them."""
    copies = stores.measurements(assay, store)
    for document in copies:
        document["uid"] = uuid.uuid4().hex
        document["provenance"]["host"] = host
        document["properties"]["real_tokens_per_second"] /= slower
        document["properties"]["step_seconds_median"] *= slower
    stores.add(assay, store, copies)


def test_tables_say_that_weights_are_random(assay, explored, store, model, rows):
    assert "weights random, tokenizer " in assay.ok("results", explored, "--store", store)
    table = assay.ok(
        *("run", FULL, "--store", store, "-p", f"model_name={model}", "-p", f"dataset_id={rows}"),
        *("-p", "model_max_length=16", "-p", "batch_size=1", "-p", "number_gpus=0", "-p", "max_steps=2"),
    )
    assert "weights random, tokenizer none" in table


def fail_first_run(assay, tmp_path):
    """Before it says anything."""
    worker = pathlib.Path(assay.env["ASSAY_WORKER"])
    once = f"import os\nif not os.path.exists('{tmp_path}/ran'):\n    open('{tmp_path}/ran', 'w')\n    os.kill(os.getpid(), 9)\n"
    worker.write_text(worker.read_text().replace("import json", once + "import json", 1))


def test_recommend_names_the_weights_of_runs_that_count(assay, space, store, tmp_path):
    fail_first_run(assay, tmp_path)
    assert assay("explore", space, "--store", store, "--max-points", 1).returncode == 1
    stores.change(assay, store, lambda document: document.update(measured_at="2026-01-01T00:00:00Z"))
    assay.ok("explore", space, "--store", store)
    predictions = json.loads(assay.ok("recommend", "--experiment", FULL, "--store", store, "--output", "json"))
    assert [prediction["weights"] for prediction in predictions] == ["random", "random"]


def test_recommend_names_weights_and_tokenizer(assay, explored, store):
    assert "weights random, tokenizer none" in assay.ok("recommend", explored, "--store", store)
    (first, *_) = json.loads(assay.ok("recommend", explored, "--store", store, "--output", "json"))
    assert (first["weights"], first["tokenizer"]) == ("random", "none")


def test_results_count_the_points_of_the_space(assay, space, store):
    out = assay.ok("explore", space, "--store", store, "--max-points", 1)
    assert out.splitlines()[-1].startswith("4 points: 1 measured")
    assert "1 of 4 points: 1 valid, 0 invalid, 0 failed" in assay.ok("results", space, "--store", store)
    page = space.parent / "report.html"
    assert "report of 1 measurement:" in assay.ok("report", space, "--store", store, "-o", page)
    assert "1 of 4 points" in page.read_text()


def test_a_table_of_an_experiment_is_of_its_newest_measurements(assay, explored, store):
    copy_to_host(assay, store, "later", slower=2)
    table = assay.ok("results", "--experiment", FULL, "--store", store, "--limit", 4)
    assert "These are the newest 4 measurements of 8: --limit shows more" in table
    table = assay.ok("results", "--experiment", FULL, "--store", store, "--host", "later", "--limit", 3)
    assert "These are the newest 3 measurements of 4" in table
    assert "These are" not in assay.ok("results", "--experiment", FULL, "--store", store)


def test_an_experiments_results_are_those_of_its_space(assay, explored, store):
    of_space = json.loads(assay.ok("results", explored, "--store", store, "--output", "json"))
    text = assay.ok("results", "--experiment", FULL, "--store", store, "--output", "json")
    documents = json.loads(text)
    assert text == json.dumps(documents, indent=2, sort_keys=True, ensure_ascii=False) + "\n"
    assert sorted(documents, key=lambda one: one["uid"]) == sorted(of_space, key=lambda one: one["uid"])
    lines = assay.ok("results", "--experiment", FULL, "--store", store, "--output", "csv").splitlines()
    of_space = assay.ok("results", explored, "--store", store, "--output", "csv").splitlines()
    assert lines[0] == of_space[0] and sorted(lines) == sorted(of_space) and len(lines) == 5


def test_machines_are_a_column_a_filter_and_a_comparison(assay, explored, store):
    copy_to_host(assay, store, "slow-laptop", slower=10)
    table = assay.ok("results", explored, "--store", store)
    assert "host" in table and "4 of 4 points, 8 configurations" in table
    own = {
        m["provenance"]["host"] for m in json.loads(assay.ok("results", explored, "--store", store, "--output", "json"))
    }
    assert len(own) == 2
    only = assay.ok("results", explored, "--store", store, "--host", "slow-laptop")
    assert "4 of 4 points: 4 valid" in only and "configurations" not in only
    assert "slow-laptop" in assay.refused("results", explored, "--store", store, "--host", "nobody")
    page = explored.parent / "report.html"
    assay.ok("report", "--experiment", FULL, "--store", store, "-o", page)
    text = page.read_text()
    assert text.count(">Fastest: ") == 2 and "Against host " in text


def test_recommend_takes_no_line_through_two_machines(assay, explored, store):
    copy_to_host(assay, store, "slow-laptop", slower=10)
    series = [
        row["series"] for row in json.loads(assay.ok("recommend", explored, "--store", store, "--output", "json"))
    ]
    assert len(series) == 4 and sum("slow-laptop" in name for name in series) == 2


def test_recommend_and_run_print_one_document(assay, explored, store):
    predictions = json.loads(assay.ok("recommend", explored, "--store", store, "--run", "--output", "json"))
    assert predictions[0]["measured"]["outcome"] == "valid"
    assert predictions[0]["measured"]["step_seconds"] > 0
    assert all("measured" not in prediction for prediction in predictions[1:])


def test_recommend_says_when_another_process_measures_the_answer(assay, explored, store, gate):
    answer = ["recommend", explored, "--store", store, "--batch-size", 3, "--run", "--output", "json"]
    first = assay.start(*answer)
    with gate(first):
        second = assay.refused(*answer)
    assert "is being measured by another process" in second
    out, err = first.communicate(timeout=300)
    assert json.loads(out)[0]["measured"]["outcome"] == "valid", err


def set_provenance(assay, store, **entries):
    """Of every measurement, as if it had been made so."""
    stores.change(assay, store, lambda document: document["provenance"].update(entries))


def test_recommend_says_what_the_prediction_stands_on(assay, explored, store):
    set_provenance(assay, store, starved="")
    assert "waited" not in assay.ok("recommend", explored, "--store", store)
    set_provenance(assay, store, commit="another", starved="waited for a processor for 4 s of 10 s")
    out = assay.ok("recommend", explored, "--store", store, "--batch-size", 3, "--run")
    assert "the prediction stands on runs with another commit" in out
    assert "some of its runs waited for processors" in out


def test_an_exploration_says_whose_measurements_it_replays(assay, explored, store):
    set_provenance(assay, store, host="elsewhere", starved="waited for a processor for 4 s of 10 s")
    result = assay("explore", explored, "--store", store)
    (line,) = [line for line in (result.stdout + result.stderr).splitlines() if "[1/4]" in line and ": valid" in line]
    assert (
        "waited for a processor for 4 s of 10 s, replayed: measured 20" in line and " on elsewhere by commit " in line
    )


def test_an_exploration_says_that_it_waits_for_another(assay, space, store, gate):
    space.write_text(space.read_text().replace("[16, 32]", "[16]").replace("[1, 2]", "[1]"))
    first = assay.start("explore", space, "--store", store)
    with gate(first):
        second = assay.start("explore", space, "--store", store)
        too_late = threading.Timer(300, second.kill)
        too_late.start()
        said = [second.stderr.readline()]
        while said[-1] and "waiting" not in said[-1]:
            said.append(second.stderr.readline())
        too_late.cancel()
        assert said[-1].startswith("[1/1] waiting: another process measures ")
    out, err = second.communicate(timeout=300)
    assert "1 point: 0 measured, 1 replayed" in out and " left" not in "".join(said) + err
    first.communicate(timeout=300)


@pytest.mark.parametrize(("retries", "code", "outcomes"), [(0, 1, "0 measured"), (1, 0, "1 measured")])
def test_what_failed_is_run_again_as_often_as_asked(assay, space, store, tmp_path, retries, code, outcomes):
    fail_first_run(assay, tmp_path)
    result = assay("explore", space, "--store", store, "--max-points", 1, "--retries", retries)
    assert result.returncode == code and outcomes in result.stdout, result.stderr


def test_models_are_listed_with_their_sizes(assay):
    sizes = {model["name"]: model["parameters"] for model in json.loads(assay.ok("model", "list", "--output", "json"))}
    assert sizes["smollm2-135m"] == 134515008
    assert 86e6 < sizes["google/vit-base-patch16-224"] < 87e6
    (line,) = [line for line in assay.ok("model", "list").splitlines() if line.startswith("smollm2-135m ")]
    assert " 134.5 M " in line


def test_a_commit_is_named_by_its_first_characters(assay, explored, store):
    commit = json.loads(assay.ok("results", explored, "--store", store, "--output", "json"))[0]["provenance"]["commit"]
    assert "4 of 4" in assay.ok("results", explored, "--store", store, "--commit", commit[:4])
    assert commit in assay.refused("results", explored, "--store", store, "--commit", "no-such")


def test_a_space_of_astronomic_size_is_answered_from_the_store(assay, explored, store):
    text = explored.read_text()
    explored.write_text(
        text.replace("values: [16, 32]", "domainRange: [1, 131073], interval: 1").replace(
            "experiments:",
            "  - { identifier: seed, propertyDomain: { domainRange: [1, 2147483648], interval: 1 } }\nexperiments:",
        )
    )
    assert "No measurements: 0 of 562,9" in assay.ok("results", explored, "--store", store)
    explored.write_text(text.replace("values: [16, 32]", "domainRange: [1, 131073], interval: 1"))
    assert "4 of 262,144 points" in assay.ok("results", explored, "--store", store)
    explored.write_text(
        text.replace("values: [16, 32]", "domainRange: [1, 131073], interval: 1").replace(
            "experiments:",
            "  - { identifier: seed, propertyDomain: { domainRange: [0, 2147483647], interval: 1 } }\nexperiments:",
        )
    )
    dry_run = assay.ok("explore", explored, "--store", store, "--dry-run", "--max-points", 3).splitlines()
    assert len(dry_run) == 5 and "3 would be measured" in dry_run[3] and "not looked at" in dry_run[3]
    assert assay.ok("forget", explored, "--store", store, "--dry-run") == "0 measurements would be removed\n"
    explored.write_text(text)
    assert assay.ok("forget", explored, "--store", store) == "4 measurements removed\n"


def test_a_report_overwrites_only_reports(assay, explored, store, rows, tmp_path):
    before = rows.read_bytes()
    assert str(rows) in assay.refused("report", explored, "--store", store, "-o", rows)
    assert rows.read_bytes() == before
    page = tmp_path / "page.html"
    page.write_text("<!DOCTYPE html><p>mine")
    assay.refused("report", explored, "--store", store, "-o", page)
    page.unlink()
    assay.ok("report", explored, "--store", store, "-o", page)
    assay.ok("report", explored, "--store", store, "-o", page)


def test_an_experiment_tells_what_is_supported_and_what_is_ours(assay):
    manual = assay.ok("experiments", FULL)
    assert "supported: only False" in manual and "memory_budget  [default None]  (not the reference's)" in manual
    assert "values}" not in manual, "a list of values was cut"
    properties = {p["name"]: p for p in json.loads(assay.ok("experiments", FULL, "--output", "json"))["properties"]}
    assert properties["enable_roce"]["supported"] == [False]
    assert properties["seed"]["own"] and not properties["batch_size"]["own"]
    assert "supported" not in properties["batch_size"]
    assert "adafactor" in properties["optim"]["domain"] and "..." not in properties["optim"]["domain"]


def test_datasets_are_listed(assay):
    listed = json.loads(assay.ok("datasets", "--output", "json"))
    states = {dataset["id"]: dataset["state"] for dataset in listed}
    assert states["austen-completion"] == "available"
    assert "not supported yet" in states["vision-384x384-16384plus-entries-4096"]
    assert "news-chars-512-entries-256" in assay.ok("datasets")


def test_repeats_are_made_one_by_an_aggregation(assay, space, store):
    assay.ok("explore", space, "--store", store, "--repeats", 2)
    asked = ("results", space, "--store", store, "--aggregate", "mean", "--aggregate", "std")
    runs = json.loads(assay.ok("results", space, "--store", store, "--output", "json"))
    points = json.loads(assay.ok(*asked, "--output", "json"))
    assert len(runs) == 8 and len(points) == 4
    for point in points:
        of_point = [run for run in runs if run["entity_id"] == point["entity_id"]]
        # A run that waited for a processor does not count beside one that did not.
        counted = [run for run in of_point if not run["provenance"].get("starved")] or of_point
        values = [run["properties"]["train_runtime"] for run in counted]
        assert point["properties"]["runs"] == len(values)
        assert point["properties"]["train_runtime-mean"] == pytest.approx(statistics.mean(values))
        assert point["properties"]["train_runtime-std"] == pytest.approx(statistics.pstdev(values))
    assert "train_runtime-mean" in assay.ok(*asked, "--output", "csv").splitlines()[0]
    assert "real tokens/s mean" in assay.ok(*asked)
    assert "--aggregate: mode not in {" in assay.refused("results", space, "--store", store, "--aggregate", "mode")


def test_the_best_of_repeats_is_that_of_their_aggregation(assay, space, store, tmp_path):
    search = ("explore", space, "--store", store, "--repeats", 2, "--sampler", "random", "--seed", 1)
    said = assay.ok(*search, "--metric", "train_runtime-mean:min", "--metric", "train_runtime-std:max")
    points = json.loads(
        assay.ok(
            *("results", space, "--store", store, "--output", "json"), *("--aggregate", "mean", "--aggregate", "std")
        )
    )
    least = min(points, key=lambda point: point["properties"]["train_runtime-mean"])
    assert f"at {least['entity_id']}" in re.search("^best train_runtime-mean: .*", said, re.MULTILINE)[0]
    assert "best train_runtime-std: " in said
    once = ("explore", space, "--store", f"sqlite:///{tmp_path}/once.db", "--sampler", "random")
    assert "best" not in assay.ok(*once, "--metric", "train_runtime-std:min"), "one run has no spread"
    assert "say train_runtime-std:max or" in assay.refused(*search, "--metric", "train_runtime-std")


def test_a_dry_run_foretells_the_memory_of_further_batch_sizes(assay, space, store):
    text = space.read_text()
    of_batches = re.compile(r"(identifier: batch_size, propertyDomain: \{ ).*?( \})")
    space.write_text(of_batches.sub(r"\1values: [1, 2, 4]\2", text))
    assay.ok("explore", space, "--store", store)
    assert "memory:" not in assay.ok("explore", space, "--store", store, "--dry-run")
    space.write_text(of_batches.sub(r"\1values: [1, 2, 4, 8]\2", text))
    foretold = assay.ok("explore", space, "--store", store, "--dry-run").splitlines()[-1]
    assert re.fullmatch(r"memory: \S+ GiB of tensors, as foretold for (\d) of \1 points by lines .+", foretold)
