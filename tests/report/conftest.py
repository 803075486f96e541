import json
import os
import pathlib
import subprocess
import sys

import playwright.sync_api
import pytest
from page_server import Served, fill

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/support"))

import ports  # noqa: E402

BIN_DIR = pathlib.Path(os.environ.get("ASSAY_BIN_DIR", "build/release/bin"))
NODE_MODULES = ROOT / "build/node/node_modules"
SETTLE_MS = 240_000
# Until nothing changed over two frames (a browser may draw none: then two seconds) and the pause after which a chart is
# drawn anew.
SETTLED = """(most) => new Promise((done, fail) => {
  let turn = 0;
  let last = "nothing";
  setTimeout(() => fail(new Error(`the page goes on changing (${turn} times, last ${last})`)), most);
  const frame = () => new Promise((drawn) => { requestAnimationFrame(() => drawn()); setTimeout(drawn, 1000); });
  const wait = async () => {
    const mine = ++turn;
    await frame();
    await frame();
    await new Promise((paused) => setTimeout(paused, 150));
    if (mine === turn) {
      changes.disconnect();
      done();
    }
  };
  const changes = new MutationObserver((seen) => {
    const { type, target } = seen.at(-1);
    last = `${type} of ${target.parentElement?.id || target.nodeName}.${target.className || ""}`;
    wait();
  });
  changes.observe(document.body, { subtree: true, childList: true, attributes: true, characterData: true });
  wait();
})"""
# Over the whole page, so that every chart comes into sight for two frames. A browser may draw none: what is waited for
# then ends, and what was to be drawn is missed by who looks for it.
SEE_ALL = """async () => {
  const frame = () => new Promise((done) => { requestAnimationFrame(() => setTimeout(done)); setTimeout(done, 1000); });
  for (let y = 0; y <= document.documentElement.scrollHeight; y += 600) {
    scrollTo(0, y);
    await frame();
    await frame();
  }
}"""


@pytest.fixture(scope="session")
def samples(tmp_path_factory):
    """A folder with every made-up set of measurements in every form."""
    folder = tmp_path_factory.mktemp("samples")
    subprocess.run([BIN_DIR / "report_samples", folder], check=True)
    return folder


def model_of(samples, name):
    return json.loads((samples / f"{name}.json").read_text(encoding="utf-8"))


def rows_of(samples, name):
    """The measurements of a sample, as they are kept."""
    return [json.loads(line) for line in (samples / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()]


def report_of(rows, folder):
    """The page of measurements of one experiment, and beside it the model as JSON."""
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    fill(folder / "rows.db", folder / "rows.jsonl")
    for form in ["json", "html"]:
        asked = ["--experiment", rows[0]["experiment"], "--store", folder / "rows.db", "-o", folder / f"page.{form}"]
        subprocess.run([BIN_DIR / "assay", "report", *asked], check=True, capture_output=True)
    return folder / "page.html"


@pytest.fixture
def free_port():
    return ports.free_port()


@pytest.fixture(scope="session")
def browser():
    path = "/usr/bin/chromium"
    assert os.path.exists(path), "there is no chromium: script/test installs the packages of tools/apt-browser.txt"
    with playwright.sync_api.sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=path, args=["--no-sandbox"])
        make = chromium.new_context

        def patient(**options):
            """Playwright's own half a minute is less than a busy machine takes."""
            context = make(**options)
            context.set_default_timeout(SETTLE_MS)
            return context

        chromium.new_context = patient
        yield chromium
        chromium.close()


class Reader:
    """A page as a reader sees it, and everything that the browser had to say about it."""

    def __init__(self, page):
        self.page = page
        self.messages = []
        page.on("console", lambda message: self.messages.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: self.messages.append(f"error: {error}"))
        page.add_init_script(
            "addEventListener('securitypolicyviolation', (e) =>"
            " console.error('policy', e.violatedDirective, e.blockedURI, e.sourceFile, e.lineNumber))"
        )

    def open(self, url):
        self.page.goto(url)
        self.page.wait_for_function("() => document.documentElement.dataset.ready", timeout=SETTLE_MS)
        self.settle()

    def go(self, address):
        self.page.evaluate("(hash) => { location.hash = hash }", address)
        self.settle()

    def settle(self):
        """Until the charts in sight were drawn and nothing more changes."""
        self.page.evaluate(SETTLED, SETTLE_MS)

    def see_all(self):
        """Scrolls over the page, so that every chart is drawn."""
        self.page.evaluate(SEE_ALL)
        self.settle()
        self.page.evaluate("scrollTo(0, 0)")

    @property
    def address(self):
        return self.page.evaluate("location.hash")

    def text(self, selector="#app"):
        return self.page.inner_text(selector)

    def count(self, selector):
        return self.page.locator(selector).count()

    def rows(self):
        """How many configurations the table says it shows."""
        return int(self.page.locator("section.table [role=status]").inner_text().split(" of ")[0].replace(",", ""))

    def axe(self):
        """What axe-core finds wrong: [rule, elements]."""
        if not self.page.evaluate("'axe' in window"):
            self.page.evaluate((NODE_MODULES / "axe-core/axe.min.js").read_text() + "; undefined")
        found = self.page.evaluate("axe.run(document, {resultTypes: ['violations']})")["violations"]
        return [[rule["id"], [node["html"][:200] for node in rule["nodes"][:3]]] for rule in found]


def forgive(reader, *words):
    """What a browser has to say of a server that has gone, or cannot answer."""
    reader.messages[:] = [text for text in reader.messages if not any(word in text for word in words)]


@pytest.fixture
def read(browser, request):
    """Opens pages; whatever a browser had to complain about fails the test."""
    readers = []
    contexts = []

    def opened(url, width=1280, height=900, dark=False, before=lambda page: None, **options):
        scheme = "dark" if dark else "light"
        context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme, **options)
        contexts.append(context)
        reader = Reader(context.new_page())
        readers.append(reader)
        before(reader.page)
        if options.get("java_script_enabled", True):
            reader.open(url)
        else:
            reader.page.goto(url)
        return reader

    yield opened
    for context in contexts:
        context.close()
    assert [message for reader in readers for message in reader.messages] == []


@pytest.fixture
def page_of(read, samples):
    def opened(name, address="", **options):
        return read((samples / f"{name}.html").as_uri() + (f"#{address}" if address else ""), **options)

    return opened


@pytest.fixture
def serve(samples, tmp_path):
    """Serves samples by name, each from a store of its own."""
    running = []

    def start(name, *arguments):
        store = tmp_path / f"{name}.db"
        fill(store, samples / f"{name}.jsonl")
        running.append(Served(store, *arguments))
        return running[-1]

    yield start
    for served in running:
        if served.process.poll() is None:
            served.stop()
