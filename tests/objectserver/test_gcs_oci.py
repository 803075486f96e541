"""google-cloud-storage and oci against the embedded server."""

import datetime
import io
import os

import google.auth.credentials
import google.cloud.storage
import oci
import pytest
import requests
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa


@pytest.fixture
def bucket(serve, monkeypatch):
    server = serve("--root", "memory")
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", server.url)
    client = google.cloud.storage.Client(
        project="test",
        credentials=google.auth.credentials.AnonymousCredentials(),
        client_options={"api_endpoint": server.url},
    )
    return client.create_bucket("test")


def test_gcs_small_and_resumable_objects(bucket):
    bucket.blob("a/ü b").upload_from_string(b"hello", content_type="text/x", if_generation_match=0)
    blob = bucket.get_blob("a/ü b")
    assert blob.download_as_bytes(checksum="crc32c") == b"hello"
    assert blob.download_as_bytes(start=1, end=3) == b"ell"
    assert blob.content_type == "text/x" and blob.generation > 0
    with pytest.raises(google.api_core.exceptions.PreconditionFailed):
        bucket.blob("a/ü b").upload_from_string(b"again", if_generation_match=0)
    content = os.urandom(3 * (256 << 10) + 17)
    big = bucket.blob("big", chunk_size=256 << 10)
    big.upload_from_file(io.BytesIO(content), checksum="crc32c")
    assert bucket.get_blob("big").download_as_bytes() == content
    bucket.blob("both").compose([bucket.get_blob("a/ü b"), bucket.get_blob("big")])
    assert bucket.get_blob("both").download_as_bytes(checksum="crc32c") == b"hello" + content
    bucket.copy_blob(bucket.get_blob("big"), bucket, "copy")
    assert [entry.name for entry in bucket.list_blobs(max_results=3)] == ["a/ü b", "big", "both"]
    assert set(next(bucket.list_blobs(delimiter="/").pages).prefixes) == {"a/"}
    big.delete()
    assert bucket.get_blob("big") is None


@pytest.fixture
def oci_client(serve, tmp_path):
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    private = tmp_path / "key.pem"
    private.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    public = tmp_path / "public.pem"
    public.write_bytes(
        key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    )
    fingerprint = ":".join(["20"] * 16)
    credentials = tmp_path / "credentials.yaml"
    credentials.write_text(
        f"oci_keys:\n  - key_id: ocid1.tenancy/ocid1.user/{fingerprint}\n    public_key_file: {public}\n"
    )
    server = serve("--root", "memory", "--bucket", "test", "--credentials", credentials)
    config = {"tenancy": "ocid1.tenancy.oc1..a", "user": "ocid1.user.oc1..a", "fingerprint": fingerprint,
              "region": "us-ashburn-1", "key_file": str(private)}  # fmt: skip

    def make(user="ocid1.user"):
        signer = oci.signer.Signer("ocid1.tenancy", user, fingerprint, str(private))
        return oci.object_storage.ObjectStorageClient(
            config, signer=signer, service_endpoint=server.url, retry_strategy=None
        )

    return make


def test_oci_objects(oci_client):
    client = oci_client()
    namespace = client.get_namespace().data
    client.put_object(namespace, "test", "a/ü b", b"hello", opc_meta={"x": "y"})
    answer = client.get_object(namespace, "test", "a/ü b", range="bytes=1-3")
    assert answer.data.content == b"ell" and answer.headers["opc-meta-x"] == "y"
    with pytest.raises(oci.exceptions.ServiceError) as error:
        client.put_object(namespace, "test", "a/ü b", b"x", if_none_match="*")
    assert error.value.status == 412 and error.value.code == "IfNoneMatchFailed"
    details = oci.object_storage.models.CreateMultipartUploadDetails(object="big")
    upload = client.create_multipart_upload(namespace, "test", details).data.upload_id
    parts = []
    for number in (1, 2):
        etag = client.upload_part(namespace, "test", "big", upload, number, os.urandom(1000)).headers["etag"]
        parts.append(oci.object_storage.models.CommitMultipartUploadPartDetails(part_num=number, etag=etag))
    commit = oci.object_storage.models.CommitMultipartUploadDetails(parts_to_commit=parts)
    client.commit_multipart_upload(namespace, "test", "big", upload, commit)
    assert len(client.get_object(namespace, "test", "big").data.content) == 2000
    assert [entry.name for entry in client.list_objects(namespace, "test").data.objects] == ["a/ü b", "big"]
    client.delete_object(namespace, "test", "big")


def test_oci_copies_and_preauthenticated_requests(oci_client):
    client = oci_client()
    models = oci.object_storage.models
    namespace = client.get_namespace().data
    client.put_object(namespace, "test", "a b", b"hello")
    details = models.CopyObjectDetails(
        source_object_name="a b",
        destination_region="us-ashburn-1",
        destination_namespace=namespace,
        destination_bucket="test",
        destination_object_name="copy",
        destination_object_metadata={"opc-meta-x": "y"},
    )
    work = client.copy_object(namespace, "test", details).headers["opc-work-request-id"]
    assert client.get_work_request(work).data.status == "COMPLETED"
    assert client.head_object(namespace, "test", "copy").headers["opc-meta-x"] == "y"

    details = models.CreatePreauthenticatedRequestDetails(
        name="mine",
        access_type="ObjectReadWrite",
        object_name="a b",
        time_expires=datetime.datetime.now(datetime.UTC) + datetime.timedelta(hours=1),
    )
    made = client.create_preauthenticated_request(namespace, "test", details).data
    url = client.base_client.endpoint + made.access_uri
    assert requests.get(url).content == b"hello"
    assert requests.put(url, data=b"changed").status_code == 200
    assert client.get_object(namespace, "test", "a b").data.content == b"changed"
    listed = client.list_preauthenticated_requests(namespace, "test").data
    assert [(one.name, one.access_type) for one in listed] == [("mine", "ObjectReadWrite")]
    client.delete_preauthenticated_request(namespace, "test", made.id)
    assert requests.get(url).status_code == 404


def test_oci_refuses_a_key_that_it_does_not_know(oci_client):
    with pytest.raises(oci.exceptions.ServiceError) as error:
        oci_client(user="ocid1.other").get_namespace()
    assert error.value.status == 401
