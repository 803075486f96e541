"""A certificate authority of the tests' own, and proxies: TLS in front of a plain server, HTTP in front of any."""

import contextlib
import datetime
import ipaddress
import socket
import ssl
import threading

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec


class Authority:
    """Signs certificates; `path` is its own, for those who trust it."""

    def __init__(self, folder, name="assay tests"):
        self.folder, self.path = folder, folder / "ca.pem"
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
        certificate = self.build(self.name, self.key.public_key()).add_extension(
            x509.BasicConstraints(ca=True, path_length=None), critical=True
        )
        self.path.write_bytes(certificate.sign(self.key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM))

    def build(self, subject, public_key):
        now = datetime.datetime.now(datetime.UTC)
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self.name)
            .public_key(public_key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(hours=1))
            .not_valid_after(now + datetime.timedelta(days=1))
        )

    def context(self, *hosts):
        """A server's, for these host names and 127.0.0.1."""
        key = ec.generate_private_key(ec.SECP256R1())
        names = [x509.DNSName(host) for host in hosts] + [x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
        certificate = self.build(
            x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "server")]), key.public_key()
        ).add_extension(x509.SubjectAlternativeName(names), critical=False)
        pem = self.folder / "server.pem"
        pem.write_bytes(
            certificate.sign(self.key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
            + key.private_bytes(
                serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
            )
        )
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(pem)
        return context


def address_of(url):
    host, port = url.rsplit("/", 1)[-1].rsplit(":", 1)
    return host, int(port)


def pump(source, target, budget=None):
    """Copies until the end, or until `budget` bytes have passed; then both sides are closed."""
    try:
        while (budget is None or budget > 0) and (data := source.recv(1 << 16)):
            target.sendall(data)
            budget = None if budget is None else budget - len(data)
    except OSError:
        pass
    for side in (source, target):
        try:
            side.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass


class Listener:
    """Accepts connections in threads of its own until it is closed."""

    def __init__(self):
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                connection, _ = self.socket.accept()
            except OSError:
                return
            threading.Thread(target=self.serve_quietly, args=(connection,), daemon=True).start()

    def serve_quietly(self, connection):
        with connection:
            try:
                self.serve(connection)
            except OSError:
                pass

    def join(self, client, server, budget=None):
        with server:
            back = threading.Thread(target=pump, args=(server, client, budget), daemon=True)
            back.start()
            pump(client, server)
            back.join()

    def close(self):
        self.socket.shutdown(socket.SHUT_RDWR)  # the accepting thread would keep a closed one open
        self.socket.close()


class TlsProxy(Listener):
    """TLS outside, the plain server at `url` inside."""

    def __init__(self, context, url):
        self.context, self.inner = context, address_of(url)
        super().__init__()

    def serve(self, connection):
        with self.context.wrap_socket(connection, server_side=True) as client:
            self.join(client, socket.create_connection(self.inner))


class HttpProxy(Listener):
    """Forwards requests with absolute addresses, and opens tunnels for CONNECT; remembers the first line and the headers
    of each. `cuts` connections are ended after `budget` bytes of an answer."""

    def __init__(self, cuts=0, budget=None, credentials=None):
        self.heads, self.cuts, self.budget, self.credentials = [], cuts, budget, credentials
        super().__init__()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def serve(self, connection):
        head, rest = self.read_head(connection)
        if not head:
            return
        self.heads.append(head)
        if self.credentials and f"Proxy-Authorization: {self.credentials}" not in head:
            connection.sendall(b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n")
            return
        budget = None
        if self.cuts > 0:
            self.cuts, budget = self.cuts - 1, self.budget
        method, target, version = head.split("\r\n", 1)[0].split(" ")
        if method == "CONNECT":
            server = socket.create_connection(address_of(target))
            connection.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
            server.sendall(rest)
        else:
            host, _, path = target.removeprefix("http://").partition("/")
            server = socket.create_connection(address_of(host))
            first, _, others = head.partition("\r\n")
            server.sendall(f"{method} /{path} {version}\r\n{others}\r\n\r\n".encode() + rest)
        # A client keeps a connection to a proxy for one server only, so what follows needs no look.
        self.join(connection, server, budget)

    @staticmethod
    def read_head(connection):
        data = b""
        while b"\r\n\r\n" not in data:
            if not (more := connection.recv(1 << 16)):
                return "", b""
            data += more
        head, rest = data.split(b"\r\n\r\n", 1)
        return head.decode("latin-1"), rest


class Gate(Listener):
    """Passes what goes to the plain server at `url` and back, until `budget` bytes have gone one way: to the server, or
    with `down` from it. From then on nothing goes that way before the gate is opened: who is behind it is in the middle
    for as long as a test likes."""

    def __init__(self, url, budget, down=False):
        self.inner, self.left, self.down = address_of(url), budget, down
        self.changed, self.is_open, self.carriers = threading.Condition(), False, []
        super().__init__()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def open(self):
        with self.changed:
            self.is_open = True
            self.changed.notify_all()

    def wait_until_shut(self, process):
        """Until somebody waits before it, while `process` runs."""
        with self.changed:
            for _ in range(300):
                if self.changed.wait_for(lambda: self.left <= 0, timeout=1):
                    return
                assert process.poll() is None, process.communicate()
        raise AssertionError("the gate stays open")

    def serve(self, connection):
        with socket.create_connection(self.inner) as server:
            ways = [(server, connection, self.down), (connection, server, not self.down)]
            carriers = [threading.Thread(target=self.carry, args=way, daemon=True) for way in ways]
            self.carriers += carriers
            for carrier in carriers:
                carrier.start()
            for carrier in carriers:
                carrier.join()

    def carry(self, source, target, counts):
        try:
            while data := source.recv(1 << 16):
                with self.changed:
                    if counts and self.changed.wait_for(lambda: self.is_open or self.left > 0):
                        self.left -= len(data)
                        self.changed.notify_all()
                target.sendall(data)
        except OSError:
            pass
        for side in (source, target):
            with contextlib.suppress(OSError):
                side.shutdown(socket.SHUT_RDWR)

    def open_after_the_end(self):
        """For whoever comes: who was behind it has ended, which the server knows then."""
        self.open()
        for carrier in self.carriers:
            carrier.join(60)

    def close(self):
        self.open_after_the_end()
        super().close()
