"""Decoded and resized pixels equal Pillow's, bit for bit."""

import io
import zlib

import numpy as np
import pytest
from PIL import Image

RANDOM = np.random.default_rng(7)


def photograph(width, height):
    """Smooth colours with edges and noise: what JPEG is made for, and what it is not."""
    y, x = np.mgrid[0:height, 0:width]
    waves = [np.sin(x / 17 + c) * np.cos(y / (23 + c)) * 100 + 128 for c in range(3)]
    pixels = np.stack(waves, axis=-1) + RANDOM.normal(0, 12, (height, width, 3))
    pixels[height // 4 : height // 2, width // 4 : width // 2] = (250, 10, 30)
    return Image.fromarray(pixels.clip(0, 255).astype(np.uint8))


def noise(width, height, mode="RGB"):
    channels = {"L": (), "RGB": (3,), "RGBA": (4,), "LA": (2,), "CMYK": (4,)}[mode]
    return Image.frombytes(
        mode, (width, height), RANDOM.integers(0, 256, (height, width, *channels), np.uint8).tobytes()
    )


def expected(path):
    return np.array(Image.open(path).convert("RGB"))


JPEG_OPTIONS = {
    "default": {},
    "no chroma subsampling": {"subsampling": 0},
    "4:2:2": {"subsampling": 1},
    "best quality": {"quality": 100},
    "worst quality": {"quality": 1},
    "progressive": {"progressive": True},
    "restart markers": {"restart_marker_rows": 1},
    "optimized": {"optimize": True},
    "kept as RGB": {"keep_rgb": True},
}


@pytest.mark.parametrize("name", JPEG_OPTIONS)
@pytest.mark.parametrize("size", [(1, 1), (17, 9), (500, 333)])
def test_jpeg(tool, tmp_path, name, size):
    path = tmp_path / "image.jpg"
    photograph(*size).save(path, **JPEG_OPTIONS[name])
    np.testing.assert_array_equal(tool.decode(path), expected(path))


@pytest.mark.parametrize("mode", ["L", "CMYK"])
def test_jpeg_of_other_colours(tool, tmp_path, mode):
    path = tmp_path / "image.jpg"
    photograph(61, 40).convert(mode).save(path)
    np.testing.assert_array_equal(tool.decode(path), expected(path))


def test_cmyk_of_any_ink(tool, tmp_path):
    path = tmp_path / "image.jpg"
    noise(64, 64, "CMYK").save(path, quality=100)
    np.testing.assert_array_equal(tool.decode(path), expected(path))


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGB", "RGBA"])
def test_png(tool, tmp_path, mode):
    path = tmp_path / "image.png"
    photograph(45, 31).convert(mode).save(path)
    np.testing.assert_array_equal(tool.decode(path), expected(path))


@pytest.mark.parametrize("mode", ["L", "LA", "RGB", "RGBA"])
def test_png_of_noise(tool, tmp_path, mode):
    path = tmp_path / "image.png"
    noise(33, 20, mode).save(path)
    np.testing.assert_array_equal(tool.decode(path), expected(path))


def test_png_palette_with_transparency(tool, tmp_path):
    path = tmp_path / "image.png"
    photograph(45, 31).quantize(7).save(path, transparency=2)
    np.testing.assert_array_equal(tool.decode(path), expected(path))


@pytest.mark.parametrize("bits", [1, 2, 4])
def test_png_with_few_bits_of_palette(tool, tmp_path, bits):
    path = tmp_path / "image.png"
    photograph(45, 31).quantize(2**bits).save(path, bits=bits)
    np.testing.assert_array_equal(tool.decode(path), expected(path))


def test_png_of_16_bit_grey(tool, tmp_path):
    path = tmp_path / "image.png"
    Image.fromarray(np.arange(0, 65536, 16).astype(np.uint16).reshape(64, 64)).save(path)
    np.testing.assert_array_equal(tool.decode(path), expected(path))


def write_png(path, width, height, depth, color_type, rows, chunks=()):
    """Forms that Pillow reads but does not write."""

    def chunk(kind, content):
        body = kind + content
        return len(content).to_bytes(4, "big") + body + zlib.crc32(body).to_bytes(4, "big")

    header = width.to_bytes(4, "big") + height.to_bytes(4, "big") + bytes([depth, color_type, 0, 0, 0])
    data = zlib.compress(b"".join(b"\0" + row for row in rows))
    parts = [chunk(b"IHDR", header), *(chunk(*c) for c in chunks), chunk(b"IDAT", data), chunk(b"IEND", b"")]
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + b"".join(parts))


@pytest.mark.parametrize("color_type, samples", [(2, 3), (4, 2), (6, 4)])
def test_png_of_16_bit_colours(tool, tmp_path, color_type, samples):
    path = tmp_path / "image.png"
    rows = [RANDOM.bytes(21 * samples * 2) for _ in range(13)]
    write_png(path, 21, 13, 16, color_type, rows)
    np.testing.assert_array_equal(tool.decode(path), expected(path))


@pytest.mark.parametrize("depth", [1, 2, 4])
def test_png_of_few_bits_of_grey(tool, tmp_path, depth):
    path = tmp_path / "image.png"
    write_png(path, 16, 5, depth, 0, [RANDOM.bytes(16 * depth // 8) for _ in range(5)])
    np.testing.assert_array_equal(tool.decode(path), expected(path))


@pytest.mark.parametrize("color_type, samples, key", [(0, 1, b"\0\5"), (2, 3, b"\0\1\0\2\0\3")])
def test_png_with_a_transparent_colour(tool, tmp_path, color_type, samples, key):
    path = tmp_path / "image.png"
    rows = [RANDOM.integers(0, 9, 12 * samples, np.uint8).tobytes() for _ in range(9)]
    write_png(path, 12, 9, 8, color_type, rows, [(b"tRNS", key)])
    np.testing.assert_array_equal(tool.decode(path), expected(path))


SHAPES = [(1, 1), (1, 9), (8, 8), (3, 5), (31, 7), (224, 224), (500, 500), (640, 333), (97, 1024)]
SIZES = [(1, 1), (2, 3), (7, 8), (32, 32), (224, 224), (384, 384), (225, 1), (500, 224), (223, 500)]


@pytest.mark.parametrize("shape", SHAPES)
def test_resize(tool, tmp_path, shape):
    path = tmp_path / "image.png"
    image = noise(*shape)
    image.save(path)
    for size, resized in zip(SIZES, tool.resize(path, SIZES), strict=True):
        np.testing.assert_array_equal(resized, np.array(image.resize(size, Image.Resampling.BILINEAR)), str(size))


def test_resize_of_random_shapes(tool, tmp_path):
    path = tmp_path / "image.png"
    for _ in range(25):
        image = noise(*map(int, RANDOM.integers(1, 400, 2)))
        image.save(path)
        sizes = [tuple(map(int, RANDOM.integers(1, 300, 2))) for _ in range(4)]
        for size, resized in zip(sizes, tool.resize(path, sizes), strict=True):
            np.testing.assert_array_equal(resized, np.array(image.resize(size, Image.Resampling.BILINEAR)))


def test_what_pillow_refuses_is_refused_in_one_line(tool, tmp_path):
    path = tmp_path / "broken.jpg"
    whole = io.BytesIO()
    photograph(64, 64).save(whole, "jpeg")
    for size in range(0, len(whole.getvalue()) - 2, 37):
        path.write_bytes(whole.getvalue()[:size])
        with pytest.raises(ValueError) as refusal:
            tool.decode(path)
        assert str(path) in str(refusal.value)
        assert "\n" not in str(refusal.value)
