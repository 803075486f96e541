"""`assay serve` for tests: a store of made-up measurements, and the program that serves it."""

import http.client
import os
import pathlib
import re
import subprocess
import urllib.parse

BIN_DIR = pathlib.Path(os.environ.get("ASSAY_BIN_DIR", "build/release/bin"))


def fill(store, measurements):
    """Puts a file of measurements, as JSON lines, into a store."""
    subprocess.run(
        [BIN_DIR / "assay", "store", "import", measurements, "--store", store], check=True, capture_output=True
    )


class Served:
    """A running server; `link` opens it once."""

    def __init__(self, store, *arguments, port=0):
        self.store = pathlib.Path(store)
        self.attach([BIN_DIR / "assay", "serve", "--store", store, "--port", str(port), *arguments])

    def attach(self, command, **options):
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, **options)
        self.url = self.said(r"serving at (\S+)")
        self.link = self.said(r"open (http://\S+).*")
        self.unused = self.link
        self.port = urllib.parse.urlsplit(self.url).port

    def said(self, pattern):
        """What the next line of the program has where `pattern` has its group."""
        line = self.process.stderr.readline()
        match = re.fullmatch(pattern, line.strip())
        if match is None:
            self.process.kill()
            raise AssertionError(
                f"{self.process.args} said {line + self.process.stderr.read()!r} in place of {pattern}"
            )
        return match[1]

    def fresh_link(self):
        """One that was not given out yet: whoever was given the one before has opened it."""
        link, self.unused = self.unused or self.next_link(), None
        return link

    def next_link(self):
        """The one that is printed when a link was used."""
        return self.said(r"another browser: (http://\S+)")

    def ask(self, path, method="GET", host=None, **headers):
        """Status, headers and body, without a browser's manners."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=300)
        connection.putrequest(method, path, skip_host=True)
        connection.putheader("Host", host or f"127.0.0.1:{self.port}")
        for name, value in headers.items():
            connection.putheader(name.replace("_", "-"), value)
        connection.endheaders()
        response = connection.getresponse()
        body = response.read()
        connection.close()
        return response.status, response.headers, body.decode()

    def cookie(self):
        """Uses up the link."""
        _, headers, _ = self.ask(urllib.parse.urlsplit(self.link).path)
        return headers["Set-Cookie"].partition(";")[0]

    def stop(self):
        self.process.terminate()
        assert self.process.wait(timeout=300) == 0, self.process.stderr.read()
