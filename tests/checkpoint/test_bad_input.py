"""What is damaged, hostile or does not fit: one line that says what is wrong, and nothing is written or executed."""

import io
import json
import os
import pickle
import struct
import subprocess
import zipfile

import pytest
import torch
import torch.distributed.checkpoint as dcp


class Evil:
    """Runs a command when it is unpickled by anything that calls what it names."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.system, (f"touch {self.path}",)


def zip_of(pickled, path, extra=()):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("archive/data.pkl", pickled)
        archive.writestr("archive/version", "3\n")
        for name, content in extra:
            archive.writestr(f"archive/{name}", content)


@pytest.mark.parametrize("protocol", [0, 1, 2, 3, 4, 5])
def test_a_forbidden_name_is_named_and_nothing_runs(cli, tmp_path, protocol):
    evil = tmp_path / "evil"
    torch.save({"a": torch.ones(1), "b": Evil(evil)}, tmp_path / "x.pt", pickle_protocol=protocol)
    for arguments in (
        ("inspect", tmp_path / "x.pt"),
        ("convert", tmp_path / "x.pt", tmp_path / "y.pt", "--format", "pt"),
    ):
        line = cli.refused(*arguments)
        assert "'posix.system'" in line and "nothing was executed" in line
    assert not evil.exists() and not (tmp_path / "y.pt").exists()


def test_a_forbidden_name_in_metadata(cli, tmp_path):
    dcp.save({"a": torch.ones(3)}, checkpoint_id=str(tmp_path / "x"), no_dist=True)
    evil = tmp_path / "evil"
    (tmp_path / "x/.metadata").write_bytes(pickle.dumps(Evil(evil), protocol=4))
    assert "'posix.system'" in cli.refused("inspect", tmp_path / "x")
    assert "'posix.system'" in cli.run("verify", tmp_path / "x", code=1).stdout
    # getattr, which enumerations need, is of names that are allowed only, and of texts.
    hostile = b"\x80\x04cbuiltins\ngetattr\nctorch\nSize\n\x8c\x03foo\x86R\x8c\x03bar\x86\x81."
    for pickled in (hostile, b"cbuiltins\ngetattr\n(V__import__\nVx\ntR."):
        (tmp_path / "x/.metadata").write_bytes(pickled)
        cli.refused("inspect", tmp_path / "x")
    assert not evil.exists()


def nested(depth):
    return b"\x80\x02" + b"]" * depth + b"a" * (depth - 1) + b"."


def billion_laughs():
    text = b"\x80\x02]q\x00(K\x01K\x01K\x01K\x01e"
    for i in range(1, 60):
        text += b"]q" + bytes([i]) + b"(" + (b"h" + bytes([i - 1])) * 8 + b"e"
    return text + b"."


BOMBS = {
    "deep": nested(100_000),
    "wide": billion_laughs(),
    "a text": b"\x80\x02X\x00\x00\x10\x00" + b"a" * (1 << 20) + b"q\x000](" + b"h\x00" * 300 + b"e.",
    "itself": b"\x80\x02]q\x00h\x00a.",
    "through a dict": b"\x80\x02}q\x00X\x01\x00\x00\x00ah\x00s.",
    "memo": b"\x80\x02Nr\xff\xff\xff\x7f.",
    "length": b"\x80\x02X\xff\xff\xff\x7fabc.",
    "length of 8": b"\x80\x04\x8d\xff\xff\xff\xff\xff\xff\xff\x7fabc.",
    "no stop": b"\x80\x02N",
    "empty": b"",
    "extension": b"\x80\x02\x82\x01.",
    "buffer": b"\x80\x05\x97.",
    "underflow": b"\x80\x020.",
    "a call of a dtype": b"\x80\x02ctorch\nfloat32\n)R.",
    "state of a list": b"\x80\x02]}b.",
}


@pytest.mark.parametrize("name", BOMBS)
def test_pickle_bombs(cli, tmp_path, name):
    zip_of(BOMBS[name], tmp_path / "x.pt")
    line = cli.refused("inspect", tmp_path / "x.pt")
    assert "x.pt: its pickle" in line


def tensor_pickle(**changes):
    """A pickle of one tensor, with some of its numbers changed."""
    values = {"elements": 4, "offset": 0, "size": (4,), "stride": (1,)} | changes

    class Storage:
        pass

    class Pickler(pickle._Pickler):
        def persistent_id(self, value):
            return ("storage", torch.FloatStorage, "0", "cpu", values["elements"]) if value is Storage else None

    class Rebuild:
        def __reduce__(self):
            arguments = (Storage, values["offset"], values["size"], values["stride"], False, {})
            return torch._utils._rebuild_tensor_v2, arguments

    out = io.BytesIO()
    Pickler(out, protocol=2).dump(Rebuild())
    return out.getvalue()


def test_a_tensor_that_reaches_beyond_its_storage(cli, tmp_path):
    good = [("data/0", b"\0" * 16)]
    zip_of(tensor_pickle(), tmp_path / "x.pt", good)
    cli.run("inspect", tmp_path / "x.pt")
    for changes in (
        {"size": (5,)},
        {"offset": 1},
        {"stride": (2,)},
        {"elements": 5},
        {"elements": 2**62},
        {"size": (2**62, 2**62), "stride": (0, 0)},
        {"size": (4,), "stride": (2**62,)},
        {"size": (-4,)},
        {"offset": -1},
    ):
        zip_of(tensor_pickle(**changes), tmp_path / "x.pt", good)
        cli.refused("inspect", tmp_path / "x.pt")
    zip_of(tensor_pickle(), tmp_path / "x.pt")
    assert "data/0" in cli.refused("inspect", tmp_path / "x.pt")


def test_a_tensor_that_repeats_beyond_measure(cli, tmp_path):
    zip_of(tensor_pickle(size=(2**40,), stride=(0,)), tmp_path / "x.pt", [("data/0", b"\0" * 16)])
    line = cli.refused("convert", tmp_path / "x.pt", tmp_path / "y", "--format", "dcp")
    assert "beyond measure" in line and not (tmp_path / "y").exists()
    assert "beyond measure" in cli.refused("diff", tmp_path / "x.pt", tmp_path / "x.pt")


def test_zips_that_are_none_of_torch(cli, tmp_path):
    torch.save({"a": torch.arange(100.0)}, tmp_path / "good.pt")
    content = (tmp_path / "good.pt").read_bytes()
    for cut in (0, 1, 40, len(content) // 2, len(content) - 1):
        (tmp_path / "x.pt").write_bytes(content[:cut])
        cli.refused("inspect", tmp_path / "x.pt")
    with zipfile.ZipFile(tmp_path / "x.pt", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("archive/data.pkl", b"\x80\x02N." * 1000)
    assert "compressed" in cli.refused("inspect", tmp_path / "x.pt")
    with zipfile.ZipFile(tmp_path / "x.pt", "w") as archive:
        archive.writestr("readme", "nothing")
    assert "data.pkl" in cli.refused("inspect", tmp_path / "x.pt")
    zip_of(b"\x80\x02N.", tmp_path / "x.pt", [("constants.pkl", b"")])
    assert "TorchScript" in cli.refused("inspect", tmp_path / "x.pt")
    zip_of(b"\x80\x02N.", tmp_path / "x.pt", [("byteorder", b"big")])
    assert "byte order" in cli.refused("inspect", tmp_path / "x.pt")
    (tmp_path / "x.pt").write_bytes(b"\0" * 257 + b"ustar" + b"\0" * 300)
    assert "tar format" in cli.refused("inspect", tmp_path / "x.pt")


def safetensors_of(header, data):
    text = json.dumps(header).encode() if not isinstance(header, bytes) else header
    return struct.pack("<Q", len(text)) + text + data


def test_safetensors_headers(cli, tmp_path):
    path = tmp_path / "x.safetensors"
    entry = {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}
    path.write_bytes(safetensors_of({"a": entry}, b"\0" * 8))
    cli.run("inspect", path)
    for header, data in (
        (b"[]", b""),
        (b"{", b""),
        ({"a": entry}, b"\0" * 7),
        ({"a": entry}, b"\0" * 9),
        ({"a": entry | {"dtype": "F99"}}, b"\0" * 8),
        ({"a": entry | {"shape": [3]}}, b"\0" * 8),
        ({"a": entry | {"shape": [-2]}}, b"\0" * 8),
        ({"a": entry | {"shape": [2**62, 2**62]}}, b"\0" * 8),
        ({"a": entry, "b": entry}, b"\0" * 8),
        ({"a": entry | {"data_offsets": [8, 0]}}, b"\0" * 8),
        ({"a": entry, "__metadata__": {"x": 1}}, b"\0" * 8),
        (b'{"a":' + json.dumps(entry).encode() + b',"a":' + json.dumps(entry).encode() + b"}", b"\0" * 8),
        (b"[" * 100_000, b""),
    ):
        path.write_bytes(safetensors_of(header, data))
        cli.refused("inspect", path)
    path.write_bytes(struct.pack("<Q", 2**63) + b"{}")
    cli.refused("inspect", path)
    # Metadata of ours that names what pickles may not.
    hostile = {"$object": ["os", "system"], "arguments": ["touch /tmp/x"]}
    path.write_bytes(safetensors_of({"__metadata__": {"assay.state": json.dumps(hostile)}}, b""))
    assert "os.system" in cli.refused("convert", path, tmp_path / "y.pt", "--format", "pt")


@pytest.fixture
def saved(tmp_path):
    dcp.save({"a": torch.randn(100, 10), "n": 3}, checkpoint_id=str(tmp_path / "x"), no_dist=True)
    return tmp_path / "x"


def change_metadata(folder, change):
    metadata = pickle.loads((folder / ".metadata").read_bytes())
    change(metadata)
    (folder / ".metadata").write_bytes(pickle.dumps(metadata))


def test_distributed_checkpoints_that_do_not_hold_together(cli, saved):
    data = (saved / "__0_0.distcp").read_bytes()
    (saved / "__0_0.distcp").write_bytes(data[:-50])
    assert "truncated" in cli.refused("inspect", saved)
    (saved / "__0_0.distcp").unlink()
    assert "__0_0.distcp" in cli.refused("inspect", saved)
    (saved / "__0_0.distcp").write_bytes(data)
    cli.run("verify", saved)

    def elsewhere(metadata):
        for info in metadata.storage_data.values():
            info.relative_path = "../../etc/passwd"

    change_metadata(saved, elsewhere)
    assert "../../etc/passwd" in cli.refused("inspect", saved)


def test_chunks_that_do_not_cover_their_tensor(cli, saved):
    def too_large(metadata):
        metadata.state_dict_metadata["a"].size = torch.Size([200, 10])

    change_metadata(saved, too_large)
    assert "lacks 1000 of its 2000 elements" in cli.refused("inspect", saved)


def test_an_item_of_another_tensor(cli, saved, tmp_path):
    def other_dtype(metadata):
        metadata.state_dict_metadata["a"].properties.dtype = torch.int32

    change_metadata(saved, other_dtype)
    line = cli.refused("convert", saved, tmp_path / "y.pt", "--format", "pt")
    assert "'a'" in line and "int32" in line and not (tmp_path / "y.pt").exists()


def test_indices_that_name_what_is_not_there(cli, tmp_path):
    torch.save({"a": torch.ones(2)}, tmp_path / "pytorch_model-00001-of-00002.bin")
    index = tmp_path / "pytorch_model.bin.index.json"
    for file, word in (("missing.bin", "missing.bin"), ("../x.bin", "no file beside it"), (7, "no file beside it")):
        index.write_text(json.dumps({"weight_map": {"a": file}}))
        assert word in cli.refused("inspect", tmp_path)
    index.write_text(json.dumps({"weight_map": {"b": "pytorch_model-00001-of-00002.bin"}}))
    assert "'b'" in cli.refused("inspect", tmp_path)
    index.write_text("{")
    cli.refused("inspect", tmp_path)


@pytest.mark.parametrize(
    "names", [("epoch1.ckpt", "epoch2.ckpt", "optimizer.pt"), ("optimizer.pt", "rng_state.pth", "training_args.bin")]
)
def test_side_files_are_not_the_checkpoint(cli, tmp_path, names):
    folder = tmp_path / "run"
    folder.mkdir()
    for name in names:
        torch.save({"a": torch.ones(2)}, folder / name)
    for verb in ("rm", "verify", "inspect"):
        assert "no checkpoint" in cli.refused(verb, folder)
    assert "no checkpoint" in cli.refused("convert", folder, tmp_path / "out.pt", "--format", "pt")
    assert sorted(file.name for file in folder.iterdir()) == sorted(names)


def test_what_is_asked_for_is_checked(cli, tmp_path):
    torch.save({"a": torch.ones(2)}, tmp_path / "x.pt")
    assert "no checkpoint" in cli.refused("inspect", tmp_path / "nothing")
    assert "no checkpoint" in cli.refused("ls", tmp_path / "nothing")
    assert "no checkpoint" in cli.refused("verify", "-r", tmp_path / "nothing")
    assert "'npz'" in cli.refused("convert", tmp_path / "x.pt", tmp_path / "y", "--format", "npz")
    assert "'pairs'" in cli.refused(
        "convert", tmp_path / "x.pt", tmp_path / "y", "--format", "dcp", "--sharing", "pairs"
    )
    cli.refused("convert", tmp_path / "x.pt", tmp_path / "y", "--format", "dcp", "--prefix", "../x")
    cli.refused("convert", tmp_path / "x.pt", tmp_path / "y.pt", "--format", "pt", "--ranks", 2)
    cli.refused("convert", tmp_path / "x.pt", tmp_path / "y", "--format", "dcp", "--alignment", "100")
    cli.refused("convert", tmp_path / "x.pt", f"{tmp_path}/", "--format", "ckpt")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["x.pt"]


def test_a_full_disk_leaves_the_old_one(cli, tmp_path):
    torch.save({"a": torch.ones(10)}, tmp_path / "small.pt")
    torch.save({"a": torch.randn(1000, 1000)}, tmp_path / "large.pt")
    for form, target in (("dcp", "d"), ("pt", "p.pt")):
        cli.convert(tmp_path / "small.pt", tmp_path / "run" / target, form)
        limited = (
            f"ulimit -f 1000; exec {' '.join(cli.command('convert', tmp_path / 'large.pt', tmp_path / 'run' / target))}"
        )
        ended = subprocess.run(
            ["bash", "-c", f"{limited} --format {form} --overwrite"],
            capture_output=True,
            text=True,
            env=cli.environment,
        )
        assert ended.returncode == 1 and ended.stderr.count("\n") == 1, ended
        cli.run("verify", tmp_path / "run" / target)
        assert cli.json("diff", tmp_path / "small.pt", tmp_path / "run" / target)["different"] == 0


def test_a_bucket_that_vanishes(serve, client_of, tmp_path):
    server = serve("--root", tmp_path / "objects", "--bucket", "test")
    client = client_of(server)
    client.environment["ASSAY_STORAGE_MAX_ATTEMPTS"] = "2"
    torch.save({"a": torch.randn(100, 100)}, tmp_path / "x.pt")
    client.convert(tmp_path / "x.pt", "s3://test/run", "dcp")
    server.kill()
    client.refused("convert", tmp_path / "x.pt", "s3://test/other", "--format", "dcp", code=1)
    client.refused("verify", "s3://test/run", code=1)
