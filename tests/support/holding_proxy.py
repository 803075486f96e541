"""A way to a server on this machine that never delivers one request, so that who sent it waits until it gives up, or
delivers it late, whether who sent it is still there or not."""

import contextlib
import socket
import threading
import time


class HoldingProxy:
    """Forwards what comes to its port to `port`, but for the first request whose first line holds `held`: that in
    `seconds`, or never."""

    def __init__(self, port, held, seconds=None):
        self.target, self.held, self.seconds = port, held.encode(), seconds
        self.seen, self.delivered = threading.Event(), threading.Event()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        with contextlib.suppress(OSError):  # closed
            while True:
                client, _ = self.listener.accept()
                server = socket.create_connection(("127.0.0.1", self.target))
                threading.Thread(target=self._forward, args=(client, server, self.held), daemon=True).start()
                threading.Thread(target=self._forward, args=(server, client, None), daemon=True).start()

    def _forward(self, source, sink, held):
        with contextlib.suppress(OSError):
            while content := source.recv(1 << 16):
                if held and not self.seen.is_set() and held in content.partition(b"\r\n")[0]:
                    self.seen.set()
                    if self.seconds is None:
                        source.recv(1)  # until it is closed
                        break
                    time.sleep(self.seconds)
                    sink.sendall(content)
                    self.delivered.set()
                    continue
                sink.sendall(content)
        for end in (source, sink):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.listener.close()
