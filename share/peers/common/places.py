"""Folders and buckets of S3, as the libraries name them."""

import os
import shutil


def is_bucket(uri):
    return uri.startswith("s3://")


def remove(uri):
    """A folder or a file, with all that is in it; nothing where there is none."""
    if is_bucket(uri):
        import s3fs

        store = s3fs.S3FileSystem(use_listings_cache=False)
        if store.exists(uri):
            store.rm(uri, recursive=True)
    elif os.path.isdir(uri):
        shutil.rmtree(uri)
    elif os.path.exists(uri):
        os.remove(uri)


def sync(path):
    handle = os.open(path, os.O_RDONLY)
    os.fsync(handle)
    os.close(handle)


def sync_file(path):
    """A file, and its name in the folder."""
    sync(path)
    sync(os.path.dirname(path))


def drop_from_page_cache(folder):
    for parent, _, names in os.walk(folder):
        for name in names:
            handle = os.open(os.path.join(parent, name), os.O_RDONLY)
            os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(handle)


def s3_settings():
    """Region and endpoint for s3torchconnector, which reads no variable for the latter."""
    from s3torchconnector import S3ClientConfig

    endpoint = os.environ.get("AWS_ENDPOINT_URL") or os.environ.get("S3_ENDPOINT_URL")
    region = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION") or "us-east-1"
    return region, endpoint, S3ClientConfig(force_path_style=bool(endpoint))
