"""Writes the licences of the packages whose code esbuild put into a bundle: bundle_licences.py META.json MODULES"""

import json
import pathlib
import re
import sys


def packages_of(meta):
    """Folders below node_modules of which bytes are in the output."""
    (output,) = [output for name, output in meta["outputs"].items() if name.endswith(".js")]
    found = set()
    for path, part in output["inputs"].items():
        inside = re.search(r"node_modules/((?:@[^/]+/)?[^/]+)/", path)
        if inside and part["bytesInOutput"] > 0:
            found.add(inside[1])
    return sorted(found)


def licence_of(folder):
    files = sorted(path for path in folder.iterdir() if re.match(r"(?i)licen[cs]e|copying", path.name))
    return files[0].read_text(encoding="utf-8").strip() if files else "(no file of a licence in the package)"


def name_of_licence(about):
    """Of older packages a list."""
    return about.get("license") or ", ".join(one["type"] for one in about.get("licenses", [])) or "unknown"


def main(meta_file, modules):
    meta = json.loads(pathlib.Path(meta_file).read_text())
    texts = {}
    for package in packages_of(meta):
        folder = pathlib.Path(modules) / package
        about = json.loads((folder / "package.json").read_text())
        texts.setdefault(licence_of(folder), []).append(f"{package} {about['version']} ({name_of_licence(about)})")
    print("What share/web/report.js is made of beside src/web.")
    for text, packages in sorted(texts.items(), key=lambda item: item[1]):
        print("\n" + "=" * 100 + "\n" + "\n".join(packages) + "\n" + "-" * 100 + "\n" + text)


main(*sys.argv[1:])
