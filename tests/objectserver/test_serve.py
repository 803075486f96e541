"""The verb itself: ports, mistakes, metrics, profiles."""

import socket
import subprocess
import time
import urllib.error
import urllib.request

from conftest import ASSAY


def refused(*arguments):
    ended = subprocess.run([ASSAY, "object", "serve", *arguments], capture_output=True, text=True, timeout=300)
    assert ended.returncode == 2 and ended.stderr.count("\n") == 1, ended.stderr
    return ended.stderr


def test_mistakes_are_one_line(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        assert "in use" in refused("--port", str(taken.getsockname()[1]))
    assert "another folder" in refused("--root", "/usr")
    assert "--credentials" in refused("--host", "0.0.0.0")
    assert "same-region-s3" in refused("--profile", "nothing")
    profile = tmp_path / "p.yaml"
    profile.write_text("latency:\n  rea: {median: 1ms, p99: 2ms}\n")
    message = refused("--profile", str(profile))
    assert "p.yaml:2" in message and "'read'" in message
    for text, problem in (
        ("latency: [1\n", "not valid YAML"),
        ("[]\n", "must be a map"),
        ("faults: 3\n", "must be a list"),
        ("faults: [{fault: frob, rate: 0.1}]\n", "unknown fault 'frob'"),
        ("faults: [{fault: reset, rate: 2}]\n", "between 0 and 1"),
        ("bandwidth: {total: fast}\n", "fast"),
    ):
        profile.write_text(text)
        message = refused("--profile", str(profile))
        assert "p.yaml:" in message and problem in message
    assert "s3, gcs" in refused("--dialect", "azure")
    for name in ("../outside", "two words", ""):
        assert "cannot make bucket" in refused("--root", str(tmp_path / "root"), "--bucket", name)


def put(url, content=b"x"):
    try:
        with urllib.request.urlopen(urllib.request.Request(url, data=content, method="PUT")) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        return error.code


def wait_for_metrics(server, lines, seconds=300):
    """A request is counted when its answer has left, which its client may notice first."""
    deadline = time.monotonic() + seconds
    while True:
        metrics = urllib.request.urlopen(server.url + "/metrics").read().decode()
        missing = [line for line in lines if line + "\n" not in metrics]
        if not missing or time.monotonic() > deadline:
            assert not missing, metrics
            return
        time.sleep(0.05)


def test_metrics_count_requests_and_faults(serve, tmp_path):
    profile = tmp_path / "p.yaml"
    profile.write_text(
        "latency: {write: {median: 30ms, p99: 30ms}}\nfaults: [{fault: return, status: 500, rate: 0.3}]\n"
    )
    runs = []
    for _ in range(2):
        server = serve("--profile", profile, "--seed", "5", "--bucket", "test")
        start = time.monotonic()
        runs.append([put(f"{server.url}/test/{key}") for key in range(20)])
        assert time.monotonic() - start > 0.5
        faults = runs[-1].count(500)
        wait_for_metrics(
            server,
            [
                f'assay_object_faults_total{{fault="return",operation="PutObject"}} {faults}',
                f'assay_object_requests_total{{operation="PutObject",status="200"}} {20 - faults}',
            ],
        )
        server.stop()
    assert runs[0] == runs[1] and 500 in runs[0]
