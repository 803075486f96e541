"""Stock torch over ranks: python dcp_ranks.py RANKS save|load|fsdp-save|fsdp-load FOLDER [FOLDER ...]"""

import os
import pathlib
import sys
import tempfile

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
import torch.multiprocessing as mp
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Replicate, Shard, distribute_tensor

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from states import assert_same  # noqa: E402

KINDS = ("full", "sharded", "local")


def whole_state():
    generator = torch.Generator().manual_seed(1)
    model = {
        "rows": torch.randn(7, 5, generator=generator),
        "columns": torch.randn(4, 9, generator=generator).to(torch.bfloat16),
        "large": torch.randn(130, 257, generator=generator),
        "replicated": torch.arange(6),
        "one row": torch.randn(1, 8, generator=generator),
    }
    return {"model": model, "step": 3, "plain": torch.ones(2, 2)}


def placement(name):
    return {"rows": Shard(0), "columns": Shard(1), "large": Shard(0), "one row": Shard(0)}.get(name, Replicate())


def distributed(whole, mesh):
    return {name: distribute_tensor(tensor, mesh, [placement(name)]) for name, tensor in whole.items()}


def save(mesh, folder):
    state = whole_state()
    state["model"] = distributed(state["model"], mesh)
    dcp.save(state, storage_writer=dcp.FileSystemWriter(folder, thread_count=2))


def load(mesh, *folders):
    whole = whole_state()
    for folder in folders:
        zeros = {name: torch.zeros_like(tensor) for name, tensor in whole["model"].items()}
        state = {"model": distributed(zeros, mesh), "step": 0, "plain": torch.zeros(2, 2)}
        dcp.load(state, checkpoint_id=folder)
        state["model"] = {name: tensor.full_tensor() for name, tensor in state["model"].items()}
        assert_same(whole, state, types=False)


def fsdp_model(seed):
    from torch.distributed.fsdp import FullyShardedDataParallel

    torch.manual_seed(seed)
    model = torch.nn.Sequential(torch.nn.Linear(9, 13), torch.nn.ReLU(), torch.nn.Linear(13, 5))
    return FullyShardedDataParallel(model, device_id=torch.device("cpu"))


def state_dict_type(model, kind):
    from torch.distributed.fsdp import FullyShardedDataParallel, StateDictType

    kinds = {
        "full": StateDictType.FULL_STATE_DICT,
        "sharded": StateDictType.SHARDED_STATE_DICT,
        "local": StateDictType.LOCAL_STATE_DICT,
    }
    return FullyShardedDataParallel.state_dict_type(model, kinds[kind])


def fsdp_save(mesh, folder):
    model = fsdp_model(7)
    for kind in KINDS:
        with state_dict_type(model, kind):
            dcp.save({"model": model.state_dict()}, checkpoint_id=f"{folder}/{kind}")


def fsdp_load(mesh, folder):
    expected = fsdp_model(7)
    for kind in KINDS:
        model = fsdp_model(8)
        with state_dict_type(model, kind):
            state = {"model": model.state_dict()}
            with torch.no_grad():  # local state dicts are views of the flat parameter
                dcp.load(state, checkpoint_id=f"{folder}/{kind}")
            model.load_state_dict(state["model"])
        for a, b in zip(expected.parameters(), model.parameters()):
            assert torch.equal(a, b), kind


def rank_main(rank, ranks, rendezvous, action, arguments):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{rendezvous}", rank=rank, world_size=ranks)
    mesh = init_device_mesh("cpu", (ranks,))
    {"save": save, "load": load, "fsdp-save": fsdp_save, "fsdp-load": fsdp_load}[action](mesh, *arguments)
    dist.barrier()
    os._exit(0)  # threads of gloo's sub-groups may end the interpreter by SIGABRT, long after all is done


if __name__ == "__main__":
    ranks, action, *arguments = sys.argv[1:]
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    with tempfile.TemporaryDirectory() as folder:
        given = (int(ranks), f"{folder}/rendezvous", action, arguments)
        mp.start_processes(rank_main, given, nprocs=int(ranks), start_method="fork")
