"""OpenStack Swift, a real store with an S3 interface: one node, all in one folder, on free ports of the loopback.

Of Debian's package python3-swift (tools/apt-swift.txt), which holds the servers as a library and starts nothing itself.
Runs as whoever runs the tests; the folder must be on a file system with extended attributes. Signatures are checked by
Swift's own `s3api` against the user of its `tempauth`; uploads in parts become its static large objects.
"""

import contextlib
import getpass
import pathlib
import subprocess
import time
import urllib.error
import urllib.request

from ports import free_ports

#: The interpreter that Debian's packages belong to.
PYTHON = "/usr/bin/python3"
#: An account and a user of tempauth together are an access key.
ACCOUNT, USER, SECRET, REGION = "matrix", "assay", "matrix-secret", "us-east-1"
KEY = f"{ACCOUNT}:{USER}"

#: Swift reads its cluster's file from /etc/swift unless it is told before its modules are imported. A server ends with
#: the tests, also where those are killed.
PRELUDE = """
import ctypes
import signal
import sys
ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
import swift.common.utils as utils
utils.SWIFT_CONF_FILE = sys.argv[1] + "/swift.conf"
"""
RINGS = """
from swift.cli.ringbuilder import main
for kind, port in zip(("account", "container", "object"), sys.argv[2:]):
    builder = f"{sys.argv[1]}/{kind}.builder"
    for step in (["create", "1", "1", "0"], ["add", f"r1z1-127.0.0.1:{port}/disk", "1"], ["rebalance"]):
        try:
            main(["swift-ring-builder", builder, *step])
        except SystemExit as end:
            assert end.code in (0, None), (kind, step, end.code)
"""
SERVE = """
import importlib
from swift.common.wsgi import run_wsgi
kind = sys.argv[2]
options = {}
if kind == "object":
    options["global_conf_callback"] = importlib.import_module("swift.obj.server").global_conf_callback
sys.exit(run_wsgi(f"{sys.argv[1]}/{kind}.conf", f"{kind}-server", **options))
"""

CLUSTER = """[swift-hash]
swift_hash_path_prefix = matrix
swift_hash_path_suffix = matrix

[storage-policy:0]
name = only
default = yes
"""
COMMON = """[DEFAULT]
swift_dir = {folder}
devices = {folder}
mount_check = false
bind_ip = 127.0.0.1
bind_port = {port}
workers = 0
user = {user}
log_address = {folder}/no-syslog
"""
STORAGE = """
[pipeline:main]
pipeline = {kind}-server

[app:{kind}-server]
use = egg:swift#{kind}
allow_versions = true
"""
#: The cache has no server behind it: tempauth wants one, and does without what it finds in none.
PROXY = """
[pipeline:main]
pipeline = catch_errors gatekeeper cache listing_formats bulk s3api tempauth slo dlo versioned_writes proxy-server

[app:proxy-server]
use = egg:swift#proxy
account_autocreate = true
allow_account_management = true

[filter:s3api]
use = egg:swift#s3api
location = {region}

[filter:tempauth]
use = egg:swift#tempauth
user_{account}_{name} = {secret} .admin

[filter:cache]
use = egg:swift#memcache
memcache_servers = 127.0.0.1:{cache_port}
"""
for filter_name in ("catch_errors", "gatekeeper", "listing_formats", "bulk", "slo", "dlo", "versioned_writes"):
    PROXY += f"\n[filter:{filter_name}]\nuse = egg:swift#{filter_name}\n"
PROXY += "allow_versioned_writes = true\n"


def version():
    """Swift's, or None where it is not installed."""
    command = [PYTHON, "-c", "import swift; print(swift.__version__)"]
    ended = subprocess.run(command, capture_output=True, text=True) if pathlib.Path(PYTHON).exists() else None
    return ended.stdout.strip() if ended is not None and ended.returncode == 0 else None


def configure(folder, ports, cache_port):
    (folder / "disk").mkdir()
    (folder / "swift.conf").write_text(CLUSTER)
    for kind, port in ports.items():
        common = COMMON.format(folder=folder, port=port, user=getpass.getuser())
        names = {"kind": kind, "region": REGION, "account": ACCOUNT, "name": USER, "secret": SECRET}
        rest = PROXY if kind == "proxy" else STORAGE
        (folder / f"{kind}.conf").write_text(common + rest.format(**names, cache_port=cache_port))
    rings = [str(ports[kind]) for kind in ("account", "container", "object")]
    subprocess.run([PYTHON, "-c", PRELUDE + RINGS, str(folder), *rings], check=True, capture_output=True, timeout=300)


def wait_until_it_answers(url, process, log):
    deadline = time.monotonic() + 300
    while True:
        try:
            urllib.request.urlopen(url, timeout=5).close()
            return
        except urllib.error.HTTPError:
            return
        except OSError:
            assert process.poll() is None and time.monotonic() < deadline, log.read_text()[-2000:]
            time.sleep(0.2)


@contextlib.contextmanager
def swift(folder):
    """The URL of its S3 interface, until the block ends; `folder` is an empty one."""
    kinds = ("account", "container", "object", "proxy")
    *server_ports, cache_port = free_ports(len(kinds) + 1)
    ports = dict(zip(kinds, server_ports, strict=True))
    configure(folder, ports, cache_port)
    processes = []
    try:
        for kind, port in ports.items():
            log = folder / f"{kind}.log"
            with open(log, "wb") as out:
                command = [PYTHON, "-c", PRELUDE + SERVE, str(folder), kind]
                processes.append(subprocess.Popen(command, stdout=out, stderr=out, stdin=subprocess.DEVNULL))
            wait_until_it_answers(f"http://127.0.0.1:{port}/", processes[-1], log)
        yield f"http://127.0.0.1:{ports['proxy']}"
    finally:
        for process in processes:
            process.kill()
        for process in processes:
            process.wait()
