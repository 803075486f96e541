"""One step of a ViT under torch's DistributedDataParallel, several backwards a step: what `torch_ddp` is held against."""

import os

import torch
import torch.distributed as dist
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks
from torch.nn.parallel import DistributedDataParallel
from transformers import ViTForImageClassification


def steps(rank, ranks, port, peers, batch, results):
    """Rank 0 puts what step() returns into `results`, for one after the other of `peers`."""
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    torch.set_num_threads(1)
    dist.init_process_group("gloo", rank=rank, world_size=ranks)
    outcomes = [step(rank, ranks, *peer, *batch) for peer in peers]
    if rank == 0:
        results.put(outcomes)
    dist.destroy_process_group()


def step(rank, ranks, dtype, compress, model_dir, images, labels, micro_batches):
    """The mean loss, the norm of this rank's gradients and the bytes sent with each backward."""
    model = DistributedDataParallel(ViTForImageClassification.from_pretrained(model_dir, dtype=dtype))
    sent = []

    def count(group, bucket):
        width = 2 if compress else bucket.buffer().element_size()
        sent[-1] += bucket.buffer().numel() * width
        hook = default_hooks.bf16_compress_hook if compress else default_hooks.allreduce_hook
        return hook(group, bucket)

    model.register_comm_hook(dist.group.WORLD, count)
    losses = []
    for batch, wanted in zip(
        images[rank::ranks].chunk(micro_batches), labels[rank::ranks].chunk(micro_batches), strict=True
    ):
        sent.append(0)
        logits = model(pixel_values=batch.to(dtype)).logits
        loss = torch.nn.functional.cross_entropy(logits.float(), wanted)
        (loss / micro_batches).backward()
        losses.append(loss.detach())
    mean = torch.stack(losses).mean()
    dist.all_reduce(mean)
    norm = torch.stack([p.grad.float().norm() for p in model.parameters()]).norm()
    return mean.item() / ranks, norm.item(), sent
