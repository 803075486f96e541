"""The two checkpoint benchmarks, run for real: by this program, and by the libraries that it is held against."""

import json
import pathlib
import subprocess
import sys

import pytest
import torch
import torch.distributed.checkpoint as dcp

PEERS = pathlib.Path(__file__).parents[2] / "share" / "peers"
sys.path[:0] = [str(PEERS / "checkpoint"), str(PEERS / "common")]
from values import rows_of, values  # noqa: E402

SHARDED, SINGLE = "checkpoint_sharded_benchmark-v1.0.0", "checkpoint_single_benchmark-v1.0.0"
STATE = {SHARDED: {"model": "L7m", "world_size": 2, "epochs": 2}, SINGLE: {"layers": 2, "steps": 2}}


class Experiments:
    def __init__(self, cli, tmp_path):
        self.assay = cli.command()[0]
        self.store = f"sqlite:///{tmp_path / 'store.db'}"
        self.environment = dict(cli.environment)

    def run(self, experiment, client, uri, code=0, **more):
        given = STATE[experiment] | {"client": client, "uri": uri} | more
        options = [word for name, value in given.items() for word in ("-p", f"{name}={value}")]
        done = subprocess.run(
            [self.assay, "run", experiment, *options, "--store", self.store, "--output", "json"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            env=self.environment,
            timeout=300,
        )
        assert done.returncode == code, (given, done.stdout, done.stderr)
        return json.loads(done.stdout) if code == 0 else done.stderr

    def measured(self, *arguments, **more):
        measurement = self.run(*arguments, **more)
        assert measurement["outcome"] == "valid", measurement
        return measurement


@pytest.fixture
def experiments(cli, tmp_path):
    return Experiments(cli, tmp_path)


@pytest.fixture
def in_bucket(serve, cli, tmp_path):
    """Reached by the variables that the libraries know, which this program knows too."""
    made = Experiments(cli, tmp_path)
    server = serve("--root", "memory", "--bucket", "runs")
    made.environment |= {
        "AWS_ACCESS_KEY_ID": "AKIATEST",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_REGION": "us-east-1",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_ENDPOINT_URL": server.url,
        "AWS_EC2_METADATA_DISABLED": "true",
        "NO_PROXY": "127.0.0.1",
    }
    made.uri = "s3://runs/bench"
    return made


def check(measurement, experiment, repeats=2):
    values_of = measurement["properties"]
    spans = measurement["series"]["span_seconds"]
    assert len(spans) == repeats and min(spans) > 0
    assert values_of["span_seconds_min"] == min(spans) and values_of["span_seconds_max"] == max(spans)
    assert values_of["mib_per_s"] == pytest.approx(values_of["state_bytes"] / 2**20 / values_of["span_seconds_median"])
    assert values_of["cpu_seconds_per_gib"] > 0 and values_of["max_rss_bytes"] > values_of["state_bytes"] / 2
    ranks = STATE[experiment].get("world_size", 1)
    assert len(measurement["series"]["rank_seconds"]) == repeats * ranks
    # No rank is slower than all together.
    assert max(measurement["series"]["rank_seconds"]) <= max(spans) + 1e-6


def files_below(folder):
    return [path for path in folder.rglob("*") if path.is_file()]


@pytest.mark.parametrize(
    ("experiment", "client", "operation"),
    [
        (SHARDED, "assay", "save"),
        (SHARDED, "assay", "load"),
        (SHARDED, "assay-async", "save"),
        (SHARDED, "torch", "save"),
        (SHARDED, "raw", "load"),
        (SHARDED, "fsspec", "load"),
        (SINGLE, "assay", "save"),
        (SINGLE, "assay-async", "save"),
        (SINGLE, "assay-stream", "load"),
        (SINGLE, "lightning", "save"),
        (SINGLE, "lightning", "load"),
    ],
)
def test_in_a_folder(experiments, tmp_path, experiment, client, operation):
    measurement = experiments.measured(experiment, client, tmp_path / "runs", operation=operation)
    check(measurement, experiment)
    stall, span = (measurement["properties"][name] for name in ("stall_seconds_median", "span_seconds_median"))
    assert stall < span if client == "assay-async" else stall == pytest.approx(span, rel=0.5)
    assert files_below(tmp_path / "runs") == []


@pytest.mark.parametrize(
    ("experiment", "client", "operation"),
    [
        (SHARDED, "assay", "save"),
        (SHARDED, "assay", "load"),
        (SHARDED, "s3torchconnector", "load"),
        (SHARDED, "fsspec", "save"),
        (SINGLE, "assay", "load"),
        (SINGLE, "s3torchconnector", "save"),
        (SINGLE, "lightning", "load"),
    ],
)
def test_in_a_bucket(in_bucket, experiment, client, operation):
    check(in_bucket.measured(experiment, client, in_bucket.uri, operation=operation), experiment)


def test_s3torchconnector_has_its_own_reader_and_one_client(in_bucket, monkeypatch):
    for name, value in in_bucket.environment.items():
        monkeypatch.setenv(name, value)
    import sharded
    from s3torchconnector.dcp import S3StorageReader

    plan = {"prefix": "default", "files_per_rank": 1, "output_dir": in_bucket.uri}
    client = sharded.S3TorchConnector(plan)
    readers = [client.connect(S3StorageReader(region="us-east-1", path=in_bucket.uri)) for _ in range(2)]
    assert all(reader.fs._reader_constructor is reader._reader_constructor for reader in readers)
    assert readers[0].fs._client is readers[1].fs._client


def test_plain_files_are_written_and_read_by_several_threads(experiments, tmp_path):
    measurement = experiments.measured(SHARDED, "raw", tmp_path, keep_checkpoint="True", epochs=1, thread_count=3)
    files = files_below(tmp_path / "checkpoint-benchmark" / "raw")
    assert sorted(path.name for path in files) == ["0-0", "0-1", "0-2", "1-0", "1-1", "1-2"]
    assert sum(path.stat().st_size for path in files) == measurement["properties"]["state_bytes"]


def test_every_client_saves_the_same(experiments, tmp_path, cli):
    """Stock torch and this program read what either wrote, to the bit; the values are those that anybody can make."""
    folders = {}
    for client in ("assay", "torch"):
        measurement = experiments.measured(SHARDED, client, tmp_path, keep_checkpoint="True", epochs=1)
        folders[client] = tmp_path / "checkpoint-benchmark" / client / "step-1"
    reader = dcp.FileSystemReader(folders["assay"])
    entries = reader.read_metadata().state_dict_metadata
    state = {name: torch.empty(entry.size) for name, entry in entries.items() if name.startswith("model.")}
    assert sum(tensor.numel() * 4 for tensor in state.values()) == measurement["properties"]["state_bytes"]
    dcp.load(state, storage_reader=reader, no_dist=True)
    first = state["model.embed_tokens.weight"]
    assert torch.equal(first.flatten(), values(42, 0, 0, first.numel()))
    second = state["model.layers.0.self_attn.q_proj.weight"]
    assert torch.equal(second.flatten(), values(42, 1, 0, second.numel()))
    difference = cli.json("diff", folders["assay"], folders["torch"])
    assert difference["same"] == len(state)
    assert {item["kind"] for item in difference["items"]} == {"only in the first"}


def test_values_do_not_depend_on_where_a_rank_begins():
    whole = values(7, 3, 0, 1000)
    for ranks in (1, 3, 7):
        parts = [rows_of([1000], rank, ranks) for rank in range(ranks)]
        assert torch.equal(torch.cat([values(7, 3, begin, end - begin) for begin, end in parts]), whole)
    assert len(whole.unique()) > 990 and 0 <= whole.min() and whole.max() < 1


def test_lightning_takes_our_file(experiments, tmp_path):
    lightning = pytest.importorskip("lightning")
    from lightning.pytorch.demos import Transformer

    experiments.measured(SINGLE, "assay", tmp_path, keep_checkpoint="True", steps=1)
    path = tmp_path / "checkpoint-benchmark" / "assay" / "step-1.ckpt"

    class Demo(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.model = Transformer(vocab_size=33278, nlayers=STATE[SINGLE]["layers"])

        def training_step(self, batch, _):
            inputs, targets = batch
            return torch.nn.functional.nll_loss(self.model(inputs, targets), targets.view(-1))

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=0.1)

    demo = Demo()
    saved = torch.load(path, weights_only=True)["state_dict"]
    assert demo.load_state_dict(saved, strict=True)
    loss = demo.training_step(tuple(torch.randint(0, 33278, (1, 35)) for _ in range(2)), 0)
    assert torch.isfinite(loss)


def test_ranks_without_data(experiments):
    """Of a store's limits: more prefixes take more requests, and more ranks meet other limits."""
    given = {"model": "L7b", "epochs": 1, "thread_count": 8}
    few, many, spread = (
        experiments.measured(SHARDED, "modelled", "s3://bucket/run", **given, world_size=ranks, prefix_strategy=prefix)
        for ranks, prefix in ((8, "default"), (4096, "default"), (4096, "hex"))
    )
    assert few["properties"]["files"] == 64 and few["properties"]["limited_by"] == "the machine"
    assert len(many["series"]["rank_seconds"]) == 4096
    assert many["properties"]["prefixes"] == 1 and spread["properties"]["prefixes"] == 4096
    assert min(spread["series"]["rank_seconds"]) < min(many["series"]["rank_seconds"])
    assert few["properties"]["state_bytes"] == many["properties"]["state_bytes"] > 27e9


def test_rules_and_missing_libraries(experiments, tmp_path):
    measurement = experiments.run(SHARDED, "torch", "s3://bucket/run")
    assert measurement["outcome"] == "invalid" and "folders alone" in measurement["reason"]
    text = experiments.run(SINGLE, "dataflux", tmp_path, code=2)
    assert "not supported yet" in text
    experiments.environment["ASSAY_PEER_PYTHON"] = "/nowhere/python"
    text = experiments.run(SHARDED, "torch", tmp_path / "runs", code=2)
    assert "script/peers" in text.splitlines()[-1], text


def test_a_place_that_cannot_be_written(experiments, tmp_path):
    (tmp_path / "file").write_text("")
    text = experiments.run(SHARDED, "assay", tmp_path / "file" / "runs", code=2)
    assert str(tmp_path / "file") in text.splitlines()[-1], text
