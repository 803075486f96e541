"""Folders and buckets of S3, as the libraries name them."""

import ctypes
import mmap
import os
import shutil
import time


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


def sync_folder(folder):
    """All files below a folder, and their names."""
    for parent, _, names in os.walk(folder):
        for name in names:
            sync(os.path.join(parent, name))
        sync(parent)
    sync(os.path.dirname(folder))


def bytes_in_page_cache(handle, size):
    """Nothing is read: a mapping that nobody touches shows what is there."""
    pages = (ctypes.c_ubyte * -(-size // mmap.PAGESIZE))()
    with mmap.mmap(handle, size, access=mmap.ACCESS_COPY) as mapped:
        begin = ctypes.c_char.from_buffer(mapped)
        failed = ctypes.CDLL(None, use_errno=True).mincore(ctypes.byref(begin), ctypes.c_size_t(size), pages)
        del begin
    if failed:
        raise OSError(ctypes.get_errno(), "mincore")
    return sum(page & 1 for page in pages) * mmap.PAGESIZE


def drop_files(folder):
    """Bytes of all files below a folder, and those of them that the page cache keeps."""
    everything = kept = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            handle = os.open(os.path.join(parent, name), os.O_RDONLY)
            size = os.fstat(handle).st_size
            if size:
                os.fsync(handle)
                os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
                kept += bytes_in_page_cache(handle, size)
            everything += size
            os.close(handle)
    return everything, kept


def drop_from_page_cache(folder):
    """As src/engine/train/checkpoint_run/page_cache.h: written through first, tried again, and seen to be gone."""
    for _ in range(5):
        everything, kept = drop_files(folder)
        if kept <= everything / 100:
            return
        time.sleep(0.05)
    raise RuntimeError(
        f"the page cache keeps {kept} of {everything} bytes in {folder}, which it was told to drop: loads from "
        "there are not cold (choose a folder on a disk, or clear_cache=False for warm ones)"
    )


def s3_settings():
    """Region and endpoint for s3torchconnector, which reads no variable for the latter."""
    from s3torchconnector import S3ClientConfig

    endpoint = os.environ.get("AWS_ENDPOINT_URL") or os.environ.get("S3_ENDPOINT_URL")
    region = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION") or "us-east-1"
    return region, endpoint, S3ClientConfig(force_path_style=bool(endpoint))
