"""Writes docs/commands.md from what the program says of itself: python tests/cli/commands_page.py > docs/commands.md"""

import os
import pathlib
import re
import subprocess

BIN = pathlib.Path(os.environ["ASSAY_BIN_DIR"])

# Defaults that are places are those of this user.
HOME = {"HOME": "/home/you", "XDG_DATA_HOME": "/home/you/.local/share", "XDG_CACHE_HOME": "/home/you/.cache"}

HEAD = """\
# The command line

What `assay --help` and `assay VERB --help` print. The page is made from them by `tests/cli/commands_page.py`, and a
test holds it against the program.
"""


def help_of(*verb):
    command = [BIN / "assay", *verb, "--help"]
    text = subprocess.run(command, env=os.environ | HOME, capture_output=True, text=True, check=True).stdout
    return "\n".join(line.rstrip() for line in text.strip().splitlines())


def verbs_of(text):
    listed = re.search(r"^Subcommands:\n((?: .*\n)+)", text, re.MULTILINE)
    return re.findall(r"^  ([a-z-]+) ", listed[1], re.MULTILINE) if listed else []


def sections(*verb):
    text = help_of(*verb)
    yield f"\n## {' '.join(('assay', *verb))}\n\n```\n{text}\n```\n"
    for name in verbs_of(text):
        yield from sections(*verb, name)


def page():
    return HEAD + "".join(sections())


if __name__ == "__main__":
    print(page(), end="")
