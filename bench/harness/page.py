"""Puts generated text between the markers of a documentation page."""

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
