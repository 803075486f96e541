"""OCI's pre-authenticated requests: made by presign, used as an address that needs no key."""

import json
import os
import time
import urllib.request

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

FINGERPRINT = ":".join(["20"] * 16)


@pytest.fixture
def keyed(serve, make_cli, tmp_path):
    """A server that asks for signatures, and a client with the key for it."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    private, public = tmp_path / "key.pem", tmp_path / "public.pem"
    private.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    public.write_bytes(
        key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    )
    credentials = tmp_path / "credentials.yaml"
    credentials.write_text(f"oci_keys:\n  - key_id: tenancy/user/{FINGERPRINT}\n    public_key_file: {public}\n")
    cli = make_cli(serve("--root", "memory", "--bucket", "test", "--credentials", credentials).url)
    config = tmp_path / "config"
    config.write_text(
        f"[DEFAULT]\nuser=user\ntenancy=tenancy\nfingerprint={FINGERPRINT}\nkey_file={private}\nregion=r\n"
    )
    url = cli.environment["AWS_ENDPOINT_URL"]
    cli.environment |= {"OCI_CLI_CONFIG_FILE": str(config), "ASSAY_STORAGE_ENDPOINT": url}
    return cli


def grant(cli, access, **more):
    """The address of a new one: made by the client's own signature, since `presign` makes the narrow ones only."""
    url = cli.environment["ASSAY_STORAGE_ENDPOINT"]
    body = {"name": "n", "accessType": access, "timeExpires": "2099-01-01T00:00:00Z", **more}
    request = urllib.request.Request(url + "/n/assay/b/test/p/", data=json.dumps(body).encode(), method="POST")
    path = json.loads(urllib.request.urlopen(request).read())["accessUri"]
    return url + path[: path.index("/n/")]


def test_presigned_addresses_serve_until_they_end(keyed, tmp_path):
    (tmp_path / "file").write_bytes(b"content")
    keyed.run("put", tmp_path / "file", "oci://test@assay/a b/c+d")
    read = keyed.run("presign", "oci://test@assay/a b/c+d", "--expires-in", 3600).stdout.decode().strip()
    assert urllib.request.urlopen(read).read() == b"content"
    write = keyed.run("presign", "oci://test@assay/new", "--method", "PUT").stdout.decode().strip()
    urllib.request.urlopen(urllib.request.Request(write, data=b"posted", method="PUT")).close()
    assert keyed.run("cat", "oci://test@assay/new").stdout == b"posted"
    short = keyed.run("presign", "oci://test@assay/a b/c+d", "--expires-in", 2).stdout.decode().strip()
    time.sleep(3)
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(short)
    assert refused.value.code == 404
    assert urllib.request.urlopen(read).read() == b"content"


def test_signed_requests_with_bodies(keyed, tmp_path):
    content = os.urandom(12_000_000)
    (tmp_path / "big").write_bytes(content)
    keyed.run("put", tmp_path / "big", "oci://test@assay/big", "--part-size", "5MiB")
    keyed.run("cp", "oci://test@assay/big", "oci://test@assay/copy")
    assert keyed.run("cat", "oci://test@assay/copy").stdout == content


def test_the_client_uses_one_as_its_endpoint(serve, make_cli, tmp_path):
    server = serve("--root", "memory", "--bucket", "test")
    cli = make_cli(server.url)
    cli.environment["ASSAY_STORAGE_ENDPOINT"] = server.url
    content = os.urandom(20_000_000)
    (tmp_path / "big").write_bytes(content)
    address = grant(cli, "AnyObjectReadWrite", bucketListingAction="ListObjects")
    # No credentials, no --anonymous: the address is the proof.
    cli.run("put", tmp_path / "big", "oci://test@assay/run/big", "--endpoint", address)
    cli.run("get", "oci://test@assay/run/big", tmp_path / "back", "--endpoint", address)
    assert (tmp_path / "back").read_bytes() == content
    assert cli.run("ls", "-r", "oci://test@assay/", "--endpoint", address).stdout.strip().endswith(b"run/big")
    # Of what it does not allow, and of one that is not there, one line without the secret.
    secret = address.rsplit("/", 1)[1]
    message = cli.refused("rm", "oci://test@assay/run/big", "--endpoint", address)
    assert "pre-authenticated request" in message and secret not in message
    cli.run("put", "-", "oci://test@assay/stream", "--endpoint", address, stdin=b"streamed")
    assert cli.run("cat", "oci://test@assay/stream", "--endpoint", address).stdout == b"streamed"
    few = ("--endpoint", address, "--memory-budget", "8MiB")
    ended = cli.run("put", "-", "oci://test@assay/long", *few, stdin=bytes(9 << 20), code=2)
    assert b"one request" in ended.stderr and ended.stderr.count(b"\n") == 1
    message = cli.refused("get", "oci://test@assay/run/big", "-", "--endpoint", f"{server.url}/p/ended")
    assert "pre-authenticated request" in message and "/p/ended" not in message


def test_addresses_outlive_a_crash_of_the_server(serve, make_cli, tmp_path):
    root = tmp_path / "root"
    server = serve("--root", root, "--bucket", "test")
    cli = make_cli(server.url)
    cli.environment["ASSAY_STORAGE_ENDPOINT"] = server.url
    address = grant(cli, "AnyObjectRead")
    cli.run("put", "-", "oci://test@assay/k", "--anonymous", stdin=b"kept")
    server.kill()
    again = serve("--root", root)
    path = address[len(server.url) :]
    assert urllib.request.urlopen(f"{again.url}{path}/n/assay/b/test/o/k").read() == b"kept"
    secret = path.rsplit("/", 1)[1]
    assert all(secret.encode() not in file.read_bytes() for file in root.rglob("*") if file.is_file())
    again.kill()
    (root / "preauthenticated.json").write_text("torn")
    without = serve("--root", root)
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(f"{without.url}{path}/n/assay/b/test/o/k")
    assert refused.value.code == 404
    assert [kept.read_text() for kept in (root / "damaged").iterdir()] == ["torn"]
