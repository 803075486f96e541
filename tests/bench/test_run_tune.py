"""The whole of script/bench tune with programs that only pretend."""

import json
import pathlib

import pytest
import run_tune
from fakes import make_run
from harness import rows
from harness.workload import Workload, make_rows

CONFIG = {
    "hidden_size": 8,
    "intermediate_size": 12,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "vocab_size": 40,
}
DOCTOR = {
    "others_cores": 0.0,
    "machine": {
        "cpu_model": "a CPU",
        "usable_cores": 2,
        "isa": ["avx2"],
        "memory_bytes": 2**33,
        "os": "Debian",
        "gpus": [],
    },
    "versions": {"commit": "abc"},
    "ceilings": {
        "matrix_products": {"products": [{"dtype": "bfloat16", "tflops": 0.4}, {"dtype": "float32", "tflops": 0.2}]},
        "memory": {"read_gb_per_s": 40.0, "copy_gb_per_s": 50.0, "triad_gb_per_s": 45.0},
    },
}


class Bench:
    """Runs main() in a temporary folder; losses can be set for each side."""

    def __init__(self, monkeypatch, folder):
        self.monkeypatch, self.folder = monkeypatch, folder
        self.loss = {"ours": 3.0, "theirs": 3.0}
        self.calls = []
        monkeypatch.setattr(run_tune.doctor, "examine", lambda *_, **__: DOCTOR)
        monkeypatch.setattr(run_tune.workload, "prepare", self.prepare)
        monkeypatch.setattr(run_tune.programs, "run_ours", lambda row, *_: self.run("ours", row, 1.0))
        monkeypatch.setattr(run_tune.programs, "run_peer", lambda row, *_: self.run("theirs", row, 4.0))

    def prepare(self, row, _):
        nowhere = pathlib.Path("nowhere")
        return Workload(nowhere, nowhere, nowhere, CONFIG, make_rows(row, CONFIG["vocab_size"]))

    def run(self, side, row, seconds):
        self.calls.append((side, row.name))
        count = row.all_steps
        return make_run([self.loss[side]] * count, [1.0] * count, [seconds] * count)

    def main(self, *arguments):
        places = ["--bin-dir", str(self.folder), "--data-dir", str(self.folder / "data")]
        if "--quick" not in arguments:
            places += ["--output-dir", str(self.folder / "out")]
        self.monkeypatch.setattr("sys.argv", ["run_tune.py", *places, *arguments])
        return run_tune.main()

    def results(self, folder="out"):
        (path,) = (self.folder / folder).glob("tune-*.json")
        return json.loads(path.read_text()), path.with_suffix(".md").read_text()


@pytest.fixture
def bench(monkeypatch, tmp_path):
    return Bench(monkeypatch, tmp_path)


def test_rows_and_turns(bench):
    assert bench.main("--rows", "lora,start", "--turns", "5") == 0
    assert bench.calls == [("ours", "lora"), ("theirs", "lora")] * 5 + [("ours", "start"), ("theirs", "start")] * 5
    data, text = bench.results()
    assert {name: len(entry["turns"]) for name, entry in data["rows"].items()} == {"lora": 5, "start": 5}
    assert "4.00 (4.00 to 4.00)" in text
    assert data["sessions"][0]["programs"] == "abc"


def test_a_run_that_is_cut_off_names_the_rows_that_it_did_not_come_to(bench, monkeypatch):
    def run_ours(row, *_):
        if row.name == "full":
            raise KeyboardInterrupt
        return bench.run("ours", row, 1.0)

    monkeypatch.setattr(run_tune.programs, "run_ours", run_ours)
    with pytest.raises(KeyboardInterrupt):
        bench.main("--rows", "lora,full", "--turns", "1")
    data, text = bench.results()
    assert len(data["rows"]["lora"]["turns"]) == 1 and not data["rows"]["lora"]["problem"]
    assert "**full**: not measured" in text


def test_further_turns_join_and_a_new_table_begins_anew(bench):
    bench.main("--rows", "lora", "--turns", "2")
    bench.main("--rows", "lora,full", "--turns", "1", "--append")
    data, text = bench.results()
    assert [turn["session"] for turn in data["rows"]["lora"]["turns"]] == [0, 0, 1]
    assert len(data["rows"]["full"]["turns"]) == 1
    assert "2. 2" in text  # the second invocation
    bench.main("--rows", "lora", "--turns", "1")
    assert list(bench.results()[0]["rows"]) == ["lora"]


def test_a_row_that_differs_is_reported_and_the_others_go_on(bench):
    bench.loss["theirs"] = 3.001  # within what bfloat16 may differ by, not float32
    assert bench.main("--rows", "fp32-avx2,lora", "--turns", "2") == 1
    data, text = bench.results()
    assert "losses differ by 0.033%" in data["rows"]["fp32-avx2"]["problem"]
    assert bench.calls.count(("ours", "fp32-avx2")) == 1
    assert "- **fp32-avx2**: losses differ" in text
    assert "| lora |" in text


def test_quick_is_one_step_of_every_row_apart_from_the_results(bench):
    assert bench.main("--quick") == 0
    data, _ = bench.results("data/quick")
    assert list(data["rows"]) == [row.name for row in rows.ROWS if row.device == "cpu"]
    assert all(len(e["turns"]) == 1 and e["row"]["steps"] == 1 for e in data["rows"].values())


def test_a_gpu_row_needs_a_gpu(bench):
    with pytest.raises(RuntimeError, match="gpu-lora: this machine has no GPU"):
        bench.main("--rows", "gpu-lora")
    assert bench.calls == []


def test_mistakes_end_with_a_line(bench, capsys):
    for arguments in (["--rows", "nonsense"], ["--turns", "0"]):
        with pytest.raises(SystemExit):
            bench.main(*arguments)
    assert "no row is called nonsense" in capsys.readouterr().err
