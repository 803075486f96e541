"""What tests of every launcher share: a space that is explored, what is measured of it, and who still runs."""

import json
import os
import pathlib
import subprocess
import time

EXAMPLES = pathlib.Path(__file__).parents[2] / "examples" / "launchers"


def run_space(assay, space, store, ranks, *options, wait=True):
    """Explores `space` over `ranks` ranks a point."""
    text = space.read_text()
    if ranks > 1 and "number_ranks" not in text:
        domain = f"  - {{ identifier: number_ranks, propertyDomain: {{ values: [{ranks}] }} }}\n"
        text = text.replace("values: [1, 2]", f"values: [{ranks}, {2 * ranks}]")  # rows that ranks share evenly
        space.write_text(text.replace("experiments:\n", domain + "experiments:\n"))
    arguments = ["explore", space, "--store", store, *options]
    return assay.ok(*arguments) if wait else assay.start(*arguments)


def measurements(assay, space, store):
    out = assay.ok("results", space, "--store", store, "--output", "json")
    return json.loads(out)


def measurement(assay, space, store):
    (only,) = measurements(assay, space, store)
    return only


def wait_until(condition, seconds=300):
    deadline = time.monotonic() + seconds
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.05)
    return condition()


def end_a_run_early(assay, space, store, *launcher):
    """Of four points, one after the other, with `slow_worker`: one is behind, and would go on for ever."""
    rule = ["--end-early", "halving", "--end-early-from", 2]
    out = assay.ok("explore", space, "--store", store, "--workers", 1, *rule, *launcher)
    assert "4 points: 3 measured, 0 replayed, 0 invalid, 0 failed, 1 ended early" in out
    (ended,) = [m for m in measurements(assay, space, store) if "ended_early" in m["provenance"]]
    assert ended["reason"].startswith("ended early: behind at step 2"), ended["reason"]
    assert len(ended["series"]["step_seconds"]) == 2


def run_example(assay, name, out):
    """The script of examples/launchers of that launcher, from nothing to a report in the folder `out`."""
    environment = assay.env | {"PATH": f"{os.environ['ASSAY_BIN_DIR']}:{assay.env['PATH']}", "OUT": str(out)}
    script = EXAMPLES / f"{name}.sh"
    finished = subprocess.run([script], env=environment, capture_output=True, text=True, timeout=900)
    assert finished.returncode == 0, finished.stderr
    assert "4 points: 4 measured" in finished.stdout
    assert "<html" in (out / f"{name}.html").read_text()


def workers_of(assay):
    """Processes of workers, quick ones too, that this test started, on whatever machine of its cluster."""
    found = []
    for entry in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            command = (entry / "cmdline").read_bytes().split(b"\0")[:2]
            if (
                any(word.endswith(b"-worker") for word in command)
                and f"ASSAY_TEST_HOME={assay.home}\0".encode() in (entry / "environ").read_bytes()
            ):
                found.append(int(entry.name))
        except OSError:
            pass
    return found
