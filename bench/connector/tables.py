"""Markdown of a report's model: its tables of parts with a column for each connector."""

from harness.table import markdown_table


def connectors(model):
    """Of each configuration."""
    (axis,) = [axis for axis in model["axes"] if axis["name"] == "connector"]
    return [axis["values"][place] for place in model["configurations"]["axes"]["connector"]]


def number(value):
    """Three digits."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:#.3g}".rstrip(".")


def cell(column, at):
    """The mean with half of its interval, where it has one."""
    value = column["values"][at]
    if value is None:
        return "-"
    low = column["low"] and column["low"][at]
    return number(value) if low is None else f"{number(value)} ± {number(value - low)}"


def line(column, places):
    unit = f", {column['unit']}" if column["unit"] else ""
    return [column["label"] + unit, *(cell(column, at) for at in places)]


def of_breakdown(breakdown, names):
    """A line for each column of it; of how many runs a connector's figures are stands at its name."""
    first = breakdown["columns"][0]
    places = [at for at, value in enumerate(first["values"]) if value is not None]
    head = ["", *(f"{names[at]}, n = {first['n'][at]}" for at in places)]
    return markdown_table(head, [line(column, places) for column in breakdown["columns"]])


def of_model(model):
    """(title, text, table) of each of its tables of parts."""
    names = connectors(model)
    return [(table["title"], table["text"], of_breakdown(table, names)) for table in model["breakdowns"]]
