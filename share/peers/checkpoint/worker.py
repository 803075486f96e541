"""One rank of a checkpoint benchmark by another library: reads the plan and writes the events that assay-worker does."""

import argparse
import importlib
import json
import os
import sys
import time

import places
from events import Events, end_with_controller, measured

# What libraries do not tell.
UNKNOWN = dict.fromkeys(("read_requests", "write_requests", "retries"), -1)


class Run:
    def __init__(self, plan, events):
        self.plan, self.events = plan, events
        self.rank = int(os.environ.get("RANK", 0))
        self.state = None

    def carry_out(self):
        import torch
        import torch.distributed as dist

        torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", 0)) or torch.get_num_threads())
        if self.rank == 0:
            version = torch.__version__.split("+")[0]
            where = {"device": "cpu", "threads": torch.get_num_threads(), "isa": ""}
            self.events.write("started", pid=os.getpid(), libtorch=version, **where)
        is_single = self.plan["format"] == "ckpt"
        if not is_single:
            alone = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "0", "RANK": "0", "WORLD_SIZE": "1"}
            if "RANK" not in os.environ:
                os.environ.update(alone)
            dist.init_process_group("gloo")
        if self.rank == 0:
            # The place is this point's alone: an earlier run of it was killed, or kept what it saved.
            places.remove(self.plan["output_dir"])
        self.meet()
        # Imported only now: what is missing is said by an event.
        module = importlib.import_module("single" if is_single else "sharded")
        self.state = (module.SingleFileState if is_single else module.ShardedState)(self.plan)
        self.loads() if self.plan["operation"] == "load" else self.saves()
        if dist.is_initialized():
            dist.barrier()
            dist.destroy_process_group()

    def meet(self):
        import torch.distributed as dist

        if dist.is_initialized():
            dist.barrier()

    def step(self, number):
        made = self.state.advance(number)
        if made is not None:
            self.events.step(number, *made)

    def measure(self, operation, repeat, work):
        self.meet()
        fields = measured(work)
        named = {"rank": self.rank, "operation": operation, "repeat": repeat, "state_bytes": self.state.bytes}
        return named | fields | UNKNOWN | {"is_verified": False}

    def read_and_verify(self, number):
        self.state.prepare_load()
        self.state.load(number)
        self.state.verify()

    def saves(self):
        repeats = self.plan["repeats"]
        for number in range(1, repeats + 1):
            self.step(number)
            transfer = self.measure("save", number, lambda number=number: self.state.save(number))
            if number == repeats:
                self.meet()
                self.read_and_verify(number)
                transfer["is_verified"] = True
            self.events.write("checkpoint_transfer", **transfer)
            self.meet()
            if number > 1:
                self.state.remove(number - 1)
        self.remove_last(repeats)

    def loads(self):
        self.step(1)
        self.meet()
        self.state.save(1)
        for repeat in range(1, self.plan["repeats"] + 1):
            self.state.prepare_load()
            self.meet()
            if self.plan["clear_cache"] and self.rank == 0:
                places.drop_from_page_cache(self.plan["output_dir"])
            transfer = self.measure("load", repeat, lambda: self.state.load(1))
            # Loads of a ckpt take the memory of what they load.
            if self.plan["format"] == "ckpt" and transfer["beyond_bytes"] > 0:
                transfer["beyond_bytes"] = max(0, transfer["beyond_bytes"] - self.state.bytes)
            self.state.verify()
            self.events.write("checkpoint_transfer", **(transfer | {"is_verified": True}))
        self.remove_last(1)

    def remove_last(self, number):
        self.meet()
        if not self.plan["keeps_last"]:
            self.state.remove(number)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--plan", required=True)
    with open(parser.parse_args().plan) as file:
        plan = json.load(file)
    events = Events()
    end_with_controller()
    begin = time.monotonic()
    run = Run(plan, events)
    try:
        run.carry_out()
    except ImportError as error:
        events.ended("invalid", f"client {plan['client']} lacks a Python package: {error} (run script/peers)")
        return 2
    except Exception as error:
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        events.ended("error", f"rank {run.rank}: client {plan['client']}: {reason}")
        return 1
    if run.rank == 0:
        events.ended(seconds=time.monotonic() - begin)
    return 0


if __name__ == "__main__":
    code = main()
    sys.stderr.flush()
    # Threads of libraries do not keep the process.
    os._exit(code)
