"""Files below a folder or a prefix of S3, by boto3: what a connector does that has nothing of its own for them."""

import concurrent.futures
import contextlib
import functools
import os
import shutil

#: Objects that are moved side by side, as boto3's own connections to a store are; and those of one removal.
AT_ONCE, MOST_REMOVED = 8, 1000


@functools.cache
def client_of(_):
    """One for all calls of a process, by its number, with its connections: no fork shares them."""
    import boto3

    return boto3.client("s3")


def side_by_side(work, items):
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as threads:
        for _ in threads.map(work, items):
            pass


def is_bucket(uri):
    return "://" in uri


def below(folder):
    """Path of each file by its name below the folder."""
    paths = (os.path.join(parent, name) for parent, _, names in os.walk(folder) for name in names)
    return {os.path.relpath(path, folder): path for path in paths}


class FilePlaces:
    def client(self):
        return client_of(os.getpid())

    def split(self, uri):
        bucket, key = uri.removeprefix("s3://").split("/", 1)
        return bucket, key.rstrip("/") + "/"

    def files(self, uri):
        """Bytes of each file by its name below `uri`."""
        if not is_bucket(uri):
            return {name: os.path.getsize(path) for name, path in below(uri).items()}
        bucket, prefix = self.split(uri)
        pages = self.client().get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=prefix)
        return {item["Key"].removeprefix(prefix): item["Size"] for page in pages for item in page.get("Contents", [])}

    def put_folder(self, folder, uri):
        """How many bytes were written."""
        if not is_bucket(uri):
            shutil.copytree(folder, uri, dirs_exist_ok=True)
        else:
            (bucket, prefix), client = self.split(uri), self.client()
            side_by_side(lambda file: client.upload_file(file[1], bucket, prefix + file[0]), below(folder).items())
        return sum(os.path.getsize(path) for path in below(folder).values())

    def get_folder(self, uri, folder):
        if not is_bucket(uri):
            shutil.copytree(uri, folder, dirs_exist_ok=True)
            return
        (bucket, prefix), client = self.split(uri), self.client()

        def get(name):
            path = os.path.join(folder, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            client.download_file(bucket, prefix + name, path)

        side_by_side(get, self.files(uri))

    def remove(self, uri):
        if not is_bucket(uri):
            shutil.rmtree(uri, ignore_errors=True)
            return
        (bucket, prefix), client = self.split(uri), self.client()
        keys = [{"Key": prefix + name} for name in self.files(uri)]
        for begin in range(0, len(keys), MOST_REMOVED):
            removed = client.delete_objects(Bucket=bucket, Delete={"Objects": keys[begin : begin + MOST_REMOVED]})
            for error in removed.get("Errors", []):
                raise OSError(f"cannot remove s3://{bucket}/{error['Key']}: {error['Code']}: {error['Message']}")
        # What an ended process has left of an upload in parts is billed, and no list of objects shows it.
        pages = client.get_paginator("list_multipart_uploads").paginate(Bucket=bucket, Prefix=prefix)
        for upload in [upload for page in pages for upload in page.get("Uploads", [])]:
            with contextlib.suppress(client.exceptions.NoSuchUpload):
                client.abort_multipart_upload(Bucket=bucket, Key=upload["Key"], UploadId=upload["UploadId"])
