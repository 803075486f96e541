"""What a store holds, read and changed through `assay store`, so that no test knows its tables."""

import json
import pathlib


def measurements(assay, store):
    """All of them, in the order in which the store got them."""
    path = assay.home / "exported.jsonl"
    assay.ok("store", "export", path, "--store", store)
    documents = [json.loads(line) for line in path.read_text().splitlines()]
    for document in documents:
        del document["checksum"], document["more"]  # of the file, not of the measurement
    return documents


def entity_id(entity):
    return "-".join(f"{name}.{entity[name]}" for name in sorted(entity))


def add(assay, store, documents):
    path = assay.home / "imported.jsonl"
    path.write_text("".join(json.dumps(document) + "\n" for document in documents))
    assay.ok("store", "import", path, "--store", store)


def change(assay, store, edit):
    """`edit` is given each measurement; the store at `store`, an SQLite file, is made anew of what that leaves."""
    documents = measurements(assay, store)
    for document in documents:
        edit(document)
    path = pathlib.Path(store.removeprefix("sqlite:///"))
    for suffix in ("", "-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)
    add(assay, store, documents)
