"""The raw data of a day's fine-tuning table: one JSON file, to which further turns can be added.

{"schema", "date", "sessions": [{"at", "command", "commit", "programs", "machine", "ceilings": {isa: ...}}],
 "rows": {name: {"row", "work", "turns": [{"session", "ours", "theirs", ...}], "problem"}}}
"""

import json
from dataclasses import asdict

SCHEMA = 1


class CannotAppend(Exception):
    """What stands in the file was measured with something else."""


def empty(date):
    return {"schema": SCHEMA, "date": date, "sessions": [], "rows": {}}


def load(path, session):
    """What `path` holds, to be appended to by `session`."""
    results = json.loads(path.read_text())
    for earlier in results["sessions"]:
        if earlier["programs"] != session["programs"] or earlier["machine"] != session["machine"]:
            raise CannotAppend(
                f"{path} was measured with {earlier['programs']} on {earlier['machine']}, these programs are"
                f" {session['programs']} on {session['machine']}: leave --append out to begin anew"
            )
    return results


def start_row(results, row, work):
    """The entry of a row, ready for more turns."""
    definition = asdict(row)
    entry = results["rows"].get(row.name)
    if entry is None or entry["problem"]:
        entry = {"row": definition, "work": [asdict(step) for step in work], "turns": [], "problem": None}
        results["rows"][row.name] = entry
    elif entry["row"] != definition:
        raise CannotAppend(f"the row {row.name} was measured as {entry['row']}: leave --append out to begin anew")
    return entry


def save(results, path):
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(path.name + ".partial")
    partial.write_text(json.dumps(results, indent=1) + "\n")
    partial.replace(path)
