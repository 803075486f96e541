"""The vision transformers of these tests, their images, and the worker on plans for them."""

import json
import struct

import pytest
import torch
from ranks import finish_ranks, of_kind, start_ranks
from transformers import ViTConfig, ViTForImageClassification
from worker import DEVICE

SIZE, CLASSES = 16, ["cat", "dog", "emu"]
HYBRID = {"plugin": "hybrid_parallel", "batch_size": 4, "learning_rate": 1e-3}


def save_model(folder, **config):
    """An untrained one, for three classes."""
    torch.manual_seed(0)
    ViTForImageClassification(ViTConfig(num_labels=3, **config)).save_pretrained(folder)
    return folder


def write_images(path):
    """Three classes that differ in brightness; written by the layout that src/data/image_file.h states."""
    generator = torch.Generator().manual_seed(1)
    labels = [i % 3 for i in range(50)]
    images = b"".join(
        (torch.randint(0, 60, (3, SIZE, SIZE), generator=generator) + 90 * label).to(torch.uint8).numpy().tobytes()
        for label in labels
    )
    names = b"".join(name.encode() + b"\n" for name in CLASSES)

    def padded(data):
        return data + bytes(-len(data) % 8)

    header = b"ASSAYIMG" + struct.pack("<IIqq", 1, 0, SIZE, SIZE) + bytes(32)
    trailer = struct.pack("<QQQ", len(labels), len(CLASSES), len(names)) + b"ASSAYEND"
    label_bytes = padded(struct.pack(f"<{len(labels)}i", *labels))
    path.write_bytes(header + padded(images) + label_bytes + padded(names) + trailer)
    return path


def write_plan(folder, ranks=1, **plan):
    plan = {
        "kind": "vit",
        "schema": 1,
        "synthetic": "train_file" not in plan,
        "synthetic_labels": 3,
        "number_ranks": ranks,
        "threads": 1,
        "max_steps": 4,
        "batch_size": 4 // ranks,
        "device": DEVICE,
        **plan,
    }
    path = folder / "plan.json"
    path.write_text(json.dumps(plan))
    return path


def start(folder, ranks=1, machines=1, **plan):
    """A process for every rank, by rank; they take each other to be on so many machines, equally many on each."""
    return start_ranks(write_plan(folder, ranks, **plan), ranks, machines)


def run(folder, ranks=1, expect=0, machines=1, **plan):
    """The events of every rank, by rank."""
    return finish_ranks(start(folder, ranks, machines, **plan), expect)


def losses(events):
    return [event["loss"] for event in of_kind(events, "step")]


def norms(events):
    return [event["grad_norm"] for event in of_kind(events, "step")]


def assert_same_course(events, other, loss_tolerance, norm_tolerance):
    """Relative. The loss of a few steps hardly notices a wrong backward, the norm does."""
    assert losses(events) == pytest.approx(losses(other), rel=loss_tolerance)
    assert norms(events) == pytest.approx(norms(other), rel=norm_tolerance)
