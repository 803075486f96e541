"""What is committed in share/web is what script/bundle makes of src/web, and says what it is made of."""

import base64
import hashlib
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
WEB = ROOT / "share/web"


def test_the_bundle_is_made_of_the_sources(tmp_path):
    done = subprocess.run([ROOT / "script/bundle", tmp_path], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    names = sorted(path.name for path in WEB.iterdir())
    assert sorted(path.name for path in tmp_path.iterdir()) == names
    for name in names:
        assert (tmp_path / name).read_bytes() == (WEB / name).read_bytes(), f"run script/bundle: {name} is another"


def test_the_hashes_are_those_of_the_files():
    for line in (WEB / "hashes.txt").read_text().splitlines():
        name, wanted = line.split()
        digest = hashlib.sha256((WEB / name).read_bytes()).digest()
        assert wanted == "sha256-" + base64.b64encode(digest).decode()


def test_every_package_has_its_licence():
    text = (WEB / "LICENSES.txt").read_text()
    for package in ["vega 6", "vega-lite 6", "vega-interpreter 2", "uplot 1", "preact 11", "d3-array"]:
        assert f"\n{package}" in text
    assert "no file of a licence" not in text
