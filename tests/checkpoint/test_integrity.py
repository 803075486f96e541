"""Manifests: every flipped bit is found, partial reads are checked, a save that was killed leaves old or new."""

import json
import random
import shutil

import pytest
import torch
from safetensors.torch import load_file


def state(seed, size=200):
    generator = torch.Generator().manual_seed(seed)
    return {f"layer.{i}": torch.randn(size, 97, generator=generator) for i in range(4)} | {"step": seed, "lr": 0.1}


@pytest.fixture
def saved(cli, tmp_path):
    """The same state in every format, by us."""
    torch.save(state(1), tmp_path / "stock.pt")
    targets = {"pt": "x.pt", "safetensors": "x.safetensors", "dcp": "dcp", "shards": "shards"}
    for form, name in targets.items():
        options = {"dcp": ("--ranks", 3), "shards": ("--ranks", 2)}.get(form, ())
        folder = tmp_path / "ours" / form
        folder.mkdir(parents=True)
        cli.convert(tmp_path / "stock.pt", folder / name, "safetensors" if form == "shards" else form, *options)
    return {form: tmp_path / "ours" / form / name for form, name in targets.items()}


def files_of(form, path):
    return sorted(p for p in (path if path.is_dir() else path.parent).rglob("*") if p.is_file())


@pytest.mark.parametrize("form", ["pt", "safetensors", "dcp", "shards"])
def test_every_flipped_bit_is_found(cli, saved, form):
    """Anywhere: tensors, headers, gaps, pickles, the manifest itself. 250 flips a format make 1,000."""
    path = saved[form]
    files = files_of(form, path)
    assert any(file.name.endswith(".assay") for file in files)
    rng = random.Random(form)
    sizes = [file.stat().st_size for file in files]
    cli.run("verify", path)
    for i in range(250):
        # Small files as often as large ones: there the flips are that a structure must survive.
        file = rng.choice(files) if i % 2 else rng.choices(files, sizes)[0]
        content = bytearray(file.read_bytes())
        at, bit = rng.randrange(len(content)), rng.randrange(8)
        content[at] ^= 1 << bit
        # In place: a new file would have other attributes, which the store would notice too.
        with open(file, "r+b") as opened:
            opened.write(content)
        ended = cli.run("verify", path, code=1)
        assert "is not whole" in ended.stderr and ended.stderr.count("\n") == 1, (file, at, bit, ended)
        content[at] ^= 1 << bit
        with open(file, "r+b") as opened:
            opened.write(content)
    cli.run("verify", path)


def flip(file, at):
    with open(file, "r+b") as opened:
        opened.seek(at)
        byte = opened.read(1)[0]
        opened.seek(at)
        opened.write(bytes([byte ^ 1]))


def test_damage_is_named_and_never_converted(cli, saved, tmp_path):
    file = saved["pt"]
    data = file.read_bytes()
    at = data.index(bytes(state(1)["layer.2"].numpy().tobytes()[:64])) + 1000
    flip(file, at)
    assert "'layer.2'" in cli.run("verify", file, code=1).stdout
    line = cli.refused("convert", file, tmp_path / "new.safetensors", "--format", "safetensors", code=1)
    assert "'layer.2'" in line and not (tmp_path / "new.safetensors").exists()


def test_partial_reads_are_checked(cli, tmp_path):
    """A large tensor of which a conversion to rows reads parts: damage elsewhere is not read, damage within is found."""
    torch.save({"big": torch.randn(4000, 1000)}, tmp_path / "stock.pt")
    cli.convert(tmp_path / "stock.pt", tmp_path / "dcp", "dcp", "--ranks", 4)
    flip(tmp_path / "dcp/__2_0.distcp", 2_000_000)
    cli.refused("diff", tmp_path / "dcp", tmp_path / "stock.pt", code=1)
    cli.refused("convert", tmp_path / "dcp", tmp_path / "flat", "--format", "dcp", "--ranks", "3", code=1)
    assert not list((tmp_path / "flat").rglob("*.distcp"))


def test_stock_files_are_checked_as_far_as_they_can_be(cli, tmp_path):
    torch.save(state(1), tmp_path / "stock.pt")
    data = (tmp_path / "stock.pt").read_bytes()
    flip(tmp_path / "stock.pt", data.index(state(1)["layer.3"].numpy().tobytes()[:64]) + 500)
    torch.load(tmp_path / "stock.pt")  # notices nothing
    assert "CRC-32" in cli.run("verify", tmp_path / "stock.pt", code=1).stdout


def test_without_its_manifest_it_is_not_ours(cli, saved):
    for form, path in saved.items():
        folder = path if path.is_dir() else path.parent
        assert [entry["manifest"] for entry in cli.json("ls", folder)] == [True], form
        next(folder.glob("*.assay")).unlink()
        assert [entry["manifest"] for entry in cli.json("ls", folder)] == [False], form
        assert "every byte" not in cli.run("verify", path).stdout


def test_a_missing_or_short_file_is_not_offered(cli, saved):
    path = saved["dcp"]
    kept = (path / "__1_0.distcp").read_bytes()
    (path / "__1_0.distcp").write_bytes(kept[:-100])
    assert cli.json("ls", path) == [] and "__1_0.distcp" in cli.run("verify", path, code=1).stdout
    (path / "__1_0.distcp").unlink()
    assert cli.json("ls", path) == []
    assert "__1_0.distcp" in cli.run("verify", path, code=1).stdout
    assert "__1_0.distcp" in cli.refused("inspect", path)


def test_another_program_over_ours(cli, saved):
    """Stock torch saves to the same place: what stands is not what the manifest says, and not taken for it."""
    torch.save(state(2), saved["pt"])
    assert cli.json("ls", saved["pt"].parent) == []
    assert "another program wrote over it" in cli.run("verify", saved["pt"], code=1).stdout
    next(saved["pt"].parent.glob("*.assay")).unlink()
    cli.run("verify", saved["pt"])


def test_replacing_needs_to_be_asked_for(cli, tmp_path):
    for seed in (1, 2):
        torch.save(state(seed), tmp_path / f"{seed}.pt")
    for form, target in (("dcp", "d"), ("safetensors", "s"), ("pt", "p.pt")):
        cli.convert(tmp_path / "1.pt", tmp_path / target, form)
        line = cli.refused("convert", tmp_path / "2.pt", tmp_path / target, "--format", form)
        assert "--overwrite" in line
        cli.run("verify", tmp_path / target)
        cli.convert(tmp_path / "2.pt", tmp_path / target, form, "--overwrite")
        assert cli.json("diff", tmp_path / "2.pt", tmp_path / target)["different"] == 0
        cli.run("verify", tmp_path / target)
        beside = tmp_path.glob(f"{target}.*.assay") if form == "pt" else (tmp_path / target).glob("*.assay")
        assert len(list(beside)) == 1
    # Nothing of the replaced one is left.
    assert len(list((tmp_path / "d").rglob("*.distcp"))) == 1
    cli.convert(tmp_path / "1.pt", tmp_path / "d", "dcp", "--overwrite", "--ranks", 2)
    assert len(list((tmp_path / "d").rglob("*.distcp"))) == 2


def test_retention(cli, tmp_path):
    run = tmp_path / "run"
    for step in (1, 2, 3, 10):
        torch.save(state(step, 4), tmp_path / "s.pt")
        cli.convert(tmp_path / "s.pt", run / f"step-{step}", "dcp")
    torch.save(state(0), run / "stock.pt")
    cli.run("rm", run, "--keep", 2, "--dry-run")
    assert [entry["step"] for entry in cli.json("ls", run)] == [None, 1, 2, 3, 10]
    cli.run("rm", run, "--keep", 2)
    assert [entry["step"] for entry in cli.json("ls", run)] == [None, 3, 10]
    assert not (run / "step-1").exists() and (run / "stock.pt").exists()
    assert "loss" in cli.refused("rm", run, "--keep-best", 1)
    cli.run("rm", run / "step-3")
    assert [entry["step"] for entry in cli.json("ls", run)] == [None, 10]
    for step, loss in ((11, 0.5), (12, 0.25), (13, 0.75)):
        cli.convert(tmp_path / "s.pt", run / f"save{step}", "dcp", "--step", step, "--metric", f"loss={loss}")
    cli.run("rm", run, "--keep", 1, "--keep-best", 1)
    assert [entry["step"] for entry in cli.json("ls", run)] == [None, 12, 13]
    assert cli.json("ls", run)[1]["metrics"] == {"loss": 0.25}
    assert "NAME=NUMBER" in cli.refused("convert", tmp_path / "s.pt", run / "x", "--format", "dcp", "--metric", "loss")


def test_leftovers_are_swept(cli, saved):
    """What a killed save left: found by its mark, once no save can still be running."""
    path = saved["dcp"]
    shutil.copy2(path / ".metadata", path.parent / "kept")
    (path / ".metadata").unlink()
    assert cli.json("ls", path) == []
    assert cli.run("rm", path, "--leftovers").stdout == ""
    (path / "not-ours.distcp").write_bytes(b"x")
    told = cli.run("rm", path, "--leftovers", "--older-than", 0).stdout
    assert told.count("delete:") == 4, told
    assert [p.name for p in path.iterdir()] == ["not-ours.distcp"]


def test_the_manifest_says_what_is_where(saved):
    path = saved["safetensors"]
    manifest = json.loads(next(path.parent.glob("*.assay")).read_text().splitlines()[0])
    (file,) = manifest["files"]
    content = path.read_bytes()
    assert file["name"] == "x.safetensors" and file["bytes"] == len(content)
    weights = load_file(path)
    for name, offset, size, _ in file["items"]:
        assert content[offset : offset + size] == weights[name].numpy().tobytes()
