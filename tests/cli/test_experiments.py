"""assay run, explore, results, report: points measured once, replayed, and reported."""

import contextlib
import csv
import io
import json
import os
import pathlib
import re
import signal
import sqlite3
import time

import pytest
from nodes import has_ended, wait_for

FULL = "finetune_full_benchmark-v1.0.0"
LORA = "finetune_lora_benchmark-v1.0.0"
GPTQ_LORA = "finetune_gtpq-lora_benchmark-v1.0.0"


def point(model, rows, **more):
    values = {
        "model_name": model,
        "model_max_length": 32,
        "batch_size": 2,
        "number_gpus": 0,
        "dataset_id": rows,
        "max_steps": 3,
        "gradient_accumulation_steps": 1,
    } | more
    return [text for name, value in values.items() for text in ("-p", f"{name}={value}")]


@pytest.fixture
def store(tmp_path):
    return f"sqlite:///{tmp_path}/store.db"


def run(assay, store, experiment, arguments):
    return json.loads(assay.ok("run", experiment, *arguments, "--store", store, "--output", "json"))


@pytest.mark.parametrize("experiment", [FULL, LORA, GPTQ_LORA])
def test_run_measures_then_replays(assay, model, rows, store, experiment):
    first = run(assay, store, experiment, point(model, rows))
    assert first["outcome"] == "valid" and first["experiment"] == experiment
    assert {"experiment", "entity", "entity_id", "outcome", "reason", "properties", "units", "provenance"} <= set(first)
    values = first["properties"]
    names = "train_runtime train_samples_per_second train_steps_per_second train_tokens_per_second"
    names += " dataset_tokens_per_second cpu_compute_utilization cpu_memory_utilization is_valid"
    names += " gpu_compute_utilization_avg gpu_memory_utilization_peak gpu_power_watts_max gpu_power_percent_min"
    assert not set(names.split()) - set(values)
    assert run(assay, store, experiment, point(model, rows)) == first


def test_adapters_go_on_experts_without_dropout(assay, model, rows, store):
    config = model / "config.json"
    mixtral = {"architectures": ["MixtralForCausalLM"], "model_type": "mixtral", "num_local_experts": 4}
    config.write_text(json.dumps(json.loads(config.read_text()) | mixtral | {"num_experts_per_tok": 2}))
    targets = {"target_modules": "q_proj,experts.down_proj"}
    measured = run(assay, store, LORA, point(model, rows, **targets, lora_dropout=0))
    assert measured["outcome"] == "valid"
    of_query, of_experts = 4 * (32 + 32), 4 * 4 * (64 + 32)
    assert measured["properties"]["trainable_parameters"] == 2 * (of_query + of_experts)
    assert "adapters of experts have no dropout" in assay.refused(
        "run", LORA, *point(model, rows, **targets), "--store", store
    )


def test_weights_of_few_bits_take_less_memory(assay, model, rows, tmp_path, store):
    """A space over how many, from its file to its values."""
    space = tmp_path / "bits.yaml"
    values = {"model_name": model, "model_max_length": 32, "batch_size": 2, "number_gpus": 0, "dataset_id": rows}
    fixed = "".join(f"  - {{identifier: {k}, propertyDomain: {{values: [{v}]}}}}\n" for k, v in values.items())
    space.write_text(
        f"entitySpace:\n{fixed}  - {{identifier: bits, propertyDomain: {{values: [2, 8]}}}}\n"
        f"experiments:\n  - experimentIdentifier: {GPTQ_LORA}\n    parameterization:\n"
        "      - {property: {identifier: max_steps}, value: 2}\n"
    )
    assay.ok("explore", space, "--store", store)
    results = json.loads(assay.ok("results", space, "--store", store, "--output", "json"))
    assert [each["outcome"] for each in results] == ["valid", "valid"]
    peaks = {each["entity"]["bits"]: each["properties"]["load_peak_tensor_bytes"] for each in results}
    assert peaks[2] < peaks[8]
    assert {each["provenance"]["weights"] for each in results} == {
        "random, rounded to 2 bits",
        "random, rounded to 8 bits",
    }


def test_entity_id_ignores_the_order_of_properties(assay, model, rows, store):
    pairs = point(model, rows)
    backwards = [text for i in range(len(pairs) - 2, -1, -2) for text in pairs[i : i + 2]]
    assert run(assay, store, FULL, pairs)["entity_id"] == run(assay, store, FULL, backwards)["entity_id"]


def test_rule_makes_a_point_invalid_without_launching(assay, model, rows, store):
    arguments = point(model, rows, number_gpus=1, gpu_model="NVIDIA-A100-SXM4-80GB", number_nodes=2)
    result = run(assay, store, FULL, arguments)
    assert result["outcome"] == "invalid" and result["reason"]


@pytest.mark.parametrize(
    "experiment, ranks, spread",
    [
        (FULL, 2, {}),
        (FULL, 2, {"distributed_backend": "DDP"}),
        (FULL, 2, {"fsdp_sharding_strategy": "HYBRID_SHARD_ZERO2"}),
        (LORA, 2, {}),
        (FULL, 2, {"number_nodes": 2}),
        (FULL, 2, {"number_nodes": 2, "fsdp_sharding_strategy": "HYBRID_SHARD"}),
        (LORA, 2, {"number_nodes": 2, "distributed_backend": "DDP"}),
        (FULL, 4, {"number_nodes": 2, "fsdp_sharding_strategy": "HYBRID_SHARD"}),
        (LORA, 4, {"number_nodes": 2}),
    ],
)
def test_ranks_make_the_steps_of_one(assay, model, rows, store, experiment, ranks, spread):
    same = {"torch_dtype": "float32", "threads": 1}
    one = run(assay, store, experiment, point(model, rows, batch_size=1, gradient_accumulation_steps=ranks, **same))
    many = run(assay, store, experiment, point(model, rows, batch_size=ranks, number_ranks=ranks, **same, **spread))
    assert many["outcome"] == "valid", many["reason"]
    over_nodes = "gloo" if ranks == 2 else "shm+gloo"
    assert many["provenance"]["communicator"] == (over_nodes if "number_nodes" in spread else "shared_memory")
    ours, theirs = many["properties"], one["properties"]
    assert ours["final_loss"] == pytest.approx(theirs["final_loss"], rel=1e-5)
    assert ours["final_grad_norm"] == pytest.approx(theirs["final_grad_norm"], rel=1e-4)
    for count in ("samples", "real_tokens", "supervised_tokens", "measured_steps", "trainable_parameters"):
        assert ours[count] == theirs[count], count
    assert ours["dataset_tokens_per_second_per_gpu"] == pytest.approx(ours["dataset_tokens_per_second"] / ranks)


def rank_of(worker):
    """None: it has just ended, or is not a rank."""
    with contextlib.suppress(OSError):
        for variable in pathlib.Path(f"/proc/{worker}/environ").read_text().split("\0"):
            if variable.startswith("RANK="):
                return int(variable.removeprefix("RANK="))
    return None


def cpu_seconds(worker):
    fields = pathlib.Path(f"/proc/{worker}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def workers_by_rank(explorer):
    children = pathlib.Path(f"/proc/{explorer.pid}/task").glob("*/children")
    workers = [int(pid) for path in children for pid in path.read_text().split()]
    return {rank_of(worker): worker for worker in workers if rank_of(worker) is not None}


def test_a_rank_that_is_lost_in_a_group_that_stands_for_a_machine_is_named(assay, model, rows, store):
    arguments = point(model, rows, batch_size=4, number_ranks=4, number_nodes=2, threads=1, max_steps=10000)
    process = assay.start("run", FULL, *arguments, "--store", store, "--output", "json")
    wait_for(lambda: len(workers_by_rank(process)) == 4)
    workers = workers_by_rank(process)
    victim = workers[3]
    wait_for(lambda: cpu_seconds(victim) > 3)  # in its steps
    os.kill(victim, signal.SIGKILL)
    _, err = process.communicate(timeout=300)
    assert process.returncode == 1
    assert "assay run: rank 3: the worker was killed by signal 9 (SIGKILL) after step" in err, err
    assert all(has_ended(worker) for worker in workers.values())


def test_what_ranks_cannot_do_is_invalid_with_its_reason(assay, model, rows, store):
    result = run(assay, store, FULL, point(model, rows, distributed_backend="FSDP"))
    assert result["outcome"] == "invalid" and "one rank has nothing to share" in result["reason"]


def test_memory_budget_makes_a_point_invalid_and_is_remembered(assay, model, rows, store):
    arguments = point(model, rows, memory_budget="1MiB")
    first = run(assay, store, FULL, arguments)
    assert first["outcome"] == "invalid" and "memory" in first["reason"]
    assert run(assay, store, FULL, arguments) == first


def test_failed_point_is_not_remembered(assay, model, rows, store, tmp_path):
    missing = tmp_path / "later"
    assay.refused("run", FULL, *point(missing, rows), "--store", store)
    model.rename(missing)
    assert run(assay, store, FULL, point(missing, rows))["outcome"] == "valid"


def test_a_mistake_in_run_is_told_once(assay, rows, store):
    result = assay("run", FULL, *point("/no/such/model", rows), "--store", store)
    assert result.returncode == 2 and result.stdout == ""
    assert result.stderr.count("no/such/model: ") + result.stderr.count("no/such/model is") <= 1
    assert len([line for line in result.stderr.splitlines() if line.startswith("assay run: ")]) == 1


def explored(assay, space, store):
    out = assay.ok("explore", space, "--store", store)
    return out.splitlines()[-1]


def test_explore_measures_each_point_once(assay, space, store):
    assert "4 measured, 0 replayed" in explored(assay, space, store)
    assert "0 measured, 4 replayed" in explored(assay, space, store)


def test_results_in_three_forms_and_a_report(assay, space, store, tmp_path):
    explored(assay, space, store)
    assert "valid" in assay.ok("results", space, "--store", store)
    objects = json.loads(assay.ok("results", space, "--store", store, "--output", "json"))
    table = list(
        csv.DictReader(io.StringIO(assay.ok("results", "--experiment", FULL, "--store", store, "--output", "csv")))
    )
    assert len(objects) == len(table) == 4
    page = tmp_path / "report.html"
    assay.ok("report", space, "--store", store, "-o", page)
    assert "<table" in page.read_text()


def test_interrupted_exploration_measures_only_the_rest(assay, space, store):
    space.write_text(space.read_text().replace("value: 2", "value: 400", 1))
    process = assay.start("explore", space, "--store", store)
    path = store.removeprefix("sqlite:///")
    for _ in range(3000):
        time.sleep(0.1)
        try:
            with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as connection:
                if connection.execute("select count(*) from measurements").fetchone()[0] >= 1:
                    break
        except sqlite3.OperationalError:
            pass
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=300)
    done = len(json.loads(assay.ok("results", space, "--store", store, "--output", "json")))
    assert 1 <= done
    if process.returncode == 130:
        assert done < 4
    assert f"{4 - done} measured, {done} replayed" in explored(assay, space, store)


def test_an_exploration_tells_what_of_the_space_does_not_count(assay, space, store, quick_worker):
    text = space.read_text()
    assert "does not count" not in assay("explore", space, "--store", store, "--max-points", 1).stderr
    space.write_text(
        "sampleStoreIdentifier: d1b9a2\nmetadata: { labels: { issue: '12' } }\n"
        + text.replace("  - experimentIdentifier", "  - actuatorIdentifier: Others\n    experimentIdentifier")
    )
    said = assay("explore", space, "--store", store, "--max-points", 1).stderr
    assert [line for line in said.splitlines() if "not count" in line] == assay(
        "explore", space, "--store", store, "--dry-run"
    ).stderr.splitlines()
    assert f"space.yaml: sampleStoreIdentifier 'd1b9a2' does not count here: measurements are kept in {store}" in said
    assert "space.yaml: metadata labels do not count here" in said
    assert "actuatorIdentifier 'Others' does not count here: finetune_full_benchmark-v1.0.0 is" in said
    space.write_text(
        text.replace("  - experimentIdentifier", "  - actuatorIdentifier: SFTTrainer\n    experimentIdentifier")
    )
    assert "does not count" not in assay("explore", space, "--store", store, "--max-points", 1).stderr


def test_a_space_is_measured_into_the_store_that_it_names(assay, space, tmp_path, quick_worker):
    text = space.read_text()
    named = assay.home / "data" / "assay" / "team.db"
    space.write_text(f"sampleStoreIdentifier: team\n{text}")
    said = assay("explore", space, "--max-points", 1).stderr
    assert "sampleStoreIdentifier 'team' does not count here" in said and f"there is no store {named}" in said
    assert "1 of 4 points" in assay.ok("results", space)
    assay.ok("store", "copy", f"sqlite:///{assay.home}/data/assay/measurements.db", f"sqlite:///{named}")
    result = assay("explore", space)
    assert "3 measured, 1 replayed" in result.stdout and "does not count" not in result.stderr
    assert "4 of 4 points" in assay.ok("results", space)
    assert "4 measurements removed" in assay.ok("forget", space)
    space.write_text(f"sampleStoreIdentifier: default\n{text}")
    assert "1 of 4 points" in assay.ok("results", space)
    assert "does not count" not in assay("explore", space, "--dry-run").stderr
    space.write_text(f"sampleStoreIdentifier: sqlite:///{tmp_path}/by_url.db\n{text}")
    assert "1 measured" in assay.ok("explore", space, "--max-points", 1)
    assert (tmp_path / "by_url.db").exists()
    space.write_text(f"sampleStoreIdentifier: ./by_path.db\n{text}")
    result = assay("explore", space, "--max-points", 1)
    assert "1 measured" in result.stdout and "does not count" not in result.stderr
    assert (space.parent / "by_path.db").exists(), "a path begins at the space's folder"


def test_max_points(assay, space, store):
    assert "1 measured" in assay.ok("explore", space, "--store", store, "--max-points", 1)


def test_dry_run_measures_nothing(assay, space, store):
    def dry_run():
        return assay.ok("explore", space, "--store", store, "--dry-run").splitlines()

    assert dry_run()[-1] == "4 points: 4 would be measured, 0 replayed, 0 are forbidden by a rule"
    assay.ok("explore", space, "--store", store, "--max-points", 1)
    out = dry_run()
    assert out[-2] == "4 points: 3 would be measured, 1 replayed, 0 are forbidden by a rule"
    assert re.fullmatch(r"about .+ of training one after the other: .+ a point is the median of 1 measurement", out[-1])
    assert len(out) == 5 and all("batch_size." in line for line in out[:-2])


def test_edited_rows_are_measured_anew(assay, model, rows, store):
    first = run(assay, store, FULL, point(model, rows))
    rows.write_text("".join(rows.read_text().splitlines(keepends=True)[:-1]))
    second = run(assay, store, FULL, point(model, rows))
    assert second["uid"] != first["uid"]
    assert second["depends_on"]["data_hash"] != first["depends_on"]["data_hash"]


def test_settings_are_part_of_what_is_replayed(assay, model, rows, store):
    first = run(assay, store, FULL, point(model, rows))
    assay.env["OMP_NUM_THREADS"] = "1"
    assert run(assay, store, FULL, [*point(model, rows), "--reuse", "machine"]) == first
    assert run(assay, store, FULL, point(model, rows))["uid"] != first["uid"]


def test_mistakes_can_be_forgotten(assay, model, rows, store):
    assay("run", FULL, *point(model, rows, memory_budget="4XB"), "--store", store)
    run(assay, store, FULL, point(model, rows))
    assert assay.ok("forget", "--outcome", "failed", "--dry-run", "--store", store) == (
        "1 measurement would be removed\n"
    )
    assert assay.ok("forget", "--outcome", "failed", "--store", store) == "1 measurement removed\n"
    left = json.loads(assay.ok("results", "--experiment", FULL, "--store", store, "--output", "json"))
    assert [row["outcome"] for row in left] == ["valid"]
    assert "say what to forget" in assay.refused("forget", "--store", store)


def test_operations_are_listed(assay, space, store):
    assay.ok("explore", space, "--store", store, "--max-points", 1)
    assay.ok("explore", space, "--store", store)
    listed = json.loads(assay.ok("operations", "--store", store, "--output", "json"))
    assert [(each["measured"], each["replayed"], each["exit_state"]) for each in listed] == [
        (1, 0, "success"),
        (3, 1, "success"),
    ]
    assert assay.ok("operations", "--store", store).count("success") == 2


# ---- what is refused ----


def test_unknown_key_names_line_and_nearest(assay, space, store):
    space.write_text(space.read_text().replace("entitySpace", "entityspace"))
    line = assay.refused("explore", space, "--store", store)
    assert "space.yaml:1" in line and "entitySpace" in line


def test_value_outside_its_domain(assay, space, store):
    space.write_text(space.read_text().replace("[1, 2]", "[0, 2]"))
    line = assay.refused("explore", space, "--store", store)
    assert "space.yaml" in line and "batch_size" in line and "0" in line


@pytest.mark.parametrize(
    "changes, said",
    [
        ({"batch_size": 0}, "batch_size"),
        ({"torch_dtype": "int8"}, "torch_dtype"),
        ({"enable_roce": "True"}, "enable_roce"),
        ({"optim": "adafactor"}, "adafactor"),
        ({"bach_size": 2}, "batch_size"),
    ],
)
def test_refused_properties(assay, model, rows, store, changes, said):
    assert said in assay.refused("run", FULL, *point(model, rows, **changes), "--store", store)


def test_unknown_experiment(assay, store):
    assert FULL in assay.refused("run", "finetune_ful_benchmark-v1.0.0", "--store", store)


def test_store_that_is_not_one(assay, model, rows, tmp_path):
    other = tmp_path / "notes.db"
    other.write_text("these are notes, not a data base, and long enough to have a header of some sort")
    assert "notes.db" in assay.refused("run", FULL, *point(model, rows), "--store", f"sqlite:///{other}")


def test_store_of_a_newer_version(assay, model, rows, store):
    run(assay, store, FULL, point(model, rows))
    path = store.removeprefix("sqlite:///")
    with sqlite3.connect(path) as connection:
        tables = [name for (name,) in connection.execute("select name from sqlite_master where type = 'table'")]
        table = next(name for name in tables if "schema" in name or "version" in name)
        column = next(row[1] for row in connection.execute(f"pragma table_info({table})") if "version" in row[1])
        connection.execute(f"update {table} set {column} = 999")
    assert "newer" in assay.refused("run", FULL, *point(model, rows), "--store", store)
