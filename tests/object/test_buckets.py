"""Buckets made and removed."""

import json
import urllib.request

import boto3
import pytest
from conftest import KEY, SECRET

SERVICES = {
    "s3": ("s3://fresh", ()),
    "s3 in another region": ("s3://fresh", ("--region", "eu-west-1")),
    "gs": ("gs://fresh", ("--project", "p")),
    "oci": ("oci://fresh@assay", ("--compartment", "ocid1.compartment")),
}


@pytest.mark.parametrize("service", SERVICES)
def test_a_bucket_from_its_making_to_its_end(open_cli, service):
    bucket, flags = SERVICES[service]
    assert open_cli.run("mb", bucket, *flags).stdout.decode() == f"make: {bucket}/\n"
    assert "already" in open_cli.refused("mb", bucket, *flags).lower()
    for key in ("a", "b/c"):
        open_cli.run("put", "-", f"{bucket}/{key}", stdin=b"bytes")
    assert "not empty" in open_cli.refused("rb", bucket)
    assert json.loads(open_cli.run("ls", "-r", bucket, "--output", "json").stdout)["total_objects"] == 2
    told = json.loads(open_cli.run("rb", bucket, "--force", "--output", "json").stdout)
    assert told == {"uri": f"{bucket}/", "outcome": "remove"}
    assert "bucket" in open_cli.refused("ls", bucket).lower()
    assert "bucket" in open_cli.refused("rb", bucket).lower()


def test_with_keys(cli):
    cli.run("mb", "s3://fresh")
    cli.run("rb", "s3://fresh")
    cli.environment |= {
        "GCS_HMAC_ACCESS_KEY_ID": KEY,
        "GCS_HMAC_SECRET_ACCESS_KEY": SECRET,
        "ASSAY_STORAGE_ENDPOINT": cli.environment["AWS_ENDPOINT_URL"],
    }
    cli.run("mb", "gs://fresh")
    cli.run("rb", "gs://fresh")
    assert "bucket" in cli.refused("ls", "gs://fresh").lower()


def test_mistakes(open_cli, tmp_path):
    assert "name the bucket alone" in open_cli.refused("mb", "s3://fresh/key")
    assert "name the bucket alone" in open_cli.refused("rb", "s3://test/key", "--force")
    assert "--project" in open_cli.refused("mb", "gs://fresh")
    assert "--compartment" in open_cli.refused("mb", "oci://fresh@assay")
    assert "no bucket of a service" in open_cli.refused("mb", f"{tmp_path}/")
    assert "no bucket of a service" in open_cli.refused("rb", f"{tmp_path}/")
    assert "bucket" in open_cli.refused("rb", "s3://nosuch", "--force").lower()


def test_an_unfinished_upload_goes_with_its_bucket(open_cli, open_server):
    client = boto3.client(
        "s3",
        endpoint_url=open_server.url,
        region_name="us-east-1",
        aws_access_key_id="x",
        aws_secret_access_key="y",
    )
    open_cli.run("mb", "s3://fresh")
    client.create_multipart_upload(Bucket="fresh", Key="k")
    open_cli.run("rb", "s3://fresh", "--force")
    metrics = urllib.request.urlopen(open_server.url + "/metrics").read().decode()
    assert 'assay_object_requests_total{operation="AbortMultipartUpload",status="204"} 1\n' in metrics
