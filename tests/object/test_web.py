"""Files of web servers that nobody here wrote: aiohttp's, which has ranges, and Python's own, which has none."""

import asyncio
import contextlib
import functools
import http.server
import json
import random
import threading

import pytest
from aiohttp import web
from conftest import wait_for_notes
from tls import Gate

CONTENT = random.Random(17).randbytes(70_000_003)


@pytest.fixture
def folder(tmp_path):
    path = tmp_path / "served" / "data"
    path.mkdir(parents=True)
    (path / "large file.bin").write_bytes(CONTENT)
    (path / "small.txt").write_bytes(b"hello")
    (path / "empty").write_bytes(b"")
    return path


@pytest.fixture
def ranged(folder):
    """A URL; what is below /old/ is redirected, and what is below /gone/ is not there."""
    loop = asyncio.new_event_loop()
    started = threading.Event()
    urls = []

    async def start():
        app = web.Application()
        app.router.add_static("/data", folder)

        async def moved(request):
            raise web.HTTPFound("/data/" + request.match_info["name"])

        app.router.add_get("/old/{name}", moved)
        runner = web.AppRunner(app)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        urls.append(f"http://127.0.0.1:{runner.addresses[0][1]}")
        started.set()
        return runner

    def run():
        runner = loop.run_until_complete(start())
        loop.run_forever()
        loop.run_until_complete(runner.cleanup())

    thread = threading.Thread(target=run)
    thread.start()
    assert started.wait(300)
    yield urls[0]
    loop.call_soon_threadsafe(loop.stop)
    thread.join()


@pytest.fixture
def whole(folder):
    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *arguments):
            pass

    handler = functools.partial(Quiet, directory=folder.parent)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture(params=["ranged", "whole"])
def url(request):
    return request.getfixturevalue(request.param)


def test_verbs(cli, url, tmp_path):
    source = url + "/data/large%20file.bin"
    stat = json.loads(cli.run("stat", source, "--output", "json").stdout)
    assert stat["size"] == len(CONTENT) and stat["etag"]
    cli.run("get", source, tmp_path / "got")
    assert (tmp_path / "got").read_bytes() == CONTENT
    assert cli.run("cat", source).stdout == CONTENT
    assert cli.run("cat", source, "--offset", 40_000_000, "--length", 9).stdout == CONTENT[40_000_000:40_000_009]
    cli.run("get", source + "?signature=x/y", str(tmp_path) + "/")
    assert (tmp_path / "large file.bin").read_bytes() == CONTENT
    cli.run("cp", source, "s3://test/copy")
    assert cli.run("cat", "s3://test/copy").stdout == CONTENT
    assert b"read, no checksum" in cli.run("verify", source).stdout
    assert cli.run("cat", url + "/data/small.txt").stdout == b"hello"
    assert cli.run("cat", url + "/data/empty").stdout == b""


def test_what_is_refused_is_one_line(cli, url, tmp_path):
    (tmp_path / "file").write_bytes(b"x")
    assert "no such object" in cli.refused("cat", url + "/data/none")
    assert "only read" in cli.refused("put", tmp_path / "file", url + "/data/new")
    assert "only read" in cli.refused("rm", url + "/data/small.txt")
    assert "cannot list" in cli.refused("ls", url + "/data/")
    assert "cannot list" in cli.refused("cp", "-r", url + "/data/", tmp_path / "all")
    assert "password" in cli.refused("cat", url.replace("//", "//me:hush@") + "/data/small.txt")
    assert "hush" not in cli.refused("cat", url + "/data/none?signature=hush")


def test_redirects_are_followed(cli, ranged, tmp_path):
    cli.run("get", ranged + "/old/large%20file.bin", tmp_path / "got")
    assert (tmp_path / "got").read_bytes() == CONTENT


def test_mirrors_are_asked_where_the_first_is_gone(cli, ranged, whole, tmp_path):
    gone = "http://127.0.0.1:1/data/large%20file.bin"
    cli.run("get", gone, tmp_path / "got", "--mirrors", f"{whole}/data,{ranged}/data")
    assert (tmp_path / "got").read_bytes() == CONTENT
    missing = ranged + "/other/large%20file.bin"
    cli.run("get", missing, tmp_path / "again", ASSAY_STORAGE_MIRRORS=f"{ranged}/data")
    assert (tmp_path / "again").read_bytes() == CONTENT


def test_a_get_goes_on_where_it_was_killed(cli, ranged, tmp_path):
    with contextlib.closing(Gate(ranged, len(CONTENT) // 2, down=True)) as gate:
        source = gate.url + "/data/large%20file.bin"
        patient = {"ASSAY_STORAGE_STALL_TIMEOUT_SECONDS": "3600"}
        started = cli.start("get", source, tmp_path / "got", "--part-size", "1MiB", **patient)
        gate.wait_until_shut(started)
        wait_for_notes(started, tmp_path / ".assay", 1)
        started.kill()
        started.wait()
        assert not (tmp_path / "got").exists()
        gate.open()
        again = json.loads(cli.run("get", source, tmp_path / "got", "--output", "json").stdout)
    assert again[0]["resumed_bytes"] >= 1 << 20
    assert (tmp_path / "got").read_bytes() == CONTENT
