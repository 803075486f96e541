"""Bad input: one line each, exit code 2 for the user's own mistakes."""

import json
import socket
import threading

import pytest
from conftest import KEY


def test_what_is_asked_is_wrong(cli, tmp_path):
    (tmp_path / "file").write_bytes(b"x")
    assert "s3://" in cli.refused("ls", "azure://b/k")
    assert "bucket" in cli.refused("ls", "s3:///key")
    assert "nosuch" in cli.refused("cat", "s3://nosuch/key")
    assert "s3://test/missing" in cli.refused("cat", "s3://test/missing")
    assert "s3://test/missing" in cli.refused("get", "s3://test/missing", tmp_path / "out")
    assert "--recursive" in cli.refused("get", "s3://test", tmp_path)
    assert "no/such/file" in cli.refused("put", tmp_path / "no/such/file", "s3://test/k")
    assert "NAME=VALUE" in cli.refused("put", tmp_path / "file", "s3://test/k", "--metadata", "colour")
    assert "--part-size" in cli.refused("put", tmp_path / "file", "s3://test/k", "--part-size", "many")
    assert not (tmp_path / "out").exists()


def test_a_range_beyond_the_end(cli, tmp_path):
    (tmp_path / "file").write_bytes(b"0123456789")
    cli.run("put", tmp_path / "file", "s3://test/k")
    assert "10 bytes" in cli.refused("cat", "s3://test/k", "--offset", 5, "--length", 6)


def test_credentials(cli):
    message = cli.refused("ls", "s3://test", AWS_ACCESS_KEY_ID="", AWS_SECRET_ACCESS_KEY="")
    assert "credential" in message and "AWS_ACCESS_KEY_ID" in message
    message = cli.refused("ls", "s3://test", AWS_SECRET_ACCESS_KEY="wrong")
    assert "SignatureDoesNotMatch" in message and "wrong" not in message
    assert "InvalidAccessKeyId" in cli.refused("ls", "s3://test", AWS_ACCESS_KEY_ID=KEY + "X")
    assert "403" in cli.refused("ls", "s3://test", "--anonymous")


def test_the_wrong_region_names_the_right_one(serve, make_cli, credentials):
    server = serve("--root", "memory", "--credentials", credentials, "--bucket", "test", "--region", "eu-west-1")
    message = make_cli(server.url).run("ls", "s3://test", AWS_REGION="ap-south-1", code=2).stderr.decode()
    assert "eu-west-1" in message and message.count("\n") == 1


def test_no_server(cli):
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    message = cli.refused("ls", "s3://test", "--max-attempts", 2, AWS_ENDPOINT_URL=f"http://127.0.0.1:{port}", code=1)
    assert "127.0.0.1" in message


def test_a_proxy_that_cuts_connections(cli):
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def cut():
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                connection.recv(100)
                connection.close()

        threading.Thread(target=cut, daemon=True).start()
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        message = cli.refused("ls", "s3://test", "--max-attempts", 2, AWS_ENDPOINT_URL=url, code=1)
        assert "s3://test" in message


def test_faulty_server_ends_right(serve, make_cli, tmp_path):
    profile = tmp_path / "faults.yaml"
    profile.write_text("faults:\n  - {fault: return, status: 503, rate: 0.05}\n  - {fault: reset, rate: 0.05}\n")
    cli = make_cli(serve("--root", "memory", "--profile", profile, "--bucket", "test").url)
    (tmp_path / "file").write_bytes(b"q" * 30_000_000)
    cli.run("put", tmp_path / "file", "s3://test/k")
    cli.run("get", "s3://test/k", tmp_path / "back")
    assert (tmp_path / "back").read_bytes() == b"q" * 30_000_000


@pytest.mark.parametrize(
    "verb", ["ls", "stat", "get", "put", "cp", "rm", "cat", "presign", "uploads", "verify", "bench"]
)
def test_every_verb_explains_itself(cli, verb):
    text = cli.run(verb, "--help").stdout.decode()
    assert "--endpoint" in text and "--anonymous" in text and "--memory-budget" in text


def test_configuration_file(cli, server, tmp_path):
    config = tmp_path / "storage.yaml"
    config.write_text(f"s3:\n  endpoint: {server.url}\n")
    listed = json.loads(cli.run("ls", "s3://test", "--config", config, "--output", "json", AWS_ENDPOINT_URL="").stdout)
    assert listed["objects"] == []
    config.write_text("endpint: x\n")
    assert "endpoint" in cli.refused("ls", "s3://test", "--config", config)
