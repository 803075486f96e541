"""Controllers killed, hung up and stopped at seeded moments: no orphan, no folder left, no point twice, none lost."""

import os
import pathlib
import random
import signal
import sqlite3
import sys
import time

import pytest
from conftest import BIN

POINTS = 4
VALID_BY_POINT = "select point_id, count(*) from measurements where outcome = 'valid' group by point_id"


@pytest.fixture
def store(tmp_path):
    return f"sqlite:///{tmp_path}/store.db"


@pytest.fixture
def temporary(assay, tmp_path):
    """Where controllers make their folders: named in the command line of every worker."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    assay.env["TMPDIR"] = str(folder)
    return folder


def workers(temporary):
    found = []
    for entry in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if str(temporary).encode() in entry.read_bytes():
                found.append(int(entry.parent.name))
        except OSError:
            pass
    return found


def wait_until(condition, seconds=300):
    deadline = time.monotonic() + seconds
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.02)
    return condition()


def rows(store, query):
    with sqlite3.connect(store.removeprefix("sqlite:///")) as connection:
        return connection.execute(query).fetchall()


def kill(process, chance):
    process.kill()


def hang_up(process, chance):
    process.send_signal(signal.SIGHUP)


def stop_and_kill(process, chance):
    process.send_signal(signal.SIGSTOP)
    time.sleep(chance.uniform(0.1, 1))
    process.kill()


def stop_for_a_while(process, chance):
    """Long enough for the run to be found standing still."""
    process.send_signal(signal.SIGSTOP)
    time.sleep(3)
    process.send_signal(signal.SIGCONT)


@pytest.mark.parametrize("end", [kill, hang_up, stop_and_kill, stop_for_a_while])
@pytest.mark.parametrize("seed", [1, 2])
def test_nothing_is_left_and_nothing_is_lost(assay, space, store, temporary, end, seed):
    chance = random.Random(f"{end.__name__} {seed}")
    space.write_text(space.read_text().replace("value: 2", "value: 60", 1))
    process = assay.start("explore", space, "--store", store)
    # Half of the moments fall into the start of a worker, half into its run.
    wait_until(lambda: workers(temporary) or process.poll() is not None)
    time.sleep(chance.choice([chance.uniform(0, 0.3), chance.uniform(0.3, 3)]))
    end(process, chance)
    process.communicate(timeout=300)
    assert wait_until(lambda: not workers(temporary)), "a worker outlives its controller"

    for _ in range(3):
        result = assay("explore", space, "--store", store)
        if result.returncode == 0:
            break
    assert result.returncode == 0, result.stderr
    valid = rows(store, VALID_BY_POINT)
    assert [count for _, count in valid] == [1] * POINTS
    assert rows(store, "select * from fenced_claims") == []
    assert [name for name in os.listdir(temporary) if name.startswith("assay-run-")] == []


def test_a_run_during_which_its_controller_was_stopped_is_not_taken(assay, space, store, gate):
    process = assay.start("explore", space, "--store", store, "--max-points", 1)
    with gate(process):
        process.send_signal(signal.SIGSTOP)
        time.sleep(2.5)  # more than a controller may be away
        process.send_signal(signal.SIGCONT)
    process.communicate(timeout=300)
    assert rows(store, "select outcome from measurements") == [("failed",)]
    assert "stood still" in rows(store, "select reason from contents")[0][0]


# The kernel wakes stopped groups that lose their last parent of the session; who is in no such group sleeps on.
WORKER_OF_ANOTHER_SESSION = """\
#!{python}
import os, sys
os.setpgid(0, os.getpgid(os.getppid()))
os.setsid()
os.execv("{worker}", ["assay-worker", *sys.argv[1:]])
"""


def test_a_stopped_worker_ends_with_its_controller(assay, space, store, temporary, tmp_path):
    """It cannot find its pipe closed: only the kernel's signal at its parent's death ends it."""
    script = tmp_path / "worker"
    script.write_text(WORKER_OF_ANOTHER_SESSION.format(python=sys.executable, worker=BIN / "assay-worker"))
    script.chmod(0o755)
    assay.env["ASSAY_WORKER"] = str(script)
    space.write_text(space.read_text().replace("value: 2", "value: 10000", 1))
    process = assay.start("explore", space, "--store", store)
    assert wait_until(lambda: workers(temporary))
    (worker,) = workers(temporary)
    # The thread that watches the pipe is started after the signal was asked for.
    assert wait_until(lambda: len(os.listdir(f"/proc/{worker}/task")) > 1)
    os.kill(worker, signal.SIGSTOP)
    assert wait_until(lambda: pathlib.Path(f"/proc/{worker}/stat").read_text().split()[2] == "T")
    process.kill()
    process.communicate(timeout=300)
    try:
        assert wait_until(lambda: not workers(temporary)), "a stopped worker outlives its controller"
    finally:
        for left in workers(temporary):
            os.kill(left, signal.SIGKILL)


def test_a_second_explorer_takes_over_from_a_killed_one(assay, space, store, temporary):
    space.write_text(space.read_text().replace("value: 2", "value: 60", 1))
    first = assay.start("explore", space, "--store", store)
    assert wait_until(lambda: workers(temporary))
    second = assay.start("explore", space, "--store", store)
    assert wait_until(lambda: len(workers(temporary)) >= 2 or second.poll() is not None)
    first.kill()
    first.communicate(timeout=300)
    assert second.communicate(timeout=300) and second.returncode == 0
    valid = rows(store, VALID_BY_POINT)
    assert [count for _, count in valid] == [1] * POINTS
    assert workers(temporary) == []
