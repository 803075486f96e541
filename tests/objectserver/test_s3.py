"""boto3 against the embedded server, signatures checked."""

import hashlib
import io
import os
import urllib.error
import urllib.request

import boto3
import botocore.config
import botocore.exceptions
import conftest
import pytest
from boto3.s3.transfer import TransferConfig

ODD_KEYS = ["a b", "a+b", "a%2Fb", "ü/ß/€", "a//b", "/a", "a/", "~._-", "a&b=c?d#e", "k" * 1024, "'\"<>"]


def client(url, access_key=conftest.ACCESS_KEY, secret=conftest.SECRET_KEY, token=None, region="us-east-1", **config):
    return boto3.client(
        "s3",
        endpoint_url=url,
        region_name=region,
        aws_access_key_id=access_key,
        aws_secret_access_key=secret,
        aws_session_token=token,
        config=botocore.config.Config(retries={"max_attempts": 1}, **config),
    )


@pytest.fixture(params=["memory", "disk"])
def server(request, serve, credentials, tmp_path):
    root = "memory" if request.param == "memory" else tmp_path / "root"
    return serve("--root", root, "--credentials", credentials, "--bucket", "test")


def code_of(call, **arguments):
    with pytest.raises(botocore.exceptions.ClientError) as error:
        call(**arguments)
    return error.value.response["Error"]["Code"]


def test_objects_with_odd_keys(server):
    s3 = client(server.url, s3={"addressing_style": "path"})
    for key in ODD_KEYS:
        s3.put_object(Bucket="test", Key=key, Body=key.encode(), Metadata={"name": "value"})
    for key in ODD_KEYS:
        answer = s3.get_object(Bucket="test", Key=key)
        assert answer["Body"].read() == key.encode()
        assert answer["Metadata"] == {"name": "value"}
        assert answer["ETag"].strip('"') == hashlib.md5(key.encode()).hexdigest()
    listed = [entry["Key"] for entry in s3.list_objects_v2(Bucket="test")["Contents"]]
    assert listed == sorted(ODD_KEYS, key=lambda key: key.encode())
    pages = s3.get_paginator("list_objects").paginate(Bucket="test", PaginationConfig={"PageSize": 3})
    assert [entry["Key"] for page in pages for entry in page["Contents"]] == listed
    deleted = s3.delete_objects(Bucket="test", Delete={"Objects": [{"Key": key} for key in ODD_KEYS]})
    assert len(deleted["Deleted"]) == len(ODD_KEYS)
    s3.delete_bucket(Bucket="test")


@pytest.mark.parametrize("algorithm", ["CRC32", "CRC32C", "CRC64NVME", "SHA1", "SHA256"])
def test_checksums(server, algorithm):
    s3 = client(server.url)
    if algorithm in ("CRC32C", "CRC64NVME"):
        pytest.importorskip("awscrt")
    put = s3.put_object(Bucket="test", Key="k", Body=b"content", ChecksumAlgorithm=algorithm)
    head = s3.head_object(Bucket="test", Key="k", ChecksumMode="ENABLED")
    assert head[f"Checksum{algorithm}"] == put[f"Checksum{algorithm}"]
    streamed = io.BytesIO(os.urandom(300_000))
    s3.put_object(Bucket="test", Key="k", Body=streamed, ChecksumAlgorithm=algorithm)
    assert s3.get_object(Bucket="test", Key="k", ChecksumMode="ENABLED")["Body"].read() == streamed.getvalue()


def test_multipart_copy_and_ranges(server):
    s3 = client(server.url)
    content = os.urandom(13 << 20)
    config = TransferConfig(multipart_threshold=5 << 20, multipart_chunksize=5 << 20, max_concurrency=4)
    s3.upload_fileobj(io.BytesIO(content), "test", "big", Config=config)
    received = io.BytesIO()
    s3.download_fileobj("test", "big", received, Config=config)
    assert received.getvalue() == content
    assert (
        s3.get_object(Bucket="test", Key="big", Range="bytes=5242870-5242890")["Body"].read()
        == content[5242870:5242891]
    )
    s3.copy({"Bucket": "test", "Key": "big"}, "test", "copy", Config=config)
    assert s3.get_object(Bucket="test", Key="copy")["Body"].read() == content
    upload = s3.create_multipart_upload(Bucket="test", Key="unfinished")["UploadId"]
    s3.upload_part(Bucket="test", Key="unfinished", UploadId=upload, PartNumber=3, Body=b"part")
    assert [
        part["PartNumber"] for part in s3.list_parts(Bucket="test", Key="unfinished", UploadId=upload)["Parts"]
    ] == [3]
    assert [entry["UploadId"] for entry in s3.list_multipart_uploads(Bucket="test")["Uploads"]] == [upload]
    s3.abort_multipart_upload(Bucket="test", Key="unfinished", UploadId=upload)
    assert "Uploads" not in s3.list_multipart_uploads(Bucket="test")


def test_conditions(server):
    s3 = client(server.url)
    etag = s3.put_object(Bucket="test", Key="k", Body=b"1", IfNoneMatch="*")["ETag"]
    assert code_of(s3.put_object, Bucket="test", Key="k", Body=b"2", IfNoneMatch="*") == "PreconditionFailed"
    assert code_of(s3.get_object, Bucket="test", Key="k", IfMatch='"other"') == "PreconditionFailed"
    assert code_of(s3.get_object, Bucket="test", Key="k", IfNoneMatch=etag) == "304"
    s3.put_object(Bucket="test", Key="k", Body=b"2", IfMatch=etag)


def test_wrong_credentials_are_refused(server):
    get = {"Bucket": "test", "Key": "k"}
    assert code_of(client(server.url, secret="wrong").get_object, **get) == "SignatureDoesNotMatch"
    assert code_of(client(server.url, access_key="AKIAOTHER").get_object, **get) == "InvalidAccessKeyId"
    assert code_of(client(server.url, "ASIASESSION", "other", "session").get_object, **get) == "ExpiredToken"
    with pytest.raises(urllib.error.HTTPError) as error:
        urllib.request.urlopen(server.url + "/test/k")
    assert error.value.code == 403 and b"<Code>AccessDenied</Code>" in error.value.read()


def test_the_right_region_stands_in_the_refusal(server):
    elsewhere = client(server.url, region="eu-west-1")
    elsewhere.put_object(Bucket="test", Key="k", Body=b"content")  # boto3 reads the region and asks again
    metrics = urllib.request.urlopen(server.url + "/metrics").read().decode()
    assert 'assay_object_requests_total{operation="PutObject",status="400"} 1\n' in metrics


def test_presigned_urls(server):
    s3 = client(server.url, signature_version="s3v4")
    put = s3.generate_presigned_url("put_object", Params={"Bucket": "test", "Key": "a b"})
    urllib.request.urlopen(urllib.request.Request(put, data=b"content", method="PUT"))
    get = s3.generate_presigned_url(
        "get_object", Params={"Bucket": "test", "Key": "a b", "ResponseContentType": "text/x"}
    )
    with urllib.request.urlopen(get) as answer:
        assert answer.read() == b"content" and answer.headers["Content-Type"] == "text/x"
    with pytest.raises(urllib.error.HTTPError) as error:
        urllib.request.urlopen(get.replace("X-Amz-Expires=3600", "X-Amz-Expires=3601"))
    assert error.value.code == 403


def test_objects_survive_a_kill(serve, tmp_path):
    root = tmp_path / "root"
    first = serve("--root", root, "--bucket", "test")
    s3 = client(first.url)
    s3.put_object(Bucket="test", Key="k", Body=b"content", Metadata={"a": "b"})
    upload = s3.create_multipart_upload(Bucket="test", Key="u")["UploadId"]
    s3.upload_part(Bucket="test", Key="u", UploadId=upload, PartNumber=1, Body=b"part")
    first.kill()
    s3 = client(serve("--root", root).url)
    answer = s3.get_object(Bucket="test", Key="k")
    assert answer["Body"].read() == b"content" and answer["Metadata"] == {"a": "b"}
    part = s3.list_parts(Bucket="test", Key="u", UploadId=upload)["Parts"][0]
    parts = [{"PartNumber": 1, "ETag": part["ETag"]}]
    s3.complete_multipart_upload(Bucket="test", Key="u", UploadId=upload, MultipartUpload={"Parts": parts})
    assert s3.get_object(Bucket="test", Key="u")["Body"].read() == b"part"
