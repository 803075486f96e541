"""Servers on the loopback interface that pretend to be metadata and token services."""

import base64
import contextlib
import http.server
import json
import threading


@contextlib.contextmanager
def serve(answer):
    """Runs a server whose `answer(method, path, headers, body)` gives (status, text); yields its address."""

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def reply(self):
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            status, text = answer(self.command, self.path, self.headers, body)
            content = text.encode()
            self.send_response(status)
            self.send_header("Content-Type", "text/xml" if text.startswith("<") else "application/json")
            self.send_header("Metadata-Flavor", "Google")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_PUT = do_POST = reply

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@contextlib.contextmanager
def served(service):
    """Serves a callable object that learns its own address as `url`."""
    with serve(service) as service.url:
        yield service


def jwt_with(claims):
    """A token that nobody signed."""

    def part(content):
        return base64.urlsafe_b64encode(json.dumps(content).encode()).rstrip(b"=").decode()

    return f"{part({'alg': 'none'})}.{part(claims)}.eHh4"
