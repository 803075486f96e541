import json
import sys

import pytest
from harness import doctor, process, programs, rows, workload
from harness.flops import MASKED


def test_names_are_unique_and_select_in_the_tables_order():
    names = [row.name for row in rows.ROWS]
    assert len(set(names)) == len(names)
    assert [row.name for row in rows.select(["full", "lora"])] == ["lora", "full"]
    assert rows.select([]) == list(rows.ROWS)
    with pytest.raises(ValueError, match="no row is called lorra"):
        rows.select(["lorra", "lora"])


def test_rows_are_the_same_each_time_and_as_the_table_says():
    (row,) = rows.select(["lora"])
    made = workload.make_rows(row, vocabulary=100)
    assert made == workload.make_rows(row, vocabulary=100)
    assert len(made) == row.rows_of_step * row.all_steps
    for entry in made:
        length = len(entry["input_ids"])
        assert 180 <= length <= 512
        masked = entry["labels"].count(MASKED)
        assert masked == length // 3
        assert entry["labels"][masked:] == entry["input_ids"][masked:]


@pytest.mark.parametrize("row", rows.ROWS, ids=lambda row: row.name)
def test_both_sides_are_asked_for_the_same(row, tmp_path):
    work = workload.Workload(tmp_path / "m", tmp_path / "a", tmp_path / "d", {}, [])
    ours = programs.our_command(row, work, programs.Places(tmp_path, tmp_path))
    theirs = programs.peer_command(row, work)

    def value(command, option):
        return command[command.index(option) + 1]

    for mine, other in [("--model",) * 2, ("--data",) * 2, ("--method",) * 2, ("--dtype",) * 2]:
        assert value(ours, mine) == value(theirs, other)
    assert value(ours, "--batch-size") == value(theirs, "--batch") == str(row.batch)
    assert ("--number-ranks" in ours) == ("torch.distributed.run" in theirs) == (row.ranks > 1)
    if row.ranks > 1:
        assert value(ours, "--number-ranks") == value(theirs, "--nproc-per-node") == str(row.ranks)
    assert value(ours, "--max-steps") == value(theirs, "--steps") == str(row.all_steps)
    assert (
        ("--gradient-checkpointing=on" in ours) == ("--gradient-checkpointing" in theirs) == row.gradient_checkpointing
    )
    own_layers = f"--gradient-checkpointing={row.our_checkpointed_layers}"
    assert (own_layers in ours) == (row.our_checkpointed_layers > 0) == ("ours checkpoints" in row.title)
    assert value(ours, "--device") == row.device
    assert (row.process_environment.get("CUDA_VISIBLE_DEVICES") == "") == (row.device == "cpu")
    assert ("--adapter" in ours) == ("--adapter" in theirs) == (row.method == "lora")


def test_what_a_process_used(tmp_path):
    script = "import sys; print('out'); print('ready', file=sys.stderr); x = bytearray(64 << 20); sys.exit(3)"
    finished = process.run([sys.executable, "-c", script], {"SOMETHING": "1"})
    assert (finished.exit_code, finished.stdout) == (3, "out\n")
    assert finished.max_rss_bytes > 64 << 20
    assert 0 <= finished.first_line_with("ready") <= finished.wall_seconds
    assert finished.first_line_with("nothing") is None


def test_a_program_that_fails_is_quoted():
    finished = process.run([sys.executable, "-c", "import sys; sys.exit('no such model')"])
    with pytest.raises(RuntimeError, match="exit code 1.*no first step.*\nno such model"):
        programs.read(finished, ["program"], "ready")


def test_a_run_is_read_from_the_last_line():
    report = {"losses": [1.0], "grad_norms": [2.0], "step_seconds": [3.0], "peer": "p", "other": 1}
    script = f"import sys; print('ready', file=sys.stderr); print('log'); print({json.dumps(json.dumps(report))})"
    run = programs.read(process.run([sys.executable, "-c", script]), ["program"], "ready", extra=["peer"])
    assert (run.losses, run.grad_norms, run.step_seconds, run.extra) == ([1.0], [2.0], [3.0], {"peer": "p"})
    assert run.first_step_seconds > 0
    assert run.peak_bytes > 1 << 20


def test_memory_on_a_gpu_is_what_the_program_reports():
    report = {"losses": [1.0], "grad_norms": [2.0], "step_seconds": [3.0], "peak_device_bytes": 7}
    script = f"import sys; print('ready', file=sys.stderr); print({json.dumps(json.dumps(report))})"
    finished = process.run([sys.executable, "-c", script])
    assert programs.read(finished, ["program"], "ready", "peak_device_bytes").peak_bytes == 7


def test_rows_are_held_against_the_ceilings_of_what_they_run_on():
    assert {row.name: row.ceilings for row in rows.select(["lora", "fp32-avx2", "gpu-full"])} == {
        "lora": "native",
        "fp32-avx2": "avx2",
        "gpu-full": "cuda",
    }


def test_other_kernels_than_the_row_asks_for_are_refused():
    (avx2,) = rows.select(["fp32-avx2"])
    programs.check_instruction_set(avx2, "loading on cpu (2 threads, avx2)")
    for line in ("loading on cpu (2 threads, avx512bf16)", ""):
        with pytest.raises(RuntimeError, match="avx2 kernels"):
            programs.check_instruction_set(avx2, line)
    programs.check_instruction_set(rows.select(["lora"])[0], "loading on cpu (2 threads, avx512bf16)")


def test_ceilings_of_the_doctor():
    examined = {
        "others_cores": 0.5,
        "ceilings": {
            "matrix_products": {"products": [{"dtype": "float32", "tflops": 0.2}]},
            "memory": {"read_gb_per_s": 40.0, "copy_gb_per_s": 50.0, "triad_gb_per_s": 45.0, "threads": 2},
        },
    }
    assert doctor.ceilings(examined) == {"tflops": {"float32": 0.2}, "memory_gb_per_s": 50.0, "others_cores": 0.5}


def test_ranks_of_both_programs_share_the_cores_and_ceilings_are_of_all():
    for row in rows.ROWS:
        assert "OMP_NUM_THREADS" not in row.process_environment
        assert ("OMP_NUM_THREADS" in row.rank_environment) == (row.ranks > 1)
