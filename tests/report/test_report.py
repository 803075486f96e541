"""The report as a reader of files sees it: well-formed, self-contained, with the drawings and the data it promises."""

import base64
import csv
import html.parser
import io
import json
import re
import shutil
import subprocess
import urllib.parse
import xml.etree.ElementTree as ElementTree

import pytest

SAMPLES = ["demo", "mixed", "many", "one", "none", "none_valid", "long_names", "repeated", "two_hosts"]
VOID_ELEMENTS = {"meta", "input", "br", "link", "img", "hr"}


class Page(html.parser.HTMLParser):
    """Checks the nesting of the elements and collects what the tests ask for."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open, self.elements, self.ids = [], [], []
        self.feed(text)
        self.close()
        assert not self.open, f"never closed: {self.open}"

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        self.ids += [value for name, value in attributes if name == "id"]
        if tag not in VOID_ELEMENTS:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        assert self.open and self.open.pop() == tag, f"</{tag}> closes nothing that is open"


def read(samples, name):
    return (samples / f"{name}.html").read_text(encoding="utf-8")


def drawings(text):
    return [ElementTree.fromstring(svg) for svg in re.findall(r"<svg .*?</svg>", text, re.DOTALL)]


def without_namespace(element):
    return element.tag.rpartition("}")[2]


@pytest.mark.parametrize("name", SAMPLES)
def test_page_is_well_formed(samples, name):
    page = Page(read(samples, name))
    assert len(page.ids) == len(set(page.ids)), "an id stands twice"


@pytest.mark.parametrize("name", SAMPLES)
def test_links_stay_inside(samples, name):
    page = Page(read(samples, name))
    for tag, attributes in page.elements:
        assert "src" not in attributes, f"<{tag}> loads {attributes['src']}"
        assert tag not in {"link", "iframe", "object", "img"}
        href = attributes.get("href")
        if href is None:
            continue
        assert href.startswith(("#", "data:text/csv")), href
        if href.startswith("#"):
            assert href[1:] in page.ids, f"{href} leads nowhere"
    assert "http://" not in read(samples, name) and "https://" not in read(samples, name)


@pytest.mark.parametrize("name", SAMPLES)
def test_drawings_are_xml_within_their_bounds(samples, name):
    for svg in drawings(read(samples, name)):
        _, _, width, height = (float(number) for number in svg.get("viewBox").split())
        for element in svg.iter():
            numbers = re.findall(r"-?\d+(?:\.\d+)?", element.get("d") or "")
            if without_namespace(element) == "path" and "h0" not in element.get("d"):
                for x, y in zip(numbers[::2], numbers[1::2]):
                    assert -1 <= float(x) <= width + 1 and -1 <= float(y) <= height + 1, element.get("d")[:80]
            assert "nan" not in (element.get("d") or "") and "inf" not in (element.get("d") or "")


def test_every_configuration_is_in_the_table_and_the_details(samples):
    text = read(samples, "many")
    page = Page(text)
    rows = [attributes for tag, attributes in page.elements if tag == "tr" and "data-c" in attributes]
    assert len(rows) == 200
    assert {f"p{row['data-c']}" for row in rows} <= set(page.ids)
    assert sum(row["data-outcome"] == "invalid" for row in rows) > 0


def test_points_lead_to_their_details_and_say_what_they_are(samples):
    points = [p for svg in drawings(read(samples, "mixed")) for p in svg.iter("a")]
    assert points
    for point in points:
        assert point.get("href") == f"#p{point.get('data-c')}"
        assert point.find("title").text.count("\n") >= 1


def test_markup_in_names_is_text(samples):
    page = Page(read(samples, "long_names"))
    assert all(tag != "b" for tag, _ in page.elements)


def test_csv_of_the_page_is_the_csv_of_the_command(samples):
    page = Page(read(samples, "mixed"))
    (href,) = [a["href"] for tag, a in page.elements if tag == "a" and a.get("download")]
    from_page = urllib.parse.unquote(href.partition(",")[2])
    assert from_page == (samples / "mixed.csv").read_bytes().decode()
    rows = list(csv.DictReader(io.StringIO(from_page, newline="")))
    assert len(rows) == 8
    assert [row["outcome"] for row in rows].count("valid") == 6
    assert all(None not in row for row in rows), "a row has more fields than the header"


def test_two_machines_are_never_one_row(samples):
    text = read(samples, "two_hosts")
    page = Page(text)
    assert sum(tag == "tr" and "data-c" in attributes for tag, attributes in page.elements) == 16
    assert text.count("Fastest: ") == 2
    assert "Against host laptop with commit 9d2c6e1, host workbench with commit 1fed3b0 gives 10.0" in text


def test_pages_stay_small(samples):
    assert len(read(samples, "demo")) < 250_000
    assert len(read(samples, "many")) < 2_500_000


# Looks at the page as a reader would: sorts, filters, follows every link.
PROBE = """
<script>
addEventListener("load", () => {
  const root = document.documentElement;
  const rows = () => [...document.querySelectorAll("#table tbody tr")];
  const shown = () => rows().filter((row) => !row.hidden).length;
  const set = (id, value) => {
    const control = document.getElementById(id);
    control.value = value;
    control.dispatchEvent(new Event("input"));
  };
  const heading = [...document.querySelectorAll("#table th")].find((th) => th.textContent.startsWith("throughput"));
  const cells = () => rows().map((row) => row.cells[heading.cellIndex].dataset.v ?? "");
  const button = heading.querySelector("button");
  button.click();
  const up = cells();
  const sort = heading.getAttribute("aria-sort");
  button.click();
  const down = cells();
  set("filter", "lora 256");
  const filtered = shown();
  set("filter", "");
  set("outcome", "invalid");
  const invalid = shown();
  set("outcome", "all");
  const all = shown();
  const wide = [...document.querySelectorAll("body *")].filter((e) => !e.closest(".scroll") &&
    e.getBoundingClientRect().right > innerWidth + 1).map((e) => e.tagName + "." + e.getAttribute("class"));
  const links = [...document.querySelectorAll('a[href^="#"]')];
  const closed = links.filter((link) => {
    location.hash = link.getAttribute("href");
    dispatchEvent(new HashChangeEvent("hashchange"));
    const target = document.getElementById(link.getAttribute("href").slice(1));
    return target === null || (target.tagName === "DETAILS" && !target.open);
  }).map((link) => link.getAttribute("href"));
  const inks = [...document.querySelectorAll("h1, h2, td, .headline")].map((e) => getComputedStyle(e).color);
  const result = { up, down, sort, filtered, invalid, all, wide, closed, links: links.length,
                   overflow: root.scrollWidth - root.clientWidth, width: innerWidth,
                   dark: matchMedia("(prefers-color-scheme: dark)").matches,
                   paper: getComputedStyle(document.body).backgroundColor, inks: [...new Set(inks)] };
  document.body.setAttribute("data-probe", btoa(JSON.stringify(result)));
});
</script>
"""


def probe(samples, folder, name, width, dark=False):
    """What the page says of itself in a headless browser, in a frame as wide as a phone or a screen."""
    browser = shutil.which("chromium")
    assert browser, "there is no chromium: script/test installs the packages of tools/apt-browser.txt"
    text = read(samples, name).replace("</body>", PROBE + "</body>")
    frame = folder / "frame.html"
    # A file may not look into a frame of another file, so the framed page is given inline.
    content = text.replace("&", "&amp;").replace('"', "&quot;")
    frame.write_text(
        f'<body><iframe style="width:{width}px;height:900px;border:0" srcdoc="{content}"></iframe><script>'
        'addEventListener("load", () => setTimeout(() => document.body.setAttribute("data-probe",'
        'document.querySelector("iframe").contentDocument.body.getAttribute("data-probe")), 200));</script>',
        encoding="utf-8",
    )
    command = [browser, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-component-update"]
    command += ["--disable-background-networking", "--disable-sync", f"--user-data-dir={folder / 'profile'}"]
    command += ["--disable-dev-shm-usage", "--enable-logging=stderr"]
    command += ["--blink-settings=preferredColorScheme=0"] if dark else []
    command += ["--virtual-time-budget=4000", "--dump-dom", frame.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    console = [line for line in done.stderr.splitlines() if ":CONSOLE" in line]
    assert not console, console
    found = re.search(r'<body data-probe="([^"]+)"', done.stdout)
    assert found, "the page's script did not finish\n" + done.stderr[-2000:]
    return json.loads(base64.b64decode(found.group(1)))


def luminance(color):
    """Relative luminance of "rgb(r, g, b)" as WCAG 2.2 defines it."""
    channels = [int(number) / 255 for number in re.findall(r"\d+", color)[:3]]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(a, b):
    high, low = sorted((luminance(a), luminance(b)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("name", ["mixed", "long_names", "two_hosts"])
def test_page_in_a_browser(samples, tmp_path, name, width, dark):
    result = probe(samples, tmp_path, name, width, dark)
    assert result["width"] == width
    assert result["overflow"] <= 0, result["wide"]
    assert result["links"] > 10 and not result["closed"]
    assert result["dark"] == dark
    assert (luminance(result["paper"]) < 0.1) == dark
    assert min(contrast(ink, result["paper"]) for ink in result["inks"]) >= 4.5, result["inks"]


def test_table_sorts_and_filters(samples, tmp_path):
    result = probe(samples, tmp_path, "mixed", 1280)
    measured = [float(value) for value in result["up"] if value]
    assert result["sort"] == "ascending"
    assert measured == sorted(measured) and len(measured) == 6
    assert [float(value) for value in result["down"] if value] == measured[::-1]
    assert result["up"][-2:] == ["", ""] and result["down"][-2:] == ["", ""], "points without a value stay last"
    assert (result["filtered"], result["invalid"], result["all"]) == (2, 1, 8)


def test_a_message_on_the_console_fails(samples, tmp_path):
    (tmp_path / "mixed.html").write_text(
        read(samples, "mixed").replace("</body>", "<script>nowhere();</script></body>")
    )
    with pytest.raises(AssertionError, match="nowhere is not defined"):
        probe(tmp_path, tmp_path, "mixed", 1280)
