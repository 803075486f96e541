"""Vision transformers trained on images out of shards: the losses of the same images in files."""

import json
import subprocess

import numpy
import pytest
import served
from conftest import put_folder, write_rows
from PIL import Image

CLASSES = ["cats", "dogs", "owls"]


@pytest.fixture
def images(cli, tmp_path):
    """17 images of three classes, in a folder and as a data set of shards."""
    draw = numpy.random.default_rng(3)
    for i in range(17):
        pixels = draw.integers(0, 256, (20 + i, 24, 3), dtype=numpy.uint8)
        path = tmp_path / "images" / CLASSES[i % 3] / f"{i:02}.{'png' if i % 2 else 'jpg'}"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(pixels).save(path)
    cli.run("convert", tmp_path / "images", tmp_path / "set", "--from", "images", "--size-limit", "8k")
    assert len(list((tmp_path / "set").glob("shard.*"))) > 2
    return tmp_path / "images", tmp_path / "set"


def tune(client, data, *options, batch=4):
    command = [served.ASSAY, "tune", "--model", "vit-digits", "--data", data, "--batch-size", batch]
    command += ["--learning-rate", "1e-3", "--lr-scheduler-type", "constant", "--output", "json", *options]
    return subprocess.run(
        [str(word) for word in command], env=client.environment, capture_output=True, text=True, timeout=300
    )


def run(*arguments, **options):
    ended = tune(*arguments, **options)
    assert ended.returncode == 0, ended.stderr
    return json.loads(ended.stdout)


def refused(*arguments, **options):
    ended = tune(*arguments, **options)
    assert ended.returncode == 2, (ended.returncode, ended.stdout, ended.stderr)
    return ended.stderr.strip().splitlines()[-1]


def test_losses_are_those_of_the_images_in_files(cli, images):
    folder, shards = images
    options = ["--no-shuffle", "--num-train-epochs", "2"]  # of four steps; one image is left over
    expected = run(cli, folder, *options)
    streamed = run(cli, shards, *options, "--classes", "3")
    assert len(expected["losses"]) == 8 and streamed["losses"] == expected["losses"]
    assert streamed["data"]["samples"] >= 32 and streamed["data"]["images_per_second_without_stalls"] > 0
    ranks = ["--number-ranks", "2", "--classes", "3"]
    assert run(cli, shards, *options, *ranks, batch=2)["losses"] == pytest.approx(expected["losses"], rel=1e-3)


@pytest.mark.parametrize(("tensor", "stages", "data"), [(2, 1, 1), (1, 2, 1), (2, 2, 1), (2, 1, 2), (1, 2, 2)])
def test_ranks_that_share_a_model_read_the_same_images(tensor, stages, data, bucket, images, tmp_path):
    """Shuffled, into the second epoch, out of a bucket."""
    put_folder(bucket, images[1], f"{bucket.uri}/set")
    options = ["--classes", "3", "--max-steps", "6"]
    expected = run(bucket, f"{bucket.uri}/set", *options, batch=4)
    mesh = ["--plugin", "hybrid_parallel", "--tp-size", tensor, "--pp-size", stages]
    mesh += ["--number-ranks", tensor * stages * data, "--data-cache", tmp_path / "cache"]
    divided = run(bucket, f"{bucket.uri}/set", *options, *mesh, batch=4 // data)
    assert divided["losses"] == pytest.approx(expected["losses"], rel=1e-3)
    assert divided["steps"] == expected["steps"]


def test_a_run_goes_on_with_the_next_image(bucket, images, tmp_path):
    _, shards = images
    put_folder(bucket, shards, f"{bucket.uri}/set")
    data = f"{bucket.uri}/set"
    options = ["--classes", "3", "--data-cache", tmp_path / "cache", "--max-steps"]
    straight = run(bucket, data, *options, "11")  # into the third epoch, shuffled
    places = ["--output-dir", tmp_path / "run", "--save-every", "100"]
    first = run(bucket, data, *options, "6", *places)
    rest = run(bucket, data, *options, "11", *places, "--resume")
    assert first["losses"] + rest["losses"] == straight["losses"]
    assert rest["data"]["cached_shards"] > 0
    changed = refused(bucket, data, *options, "12", *places, "--resume", "--no-shuffle")
    assert "shuffling" in changed or "the order of images" in changed


def test_what_cannot_be_trained_on_is_refused(cli, images, tmp_path):
    folder, shards = images
    cli.run("convert", write_rows(tmp_path / "n.jsonl", [{"image": "a", "label": "b"}]), tmp_path / "n")
    assert "column of images" in refused(cli, tmp_path / "n")
    label = refused(cli, shards, "--classes", "2")
    assert "sample " in label and "the model's head has 2 classes" in label
    assert "--classes" in refused(cli, folder, "--classes", "3")
    assert "--data-cache" in refused(cli, folder, "--data-cache", tmp_path / "cache")
    assert "--skip-corrupt" in refused(cli, shards, "--skip-corrupt")
    assert "do not fill one batch" in refused(cli, shards, "--classes", "3", batch=32)
    broken = [{"image": "/9g=", "label": 0}] * 4
    source = write_rows(tmp_path / "broken.jsonl", broken)
    cli.run("convert", source, tmp_path / "broken", "--columns", "image:jpeg,label:int")
    assert "sample 0: " in refused(cli, tmp_path / "broken", "--no-shuffle")
