"""Images decoded and resized per second beside Pillow, on one thread and the same files, in turns.

Each image is generated, decoded from memory and resized to 224 x 224 some hundred times; a turn's figure is CPU time.
Both sides give the same pixels, bit for bit, or the row is refused. script/bench images calls this with image_tool built.
"""

import argparse
import datetime
import io
import json
import pathlib
import subprocess
import tempfile
import time

import numpy as np
import PIL
from harness import cli, machine, page
from harness.intervals import bootstrap_interval, median_ratio
from harness.machine import ROOT
from harness.table import markdown_table
from PIL import Image

SIDE = 224
ROWS = [  # name, width, height, format, options
    ("JPEG 500 x 500, quality 90", 500, 500, "jpeg", {"quality": 90}),
    ("JPEG 500 x 375, quality 75", 500, 375, "jpeg", {"quality": 75}),
    ("JPEG 1920 x 1080, quality 85", 1920, 1080, "jpeg", {"quality": 85}),
    ("JPEG 224 x 224, no chroma subsampling", 224, 224, "jpeg", {"subsampling": 0}),
    ("PNG 500 x 500", 500, 500, "png", {}),
]


def parse_arguments():
    parser = argparse.ArgumentParser(prog="script/bench images", description=__doc__)
    cli.add_bin_dir(parser, "image_tool")
    parser.add_argument("--turns", type=int, default=5, help="turns A B A B")
    parser.add_argument("--images", type=int, default=100, help="a turn")
    parser.add_argument("--output-dir", type=pathlib.Path, default=ROOT / "bench" / "results")
    return parser.parse_args()


def generate(width, height, kind, options):
    """A file's bytes: smooth colours, edges and some noise, as photographs have."""
    random = np.random.default_rng(1)
    y, x = np.mgrid[0:height, 0:width]
    planes = [np.sin(x / 37 + c) * np.cos(y / (29 + 7 * c)) * 90 + 120 for c in range(3)]
    pixels = np.stack(planes, axis=-1) + random.normal(0, 6, (height, width, 3))
    pixels[height // 3 : height // 2, width // 5 : width // 2] += 60
    content = io.BytesIO()
    Image.fromarray(pixels.clip(0, 255).astype(np.uint8)).save(content, kind, **options)
    return content.getvalue()


def pillow_turn(content, count):
    """CPU seconds to decode and to resize `count` times, and the pixels."""
    decode = resize = 0.0
    for _ in range(count):
        begin = time.process_time()
        image = Image.open(io.BytesIO(content)).convert("RGB")
        image.load()
        decoded = time.process_time()
        resized = image.resize((SIDE, SIDE), Image.Resampling.BILINEAR)
        resize += time.process_time() - decoded
        decode += decoded - begin
    return decode, resize, np.asarray(resized)


def own_turn(tool, path, count):
    command = [tool, "time", path, str(SIDE), str(SIDE), str(count)]
    figures = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    return figures["decode_seconds"], figures["resize_seconds"]


def own_pixels(tool, path, folder):
    subprocess.run([tool, "resize", path, folder / "pixels", str(SIDE), str(SIDE)], check=True)
    return np.frombuffer((folder / "pixels").read_bytes()[16:], np.uint8).reshape(SIDE, SIDE, 3)


def measure(row, arguments, folder):
    """The table's line of one kind of image; different pixels are a RuntimeError."""
    name, width, height, kind, options = row
    content = generate(width, height, kind, options)
    path = folder / "image"
    path.write_bytes(content)
    tool = arguments.bin_dir / "image_tool"
    pairs, parts = [], []
    for _ in range(arguments.turns):
        ours = own_turn(tool, path, arguments.images)
        *theirs, pixels = pillow_turn(content, arguments.images)
        pairs.append((sum(ours), sum(theirs)))
        parts.append((*ours, *theirs))
    if not np.array_equal(pixels, own_pixels(tool, path, folder)):
        raise RuntimeError(f"{name}: our pixels are not Pillow's")
    interval = bootstrap_interval(pairs)
    spread = f" ({interval[0]:.2f} to {interval[1]:.2f})" if interval else ""
    milliseconds = [1e3 * float(np.median(column)) / arguments.images for column in zip(*parts, strict=True)]
    rates = [f"{arguments.images / float(np.median(side)):.0f}" for side in zip(*pairs, strict=True)]
    split = [f"{value:.2f}" for value in milliseconds]
    return [name, rates[1], rates[0], f"{median_ratio(pairs):.2f}{spread}", *split[2:], *split[:2]]


def report(arguments, lines):
    head = ["image", "Pillow, images/s", "assay, images/s", "ratio (95 %)", "Pillow decode, ms", "resize, ms"]
    return (
        f"# Images decoded and resized against Pillow, {datetime.date.today()}\n\n"
        f"One thread each, in turns A B A B ({arguments.turns}) of {arguments.images} images, CPU time, to {SIDE} x {SIDE}"
        f" pixels that are equal on both sides. Pillow {PIL.__version__}. Commit {machine.git_commit()},"
        f" {machine.cpu_name()}; load average {machine.load_average():.2f} at the end.\n\n"
        f"    {machine.command_line('images')}\n\n"
        f"{markdown_table([*head, 'assay decode, ms', 'resize, ms'], lines)}\n"
    )


def main():
    arguments = parse_arguments()
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        for row in ROWS:
            print(f"==> {row[0]}", flush=True)
            lines.append(measure(row, arguments, pathlib.Path(folder)))
    page.publish(report(arguments, lines), arguments.output_dir, "images")


if __name__ == "__main__":
    cli.run(main)
