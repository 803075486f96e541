"""Files below a folder or a prefix of S3, by boto3: what a connector does that has nothing of its own for them."""

import os
import shutil


def is_bucket(uri):
    return "://" in uri


def below(folder):
    """Path of each file by its name below the folder."""
    paths = (os.path.join(parent, name) for parent, _, names in os.walk(folder) for name in names)
    return {os.path.relpath(path, folder): path for path in paths}


class FilePlaces:
    def client(self):
        import boto3

        return boto3.client("s3")

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
            for name, path in below(folder).items():
                client.upload_file(path, bucket, prefix + name)
        return sum(os.path.getsize(path) for path in below(folder).values())

    def get_folder(self, uri, folder):
        if not is_bucket(uri):
            shutil.copytree(uri, folder, dirs_exist_ok=True)
            return
        (bucket, prefix), client = self.split(uri), self.client()
        for name in self.files(uri):
            path = os.path.join(folder, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            client.download_file(bucket, prefix + name, path)

    def remove(self, uri):
        if not is_bucket(uri):
            shutil.rmtree(uri, ignore_errors=True)
            return
        (bucket, prefix), client = self.split(uri), self.client()
        for name in self.files(uri):
            client.delete_object(Bucket=bucket, Key=prefix + name)
