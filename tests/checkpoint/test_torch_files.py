"""Files of torch.save: what stock torch writes is read, what is written stock torch reads, bit for bit."""

import pathlib
import zipfile

import pytest
import states
import torch
from states import assert_same


def load(path, **options):
    return torch.load(path, weights_only=options.pop("weights_only", True), **options)


@pytest.fixture(scope="module", autouse=True)
def safe_names():
    """Of plain_values(): the weights_only machine knows neither by itself."""
    torch.serialization.add_safe_globals([frozenset, bytes])


@pytest.mark.parametrize("legacy", [False, True])
def test_every_dtype_and_value_comes_back(cli, tmp_path, legacy):
    state = {"tensors": states.every_dtype(), "values": states.plain_values(), **states.training_state()}
    torch.save(state, tmp_path / "stock.pt", _use_new_zipfile_serialization=not legacy)
    cli.convert(tmp_path / "stock.pt", tmp_path / "ours.pt", "pt")
    assert_same(state, load(tmp_path / "ours.pt"))
    assert_same(state, load(tmp_path / "ours.pt", weights_only=False))
    assert_same(state, load(tmp_path / "ours.pt", mmap=True))
    assert cli.json("diff", tmp_path / "stock.pt", tmp_path / "ours.pt")["different"] == 0


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_pickle_protocols(cli, tmp_path, protocol):
    state = {"a": torch.arange(6.0), **states.plain_values()}
    torch.save(state, tmp_path / "stock.pt", pickle_protocol=protocol)
    cli.convert(tmp_path / "stock.pt", tmp_path / "ours.pt", "pt")
    assert_same(state, load(tmp_path / "ours.pt"))


def test_shared_storages_views_and_strides(cli, tmp_path):
    base = torch.arange(24.0).reshape(4, 6)
    state = {
        "base": base,
        "tied": base,
        "transposed": base.t(),
        "slice": base[1:3, ::2],
        "expanded": torch.ones(1, 3).expand(5, 3),
        "scalar": torch.tensor(3.5),
        "empty": torch.empty(0, 4),
        "parameter": torch.nn.Parameter(base[:2].clone()),
        "frozen": torch.nn.Parameter(base[:1].clone(), requires_grad=False),
        "conjugate": torch.randn(3, dtype=torch.complex64).conj(),
    }
    torch.save(state, tmp_path / "stock.pt")
    cli.convert(tmp_path / "stock.pt", tmp_path / "ours.pt", "pt")
    ours = load(tmp_path / "ours.pt")
    assert_same(state, ours)
    assert ours["tied"] is ours["base"]
    for name in ("transposed", "slice", "expanded"):
        assert ours[name].stride() == state[name].stride(), name
    assert ours["transposed"].untyped_storage().data_ptr() == ours["base"].untyped_storage().data_ptr()
    assert ours["conjugate"].is_conj()
    # In row-major order where the format has no strides.
    del state["conjugate"]
    torch.save(state, tmp_path / "stock.pt")
    cli.convert(tmp_path / "stock.pt", tmp_path / "flat.safetensors", "safetensors")
    cli.convert(tmp_path / "flat.safetensors", tmp_path / "again.pt", "pt")
    assert_same(state, load(tmp_path / "again.pt"), types=False)


def test_quantised_and_sparse_tensors(cli, tmp_path):
    channels = torch.quantize_per_channel(torch.randn(4, 3), torch.rand(4), torch.zeros(4), 0, torch.qint8)
    state = {
        "tensor": torch.quantize_per_tensor(torch.randn(5, 2), 0.1, 3, torch.quint8),
        "channel": channels,
        "sparse": torch.randn(4, 4).relu().to_sparse(),
    }
    torch.save(state, tmp_path / "stock.pt")
    cli.convert(tmp_path / "stock.pt", tmp_path / "ours.pt", "pt")
    ours = load(tmp_path / "ours.pt")
    assert torch.equal(ours["tensor"].int_repr(), state["tensor"].int_repr())
    assert (ours["tensor"].q_scale(), ours["tensor"].q_zero_point()) == (0.1, 3)
    assert torch.equal(ours["channel"].q_per_channel_scales(), channels.q_per_channel_scales())
    assert torch.equal(ours["sparse"].to_dense(), state["sparse"].to_dense())
    for form, target in (("safetensors", "x.safetensors"), ("dcp", "x")):
        line = cli.refused("convert", tmp_path / "stock.pt", tmp_path / target, "--format", form)
        assert "'tensor'" in line and "--format pt" in line
        assert not (tmp_path / target).exists()


def test_records_lie_as_torch_lays_them(cli, tmp_path):
    state = states.every_dtype() | {"empty": torch.empty(0), "last": torch.arange(1000.0)}
    torch.save(state, tmp_path / "same.pt")
    (tmp_path / "ours").mkdir()
    cli.convert(tmp_path / "same.pt", tmp_path / "ours/same.pt", "pt")

    def records(path):
        with zipfile.ZipFile(path) as archive:
            assert archive.testzip() is None
            return [
                (i.filename, i.file_size, i.flag_bits, i.CRC)
                for i in archive.infolist()
                if "data.pkl" not in i.filename
            ]

    stock, ours = records(tmp_path / "same.pt"), records(tmp_path / "ours/same.pt")
    assert stock[:-1] == ours[:-1]  # all but the id of the save
    # torch can compute where storages lie, from the sizes of those before them.
    from torch.utils.serialization import config

    with config.patch({"load.calculate_storage_offsets": True}):
        assert_same(state, load(tmp_path / "ours/same.pt", mmap=True))


def test_pages(cli, tmp_path):
    state = {str(i): torch.randn(1000 + i) for i in range(5)}
    torch.save(state, tmp_path / "stock.pt")
    cli.convert(tmp_path / "stock.pt", tmp_path / "ours.pt", "pt", "--alignment", "4KiB")
    for options in ({}, {"mmap": True}):
        assert_same(state, load(tmp_path / "ours.pt", **options))
    with open(tmp_path / "ours.pt", "rb") as file, zipfile.ZipFile(file) as archive:
        for info in archive.infolist():
            if "/data/" in info.filename:
                file.seek(info.header_offset + 26)
                name, extra = (int.from_bytes(file.read(2), "little") for _ in range(2))
                assert (info.header_offset + 30 + name + extra) % 4096 == 0


def test_a_single_tensor_and_other_roots(cli, tmp_path):
    for i, root in enumerate([torch.arange(3), [torch.ones(2), 5], (1, "two"), 7, {}]):
        torch.save(root, tmp_path / f"{i}.pt")
        cli.convert(tmp_path / f"{i}.pt", tmp_path / f"{i}-ours.pt", "pt")
        assert_same(root, load(tmp_path / f"{i}-ours.pt"))


def test_weights_of_transformers_in_shards(cli, tmp_path):
    """pytorch_model.bin with an index, as transformers wrote it before safetensors."""
    import json

    weights = {f"layer.{i}.weight": torch.randn(4, 4) for i in range(4)}
    names = list(weights)
    shards = {"pytorch_model-00001-of-00002.bin": names[:2], "pytorch_model-00002-of-00002.bin": names[2:]}
    for file, held in shards.items():
        torch.save({name: weights[name] for name in held}, tmp_path / file)
    index = {"metadata": {"total_size": 256}, "weight_map": {n: file for file, held in shards.items() for n in held}}
    (tmp_path / "pytorch_model.bin.index.json").write_text(json.dumps(index))
    cli.convert(tmp_path, tmp_path / "out/one.pt", "pt")
    assert_same(weights, load(tmp_path / "out/one.pt"))
    (tmp_path / "pytorch_model-00002-of-00002.bin").unlink()
    assert "pytorch_model-00002-of-00002.bin" in cli.refused("inspect", tmp_path)


def test_without_checksums(cli, tmp_path):
    torch.serialization.set_crc32_options(False)
    try:
        torch.save({"a": torch.arange(1000.0)}, tmp_path / "stock.pt")
    finally:
        torch.serialization.set_crc32_options(True)
    assert "without checksums" in cli.run("verify", tmp_path / "stock.pt").stdout
    cli.convert(tmp_path / "stock.pt", tmp_path / "ours.pt", "pt")
    assert_same(load(tmp_path / "stock.pt"), load(tmp_path / "ours.pt"))


def test_numpy_state(cli, tmp_path):
    """The state of numpy's generator, as the Trainer of transformers keeps it."""
    import numpy

    state = {"numpy": numpy.random.get_state(), "cpu": torch.get_rng_state(), "path": pathlib.PurePosixPath("a/b")}
    torch.save(state, tmp_path / "rng.pth")
    cli.convert(tmp_path / "rng.pth", tmp_path / "ours.pth", "pt")
    ours = load(tmp_path / "ours.pth", weights_only=False)
    assert numpy.array_equal(ours["numpy"][1], state["numpy"][1]) and ours["path"] == state["path"]
