"""Several backwards a step on two ranks, reduced with each: the plugin `torch_ddp` against torch's own DDP."""

import ddp_peer
import pytest
import torch
from ports import free_port
from ranks import of_kind
from vit import SIZE, losses, norms, run

IMAGES, MICRO_BATCHES, RANKS = 50, 5, 2
PEERS = {
    "16-bit parameters": ({"dtype": torch.bfloat16, "compress": False}, {"precision": "bf16"}),
    "bf16_compress_hook": (
        {"dtype": torch.float32, "compress": True},
        {"knobs": {"communication_dtype": "bfloat16"}},
    ),
    "float32": ({"dtype": torch.float32, "compress": False}, {}),
}


@pytest.fixture(scope="module")
def torch_ddp(vit_model, image_file):
    """Of each peer the loss, the gradients' norm and the bytes sent with each backward, of one step over all images."""
    data = image_file.read_bytes()[64:]
    pixels = torch.frombuffer(bytearray(data[: IMAGES * 3 * SIZE * SIZE]), dtype=torch.uint8)
    images, labels = pixels.view(IMAGES, 3, SIZE, SIZE).float() / 255 * 2 - 1, torch.arange(IMAGES) % 3
    results = torch.multiprocessing.get_context("fork").SimpleQueue()
    batch = (str(vit_model), images, labels, MICRO_BATCHES)
    peers = [tuple(peer.values()) for peer, _ in PEERS.values()]
    torch.multiprocessing.start_processes(
        ddp_peer.steps, (RANKS, free_port(), peers, batch, results), nprocs=RANKS, start_method="fork"
    )
    return dict(zip(PEERS, results.get(), strict=True))


@pytest.mark.parametrize("name", PEERS)
def test_what_travels_with_each_micro_batch_and_what_comes_of_it(name, torch_ddp, vit_model, image_file, tmp_path):
    loss, norm, sent = torch_ddp[name]
    plan = {"plugin": "torch_ddp", "gradient_accumulation_steps": MICRO_BATCHES, "max_steps": 1, **PEERS[name][1]}
    plan = {**plan, "train_file": str(image_file), "num_labels": 3, "batch_size": IMAGES // RANKS}
    events = run(tmp_path, RANKS, model_dir=str(vit_model), **plan)[0]
    reduced = [event for event in of_kind(events, "collective") if event["operation"] == "all_reduce"]
    assert len(set(sent)) == 1
    assert sum(event["payload_bytes"] for event in reduced) == pytest.approx(sum(sent), rel=0.01)
    assert losses(events)[0] == pytest.approx(loss, rel=5e-3)
    assert norms(events)[0] == pytest.approx(norm, rel=2e-2)
