"""A command of a step, with what it took of the machine."""

import dataclasses
import json
import os
import signal
import subprocess
import time

from connector.place import counted


@dataclasses.dataclass
class Step:
    """What a command took; `said` is the JSON that it printed, none of a command that was killed."""

    seconds: float
    cpu_percent: float  # of all cores
    memory_percent: float  # of the machine's, the largest of its processes at its peak
    said: dict
    store: dict | None  # what the store counted meanwhile: place.counted()


def machine_bytes():
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def run(command, place, folder, kill_after=None):
    """Ends as RuntimeError with the command's last line where it fails. Behind `kill_after` seconds it and all that it
    started are killed, as a machine that is lost ends them."""
    environment = dict(os.environ, TMPDIR=str(folder), CUDA_VISIBLE_DEVICES="") | place.environment
    command = [str(word) for word in command]
    before = place.metrics()
    output, errors = folder / "output.json", folder / "errors.txt"
    with open(output, "w") as out, open(errors, "w") as err:
        start = time.perf_counter()
        process = subprocess.Popen(command, stdout=out, stderr=err, env=environment, start_new_session=True)
        if kill_after is not None:
            time.sleep(kill_after)
            os.killpg(process.pid, signal.SIGKILL)
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != (0 if kill_after is None else -signal.SIGKILL):
        lines = errors.read_text().strip().splitlines() or ["it said nothing"]
        raise RuntimeError(f"{' '.join(command)} ended with {process.returncode}: {lines[-1]}")
    text = output.read_text()
    return Step(
        seconds=seconds,
        cpu_percent=100 * (usage.ru_utime + usage.ru_stime) / seconds / len(os.sched_getaffinity(0)),
        memory_percent=100 * usage.ru_maxrss * 1024 / machine_bytes(),
        said=json.loads(text[text.index("{") :]) if "{" in text else {},
        store=counted(before, place.metrics()),
    )
