"""Loads two checkpoints of torch.distributed.checkpoint with stock torch; how many tensors they have, all the same."""

import json
import sys

import torch
import torch.distributed.checkpoint as dcp


def load(folder):
    reader = dcp.FileSystemReader(folder)
    entries = reader.read_metadata().state_dict_metadata
    state = {name: torch.empty(entry.size) for name, entry in entries.items() if name.startswith("model.")}
    dcp.load(state, storage_reader=reader, no_dist=True)
    return state


one, other = (load(folder) for folder in sys.argv[1:])
different = [name for name in one.keys() | other.keys() if name not in one or name not in other]
different += [name for name in one.keys() & other.keys() if not torch.equal(one[name], other[name])]
if different:
    sys.exit(f"{len(different)} tensors differ, {different[0]} among them")
print(json.dumps({"tensors": len(one)}))
