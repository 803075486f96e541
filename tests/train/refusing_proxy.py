"""A proxy before a store, for tests of what the store does not give."""

import contextlib
import http.server
import threading
import urllib.error
import urllib.request


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    store = refused = ""

    def forward(self):
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        if self.command == "GET" and self.path.split("?")[0].endswith(self.refused):
            return self.answer(503, {}, b"")
        headers = {name: value for name, value in self.headers.items() if name.lower() != "host"}
        request = urllib.request.Request(self.store + self.path, body or None, headers, method=self.command)
        try:
            with urllib.request.urlopen(request) as answer:
                return self.answer(answer.status, answer.headers, answer.read())
        except urllib.error.HTTPError as error:
            return self.answer(error.code, error.headers, error.read())

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = forward

    def answer(self, status, headers, body):
        self.send_response_only(status)
        for name, value in headers.items():
            if name.lower() not in ("connection", "transfer-encoding"):
                self.send_header(name, value)
        if "content-length" not in headers:
            self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@contextlib.contextmanager
def refusing(store, ending):
    """The URL of one that answers 503 to whoever reads a key with that ending."""
    handler = type("Refusing", (Handler,), {"store": store, "refused": ending})
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as proxy:
        threading.Thread(target=proxy.serve_forever).start()
        try:
            yield f"http://127.0.0.1:{proxy.server_address[1]}"
        finally:
            proxy.shutdown()
