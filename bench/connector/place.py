"""The bucket that connectors are tried on."""

import contextlib

from storage import server


class Place:
    """A prefix of a bucket, and what reaches it."""

    def __init__(self, uri, environment):
        self.uri = uri.rstrip("/")
        self.environment = environment


@contextlib.contextmanager
def open_place(bin_dir, uri, profile):
    """That of `uri`, reached as the environment says; without one a bucket of the embedded server under `profile`."""
    if uri:
        yield Place(uri, {})
        return
    with server.serve(bin_dir, "--profile", profile) as url:
        environment = {name: value for name, value in server.environment(url).items() if name != "PATH"}
        yield Place(f"s3://{server.BUCKET}", environment | {"S3_ENDPOINT_URL": url})
