"""assay doctor, help and version."""

import json
import signal
import subprocess
import time

from conftest import BIN


def test_doctor_quick_describes_the_machine(assay):
    doctor = json.loads(assay.ok("doctor", "--quick", "--output", "json"))
    assert doctor["machine"]["usable_cores"] >= 1 and doctor["machine"]["memory_bytes"] > 0


def test_an_interrupt_while_products_are_measured_is_one(assay, tmp_path):
    started = tmp_path / "started"
    worker = tmp_path / "worker"
    worker.write_text(f"#!/bin/sh\n: > {started}\nexec sleep 3600\n")
    worker.chmod(0o755)
    assay.env["ASSAY_WORKER"] = str(worker)
    process = assay.start("doctor", "--folder", tmp_path)
    for _ in range(3000):
        if started.exists() or process.poll() is not None:
            break
        time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=300)
    assert process.returncode == 130, err
    assert "interrupted" in err.splitlines()[-1] and "by hand" not in err


def test_version_names_libtorch(assay):
    assert "libtorch 2." in assay.ok("--version")


def test_every_verb_explains_itself(assay):
    for verb in ["tune", "run", "explore", "results", "report", "experiments", "doctor"]:
        assert "Usage" in assay.ok(verb, "--help")


def test_manual_lists_properties_and_targets(assay):
    text = assay.ok("experiments", "finetune_lora_benchmark-v1.0.0")
    assert "lora_alpha" in text and "dataset_tokens_per_second" in text


def test_controller_does_not_link_libtorch():
    linked = subprocess.run(["ldd", BIN / "assay"], capture_output=True, text=True, check=True).stdout
    assert "torch" not in linked
