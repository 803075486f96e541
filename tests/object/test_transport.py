"""What lies between the client and the store: TLS, proxies, host names; and headers that only providers read."""

import contextlib
import os
import re
import sys

import pytest
from conftest import KEY, SECRET
from tls import Authority, HttpProxy, Listener, TlsProxy

MIB = 1 << 20


@pytest.fixture
def authority(tmp_path):
    folder = tmp_path / "authority"
    folder.mkdir()
    return Authority(folder)


@pytest.fixture
def tls_url(authority, server):
    with contextlib.closing(TlsProxy(authority.context("localhost", "test.localhost"), server.url)) as proxy:
        yield f"https://localhost:{proxy.port}"


@pytest.fixture
def big(tmp_path):
    path = tmp_path / "big"
    path.write_bytes(os.urandom(24 * MIB))
    return path


def round_trip(cli, big, **environment):
    cli.run("put", big, "s3://test/big", "--part-size", "5MiB", **environment)
    assert cli.run("cat", "s3://test/big", **environment).stdout == big.read_bytes()


@pytest.mark.parametrize("how", ["flag", "variable", "aws"])
def test_tls_with_an_authority_that_was_named(cli, tls_url, authority, big, how):
    environment = {"AWS_ENDPOINT_URL": tls_url}
    if how == "flag":
        cli.run("put", big, "s3://test/big", "--ca-bundle", authority.path, **environment)
        got = cli.run("cat", "s3://test/big", "--ca-bundle", authority.path, **environment)
        assert got.stdout == big.read_bytes()
        return
    environment["ASSAY_STORAGE_CA_FILE" if how == "variable" else "AWS_CA_BUNDLE"] = str(authority.path)
    round_trip(cli, big, **environment)


def test_tls_is_verified_unless_told_otherwise(cli, tls_url, big):
    message = cli.refused("put", big, "s3://test/big", code=1, AWS_ENDPOINT_URL=tls_url)
    assert "certificate" in message and "s3://test/big" in message and "CA" in message
    assert cli.run("ls", "s3://test", "--no-verify-ssl", AWS_ENDPOINT_URL=tls_url).stdout == b""


def content_length(request):
    found = re.search(rb"(?i)content-length: *(\d+)", request)
    return int(found.group(1)) if found else 0


class TokenService(Listener):
    """Gives the server's own keys for a role to whoever asks, and remembers what it was sent."""

    def __init__(self):
        self.heard = b""
        super().__init__()

    def serve(self, connection):
        request = b""
        while b"\r\n\r\n" not in request or len(request.partition(b"\r\n\r\n")[2]) < content_length(request):
            request += connection.recv(1 << 16)
        self.heard += request
        keys = f"<AccessKeyId>{KEY}</AccessKeyId><SecretAccessKey>{SECRET}</SecretAccessKey><SessionToken/>"
        body = f"<A><Credentials>{keys}<Expiration>2099-01-01T00:00:00Z</Expiration></Credentials></A>".encode()
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\nConnection: close\r\n\r\n" % len(body) + body)


def test_credentials_go_over_checked_tls_whatever_is_allowed_to_the_store(cli, authority, tmp_path):
    (tmp_path / "token").write_text("identity-of-tests")
    del cli.environment["AWS_ACCESS_KEY_ID"]
    with contextlib.closing(TokenService()) as service:
        inner = f"http://127.0.0.1:{service.port}"
        with contextlib.closing(TlsProxy(authority.context("localhost"), inner)) as proxy:
            cli.environment |= {
                "AWS_WEB_IDENTITY_TOKEN_FILE": str(tmp_path / "token"),
                "AWS_ROLE_ARN": "arn:aws:iam::1:role/r",
                "AWS_ENDPOINT_URL_STS": f"https://localhost:{proxy.port}",
            }
            message = cli.refused("ls", "s3://test", "--no-verify-ssl", code=1)
            assert "certificate" in message and b"identity-of-tests" not in service.heard
            cli.run("ls", "s3://test", "--ca-bundle", authority.path)
            assert b"identity-of-tests" in service.heard
    message = cli.refused("ls", "s3://test", AWS_ENDPOINT_URL_STS="http://sts.example.com")
    assert "https" in message


def test_tls_checks_the_name(cli, authority, server, tmp_path):
    with contextlib.closing(TlsProxy(authority.context("elsewhere.example"), server.url)) as proxy:
        url = f"https://localhost:{proxy.port}"
        message = cli.refused("ls", "s3://test", "--ca-bundle", authority.path, code=1, AWS_ENDPOINT_URL=url)
    assert "localhost" in message


def test_an_authority_that_cannot_be_read(cli, tls_url, tmp_path):
    message = cli.refused("ls", "s3://test", "--ca-bundle", tmp_path / "none.pem", code=1, AWS_ENDPOINT_URL=tls_url)
    assert "none.pem" in message


def test_the_bucket_in_the_host_name(cli, server, tls_url, authority, big):
    url = server.url.replace("127.0.0.1", "localhost")
    cli.run("put", big, "s3://test/big", "--virtual-host-style", "--part-size", "5MiB", AWS_ENDPOINT_URL=url)
    assert cli.run("cat", "s3://test/big").stdout == big.read_bytes()
    names = cli.run("ls", "-r", "s3://test", "--virtual-host-style", AWS_ENDPOINT_URL=url).stdout
    assert names.strip().endswith(b"big")
    cli.run("rm", "s3://test/big", "--virtual-host-style", "--ca-bundle", authority.path, AWS_ENDPOINT_URL=tls_url)
    cli.refused("stat", "s3://test/big")


@pytest.mark.parametrize("how", ["flag", "variable"])
def test_a_proxy_forwards(cli, server, big, how):
    with contextlib.closing(HttpProxy()) as proxy:
        if how == "flag":
            cli.run("put", big, "s3://test/big", "--proxy", proxy.url, NO_PROXY="")
        else:
            cli.run("put", big, "s3://test/big", http_proxy=proxy.url, NO_PROXY="", no_proxy="")
        assert any(head.startswith(f"PUT {server.url}/test/big") for head in proxy.heads)
    assert cli.run("cat", "s3://test/big").stdout == big.read_bytes()


def test_a_proxy_tunnels_tls(cli, tls_url, authority, big):
    with contextlib.closing(HttpProxy()) as proxy:
        round_trip(cli, big, AWS_ENDPOINT_URL=tls_url, AWS_CA_BUNDLE=str(authority.path), ASSAY_STORAGE_PROXY=proxy.url)
        assert proxy.heads and all(head.startswith("CONNECT localhost:") for head in proxy.heads)


def test_a_proxy_with_a_password(cli, big):
    with contextlib.closing(HttpProxy(credentials="Basic dXNlcjpzZWNyZXRwYXNz")) as proxy:
        address = proxy.url.removeprefix("http://")
        cli.run("put", big, "s3://test/big", "--proxy", f"http://user:secretpass@{address}")
        message = cli.refused("put", big, "s3://test/big", "--proxy", f"http://user:wrongpass@{address}")
    assert "407" in message and "user:password@host" in message and "wrongpass" not in message


def test_a_proxy_that_cuts_connections_costs_only_time(cli, big):
    cli.run("put", big, "s3://test/big")
    with contextlib.closing(HttpProxy(cuts=5, budget=MIB)) as proxy:
        got = cli.run("cat", "s3://test/big", "--proxy", proxy.url)
        assert proxy.cuts == 0
    assert got.stdout == big.read_bytes()


def test_a_proxy_that_always_cuts_is_one_line(cli, big, tmp_path):
    cli.run("put", big, "s3://test/big")
    target = tmp_path / "out" / "big"
    target.parent.mkdir()
    with contextlib.closing(HttpProxy(cuts=sys.maxsize, budget=MIB)) as proxy:
        message = cli.refused("get", "s3://test/big", target, "--proxy", proxy.url, "--max-attempts", 2, code=1)
    assert "s3://test/big" in message and "proxy" in message
    assert not target.exists()


def test_a_proxy_that_is_not_there(cli):
    with contextlib.closing(HttpProxy()) as gone:
        url = gone.url
    message = cli.refused("ls", "s3://test", "--proxy", url, "--max-attempts", 2, code=1)
    assert "s3://test" in message and "proxy" in message


@pytest.mark.parametrize("how", ["flag", "variable"])
def test_a_proxy_that_no_attempt_could_use(cli, how):
    bad = "bad://user:secretpass@x"
    if how == "flag":
        message = cli.refused("ls", "s3://test", "--proxy", bad)
    else:
        message = cli.refused("ls", "s3://test", http_proxy=bad, NO_PROXY="", no_proxy="")
    assert "unusable proxy" in message and "http://host:port" in message and "secretpass" not in message
    assert "attempts" not in message


def header(head, name):
    found = [line.split(": ", 1)[1] for line in head.split("\r\n") if line.lower().startswith(name + ":")]
    return found[0] if found else None


@pytest.mark.parametrize("size", [1000, 12 * MIB], ids=["one request", "parts"])
def test_encryption_class_and_payer_reach_the_store(cli, tmp_path, size):
    (tmp_path / "file").write_bytes(os.urandom(size))
    flags = ["--sse", "aws:kms", "--sse-kms-key-id", "key-1", "--storage-class", "STANDARD_IA", "--requester-pays"]
    with contextlib.closing(HttpProxy()) as proxy:
        # One connection a request: the proxy sees the head of each.
        for part in range(2):
            cli.run("put", tmp_path / "file", f"s3://test/{part}", *flags, "--proxy", proxy.url, "--connections", 1)
        cli.run("cat", "s3://test/0", *flags, "--proxy", proxy.url)
        made = [head for head in proxy.heads if head.startswith(("PUT", "POST"))]
        read = [head for head in proxy.heads if head.startswith(("GET", "HEAD"))]
    assert made and read
    assert header(made[0], "x-amz-server-side-encryption") == "aws:kms"
    assert header(made[0], "x-amz-server-side-encryption-aws-kms-key-id") == "key-1"
    assert header(made[0], "x-amz-storage-class") == "STANDARD_IA"
    assert all(header(head, "x-amz-request-payer") == "requester" for head in made + read)
    assert all(header(head, "x-amz-server-side-encryption") is None for head in read)
    assert b"STANDARD_IA" in cli.run("stat", "s3://test/0", "--output", "json").stdout


def test_encryption_that_the_store_does_not_know(cli, tmp_path):
    (tmp_path / "file").write_bytes(b"x")
    message = cli.refused("put", tmp_path / "file", "s3://test/k", "--sse", "rot13")
    assert "encryption" in message.lower()
