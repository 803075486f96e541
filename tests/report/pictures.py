"""Takes the pictures of docs/report.md: python tests/report/pictures.py SAMPLES_FOLDER (that report_samples wrote)"""

import io
import pathlib
import sys

import playwright.sync_api
from PIL import Image

ROOT = pathlib.Path(__file__).resolve().parents[2]
WIDTH = 1180
SHOWN = 900
PICTURES = {
    "overview": ("vit", "overview", 1850, False),
    "explore": ("vit", "explore?f.a_precision=bf16&r.m_throughput=45..90", 1150, False),
    "compare": ("vit", "compare?by=a_plugin&a=torch_ddp&b=low_level_zero&f.a_precision=bf16", 1050, False),
    "run": ("vit", "run", 1230, True),
}


def take(browser, folder, name, address, height, dark):
    page = browser.new_page(viewport={"width": WIDTH, "height": height}, color_scheme="dark" if dark else "light")
    page.goto(f"{(folder / name).with_suffix('.html').as_uri()}#{address}")
    page.wait_for_timeout(2500)
    picture = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
    page.close()
    small = picture.resize((SHOWN, round(picture.height * SHOWN / picture.width)), Image.Resampling.LANCZOS)
    return small.quantize(256, method=Image.Quantize.MAXCOVERAGE, kmeans=4, dither=Image.Dither.NONE)


def main(folder):
    with playwright.sync_api.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        for view, (name, address, height, dark) in PICTURES.items():
            path = ROOT / f"docs/images/report-{view}.png"
            take(browser, pathlib.Path(folder).resolve(), name, address, height, dark).save(path, optimize=True)
            print(path.relative_to(ROOT), path.stat().st_size)
        browser.close()


if __name__ == "__main__":
    main(sys.argv[1])
