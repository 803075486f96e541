"""torch.distributed.checkpoint: stock saves are read and ours are loaded by stock torch, at any number of ranks."""

import os
import pathlib
import pickle
import subprocess
import sys

import dcp_ranks
import pytest
import states
import torch
import torch.distributed.checkpoint as dcp
from states import assert_same
from torch.distributed.checkpoint.format_utils import dcp_to_torch_save

HERE = pathlib.Path(__file__).parent
# The planner flattens it, and what it makes again has no other containers.
DTYPES = [dtype for dtype in states.DTYPES if dtype not in (torch.bits8, torch.bits16)]


def state_of_a_model():
    generator = torch.Generator().manual_seed(0)
    model = {f"layers.{i}.weight": torch.randn(50 + i, 37, generator=generator) for i in range(4)}
    model |= {"norm": torch.randn(13, generator=generator), "step": torch.tensor(5), "empty": torch.empty(0, 3)}
    # Large enough to begin at a page.
    model["embed"] = torch.randn(300, 301, generator=generator).to(torch.bfloat16)
    return {"model": model, "lr": 0.5, "names": ["a", "b"], "moments": [torch.ones(3), {"x": torch.zeros(2)}]}


def zeros_like(value):
    if isinstance(value, torch.Tensor):
        return torch.zeros_like(value)
    if isinstance(value, dict):
        return {key: zeros_like(item) for key, item in value.items()}
    if isinstance(value, list):
        return [zeros_like(item) for item in value]
    return None


def load_stock(path, like):
    loaded = zeros_like(like)
    dcp.load(loaded, checkpoint_id=str(path), no_dist=True)
    return loaded


def by_ranks(ranks, *arguments):
    """Runs dcp_ranks.py, which saves or loads the state with so many processes of gloo."""
    subprocess.run(
        [sys.executable, HERE / "dcp_ranks.py", str(ranks), *[str(argument) for argument in arguments]],
        check=True,
        timeout=300,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    )


@pytest.mark.parametrize("sharing", ["rows", "full", "flat"])
@pytest.mark.parametrize("ranks", [1, 3, 8])
def test_stock_loads_ours(cli, tmp_path, ranks, sharing):
    state = state_of_a_model()
    torch.save(state, tmp_path / "stock.pt")
    cli.convert(tmp_path / "stock.pt", tmp_path / "ours", "dcp", "--ranks", ranks, "--sharing", sharing)
    assert_same(state, load_stock(tmp_path / "ours", state))
    dcp_to_torch_save(tmp_path / "ours", tmp_path / "by-stock.pt")
    assert_same(state, torch.load(tmp_path / "by-stock.pt"), types=False)
    assert "every byte" in cli.run("verify", tmp_path / "ours").stdout


@pytest.mark.parametrize("alignment", [64, 4096, 32768])
def test_pages_where_stock_still_loads_it(cli, tmp_path, alignment):
    """The bytes of every large tensor begin at a page of the file, and stock torch finds them all the same."""
    state = {f"w{i}": torch.randn(200, 150 + i) for i in range(6)} | {"small": torch.arange(5)}
    torch.save(state, tmp_path / "stock.pt")
    cli.convert(tmp_path / "stock.pt", tmp_path / "ours", "dcp", "--ranks", 2, "--alignment", alignment)
    assert_same(state, load_stock(tmp_path / "ours", state))
    metadata = dcp.FileSystemReader(tmp_path / "ours").read_metadata()
    for index, info in metadata.storage_data.items():
        content = (tmp_path / "ours" / info.relative_path).read_bytes()
        item = content[info.offset : info.offset + info.length]
        whole = state[index.fqn]
        rows = slice(index.offset[0], index.offset[0] + (whole.shape[0] + 1) // 2)
        data = bytes(states.bits(whole[rows]).numpy())
        at = content.index(data)
        assert info.offset < at < info.offset + info.length and item[:4] == b"PK\x03\x04"
        assert at % (alignment if len(data) >= 65536 else 64) == 0


def test_every_dtype(cli, tmp_path):
    state = states.every_dtype(DTYPES)
    torch.save(state, tmp_path / "stock.pt")
    cli.convert(tmp_path / "stock.pt", tmp_path / "ours", "dcp", "--ranks", 2)
    loaded = {name: torch.empty_like(tensor) for name, tensor in state.items()}
    # Stock torch cannot copy these; it reads them as whole items.
    for name in [name for name in state if state[name].dtype == torch.float4_e2m1fn_x2]:
        del loaded[name], state[name]
    dcp.load(loaded, checkpoint_id=str(tmp_path / "ours"), no_dist=True)
    assert_same(state, loaded)


def test_our_read_of_every_dtype(cli, tmp_path):
    state = states.every_dtype(DTYPES)
    dcp.save(state, checkpoint_id=str(tmp_path / "stock"), no_dist=True)
    cli.convert(tmp_path / "stock", tmp_path / "ours.pt", "pt")
    assert_same(state, torch.load(tmp_path / "ours.pt"), types=False)


@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_ours_reads_what_stock_ranks_saved(cli, tmp_path, ranks):
    by_ranks(ranks, "save", tmp_path / "stock")
    cli.convert(tmp_path / "stock", tmp_path / "whole.pt", "pt")
    assert_same(dcp_ranks.whole_state(), torch.load(tmp_path / "whole.pt"), types=False)
    assert "CRC-32" in cli.run("verify", tmp_path / "stock").stdout


@pytest.mark.parametrize("ranks", [2, 4])
def test_stock_ranks_load_ours(cli, tmp_path, ranks):
    torch.save(dcp_ranks.whole_state(), tmp_path / "stock.pt")
    folders = []
    for sharing, written_by in (("rows", 3), ("flat", 5), ("full", 2), ("rows", 1)):
        folders.append(tmp_path / f"{sharing}-{written_by}")
        cli.convert(tmp_path / "stock.pt", folders[-1], "dcp", "--ranks", written_by, "--sharing", sharing)
    by_ranks(ranks, "load", *folders)


def test_fsdp_state_dicts(cli, tmp_path):
    """FSDP's full, sharded and local state dicts, saved by two ranks, written by us for three, loaded by two."""
    by_ranks(2, "fsdp-save", tmp_path / "stock")
    for kind in dcp_ranks.KINDS:
        cli.convert(tmp_path / "stock" / kind, tmp_path / "ours" / kind, "dcp", "--ranks", 3)
    by_ranks(2, "fsdp-load", tmp_path / "ours")


def test_several_files_and_names(cli, tmp_path):
    state = state_of_a_model()
    torch.save(state, tmp_path / "stock.pt")
    expected = {
        ("--prefix", "binary"): ["0000000000/__0_", "1000000000/__1_", "0100000000/__2_"],
        ("--prefix", "hex", "--epoch", "7"): ["0000000000/epoch_7/__0_", "1000000000/epoch_7/__1_"],
        ("--prefix", "x,y", "--epoch", "1"): ["x/epoch_1/__0_", "y/epoch_1/__1_", "x/epoch_1/__2_"],
    }
    for i, (options, prefixes) in enumerate(expected.items()):
        target = tmp_path / f"ours{i}"
        cli.convert(tmp_path / "stock.pt", target, "dcp", "--ranks", 3, "--files-per-rank", 2, *options)
        names = {str(path.relative_to(target)) for path in target.rglob("*.distcp")}
        for prefix in prefixes:
            assert {f"{prefix}0.distcp", f"{prefix}1.distcp"} <= names, (prefix, names)
        assert_same(state, load_stock(target, state))
        cli.run("verify", target)


def test_names_are_those_of_s3torchconnector(cli, tmp_path):
    strategies = pytest.importorskip("s3torchconnector.dcp.s3_prefix_strategy")
    torch.save({"w": torch.randn(40, 3)}, tmp_path / "stock.pt")
    for name, strategy in (("binary", strategies.BinaryPrefixStrategy), ("hex", strategies.HexPrefixStrategy)):
        cli.convert(tmp_path / "stock.pt", tmp_path / name, "dcp", "--ranks", 20, "--prefix", name, "--epoch", 3)
        theirs = strategy(epoch_num=3, prefix_count=20)
        names = {str(path.relative_to(tmp_path / name)) for path in (tmp_path / name).rglob("*.distcp")}
        assert names == {f"{theirs(rank)}0.distcp" for rank in range(20)}


def test_replicas_are_written_once(cli, tmp_path):
    """What all ranks have goes to the one with the least to write, or to the lowest."""
    state = {f"w{i}": torch.randn(100, 100) for i in range(8)}
    torch.save(state, tmp_path / "stock.pt")
    for options, files in (((), 4), (("--lowest-rank",), 1)):
        target = tmp_path / f"ours{files}"
        cli.convert(tmp_path / "stock.pt", target, "dcp", "--ranks", 4, "--sharing", "full", *options)
        sizes = [path.stat().st_size for path in target.glob("*.distcp")]
        assert len(sizes) == files and sum(sizes) < 8 * 40000 + 8 * 8192
        assert max(sizes) - min(sizes) < 8192


def test_nested_states_keep_their_kinds(cli, tmp_path):
    """Numbered keys, tuples and ordered dicts are no part of DCP's paths; our manifest keeps them."""
    torch.serialization.add_safe_globals([frozenset])
    state = {"values": states.plain_values(), **states.training_state()}
    torch.save(state, tmp_path / "stock.pt")
    cli.convert(tmp_path / "stock.pt", tmp_path / "ours", "dcp", "--ranks", 2)
    cli.convert(tmp_path / "ours", tmp_path / "back.pt", "pt")
    assert_same(state, torch.load(tmp_path / "back.pt"))
    dcp_to_torch_save(tmp_path / "ours", tmp_path / "by-stock.pt")
    stock = torch.load(tmp_path / "by-stock.pt", weights_only=False)
    assert torch.equal(stock["optimizer"]["state"]["0"]["exp_avg"], state["optimizer"]["state"][0]["exp_avg"])
    assert stock["values"]["bytes"] == state["values"]["bytes"]


def test_every_rank_its_own_metadata(cli, tmp_path):
    """use_collectives=False: __0.metadata and so on in place of .metadata."""
    state = {"w": torch.randn(10, 3), "step": 4}
    dcp.save(state, checkpoint_id=str(tmp_path / "stock"), no_dist=True)
    (tmp_path / "stock/.metadata").rename(tmp_path / "stock/__0.metadata")
    cli.convert(tmp_path / "stock", tmp_path / "ours.pt", "pt")
    assert_same(state, torch.load(tmp_path / "ours.pt"))


def test_metadata_is_what_torch_makes_of_it(cli, tmp_path):
    """Unpickled, ours has the classes and the fields of stock's."""
    state = {"a": {"w": torch.randn(6, 3)}, "n": 1}
    dcp.save(state, checkpoint_id=str(tmp_path / "stock"), no_dist=True)
    torch.save(state, tmp_path / "stock.pt")
    cli.convert(tmp_path / "stock.pt", tmp_path / "ours", "dcp")
    stock, ours = (pickle.loads((tmp_path / name / ".metadata").read_bytes()) for name in ("stock", "ours"))
    assert ours.state_dict_metadata == stock.state_dict_metadata
    assert ours.planner_data == stock.planner_data and ours.version == stock.version
    assert set(ours.storage_data) == set(stock.storage_data)


@pytest.mark.parametrize("scheme", ["s3", "gs", "oci"])
def test_buckets(serve, client_of, tmp_path, scheme):
    bucket = client_of(serve("--root", "memory", "--bucket", "test"))
    uri = f"{scheme}://test" + ("@assay" if scheme == "oci" else "")
    state = state_of_a_model()
    torch.save(state, tmp_path / "stock.pt")
    bucket.convert(tmp_path / "stock.pt", f"{uri}/run/step-5", "dcp", "--ranks", 3)
    bucket.run("verify", f"{uri}/run/step-5")
    bucket.convert(f"{uri}/run/step-5", f"{uri}/run/flat.pt", "pt")
    bucket.convert(f"{uri}/run/flat.pt", tmp_path / "back", "dcp", "--ranks", 2)
    assert_same(state, load_stock(tmp_path / "back", state))
    bucket.convert(f"{uri}/run/step-5", f"{uri}/run/st", "safetensors", "--ranks", 2)
    assert bucket.json("diff", f"{uri}/run/st", f"{uri}/run/step-5")["different"] == 0
    bucket.convert(f"{uri}/run/flat.pt", f"{uri}/run/step-5", "dcp", "--ranks", 2, "--sharing", "flat", "--overwrite")
    bucket.run("verify", "-r", f"{uri}/run")
    listed = bucket.json("ls", f"{uri}/run")
    assert {entry["format"] for entry in listed} == {"dcp", "pt", "safetensors"}
    assert next(entry["step"] for entry in listed if entry["format"] == "dcp") == 5
    bucket.run("rm", f"{uri}/run/step-5")
    assert [entry["format"] for entry in bucket.json("ls", f"{uri}/run")].count("dcp") == 0
    assert bucket.run("rm", f"{uri}/run", "--leftovers", "--older-than", 0).stdout == ""


def test_stock_saves_in_buckets(bucket, tmp_path):
    """Chunks of stock ranks, divided by rows and by columns, read from a bucket: items have no known places there."""
    state = {"rows": torch.randn(64, 32), "columns": torch.randn(32, 64), "n": 3}
    torch.save(state, tmp_path / "stock.pt")
    dcp.save(state, checkpoint_id=str(tmp_path / "stock"), no_dist=True)
    for path in (tmp_path / "stock").iterdir():
        subprocess.run(
            [bucket.command()[0], "object", "put", str(path), f"{bucket.uri}/stock/{path.name}"],
            check=True,
            env=bucket.environment,
            capture_output=True,
        )
    bucket.convert(f"{bucket.uri}/stock", tmp_path / "back.pt", "pt")
    assert_same(state, torch.load(tmp_path / "back.pt"))
    assert "CRC-32" in bucket.run("verify", f"{bucket.uri}/stock").stdout
