"""The bucket that a connector is tried on."""

import contextlib
import re
import urllib.request

from storage import server


class Place:
    """A prefix of a bucket, and what reaches it."""

    def __init__(self, uri, environment, url=None):
        self.uri = uri.rstrip("/")
        self.environment = environment
        self.url = url  # of the embedded server

    def metrics(self):
        """{"requests": {"GetObject": 3, ...}, "received_bytes": ..., "sent_bytes": ...} so far; None: nobody counts."""
        if self.url is None:
            return None
        with urllib.request.urlopen(self.url + "/metrics") as answer:
            text = answer.read().decode()
        found = {"requests": {}, "received_bytes": 0, "sent_bytes": 0}
        pattern = r'^assay_object_(requests|received_bytes|sent_bytes)_total\{operation="(\w+)"[^}]*\} (\d+)'
        for kind, operation, value in re.findall(pattern, text, re.M):
            if kind == "requests":
                found["requests"][operation] = found["requests"].get(operation, 0) + int(value)
            else:
                found[kind] += int(value)
        return found


@contextlib.contextmanager
def open_place(bin_dir, uri, profile):
    """That of `uri`, reached as the environment says; without one a bucket of the embedded server under `profile`."""
    if uri:
        yield Place(uri, {})
        return
    with server.serve(bin_dir, "--profile", profile) as url:
        environment = {name: value for name, value in server.environment(url).items() if name != "PATH"}
        yield Place(f"s3://{server.BUCKET}", environment | {"S3_ENDPOINT_URL": url}, url)


def counted(before, after):
    """What was counted between two metrics()."""
    if after is None:
        return None
    requests = {name: count - before["requests"].get(name, 0) for name, count in after["requests"].items()}
    found = {"requests": {name: count for name, count in requests.items() if count}}
    return found | {kind: after[kind] - before[kind] for kind in ("received_bytes", "sent_bytes")}
