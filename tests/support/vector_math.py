"""Imported before torch computes: the first call of a function that several threads make at once may be of low accuracy
(src/engine/kernels/vector_math.h), and the references must not be."""

import torch

for function in (torch.cos, torch.exp, torch.log, torch.sin, torch.sqrt):
    function(torch.ones(1))
