"""The events of a worker (src/job/event.h), and what is measured around a save or a load."""

import json
import os
import resource
import signal
import threading
import time


def take_standard_output():
    """Standard output belongs to the events: what libraries print goes to standard error."""
    events = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    return events


class Events:
    def __init__(self):
        self.file = take_standard_output()

    def write(self, name, **fields):
        self.file.write(json.dumps({"event": name, **fields}) + "\n")
        self.file.flush()

    def ended(self, kind="done", reason="", seconds=0.0):
        fields = {"kind": kind, "reason": reason, "stopped_by": "", "train_runtime": seconds}
        zeros = ("warmup_steps", "warmup_seconds", "peak_tensor_bytes", "peak_reserved_bytes")
        self.write("ended", **fields, **dict.fromkeys(zeros, 0))

    def step(self, number, loss, seconds, **more):
        zeros = "grad_norm learning_rate forward_seconds backward_seconds optimizer_seconds samples real_tokens"
        zeros += " padded_tokens supervised_tokens forward_only forward_peak_bytes backward_peak_bytes"
        zeros += " optimizer_peak_bytes"
        fields = {"step": number, "loss": loss, "seconds": seconds, "loss_scale": 1, "skipped": False}
        self.write("step", **fields, **(dict.fromkeys(zeros.split(), 0) | more))


#: That a process may take to clean up behind a controller that is gone.
LAST_SECONDS = 20


def end_with_controller():
    """Standard input is a pipe that closes when whoever started this ends. What SIGTERM does is done then."""
    if "ASSAY_LIFELINE" in os.environ:

        def wait():
            while os.read(0, 1):
                pass
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(LAST_SECONDS)
            os._exit(1)

        threading.Thread(target=wait, daemon=True).start()


def memory_bytes(field):
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith(field))


def cpu_seconds():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def starts_peak_anew():
    """Of resident memory; whether the system can."""
    try:
        with open("/proc/self/clear_refs", "w") as file:
            file.write("5")
    except OSError:
        return False
    return True


def measured(work):
    """What a call of `work` took, as fields of a checkpoint_transfer."""
    tells_memory = starts_peak_anew()
    before, cpu, begin = memory_bytes("VmRSS"), cpu_seconds(), time.monotonic()
    work()
    seconds = time.monotonic() - begin
    return {
        "began_seconds": begin,
        "seconds": seconds,
        "stall_seconds": seconds,
        "cpu_seconds": cpu_seconds() - cpu,
        "beyond_bytes": max(0, memory_bytes("VmHWM") - before) if tells_memory else -1,
    }
