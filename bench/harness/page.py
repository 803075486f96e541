"""Puts generated text into files: between the markers of a documentation page, or as a page of results of today."""

import datetime

BEGIN, END = "<!-- {name}: begin -->", "<!-- {name}: end -->"


def replace_part(page, name, text):
    """`page` with everything between the markers of `name` replaced; a missing marker is a ValueError."""
    begin, end = BEGIN.format(name=name), END.format(name=name)
    if page.count(begin) != 1 or page.count(end) != 1 or page.index(begin) > page.index(end):
        raise ValueError(f"the page needs one {begin} and one {end} after it")
    head, rest = page.split(begin)
    return f"{head}{begin}\n{text.strip()}\n{end}{rest.split(end)[1]}"


def update_file(path, name, text):
    path.write_text(replace_part(path.read_text(), name, text))


def publish(text, folder, name):
    """Writes `text` to `folder`/NAME-DATE.md and prints it."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}-{datetime.date.today()}.md"
    path.write_text(text)
    print(f"\n{text}\nWritten to {path}")
