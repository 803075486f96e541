"""Dropout masks by their definition, put into transformers and peft in place of torch's."""

import itertools

import numpy as np
import torch

WORD = 0xFFFFFFFF
LONG = 0xFFFFFFFFFFFFFFFF


def split_mix(key):
    """SplitMix64's numbers from `key` on."""
    while True:
        key = (key + 0x9E3779B97F4A7C15) & LONG
        z = ((key ^ (key >> 30)) * 0xBF58476D1CE4E5B9) & LONG
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & LONG
        yield z ^ (z >> 31)


def stream_key(seed, name):
    """Of the FNV-1a hash of the name."""
    digest = 0xCBF29CE484222325
    for character in name.encode():
        digest = ((digest ^ character) * 0x100000001B3) & LONG
    return next(split_mix(seed ^ ((digest << 32 | digest >> 32) & LONG)))


def philox(counter, key):
    """Philox4x32-10 of arrays [4, n] and [2, n] of 32-bit words in 64 bits."""
    counter, key = counter.copy(), key.copy()
    for _ in range(10):
        first, second = counter[0] * np.uint64(0xD2511F53), counter[2] * np.uint64(0xCD9E8D57)
        counter = np.stack(
            [second >> 32 ^ counter[1] ^ key[0], second & WORD, first >> 32 ^ counter[3] ^ key[1], first & WORD]
        )
        key = np.stack([(key[0] + 0x9E3779B9) & WORD, (key[1] + 0xBB67AE85) & WORD])
    return counter


def mask(keys, stream, chance, features):
    """[tokens, features]: 0 where an element is dropped."""
    blocks = -(-features // 4)
    counter = np.zeros((4, len(keys), blocks), np.uint64)
    counter[0] = np.arange(blocks, dtype=np.uint64)
    counter[2], counter[3] = stream & WORD, stream >> 32
    words = np.array([[[key & WORD] for key in keys], [[key >> 32] for key in keys]], np.uint64)
    numbers = philox(counter, np.broadcast_to(words, (2, len(keys), blocks)))
    numbers = np.moveaxis(numbers, 0, -1).reshape(len(keys), -1)[:, :features]
    return torch.from_numpy((numbers >= int(chance * 2**32)).astype(np.float32))


class Masks:
    """Of a batch whose rows engine_probe draws with `seed`; padding has keys like any token."""

    def __init__(self, seed, rows, longest):
        generators = [split_mix(stream_key(seed, f"row {row}")) for row in range(rows)]
        self.keys = [[next(generator) for _ in range(longest)] for generator in generators]

    def of_features(self, x_RTF, name, chance):
        stream = stream_key(0, name)
        masks = torch.stack([mask(keys, stream, chance, x_RTF.shape[-1]) for keys in self.keys])
        return x_RTF * masks / (1 - chance)

    def of_probabilities(self, p_RNTT, name, chance):
        first = stream_key(0, name)
        heads, length = p_RNTT.shape[1], p_RNTT.shape[-1]
        masks = [[mask(keys, (first + head) & LONG, chance, length) for head in range(heads)] for keys in self.keys]
        return p_RNTT * torch.stack([torch.stack(of_heads) for of_heads in masks]) / (1 - chance)


def drop_probabilities(monkeypatch, model, masks):
    """Makes the eager attention of `model`'s layers, which run in order, drop by `masks`; what else drops has p 0."""
    layers = []
    paths = {"bloom": "transformer.h.{}.self_attention", "gpt_bigcode": "transformer.h.{}.attn"}
    path = paths.get(model.config.model_type, "model.layers.{}.self_attn")
    kinds = getattr(model.config, "layer_types", None) or ["full_attention"] * model.config.num_hidden_layers
    attending = [layer for layer, kind in enumerate(kinds) if kind != "linear_attention"]

    def dropout(p_RNTT, p, training, inplace=False):
        if not training or p == 0:
            return p_RNTT
        layers.append(attending[len(layers) % len(attending)])
        return masks.of_probabilities(p_RNTT, path.format(layers[-1]), p)

    monkeypatch.setattr(torch.nn.functional, "dropout", dropout)


def drop_features_in_order(monkeypatch, masks, names):
    """Makes what drops features as a function drop by `masks` under one of these names after the other."""
    calls = itertools.cycle(names)

    def dropout(x_RTF, p, training, inplace=False):
        return masks.of_features(x_RTF, next(calls), p) if training and p > 0 else x_RTF

    monkeypatch.setattr(torch.nn.functional, "dropout", dropout)


class DropFeatures(torch.nn.Module):
    def __init__(self, masks, name, chance):
        super().__init__()
        self.masks, self.name, self.chance = masks, name, chance

    def forward(self, x_RTF):
        return self.masks.of_features(x_RTF, self.name, self.chance) if self.training else x_RTF


def drop_modules(model, masks):
    """Makes the dropout layers of `model` drop by `masks`."""
    for name, module in list(model.named_modules()):
        if isinstance(module, torch.nn.Dropout):
            model.set_submodule(name, DropFeatures(masks, name, module.p).train(module.training))


def drop_adapters(wrapped, masks):
    """Makes the adapters of a peft model drop by `masks`."""
    for name, module in wrapped.named_modules():
        if hasattr(module, "lora_dropout"):
            dropout = module.lora_dropout["default"]
            path = name.removeprefix("base_model.model.")
            module.lora_dropout["default"] = DropFeatures(masks, path, dropout.p)
