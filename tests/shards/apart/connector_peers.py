"""The parts of share/peers/connector that a whole run shows late or not at all: questions in, what came of each out."""

import json
import os
import pathlib
import shutil
import sys
import time
import urllib.request
from unittest import mock

PEERS = pathlib.Path(__file__).parents[3] / "share" / "peers"
sys.path[:0] = [str(PEERS / "connector"), str(PEERS / "common")]


def rows_over_nothing(_):
    """How many passes are made over no samples."""
    import text

    class Nothing:
        passes = 0

        def __iter__(self):
            self.passes += 1
            if self.passes > 3:
                raise SystemExit("the same nothing is read again and again")
            return iter(())

    nothing = Nothing()
    return len(list(text.Rows(nothing, None, {"model_max_length": 8}))), nothing.passes


def epochs_of_files(question):
    """The rows of two passes over files, by each of two processes of a loader, and by one that begins anew."""
    from file_connectors import WholeFiles

    def read(name):
        return "".join(f'{{"row": "{name[0]}{number}"}}\n' for number in range(5)).encode()

    def rows(files):
        return [row["row"] for row in files]

    def passes(process):
        with mock.patch("torch.utils.data.get_worker_info", lambda: process):
            files = WholeFiles(question["names"], read, 7)
            return [rows(files), rows(files)]

    class Process:
        num_workers = 2

        def __init__(self, number):
            self.id = number

    return [passes(Process(0)), passes(Process(1)), passes(Process(1)), passes(None)]


def clients_of_streaming(question):
    """What is open to the bucket in a data set that a loader's processes get as forks."""
    from streaming_connector import Streaming

    os.environ.update(question["environment"])
    folder = pathlib.Path(question["folder"])
    rows = folder / "rows.jsonl"
    rows.write_text('{"prompt": "a", "completion": "b"}\n' * 3)
    plan = {"shard_bytes": 600, "cache_bytes": 0, "fine_tune": {"seed": 1, "batch_size": 1}}
    connector = Streaming(plan, str(folder))
    connector.write(str(rows), question["uri"], "")
    samples = connector.samples(question["uri"], str(folder / "cache"))
    clients = [stream._downloader._s3_client is None for stream in samples.streams]
    read = len(list(samples))
    connector.remove(question["uri"])
    return clients, read


def clients_of_fsspec(question):
    """How many clients of a bucket are made for many calls, what folder came back of one that was put there, and how many
    requests were counted here and by the store, which nobody has asked before."""
    import request_counts
    import s3fs
    from file_connectors import Fsspec

    os.environ.update(question["environment"])
    request_counts.begin()
    connector, uri, folder = Fsspec({}, ""), question["uri"], pathlib.Path(question["folder"])
    with mock.patch.object(
        s3fs.S3FileSystem, "__init__", autospec=True, side_effect=s3fs.S3FileSystem.__init__
    ) as made:
        for number in range(3):
            connector.put(f"{uri}/one-{number}", b"1")
        connector.put_folder(str(folder / "from"), f"{uri}/folder")
        connector.get_folder(f"{uri}/folder", str(folder / "to"))
        found = connector.files(uri)
        connector.remove(uri)
        left, counted = connector.files(uri), request_counts.totals()
    back = {str(path.relative_to(folder / "to")): path.read_text() for path in folder.glob("to/**/*") if path.is_file()}
    with urllib.request.urlopen(os.environ["AWS_ENDPOINT_URL"] + "/metrics") as answer:
        metrics = answer.read().decode()
    told = {"found": found, "left": left, "back": back, "counted": counted, "metrics": metrics}
    return told | {"made": made.call_count}


def uploads_after_a_removal(question):
    """Keys of uploads in parts that are begun in a bucket, once each connector has removed a folder of it."""
    import boto3
    from file_connectors import Fsspec
    from file_places import FilePlaces

    os.environ.update(question["environment"])
    client = boto3.client("s3")
    bucket, folder = question["uri"].removeprefix("s3://").split("/", 1)

    def left(connector):
        for key in (f"{folder}/one", f"{folder}/deep/two", f"{folder}-of-another"):
            client.create_multipart_upload(Bucket=bucket, Key=key)
        connector.remove(question["uri"])
        return [upload["Key"] for upload in client.list_multipart_uploads(Bucket=bucket)["Uploads"]]

    return left(FilePlaces()), left(Fsspec({}, ""))


class Local:
    """A connector whose place is a folder, of rows that take their time."""

    def __iter__(self):
        for number in range(64):
            time.sleep(WAIT_SECONDS / 2)
            yield {"input_ids": [number % 7, 1], "labels": [1, 2]}

    def put_folder(self, folder, uri):
        shutil.copytree(folder, uri)
        return 1

    def files(self, uri):
        return [str(path.relative_to(uri)) for path in pathlib.Path(uri).rglob("*") if path.is_file()]

    def get_folder(self, uri, folder):
        shutil.copytree(uri, folder)


WAIT_SECONDS = 0.05


def waits_of_a_resume(question):
    """What steps waited for rows that take WAIT_SECONDS a batch, in a fine-tune and gone on behind its checkpoint."""
    import torch
    from fine_tune import FineTune
    from transformers import LlamaConfig

    class Rows(Local, torch.utils.data.IterableDataset):
        pass

    class Events(list):
        def write(self, name, **fields):
            if name == "rank_step":
                self.append((fields["step"], fields["data_seconds"] >= WAIT_SECONDS / 2))

        def step(self, *_, **__):
            pass

    folder = pathlib.Path(question["folder"])
    sizes = {"hidden_size": 8, "intermediate_size": 8, "num_hidden_layers": 1, "num_attention_heads": 1}
    LlamaConfig(vocab_size=16, **sizes).save_pretrained(folder / "model")
    lora = {"rank": 2, "alpha": 2, "dropout": 0.0, "target_modules": ["q_proj"]}
    tune = {"dtype": "float32", "model_dir": str(folder / "model"), "seed": 1, "lora": lora, "device": "cpu"}
    tune |= {"batch_size": 2, "max_steps": 4, "save_every": 2, "learning_rate": 1e-3, "weight_decay": 0.0}
    plan = {"workers": 0, "fine_tune": tune | {"max_grad_norm": 1.0}}
    told = []
    for resumes in (False, True):
        events = Events()
        FineTune(plan, events, Local(), Rows(), str(folder / f"here-{resumes}")).train(str(folder / "run"), resumes)
        shutil.rmtree(folder / "run" / "checkpoint-4")
        told.append(list(events))
    return told


if __name__ == "__main__":
    print(json.dumps([globals()[question["ask"]](question) for question in json.load(sys.stdin)]))
