"""What a checkpoint benchmark saves: values that follow from the seed and an element's place alone.

src/engine/train/checkpoint_run/sharded_state.cc makes the same.
"""

import torch

BLOCK = 1 << 22  # elements at a time: the arithmetic is in 64 bits


def salt_of(seed, place):
    return (seed * 7919 + place * 40503) & 0xFFFFFFFF


def values(seed, place, begin, count):
    """Elements from `begin` on of the tensor at `place` in the plan's list, as a flat float32 tensor."""
    made = torch.empty(count)
    for first in range(0, count, BLOCK):
        last = min(count, first + BLOCK)
        index = torch.arange(begin + first, begin + last, dtype=torch.int64) & 0xFFFFFFFF
        # 32 bits times 32 bits, of which the low 32 count.
        low = (index * (2654435761 & 0xFFFF)) & 0xFFFFFFFF
        high = ((index & 0xFFFF) * (2654435761 >> 16)) << 16
        mixed = (low + high + salt_of(seed, place)) & 0xFFFFFFFF
        made[first:last] = (mixed >> 8).to(torch.float32) * 2.0**-24
    return made


def parse(text):
    """A tensor of a plan's list: its name and its shape."""
    name, sizes = text.rsplit(" ", 1)
    return name, [int(size) for size in sizes.split("x")]


def rows_of(shape, rank, ranks):
    """The first row of a rank and the one behind its last, as torch.chunk deals them."""
    chunk = -(-shape[0] // ranks)
    begin = min(shape[0], rank * chunk)
    return begin, min(shape[0], begin + chunk)
