"""Data sets that are drawn: read by the real mosaicml-streaming, the same for the same seed, and trained on."""

import base64
import io

import pytest
from PIL import Image
from test_tune import tune  # noqa: F401


def test_rows_are_of_their_shape_and_follow_from_the_seed(cli, real, tmp_path):
    options = ["--samples", "300", "--size-limit", "20k"]
    said = cli.json("synthesize", tmp_path / "set", "--shape", "text:100-400", *options)
    assert said["rows"] == 300 and said["shards"] > 3 and said["columns"] == "completion:str,prompt:str"
    rows = cli.rows(tmp_path / "set")
    sizes = {len(row["prompt"]) + len(row["completion"]) for row in rows}
    assert min(sizes) >= 100 and max(sizes) <= 400 and len(sizes) > 50
    assert real({"read": str(tmp_path / "set")})[0]["samples"] == rows
    again = cli.json("synthesize", tmp_path / "again", "--shape", "text:100-400", *options, "--workers", 3)
    other = cli.json("synthesize", tmp_path / "other", "--shape", "text:100-400", *options, "--seed", 1)
    assert again["content_hash"] == said["content_hash"] != other["content_hash"]


def test_appended_rows_go_on_with_the_numbers(cli, tmp_path):
    shape = ["--shape", "text:100-400"]
    cli.run("synthesize", tmp_path / "set", "--samples", 20, *shape)
    cli.run("synthesize", tmp_path / "set", "--samples", 30, *shape, "--append")
    cli.run("synthesize", tmp_path / "whole", "--samples", 50, *shape)
    assert cli.rows(tmp_path / "set") == cli.rows(tmp_path / "whole")


def test_images_are_those_that_pillow_reads(cli, tmp_path):
    cli.run("synthesize", tmp_path / "set", "--samples", 20, "--shape", "image:8-32", "--classes", 3)
    rows = cli.rows(tmp_path / "set")
    assert {row["label"] for row in rows} == {0, 1, 2}
    for row in rows:
        image = Image.open(io.BytesIO(base64.b64decode(row["image"])))
        assert image.mode == "RGB" and image.size[0] == image.size[1] and 8 <= image.size[0] <= 32


def test_tokens_are_trained_on(cli, tune, tmp_path):  # noqa: F811
    cli.run("synthesize", tmp_path / "set", "--samples", 12, "--shape", "tokens:8-30", "--vocabulary", 8192)
    run = tune.run(tmp_path / "set", "--num-train-epochs", "1")
    assert run["samples"] == 12
    assert run["real_tokens"] == sum(len(row["input_ids"]) for row in cli.rows(tmp_path / "set"))


@pytest.mark.parametrize("shape", ["words:5", "text:0", "tokens:9-3", "image:9000"])
def test_what_is_no_shape_is_refused(cli, shape, tmp_path):
    assert "--shape" in cli.refused("synthesize", tmp_path / "set", "--samples", 1, "--shape", shape)
    assert not (tmp_path / "set").exists()
