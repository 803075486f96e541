"""States that tests save and compare."""

import collections

import torch

# What torch.save writes and torch.load reads.
DTYPES = [
    torch.float64,
    torch.float32,
    torch.float16,
    torch.bfloat16,
    torch.int64,
    torch.int32,
    torch.int16,
    torch.int8,
    torch.uint64,
    torch.uint32,
    torch.uint16,
    torch.uint8,
    torch.bool,
    torch.complex128,
    torch.complex64,
    torch.complex32,
    torch.float8_e4m3fn,
    torch.float8_e4m3fnuz,
    torch.float8_e5m2,
    torch.float8_e5m2fnuz,
    torch.float8_e8m0fnu,
    torch.float4_e2m1fn_x2,
    torch.bits8,
    torch.bits16,
]
NOT_IN_SAFETENSORS = [torch.complex128, torch.complex32, torch.bits8, torch.bits16]


def tensor_of(dtype, *shape, seed=0):
    """Any bits that the dtype can have."""
    generator = torch.Generator().manual_seed(seed)
    count = torch.Size(shape).numel()
    if dtype == torch.bool:
        return torch.randint(0, 2, shape, generator=generator).bool()
    size = torch.empty(0, dtype=dtype).element_size()
    raw = torch.randint(0, 256, (count * size,), generator=generator, dtype=torch.uint8)
    return raw.view(dtype).reshape(shape) if count else torch.empty(shape, dtype=dtype)


def every_dtype(dtypes=DTYPES):
    return {f"of.{str(dtype).removeprefix('torch.')}": tensor_of(dtype, 6, 5, seed=i) for i, dtype in enumerate(dtypes)}


def plain_values():
    return {
        "none": None,
        "true": True,
        "int": 7,
        "negative": -70000,
        "large": 2**40,
        "huge": -(10**30),
        "float": 0.1,
        "nan": float("nan"),
        "complex": 1.5 - 2j,
        "text": 'naïve\n"text" ☃',
        "bytes": b"\x00\xff\x80abc",
        "no bytes": b"",
        "bytearray": bytearray(b"xyz"),
        "list": [1, [2, [3, "four"]], None],
        "tuple": (1, ("a", 2.5), ()),
        "set": {1, 2, 3},
        "frozenset": frozenset(["a"]),
        "dict": {"a": {"b": 1}, 3: "three", None: 0, (1, 2): "tuple"},
        "ordered": collections.OrderedDict([("z", 1), ("a", 2)]),
        "counter": collections.Counter({30: 1, 80: 2}),
        "size": torch.Size([2, 3]),
        "dtype": torch.bfloat16,
        "device": torch.device("cpu"),
    }


def training_state():
    """As a training of a small model leaves it, with the optimiser's numbered states."""
    model = torch.nn.Sequential(torch.nn.Linear(7, 5), torch.nn.BatchNorm1d(5), torch.nn.Linear(5, 3))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    scheduler = torch.optim.lr_scheduler.MultiStepLR(optimizer, [3, 5])
    model(torch.randn(4, 7)).sum().backward()
    optimizer.step()
    return {
        "model": model.state_dict(),
        "optimizer": optimizer.state_dict(),
        "scheduler": scheduler.state_dict(),
        "rng": torch.get_rng_state(),
        "epoch": 3,
        "best": float("inf"),
    }


def bits(tensor):
    if tensor.is_quantized:
        return tensor.int_repr()
    flat = tensor.detach().resolve_conj().resolve_neg().contiguous().reshape(-1)
    return flat.view(torch.uint8) if flat.numel() else flat


def assert_same(a, b, at="state", types=True):
    """To the bit; with `types` also the kinds of containers."""
    if isinstance(a, torch.Tensor):
        assert isinstance(b, torch.Tensor), at
        assert a.dtype == b.dtype and a.shape == b.shape, (at, a.dtype, b.dtype, a.shape, b.shape)
        assert torch.equal(bits(a), bits(b)), at
        if types:
            assert type(a) is type(b) and a.requires_grad == b.requires_grad, at
        return
    if types:
        assert type(a) is type(b), (at, type(a), type(b))
    if isinstance(a, dict):
        assert list(a) == list(b) if types else set(a) == set(b), (at, list(a), list(b))
        for key in a:
            assert_same(a[key], b[key], f"{at}[{key!r}]", types)
    elif isinstance(a, (list, tuple)):
        assert len(a) == len(b), at
        for i, (x, y) in enumerate(zip(a, b)):
            assert_same(x, y, f"{at}[{i}]", types)
    else:
        assert a == b or (a != a and b != b), (at, a, b)
