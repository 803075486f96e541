"""Takes the pictures of docs/report.md: python tests/report/pictures.py SAMPLES_FOLDER (that report_samples wrote)

The one of a page over a store needs the programs too, in ASSAY_BIN_DIR.
"""

import io
import pathlib
import sys
import tempfile

import playwright.sync_api
from conftest import ROOT
from PIL import Image
from test_live import Exploration

WIDTH = 1180
SHOWN = 900
PICTURES = {
    "overview": ("vit", "overview", 1850, False),
    "explore": ("vit", "explore?f.a_precision=bf16&r.m_throughput=45..90", 1150, False),
    "compare": ("vit", "compare?by=a_plugin&a=torch_ddp&b=low_level_zero&f.a_precision=bf16", 1050, False),
    "run": ("vit", "run", 1230, True),
    "scaling": ("vit", "scaling?f.a_precision=bf16", 1250, False),
    "predicted": ("vit", "predicted", 1150, False),
}


def take(browser, url, height, dark, before=lambda page: None):
    page = browser.new_page(viewport={"width": WIDTH, "height": height}, color_scheme="dark" if dark else "light")
    page.goto(url)
    before(page)
    page.wait_for_timeout(2500)
    picture = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
    page.close()
    small = picture.resize((SHOWN, round(picture.height * SHOWN / picture.width)), Image.Resampling.LANCZOS)
    return small.quantize(256, method=Image.Quantize.MAXCOVERAGE, kmeans=4, dither=Image.Dither.NONE)


def take_live(browser):
    """An exploration in the middle of its second point."""
    with tempfile.TemporaryDirectory() as folder:
        exploration = Exploration(pathlib.Path(folder), port=0)

        def go_on(page):
            exploration.allow(6)
            page.locator(".going").get_by_text("1 of 2 points").first.wait_for()
            exploration.allow(4, batch_size=2)

        picture = take(browser, exploration.link, 800, False, go_on)
        exploration.process.kill()
        exploration.process.wait()
    return picture


def save(picture, view):
    path = ROOT / f"docs/images/report-{view}.png"
    picture.save(path, optimize=True)
    print(path.relative_to(ROOT), path.stat().st_size)


def main(folder):
    with playwright.sync_api.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        for view, (name, address, height, dark) in PICTURES.items():
            file = (pathlib.Path(folder).resolve() / name).with_suffix(".html")
            save(take(browser, f"{file.as_uri()}#{address}", height, dark), view)
        save(take_live(browser), "live")
        browser.close()


if __name__ == "__main__":
    main(sys.argv[1])
