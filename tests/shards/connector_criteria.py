"""Makes src/experiment/connector/criteria_found.inc, the experiential criteria of the connector test, by running them.

    ASSAY_BIN_DIR=build/release/bin .venv/bin/python tests/shards/connector_criteria.py

Each connector's program of examples/connector/first is run in a folder and a bucket, meets the five faults of FAULTS, and
its library is handed a value of each type. What cannot be run is read: popularity in share/connectors/popularity.yaml.
"""

import argparse
import concurrent.futures
import contextlib
import json
import os
import pathlib
import re
import socket
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
import apart  # noqa: E402
import served  # noqa: E402
import yaml  # noqa: E402

ROOT = pathlib.Path(__file__).parents[2]
FIRST = ROOT / "examples" / "connector" / "first"
OTHERS = ("streaming", "litdata", "fsspec", "s3torchconnector")
TABLE = ROOT / "src" / "experiment" / "connector" / "criteria_found.inc"
PROGRAM = pathlib.Path(__file__).parent / "apart" / "connector_criteria.py"
TYPES = ("text", "integers", "numbers", "true and false", "bytes", "images", "arrays", "JSON", "missing values")
#: What users meet most: what happens, in the order of the table.
CUT, DEAD = "a file cut in half, of lines at a line's end", "a dead store"
FAULTS = ("a row that is no JSON", "no such bucket", "nothing at the prefix", CUT, DEAD)
#: A busy machine takes its time.
LONGEST_SECONDS = 1800
#: What tries for minutes, by its own patience, before it says anything: litdata waits 120 s for a chunk.
LONG_WAITS = {("litdata", CUT), ("litdata", DEAD)}
LONGEST_WAIT_SECONDS = 300
LONGEST_TEXT = 160
SILENCE = "nothing: it goes on"
ROWS = [{"prompt": f"p{number}", "completion": f"c{number}"} for number in range(40)]
# A 1 x 1 picture.
PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000d49444154789c63f8cfc0f01f00050001ff"
    "56c72f0d0000000049454e44ae426082"
)


def environment(url, folder):
    keys = {"AWS_ACCESS_KEY_ID": "AKIATEST", "AWS_SECRET_ACCESS_KEY": "test", "AWS_EC2_METADATA_DISABLED": "true"}
    place = {"AWS_REGION": "us-east-1", "AWS_DEFAULT_REGION": "us-east-1", "AWS_ENDPOINT_URL": url, "NO_PROXY": "*"}
    place |= {"S3_ENDPOINT_URL": url, "HOME": str(folder), "TMPDIR": str(folder), "CUDA_VISIBLE_DEVICES": ""}
    return os.environ | keys | place


class Other:
    """A library, whose process has a fork for each question: what a failure leaves behind reaches no other."""

    def __init__(self, name, url, folder):
        self.name, self.url, self.folder = name, url, folder
        command = [apart.STREAMING, PROGRAM, name]
        self.process = subprocess.Popen(
            command, env=environment(url, folder), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        self.port = int(self.process.stdout.readline())

    def end(self):
        self.process.kill()
        self.process.wait()

    def ask(self, what, uri, rows="", url="", seconds=LONGEST_SECONDS):
        """The answer and the error."""
        with (
            tempfile.TemporaryDirectory(dir=self.folder) as here,
            socket.create_connection(("127.0.0.1", self.port), seconds) as connection,
            connection.makefile("rw") as lines,
        ):
            question = {"ask": what, "uri": str(uri), "rows": str(rows), "folder": here}
            print(json.dumps(question | {"environment": environment(url or self.url, here)}), file=lines, flush=True)
            group = int(lines.readline())
            try:
                told = json.loads(lines.readline())
            except TimeoutError:
                return None, f"still tries after {seconds} s"
            finally:
                end_group(group)
        return told["answer"], told["error"]

    def carries(self):
        return self.ask("carries", "")[0]

    def write(self, rows, uri):
        return self.ask("write", uri, rows)[1]

    def read(self, uri, url="", seconds=LONGEST_SECONDS):
        return self.ask("read", uri, url=url, seconds=seconds)

    def commands_and_lines(self):
        """The program is one command; its lines without its docstring."""
        text = re.sub(r'^""".*?"""', "", (FIRST / f"by_{self.name}.py").read_text(), flags=re.DOTALL)
        return 1, sum(bool(line.strip()) for line in text.splitlines())


class Ours:
    name = "assay"

    def __init__(self, url, folder):
        self.url, self.folder = url, folder

    def run(self, *words, url="", seconds=LONGEST_SECONDS):
        """Standard output, and the line of the error."""
        command = [str(word) for word in (served.ASSAY, "data", *words)]
        try:
            ended = subprocess.run(
                command,
                env=environment(url or self.url, self.folder),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=seconds,
            )
        except subprocess.TimeoutExpired:
            return "", f"still tries after {seconds} s"
        return ended.stdout, "" if ended.returncode == 0 else ended.stderr.strip().removeprefix("assay data: ")

    def carries(self):
        rows = {
            "text": ({"value": "añ\n"}, "str"),
            "integers": ({"value": 2**40}, "int"),
            "numbers": ({"value": 0.1}, "float64"),
            "true and false": ({"value": True}, "json"),
            "bytes": ({"value": "AP8="}, "bytes"),
            "arrays": ({"value": [[0, 1, 2], [3, 4, 5]]}, "ndarray:int32"),
            "JSON": ({"value": {"a": [1, None]}}, "json"),
            "missing values": ({"value": None}, "json"),
        }
        found = [name for name, (row, column) in rows.items() if self.comes_back(name, row, column)]
        if self.images_come_back():
            found.append("images")
        return found

    def comes_back(self, name, row, column):
        folder = self.folder / f"type-{name.replace(' ', '-')}"
        folder.mkdir()
        (folder / "rows.jsonl").write_text(json.dumps(row) + "\n")
        self.run("convert", folder / "rows.jsonl", folder / "set", "--columns", f"value:{column}")
        return [json.loads(line) for line in self.run("cat", folder / "set")[0].splitlines()] == [row]

    def images_come_back(self):
        folder = self.folder / "images"
        (folder / "from" / "label").mkdir(parents=True)
        (folder / "from" / "label" / "a.png").write_bytes(PNG)
        self.run("convert", folder / "from", folder / "set", "--from", "images")
        shard = next((folder / "set").glob("shard.*"), None)
        return shard is not None and PNG in shard.read_bytes() and self.run("verify", folder / "set")[1] == ""

    def write(self, rows, uri):
        return self.run("convert", rows, uri)[1]

    def read(self, uri, url="", seconds=LONGEST_SECONDS):
        told, error = self.run("read", uri, "--shuffle", "py1e", "--count", 4, url=url, seconds=seconds)
        return sorted(json.loads(line)["prompt"] for line in told.splitlines()) if not error else None, error

    def end(self):
        """Nothing goes on."""

    def commands_and_lines(self):
        """Those of the program: it is one command where all of it is one line."""
        commands = [line for line in (FIRST / "by_assay.sh").read_text().splitlines() if "assay data" in line]
        return sum(line.count("assay data") for line in commands), 0


def end_group(group):
    with contextlib.suppress(ProcessLookupError):
        os.killpg(group, 9)


def normal(text, folder):
    """One line, without what is of this run, whose files are in `folder`."""
    text = " ".join(text.split())
    text = re.sub(r"https?://127\.0\.0\.1:\d+", "URL", text)
    text = re.sub(re.escape(str(folder)) + r"[\w./+-]*", "FILE", text)
    text = re.sub(r'File "[^"]*/', 'File "', text)
    text = re.sub(r"\b[0-9a-fA-F]{12,}\b", "ID", text)
    text = re.sub(r"\b\d+(\.\d+)?(µs|ms|ns|s)\b", "TIME", text)
    text = re.sub(r"127\.0\.0\.1:\d+", "ADDRESS", text)
    if len(text) <= LONGEST_TEXT:
        return text
    # What is wrong stands at the end of a traceback, else at the beginning.
    most = LONGEST_TEXT - 4
    return "... " + text[-most:] if "Traceback (most recent call last)" in text else text[:most] + " ..."


def cut_in_half(ours, uri):
    """The largest object below it, in which rows lie: of lines whole ones are left, so that none says what is missing."""
    store = {"env": environment(ours.url, ours.folder), "check": True, "capture_output": True}
    listed = subprocess.run([served.ASSAY, "object", "ls", "--recursive", "--output", "json", f"{uri}/"], **store)
    objects = json.loads(listed.stdout)["objects"]
    largest = max((found for found in objects if not found["key"].endswith("json")), key=lambda found: found["size"])
    at = f"s3://test/{largest['key']}"
    whole = subprocess.run([served.ASSAY, "object", "cat", at], **store).stdout
    half = ours.folder / "half"
    middle = len(whole) // 2
    half.write_bytes(whole[: whole.rfind(b"\n", 0, middle) + 1 or middle])
    subprocess.run([served.ASSAY, "object", "put", half, at], **store)


def faults_of(connector, ours, bad_rows, uri, with_long_waits):
    """What it says of each fault, None of those left out; side by side, since most is waiting."""
    cut_in_half(ours, uri)
    questions = {
        "a row that is no JSON": lambda: connector.write(bad_rows, f"{uri}-bad"),
        "no such bucket": lambda: connector.read("s3://absent/rows")[1],
        "nothing at the prefix": lambda: connector.read(f"s3://test/nothing-{connector.name}")[1],
        CUT: lambda: connector.read(uri, seconds=patience(CUT))[1],
        DEAD: lambda: connector.read(uri, url="http://127.0.0.1:9", seconds=patience(DEAD))[1],
    }

    def patience(fault):
        return LONGEST_WAIT_SECONDS if (connector.name, fault) in LONG_WAITS else LONGEST_SECONDS

    with concurrent.futures.ThreadPoolExecutor() as threads:
        asked = {
            fault: threads.submit(question)
            for fault, question in questions.items()
            if with_long_waits or (connector.name, fault) not in LONG_WAITS
        }
    told = [asked[fault].result() if fault in asked else None for fault in FAULTS]
    return [SILENCE if text == "" else text and normal(text, ours.folder) for text in told]


def found_of(connector, ours, folder, with_long_waits):
    """The row of a connector."""
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    (folder / "bad.jsonl").write_text(json.dumps(ROWS[0]) + "\n{\n")
    uri = f"s3://test/criteria-{connector.name}"
    prompts = {row["prompt"] for row in ROWS}
    places = []
    for place in (uri, folder / f"place-{connector.name}"):
        error = connector.write(folder / "rows.jsonl", place)
        batch, error = (None, error) if error else connector.read(place)
        places.append(error or len(batch) == 4 and prompts.issuperset(batch))
    assert places[0] is True, (connector.name, places)
    commands, lines = connector.commands_and_lines()
    carried = connector.carries()
    return {
        "connector": connector.name,
        "commands": commands,
        "lines": lines,
        "lines_to_switch": 1 if places[1] is True else -1,
        "carries": [name for name in TYPES if name in carried],
        "errors": faults_of(connector, ours, folder / "bad.jsonl", uri, with_long_waits),
    }


def found_of_all(url, folder, names=("assay", *OTHERS), with_long_waits=True):
    ours = Ours(url, folder)
    for name in names:
        connector = ours if name == "assay" else Other(name, url, folder)
        try:
            yield found_of(connector, ours, folder, with_long_waits)
        finally:
            connector.end()


def popularity():
    """What is told of each connector's package."""
    told = yaml.safe_load((ROOT / "share" / "connectors" / "popularity.yaml").read_text())
    return told["as_of"], told["pypi_rank"]


def text_of(found):
    as_of, ranks = popularity()
    lines = ["// Written by tests/shards/connector_criteria.py, which runs what it says; not edited by hand."]
    lines += ["// clang-format off", f"constexpr char kPopularityAsOf[] = {json.dumps(str(as_of))};"]
    lines += [
        f"constexpr const char* kFaults[] = {{{', '.join(map(json.dumps, FAULTS))}}};",
        "constexpr Found kFound[] = {",
    ]
    for row in found:
        numbers = f"{row['commands']}, {row['lines']}, {row['lines_to_switch']}, {ranks.get(row['connector'], -1)}"
        lines.append(f"    {{{json.dumps(row['connector'])}, {numbers}, {json.dumps(', '.join(row['carries']))},")
        errors = ",\n      ".join(json.dumps(text, ensure_ascii=False) for text in row["errors"])
        lines.append(f"     {{{errors}}}}},")
    return "\n".join([*lines, "};", "// clang-format on", ""])


def told():
    """The rows of the table that stands: a line of what is counted, and one for each fault."""
    lines = [line.strip(" {},") for line in TABLE.read_text().splitlines()]
    lines = lines[lines.index("constexpr Found kFound[] =") + 1 : lines.index(";")]
    for at in range(0, len(lines), 1 + len(FAULTS)):
        name, commands, written, lines_to_switch, _, carried = json.loads(f"[{lines[at]}]")
        yield {
            "connector": name,
            "commands": commands,
            "lines": written,
            "lines_to_switch": lines_to_switch,
            "carries": carried.split(", "),
            "errors": [json.loads(line) for line in lines[at + 1 : at + 1 + len(FAULTS)]],
        }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.parse_args()
    server = served.Server("--root", "memory", "--bucket", "test")
    try:
        with tempfile.TemporaryDirectory() as folder:
            TABLE.write_text(text_of(list(found_of_all(server.url, pathlib.Path(folder).resolve()))))
    finally:
        server.stop()


if __name__ == "__main__":
    main()
