"""gs:// with HMAC keys: the XML API, signed in Google's way."""

import os

import pytest
from conftest import KEY, SECRET


@pytest.fixture
def keyed(cli):
    url = cli.environment["AWS_ENDPOINT_URL"]
    hmac = {"GCS_HMAC_ACCESS_KEY_ID": KEY, "GCS_HMAC_SECRET_ACCESS_KEY": SECRET, "ASSAY_STORAGE_ENDPOINT": url}
    cli.environment |= hmac
    return cli


def test_objects_of_every_size(keyed, tmp_path):
    content = os.urandom(20_000_000)
    (tmp_path / "big").write_bytes(content)
    keyed.run("put", tmp_path / "big", "gs://test/a b/big", "--part-size", "5MiB")
    keyed.run("cp", "gs://test/a b/big", "gs://other/copy", "--metadata", "colour=blue")
    assert keyed.run("cat", "gs://other/copy").stdout == content
    assert keyed.run("verify", "gs://test/a b/big").stdout.startswith(b"ok")
    assert b"blue" in keyed.run("stat", "gs://other/copy", "--output", "json").stdout
    keyed.run("rm", "-r", "gs://test/")
    assert keyed.run("ls", "-r", "gs://test/").stdout == b""


def test_conditions_hold(keyed, tmp_path):
    (tmp_path / "big").write_bytes(bytes(12_000_000))
    keyed.run("put", tmp_path / "big", "gs://test/k", "--if-absent", "--part-size", "5MiB")
    keyed.run("put", "-", "gs://test/s", "--if-absent", stdin=b"streamed")
    for key in ("k", "s"):
        assert "gs://test/" + key in keyed.refused("put", tmp_path / "big", f"gs://test/{key}", "--if-absent")
    assert keyed.run("cat", "gs://test/s").stdout == b"streamed"


def test_wrong_keys(keyed):
    message = keyed.refused("ls", "gs://test", GCS_HMAC_SECRET_ACCESS_KEY="wrongsecret")
    assert "SignatureDoesNotMatch" in message and "wrongsecret" not in message
    assert "set both or neither" in keyed.refused("ls", "gs://test", GCS_HMAC_SECRET_ACCESS_KEY="")
