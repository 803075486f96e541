"""The two checkpoint benchmarks, run for real: by this program, and by the libraries that it is held against."""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import pytest
import torch
import torch.distributed.checkpoint as dcp

PEERS = pathlib.Path(__file__).parents[2] / "share" / "peers"
sys.path[:0] = [str(PEERS / "checkpoint"), str(PEERS / "common")]
from nodes import wait_for  # noqa: E402
from sharded import Raw  # noqa: E402
from sync_log import SyncLog  # noqa: E402
from values import rows_of, values  # noqa: E402

SHARDED, SINGLE = "checkpoint_sharded_benchmark-v1.0.0", "checkpoint_single_benchmark-v1.0.0"
STATE = {SHARDED: {"model": "L7m", "world_size": 2, "epochs": 2}, SINGLE: {"layers": 2, "steps": 2}}


class Experiments:
    def __init__(self, cli, tmp_path):
        self.assay = cli.command()[0]
        self.store = f"sqlite:///{tmp_path / 'store.db'}"
        self.environment = dict(cli.environment)

    def start(self, experiment, client, uri, **more):
        given = STATE[experiment] | {"client": client, "uri": uri} | more
        options = [word for name, value in given.items() for word in ("-p", f"{name}={value}")]
        return subprocess.Popen(
            [self.assay, "run", experiment, *options, "--again", "--store", self.store, "--output", "json"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=self.environment,
        )

    def run(self, *arguments, code=0, **more):
        process = self.start(*arguments, **more)
        stdout, stderr = process.communicate(timeout=300)
        assert process.returncode == code, (arguments, more, stdout, stderr)
        return json.loads(stdout) if code == 0 else stderr

    def measured(self, *arguments, **more):
        measurement = self.run(*arguments, **more)
        assert measurement["outcome"] == "valid", measurement
        return measurement


@pytest.fixture
def experiments(cli, tmp_path):
    return Experiments(cli, tmp_path)


@pytest.fixture
def bucket_under(serve, cli, tmp_path):
    """A bucket of a server with such options."""
    return lambda *options: in_bucket_of(serve("--root", "memory", "--bucket", "runs", *options), cli, tmp_path)


@pytest.fixture
def in_bucket(bucket_under):
    return bucket_under()


def in_bucket_of(server, cli, tmp_path):
    """Reached by the variables that the libraries know, which this program knows too."""
    made = Experiments(cli, tmp_path)
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


def kept(uri, client, name):
    """Of the only point there that kept its checkpoint."""
    (path,) = (uri / "checkpoint-benchmark" / client).glob(f"*/{name}")
    return path


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
        (SINGLE, "lightning", "save"),
        (SINGLE, "lightning", "load"),
    ],
)
def test_in_a_folder(experiments, tmp_path, experiment, client, operation):
    measurement = experiments.measured(experiment, client, tmp_path / "runs", operation=operation)
    check(measurement, experiment)
    # Of two repeats the median is the mean. Ranks that began late are in the span, and wait for nobody.
    names = ("stall_seconds_median", "slowest_rank_seconds_mean")
    stall, whole = (measurement["properties"][name] for name in names)
    assert 0 < stall < whole if client == "assay-async" else whole / 2 < stall <= whole * (1 + 1e-9)
    assert files_below(tmp_path / "runs") == []


@pytest.mark.parametrize(
    ("client", "last", "name", "reasons"),
    [
        # The change may fall between two looks of one load.
        ("assay", ".metadata", "__1_0.distcp", ("__1_0.distcp is damaged", "__1_0.distcp: it changed")),
        ("raw", "1-0", "1-0", ("other values than were saved",)),
    ],
)
def test_what_is_loaded_is_compared(experiments, tmp_path, client, last, name, reasons):
    """One byte of a rank's file changes between two of many loads, or within one."""
    process = experiments.start(SHARDED, client, tmp_path, operation="load", epochs=1000)
    saved = tmp_path / "checkpoint-benchmark" / client
    wait_for(lambda: any(path.stat().st_size > 0 for path in saved.glob(f"*/step-1/{last}")))
    (path,) = saved.glob(f"*/step-1/{name}")
    with open(path, "r+b") as file:
        file.seek(path.stat().st_size // 2)
        byte = file.read(1)[0]
        file.seek(-1, os.SEEK_CUR)
        file.write(bytes([byte ^ 64]))
    _, stderr = process.communicate(timeout=300)
    assert process.returncode in (1, 2) and any(reason in stderr for reason in reasons), stderr


def test_a_plain_file_that_ends_early_is_an_error(tmp_path):
    (tmp_path / "1-0").write_bytes(b"abc")
    with pytest.raises(EOFError, match="1-0 ends early"):
        Raw.read(None, tmp_path / "1-0", [memoryview(bytearray(2)), memoryview(bytearray(2))])


def test_the_published_script_prints_its_lines_and_the_row_of_its_table(experiments, tmp_path):
    variables = {"CKPT_DIR_PATH": str(tmp_path / "runs"), "LAYERS": "2", "STEPS": "2", "DATAFLUX_CKPT": "1"}
    done = subprocess.run(
        [PEERS.parents[1] / "examples" / "checkpoints" / "published"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=True,
        env=experiments.environment | variables | {"ASSAY": experiments.assay},
        timeout=300,
    )
    training, saving, row = done.stdout.splitlines()
    seconds = float(re.fullmatch(r"Time to save one checkpoint: (\S+) seconds", saving)[1])
    assert float(re.fullmatch(r"Time to train over 2 steps: (\S+) seconds", training)[1]) > 0 < seconds
    layers, size, steps, shown, rate = (cell.strip() for cell in row.strip("| ").split("|"))
    assert (layers, steps, shown) == ("2", "2", f"{seconds:.2f}")
    assert float(rate.split()[0]) == pytest.approx(float(size.split()[0]) / seconds, rel=0.01)


@pytest.mark.parametrize("client", ["assay", "torch"])
def test_a_load_is_cold_or_refused(experiments, client):
    """Files of a tmpfs are nowhere but in the page cache."""
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        assert "not cold" in experiments.run(SHARDED, client, folder, code=1, operation="load")
        experiments.measured(SHARDED, client, folder, operation="load", clear_cache="False")


@pytest.mark.parametrize(("experiment", "client"), [(SHARDED, "assay"), (SHARDED, "torch"), (SINGLE, "assay")])
def test_what_a_killed_run_left_goes_when_its_point_is_measured_again(experiments, tmp_path, experiment, client):
    experiments.measured(experiment, client, tmp_path, keep_checkpoint="True")
    (place,) = (tmp_path / "checkpoint-benchmark" / client).iterdir()
    left = place / "step-1" / "__0_0.distcp"
    left.parent.mkdir(exist_ok=True)
    left.write_bytes(b"cut")
    experiments.measured(experiment, client, tmp_path)  # another point, which has a folder of its own
    assert left.exists()
    experiments.measured(experiment, client, tmp_path, keep_checkpoint="True")
    assert not left.exists()


@pytest.mark.parametrize(
    ("experiment", "client", "operation"),
    [
        (SHARDED, "assay", "save"),
        (SHARDED, "assay", "load"),
        (SHARDED, "s3torchconnector", "load"),
        (SHARDED, "fsspec", "save"),
        (SINGLE, "assay", "load"),
        (SINGLE, "assay-stream", "save"),
        (SINGLE, "assay-stream", "load"),
        (SINGLE, "s3torchconnector", "save"),
        (SINGLE, "lightning", "load"),
    ],
)
def test_in_a_bucket(in_bucket, experiment, client, operation):
    check(in_bucket.measured(experiment, client, in_bucket.uri, operation=operation), experiment)


@pytest.mark.parametrize(
    ("experiment", "client"), [(SHARDED, "assay"), (SHARDED, "torch"), (SINGLE, "assay"), (SINGLE, "lightning")]
)
def test_the_point_says_what_is_written_through(experiments, tmp_path, experiment, client):
    """Whatever the shell says of files."""
    noted = SyncLog(tmp_path)
    experiments.environment |= noted.environment | {"ASSAY_STORAGE_SYNC_FILES": "false"}
    runs = tmp_path / "runs"

    def synced(**more):
        experiments.measured(experiment, client, f"file://{runs}", **more)
        return {path for path in noted.take() if path.startswith(str(runs))}

    files = STATE[experiment].get("world_size", 1) * 2
    assert len(synced()) > files  # of each save, and its folder
    assert synced(protocol="published") == set()
    assert files_below(runs) == []


@pytest.mark.parametrize("experiment", [SHARDED, SINGLE])
@pytest.mark.parametrize("operation", ["save", "load"])
def test_requests_are_told_and_those_that_were_sent_again(bucket_under, tmp_path, experiment, operation):
    profile = tmp_path / "slow-down.yaml"
    profile.write_text("faults:\n  - {fault: return, status: 503, rate: 0.3}\n")
    calm, busy = (bucket_under(*options) for options in ((), ("--profile", profile, "--seed", 5)))
    (want, seen) = (
        one.measured(experiment, "assay", one.uri, operation=operation)["properties"] for one in (calm, busy)
    )
    assert want["retries"] == 0 < seen["retries"]
    ranks = STATE[experiment].get("world_size", 1)
    assert want["write_requests" if operation == "save" else "read_requests"] >= ranks
    others = calm.measured(experiment, "s3torchconnector", calm.uri)["properties"]
    assert not {"read_requests", "write_requests", "retries"} & others.keys()


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


@pytest.mark.parametrize(
    ("strategy", "folders"),
    [("binary", ["0000000000", "1000000000"]), ("odd,even", ["odd", "even"])],
)
def test_files_are_named_as_by_s3torchconnector(in_bucket, cli, strategy, folders):
    settings = {"prefix_strategy": strategy, "prefix_epoch": 3, "keep_checkpoint": "True", "epochs": 1}
    names = {}
    for client in ("assay", "s3torchconnector"):
        in_bucket.measured(SHARDED, client, in_bucket.uri, **settings)
        listed = subprocess.run(
            [
                in_bucket.assay,
                "object",
                "ls",
                "-r",
                f"{in_bucket.uri}/checkpoint-benchmark/{client}/",
                "--output",
                "json",
            ],
            capture_output=True,
            check=True,
            env=in_bucket.environment,
        )
        keys = [entry["key"].split("/step-1/")[1] for entry in json.loads(listed.stdout)["objects"]]
        names[client] = {key for key in keys if key.endswith(".distcp")}
    assert names["assay"] == names["s3torchconnector"]
    assert names["assay"] == {f"{folder}/epoch_3/__{rank}_0.distcp" for rank, folder in enumerate(folders)}


def test_plain_files_are_written_and_read_by_several_threads(experiments, tmp_path):
    measurement = experiments.measured(SHARDED, "raw", tmp_path, keep_checkpoint="True", epochs=1, thread_count=3)
    files = files_below(kept(tmp_path, "raw", "step-1"))
    assert sorted(path.name for path in files) == ["0-0", "0-1", "0-2", "1-0", "1-1", "1-2"]
    assert sum(path.stat().st_size for path in files) == measurement["properties"]["state_bytes"]


def test_every_client_saves_the_same(experiments, tmp_path, cli):
    """Stock torch and this program read what either wrote, to the bit; the values are those that anybody can make."""
    folders = {}
    for client in ("assay", "torch"):
        measurement = experiments.measured(SHARDED, client, tmp_path, keep_checkpoint="True", epochs=1)
        folders[client] = kept(tmp_path, client, "step-1")
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
    path = kept(tmp_path, "assay", "step-1.ckpt")

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
