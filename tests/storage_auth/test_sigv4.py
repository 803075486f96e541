"""Signature Version 4, both halves, against botocore on random requests."""

import datetime
import hashlib
import random
from unittest import mock
from urllib.parse import quote, urlsplit

import botocore.auth
import pytest
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

NOW = datetime.datetime(2026, 1, 31, 12, 34, 56)
STAMP = NOW.strftime("%Y%m%dT%H%M%SZ")
ODD = [
    "a",
    "B",
    "7",
    "-",
    "_",
    ".",
    "~",
    " ",
    "+",
    "%",
    "/",
    "//",
    "..",
    "=",
    "&",
    "?",
    "#",
    "@",
    ":",
    "é",
    "日",
    "😀",
    "'",
    '"',
    "(",
    ")",
    "*",
    "!",
    "$",
    ",",
    ";",
]
HASHES = ["UNSIGNED-PAYLOAD", "STREAMING-UNSIGNED-PAYLOAD-TRAILER", hashlib.sha256(b"body").hexdigest()]


def random_text(rng, longest=12):
    return "".join(rng.choice(ODD) for _ in range(rng.randint(1, longest)))


def random_query(rng):
    pairs = []
    for _ in range(rng.randint(0, 5)):
        name = rng.choice(["uploads", "prefix", "list-type", "partNumber", "uploadId", random_text(rng, 4)])
        name = quote(name, safe="-._~")
        shape = rng.random()
        value = quote(random_text(rng), safe="-._~")
        pairs.append(name if shape < 0.2 else f"{name}=" if shape < 0.3 else f"{name}={value}")
    return "&".join(pairs)


def random_headers(rng):
    headers = [("Content-Type", rng.choice(["text/plain", "application/octet-stream;  charset=x"]))]
    if rng.random() < 0.5:
        headers.append(("Range", f"bytes={rng.randint(0, 9)}-{rng.randint(10, 99)}"))
    for i in range(rng.randint(0, 3)):
        headers.append((f"x-amz-meta-K{i}", "  two   words " + rng.choice(["", "\tmore", "=;,:/"])))
    if rng.random() < 0.3:
        headers.append(("User-Agent", "not signed"))
        headers.append(("Expect", "100-continue"))
    return headers


def random_request(rng):
    host = rng.choice(["bucket.s3.eu-west-1.amazonaws.com", "127.0.0.1:9000", "example.com:443", "EXAMPLE.com:80"])
    scheme = rng.choice(["http", "https"])
    path = "/" + quote(random_text(rng, 30), safe="/-._~")
    query = random_query(rng)
    return {
        "method": rng.choice(["GET", "PUT", "POST", "DELETE", "HEAD"]),
        "url": f"{scheme}://{host}{path}" + (f"?{query}" if query else ""),
        "headers": random_headers(rng),
    }


def random_key(rng):
    return {
        "key": "AKID" + str(rng.randint(0, 9999)),
        "secret": random_text(rng, 40),
        "token": rng.choice(["", "token/+=" + str(rng.random())]),
        "region": rng.choice(["us-east-1", "eu-west-1"]),
    }


def as_aws_request(request):
    made = AWSRequest(method=request["method"], url=request["url"])
    for name, value in request["headers"]:
        made.headers.add_header(name, value)
    return made


@pytest.fixture(autouse=True)
def frozen():
    with mock.patch("botocore.auth.get_current_datetime", return_value=NOW):
        yield


def credentials(key):
    return Credentials(key["key"], key["secret"], key["token"] or None)


def reference(request, key, payload_hash):
    made = as_aws_request(request)
    signer = botocore.auth.S3SigV4Auth(credentials(key), "s3", key["region"])
    with mock.patch.object(signer, "payload", return_value=payload_hash):
        signer.add_auth(made)
    return made


@pytest.mark.parametrize("seed", range(20))
def test_headers_are_those_of_botocore(tool, seed):
    rng = random.Random(seed)
    for _ in range(50):
        request, key, payload_hash = random_request(rng), random_key(rng), rng.choice(HASHES)
        expected = reference(request, key, payload_hash).headers
        answer = tool.ask("sign", **request, **key, time=STAMP, hash=payload_hash)
        assert answer["headers"]["Authorization"] == expected["Authorization"], request
        assert answer["headers"].get("x-amz-security-token") == expected.get("X-Amz-Security-Token")


@pytest.mark.parametrize("seed", range(10))
def test_presigned_urls_are_those_of_botocore(tool, seed):
    rng = random.Random(seed)
    for _ in range(50):
        request, key = random_request(rng), random_key(rng)
        # botocore reads the query into a dict: names that repeat, and those without a value, do not survive it.
        request["url"] = request["url"].split("?")[0] + rng.choice(["", "?partNumber=3&uploadId=a%2Bb"])
        request["headers"] = [h for h in request["headers"] if h[0] != "Content-Type"]
        made = as_aws_request(request)
        signer = botocore.auth.S3SigV4QueryAuth(credentials(key), "s3", key["region"], expires=600)
        signer.add_auth(made)
        answer = tool.ask("presign", **request, **key, time=STAMP, seconds=600)
        assert urlsplit(answer["url"]).query == urlsplit(made.url).query, request


def received(made):
    parts = urlsplit(made.url)
    headers = [[name, value] for name, value in made.headers.items()]
    if "host" not in {name.lower() for name, _ in headers}:
        default = {"http": 80, "https": 443}[parts.scheme]
        headers.append(["Host", parts.hostname + (f":{parts.port}" if parts.port not in (None, default) else "")])
    return {"method": made.method, "path": parts.path, "query": parts.query, "headers": headers}


@pytest.mark.parametrize("seed", range(20))
def test_the_server_accepts_what_botocore_signs(tool, seed):
    rng = random.Random(seed)
    for _ in range(25):
        request, key, payload_hash = random_request(rng), random_key(rng), rng.choice(HASHES)
        wire = received(reference(request, key, payload_hash))
        answer = tool.ask("verify", **wire, **key, time=STAMP)
        assert answer["accepted"], (request, answer)
        answer = tool.ask("verify", **wire, **{**key, "secret": key["secret"] + "x"}, time=STAMP)
        assert answer["code"] == "SignatureDoesNotMatch"


@pytest.mark.parametrize("seed", range(10))
def test_the_server_accepts_what_botocore_presigns(tool, seed):
    rng = random.Random(seed)
    for _ in range(25):
        request, key = random_request(rng), random_key(rng)
        made = as_aws_request(request)
        botocore.auth.S3SigV4QueryAuth(credentials(key), "s3", key["region"], expires=600).add_auth(made)
        answer = tool.ask("verify", **received(made), **key, time=STAMP)
        assert answer["accepted"], (request, answer)
