"""Times the page of reports in Debian's Chromium, from files and from `assay serve`, and what serving costs.

    python bench/run_report.py --bin-dir build/release/bin [--million]

Prints a Markdown table. With --million it also fills a store with a million measurements first, which takes minutes.
"""

import argparse
import http.client
import json
import os
import pathlib
import re
import socket
import statistics
import subprocess
import sys
import tempfile
import time

import playwright.sync_api

TICKS = os.sysconf("SC_CLK_TCK")
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
TURNS = 5
ROOT = pathlib.Path(__file__).resolve().parents[1]


class Server:
    def __init__(self, assay, store):
        command = [assay, "serve", "--store", store, "--port", "0"]
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        self.url = self.process.stderr.readline().split(" at ")[1].strip()
        self.link = re.search(r"http://\S+", self.process.stderr.readline())[0]
        self.port = int(self.url.rpartition(":")[2])

    def open(self):
        """The cookie and the key that the link gives."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port)
        connection.request("GET", self.link.removeprefix(self.url))
        headers = connection.getresponse().headers
        return headers["Set-Cookie"].partition(";")[0], headers["Location"].partition("?")[2]

    def listen(self, cookie, key):
        """A browser that follows events, without the browser."""
        listener = socket.create_connection(("127.0.0.1", self.port))
        request = f"GET /api/v1/events?{key} HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\nCookie: {cookie}\r\n\r\n"
        listener.sendall(request.encode())
        return listener

    def cpu_seconds(self):
        fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICKS

    def resident_mib(self):
        return int(pathlib.Path(f"/proc/{self.process.pid}/statm").read_text().split()[1]) * PAGE_BYTES / 2**20

    def stop(self):
        self.process.terminate()
        self.process.wait()


# When the charts in sight stand, as the page marks it.
DRAWN = "performance.getEntriesByName('charts drawn').at(-1)?.startTime"


def tab(browser):
    return browser.new_page(viewport={"width": 1280, "height": 900})


def opened(browser, url, page=None):
    page = page or tab(browser)
    page.goto(url)
    page.wait_for_function("() => document.documentElement.dataset.ready", timeout=60_000)
    return page


def ready_ms(browser, url, page=None):
    """The page, and milliseconds from the start of the navigation until the views stand, and until their charts do."""
    page = opened(browser, url, page)
    page.wait_for_function(f"() => {DRAWN}", timeout=60_000)
    return page, int(page.evaluate("document.documentElement.dataset.ready")), int(page.evaluate(DRAWN))


def told(times):
    return f"{statistics.median(times):.0f} ms ({min(times):.0f} to {max(times):.0f})"


def median_ready_ms(browser, url):
    """Until the views stand; until their charts do."""
    times = []
    for _ in range(TURNS):
        page, *both = ready_ms(browser, url)
        times.append(both)
        page.close()
    return "; ".join(map(told, zip(*times)))


# Until the next frame after the one in which the table and the facets stand.
FILTER = """async (address) => {
  const start = performance.now();
  location.hash = address;
  await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
  return performance.now() - start;
}"""


def filter_ms(browser, url):
    page, *_ = ready_ms(browser, url + "#explore")
    page.wait_for_timeout(1000)
    times = []
    for address in ["explore?q=lora", "explore?q=512", "explore?f.a_method=full", "explore", "explore?s=valid"] * 3:
        times.append(page.evaluate(FILTER, address))
        page.wait_for_timeout(300)
    page.close()
    return f"{statistics.median(times):.0f} ms (to {max(times):.0f})"


def height_px(browser, url):
    page, *_ = ready_ms(browser, url)
    for y in range(0, 8000, 600):
        page.evaluate("(y) => scrollTo(0, y)", y)
        page.wait_for_timeout(60)
    height = page.evaluate("document.documentElement.scrollHeight")
    page.close()
    return f"{height:,} px"


def idle_cost(assay, store, listeners, seconds=30):
    """Of so many that listen while nothing happens: processor and resident memory."""
    server = Server(assay, store)
    secrets = server.open()
    time.sleep(1)
    open_ones = [server.listen(*secrets) for _ in range(listeners)]
    time.sleep(2)
    before = server.cpu_seconds()
    time.sleep(seconds)
    used = 100 * (server.cpu_seconds() - before) / seconds
    memory = server.resident_mib()
    for listener in open_ones:
        listener.close()
    server.stop()
    return f"{used:.2f} % of a core, {memory:.0f} MiB resident"


def step_seen_ms(browser, folder):
    """From when a worker says that it made a step until a browser shows it, of an exploration in another process."""
    sys.path.insert(0, str(ROOT / "tests/report"))
    from test_live import Exploration, serve_when_there

    exploration = Exploration(folder)
    served = serve_when_there(exploration)
    page = opened(browser, served.link)  # a store without measurements: it has no chart yet
    page.locator(".going").get_by_text("0 of 2 points").wait_for()
    times = []
    for batch_size in [1, 2]:
        for step in range(1, 6):
            start = time.monotonic()
            exploration.allow(step, batch_size)
            page.wait_for_function(
                "(text) => document.querySelector('.going').innerText.includes(text)", arg=f"step {step} of 6"
            )
            if step > 1:  # the first comes when its worker has started
                times.append(1000 * (time.monotonic() - start))
        exploration.allow(6, batch_size)
    page.close()
    exploration.process.wait()
    served.process.terminate()
    served.process.wait()
    return f"{statistics.median(times):.0f} ms (to {max(times):.0f})"


def fill(assay, store, path):
    subprocess.run([assay, "store", "import", path, "--store", store], check=True, capture_output=True)


def multiply(source, target, count):
    """The measurements of `source` again and again, each with a name of its own."""
    rows = [json.loads(line) for line in source.read_text().splitlines()]
    with target.open("w") as file:
        for number in range(count):
            row = rows[number % len(rows)] | {"uid": f"{number:032x}"}
            file.write(json.dumps(row) + "\n")


def million(browser, assay, folder):
    store = folder / "million.db"
    if not store.exists():
        multiply(folder / "ten_thousand.jsonl", folder / "million.jsonl", 1_000_000)
        fill(assay, store, folder / "million.jsonl")
    return first_view_ms(browser, assay, store)


def first_view_ms(browser, assay, store):
    """Of a server that was just started, in an empty tab of a browser that is open: from when the server says its link
    until the views stand; until the charts in sight do."""
    times = []
    for _ in range(TURNS):
        page = tab(browser)
        server = Server(assay, store)
        start = 1000 * time.time()
        _, *both = ready_ms(browser, server.link, page)
        opened_at = page.evaluate("performance.timeOrigin")
        times.append([opened_at + time_ms - start for time_ms in both])
        page.close()
        server.stop()
    return "; ".join(map(told, zip(*times)))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin-dir", type=pathlib.Path, default=pathlib.Path("build/release/bin"))
    parser.add_argument("--folder", type=pathlib.Path, help="where samples and stores are made, and found again")
    parser.add_argument("--million", action="store_true")
    options = parser.parse_args()
    assay = options.bin_dir / "assay"
    folder = options.folder or pathlib.Path(tempfile.mkdtemp(prefix="report-bench-"))
    folder.mkdir(exist_ok=True)
    subprocess.run([options.bin_dir / "report_samples", folder], check=True)
    os.environ["ASSAY_BIN_DIR"] = str(options.bin_dir.resolve())
    small = folder / "small.db"
    fill(assay, small, folder / "vit.jsonl")
    uri = {name: (folder / f"{name}.html").as_uri() for name in ["ten_thousand", "vit", "demo"]}
    with playwright.sync_api.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        print("| what | measured |\n| --- | --- |")
        print(
            f"| file of 10,000 configurations, views ready; charts drawn | {median_ready_ms(browser, uri['ten_thousand'])} |"
        )
        print(f"| the same, a filter | {filter_ms(browser, uri['ten_thousand'])} |")
        print(f"| Overview of the 349 runs of the ViT space, height | {height_px(browser, uri['vit'])} |")
        print(f"| report of the demo | {(folder / 'demo.html').stat().st_size / 1e6:.2f} MB |")
        if options.million:
            print(
                f"| store of 1,000,000 measurements, first view, views ready; charts drawn | {million(browser, assay, folder)} |",
                flush=True,
            )
        live = pathlib.Path(tempfile.mkdtemp(prefix="live-", dir=folder))
        print(f"| a step of another process, until it is seen | {step_seen_ms(browser, live)} |")
        browser.close()
    for listeners in [0, 100]:
        print(f"| {listeners} browsers that listen while nothing happens | {idle_cost(assay, small, listeners)} |")


if __name__ == "__main__":
    main()
