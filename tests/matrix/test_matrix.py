"""Every client does the same eight things on every server it can speak to."""

import hashlib
import os

import pytest
from conftest import OPERATIONS

ODD = "a b+c%41 \u00e9\u65e5/odd'key"
#: What a client or a server cannot do, by itself: reviewed, not skipped. Those that fail wait
#: for a repair of our side.
KNOWN = {
    ("s3torchconnector", "assay", "delete"): "no such call",
    ("s3torchconnector", "assay", "checksum"): "no such call",
    ("assay", "moto", "checksum"): "moto records none",
    ("assay", "s3rver", "checksum"): "s3rver records none",
    ("assay", "Swift", "checksum"): "Swift records none",
}


def put(client):
    client.put("put", b"content")
    client.put("empty", b"")
    client.put("put", b"again")
    assert client.get("put") == b"again"


def get(client):
    content = os.urandom(300_000)
    client.put("get", content)
    assert client.get("get") == content


def read_range(client):
    content = os.urandom(100_000)
    client.put("range", content)
    assert client.range("range", 1000, 90_001) == content[1000:90_001]


def list_keys(client):
    names = [f"list/{i:02}" for i in range(12)]
    for name in names:
        client.put(name, b"x")
    client.put("listed", b"x")
    assert sorted(client.list("list/")) == names


def multipart(client):
    content = os.urandom(11 << 20)
    client.put_large("large", content)
    assert hashlib.sha256(client.get("large")).digest() == hashlib.sha256(content).digest()


def delete(client):
    client.put("deleted/one", b"x")
    client.put("deleted/two", b"x")
    client.delete("deleted/one")
    assert client.list("deleted/") == ["deleted/two"]


def odd_key(client):
    client.put(ODD, b"odd")
    assert client.get(ODD) == b"odd"
    assert client.list("a b") in ([ODD], [])  # rclone and fsspec list folders, of which "a b" is none


def checksum(client):
    assert client.checksum("checksum", b"checked" * 1000) == b"checked" * 1000


ACTS = dict(zip(OPERATIONS, [put, get, read_range, list_keys, multipart, delete, odd_key, checksum], strict=True))


@pytest.mark.parametrize("operation", OPERATIONS)
def test_cell(pair, operation, record):
    names, client = pair
    if (*names, operation) in KNOWN:
        record(names, operation, KNOWN[*names, operation])
        return
    record(names, operation, "**fails**")
    ACTS[operation](client)
    record(names, operation, "yes")
