"""A hub of models over HTTP: what of huggingface.co's interface fetching a repository uses, with faults."""

import hashlib
import http.server
import json
import pathlib
import threading
import urllib.parse

COMMIT = "5bd1a2c39a1f1b7f6a0f5e1b2a3c4d5e6f708192"


def git_hash(content):
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


class Hub:
    """Serves the files of `folder` as the repository `repository`; large ones (safetensors) from another address."""

    def __init__(self, folder, repository="org/tiny"):
        self.files = {p.relative_to(folder).as_posix(): p.read_bytes() for p in pathlib.Path(folder).rglob("*")}
        self.repository = repository
        self.token = None  # that it asks for
        self.requests = []  # (server, path, headers)
        self.has_ranges = True
        self.cut_after = {}  # by path: how many bytes each of the next answers has, then its connection ends
        self.statuses = []  # of the next answers of the hub itself
        self.wrong = set()  # paths whose content is another
        self.hub = self._serve("hub")
        self.store = self._serve("store")

    def _serve(self, name):
        owner = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *arguments):
                pass

            def do_HEAD(self):
                owner.answer(self, name)

            def do_GET(self):
                owner.answer(self, name)

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        server.url = f"http://127.0.0.1:{server.server_address[1]}"
        return server

    @property
    def url(self):
        return self.hub.url

    def close(self):
        for server in (self.hub, self.store):
            server.shutdown()
            server.server_close()

    def is_large(self, path):
        return path.endswith(".safetensors")

    def blob_of(self, path):
        content = self.files[path]
        return hashlib.sha256(content).hexdigest() if self.is_large(path) else git_hash(content)

    def entry(self, path, name, hash_name):
        content = self.files[path]
        entry = {name: path, "size": len(content), hash_name: git_hash(content)}
        if self.is_large(path):
            digest = hashlib.sha256(content).hexdigest()
            entry["lfs"] = {"sha256": digest, "oid": digest, "size": len(content), "pointerSize": 130}
        return entry

    def answer(self, request, server):
        url = urllib.parse.urlsplit(request.path)
        path = urllib.parse.unquote(url.path)
        self.requests.append((server, path, dict(request.headers)))
        if server == "store":
            return self.send_file(request, path.removeprefix("/large/"))
        if self.statuses:
            return self.send(request, self.statuses.pop(0), b"{}")
        if self.token and request.headers.get("Authorization") != f"Bearer {self.token}":
            return self.send(request, 401, b'{"error": "Invalid username or password."}')
        api, files = f"/api/models/{self.repository}", f"/{self.repository}/resolve/{COMMIT}/"
        if path in (f"{api}/revision/main", f"{api}/revision/{COMMIT}"):
            siblings = [self.entry(name, "rfilename", "blobId") for name in self.files]
            listing = {"id": self.repository, "modelId": self.repository, "sha": COMMIT, "siblings": siblings}
            return self.send(request, 200, json.dumps(listing).encode())
        if path == f"{api}/tree/{COMMIT}":
            tree = [{"type": "file"} | self.entry(name, "path", "oid") for name in self.files]
            return self.send(request, 200, json.dumps(tree).encode())
        name = path.removeprefix(files)
        if not path.startswith(files) or name not in self.files:
            return self.send(request, 404, b'{"error": "not found"}', {"X-Error-Code": "EntryNotFound"})
        about = {"X-Repo-Commit": COMMIT, "ETag": f'"{git_hash(self.files[name])}"'}
        if not self.is_large(name):
            return self.send_file(request, name, about)
        about |= {"X-Linked-Etag": f'"{self.blob_of(name)}"', "X-Linked-Size": str(len(self.files[name]))}
        about["Location"] = f"{self.store.url}/large/{name}?signature=x"
        return self.send(request, 302, b"", about)

    def send_file(self, request, name, headers=None):
        content = self.files[name]
        if name in self.wrong:
            content = bytes(len(content))
        status, headers, begin = 200, dict(headers or {}), 0
        asked = request.headers.get("Range")
        if asked and self.has_ranges:
            begin = int(asked.removeprefix("bytes=").split("-")[0])
            status = 206
            headers["Content-Range"] = f"bytes {begin}-{len(content) - 1}/{len(content)}"
        cuts = self.cut_after.get(name)
        self.send(request, status, content[begin:], headers, cuts.pop(0) if cuts else None)

    def send(self, request, status, body, headers=None, cut_after=None):
        request.send_response(status)
        for name, value in {"Content-Type": "application/json", **(headers or {})}.items():
            request.send_header(name, value)
        request.send_header("Content-Length", str(len(body)))
        request.end_headers()
        if request.command == "HEAD":
            return
        request.wfile.write(body[:cut_after])
        if cut_after is not None:
            request.wfile.flush()
            request.close_connection = True
