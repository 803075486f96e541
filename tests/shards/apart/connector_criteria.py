"""What a connector's own library does, of what the connector test asks for besides figures: a row of its criteria.

    connector_criteria.py NAME     prints the port at which it is asked

A connection has a question, a line of JSON: {"ask": "carries", ...}, which types of values come back as they were
written; "write", the program of examples/connector/first: rows into the place; "read", its first batch. The answer is a
line with the number of a process group and one with {"answer": ..., "error": ...}. Each question has a process, forked of
one that has loaded the library: what a failure leaves behind reaches no other, and nobody loads it twice.
"""

import contextlib
import functools
import importlib
import io
import json
import os
import pathlib
import socketserver
import sys
import tempfile

ROOT = pathlib.Path(__file__).parents[3]
sys.path[:0] = [str(ROOT / "examples" / "connector" / "first"), str(ROOT / "share" / "peers" / "connector")]
NAME = sys.argv[1]
PROGRAMS = {"streaming": "by_streaming", "litdata": "by_litdata", "fsspec": "by_fsspec"}
PROGRAMS["s3torchconnector"] = "by_s3torchconnector"
LIBRARIES = {"streaming": "streaming", "litdata": "litdata", "fsspec": "s3fs", "s3torchconnector": "s3torchconnector"}
# Processes that a library starts anew load this file, too.
if NAME == "streaming":
    import no_torchvision  # noqa: F401
if NAME == "litdata":
    import litdata_connector  # noqa: F401


def program(question):
    module = importlib.import_module(PROGRAMS[NAME])
    module.ROWS, module.URI = question["rows"], question["uri"]
    module.CACHE = question["folder"] + "/cache"
    return module


def values():
    import numpy
    from PIL import Image

    return {
        "text": "añ\n",
        "integers": 2**40,
        "numbers": 0.1,
        "true and false": True,
        "bytes": b"\x00\xff",
        "images": Image.new("RGB", (3, 2), (200, 100, 0)),
        "arrays": numpy.arange(6, dtype=numpy.int32).reshape(2, 3),
        "JSON": {"a": [1, None]},
        "missing values": None,
    }


def is_same(value, back):
    import numpy
    from PIL import Image

    if isinstance(value, Image.Image):
        return isinstance(back, Image.Image) and value.tobytes() == back.tobytes()
    if isinstance(value, numpy.ndarray):
        return numpy.array_equal(value, back) and value.dtype == back.dtype
    return value == back and (isinstance(value, (float, bytes)) or type(value) is type(back))


MDS_COLUMNS = {"text": "str", "integers": "int", "numbers": "float64", "true and false": "json", "bytes": "bytes"}
MDS_COLUMNS |= {"images": "png", "arrays": "ndarray", "JSON": "json", "missing values": "json"}


def back_of_streaming(name, value, folder):
    from streaming import MDSWriter, StreamingDataset

    with MDSWriter(out=folder, columns={"value": MDS_COLUMNS[name]}) as writer:
        writer.write({"value": value})
    return StreamingDataset(local=folder, batch_size=1)[0]["value"]


def itself(value):
    return value


@functools.cache
def row_of_litdata(folder):
    """A row with a column of each type: its columns have no types of their own to name."""
    from litdata import StreamingDataset, optimize

    optimize(fn=itself, inputs=[values()], output_dir=folder, chunk_bytes=1 << 20, num_workers=1)
    return StreamingDataset(folder)[0]


def back_of_litdata(name, _, folder):
    return row_of_litdata(os.path.dirname(folder) + "/row")[name]


def back_of_fsspec(_, value, folder):
    import fsspec

    fsspec.filesystem("file").pipe_file(folder, value)
    return fsspec.filesystem("file").cat_file(folder)


def back_of_s3torchconnector(name, value, _):
    import by_s3torchconnector as first
    from s3torchconnector import S3Checkpoint, S3MapDataset

    uri = f"s3://test/types/{name.split()[0]}"
    with S3Checkpoint(**first.STORE).writer(uri) as file:
        file.write(value)
    return S3MapDataset.from_objects([uri], **first.STORE)[0].read()


def carries(question):
    back_of = globals()[f"back_of_{NAME}"]
    found = []
    for name, value in values().items():
        folder = os.path.join(question["folder"], name.replace(" ", "-"))
        with contextlib.suppress(Exception):
            if is_same(value, back_of(name, value, folder)):
                found.append(name)
    return found


def write(question):
    program(question).write()


def read(question):
    return sorted(program(question).first_batch()["prompt"])


class Question(socketserver.StreamRequestHandler):
    def handle(self):
        os.setsid()
        self.wfile.write(f"{os.getpid()}\n".encode())
        question = json.loads(self.rfile.readline())
        os.environ.update(question["environment"])
        tempfile.tempdir = None  # that of this environment
        answer, error = None, ""
        sys.stdout = io.StringIO()
        try:
            answer = {"carries": carries, "write": write, "read": read}[question["ask"]](question)
        except BaseException as problem:
            error = f"{type(problem).__name__}: {problem}"
        self.wfile.write((json.dumps({"answer": answer, "error": error}) + "\n").encode())
        os._exit(0)  # whatever threads and processes the library keeps


class Questions(socketserver.ForkingTCPServer):
    asker = os.getppid()

    def service_actions(self):
        super().service_actions()
        if os.getppid() != self.asker:
            os._exit(0)


def main():
    importlib.import_module("torch.utils.data")
    importlib.import_module(LIBRARIES[NAME])
    with Questions(("127.0.0.1", 0), Question) as server:
        print(server.server_address[1], flush=True)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        server.serve_forever()


if __name__ == "__main__":
    main()
