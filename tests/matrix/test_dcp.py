"""PyTorch's distributed checkpoints through s3torchconnector's writer and reader, against our server."""

import os
import subprocess

import clients
import pytest
from conftest import our_server
from served import ASSAY


def test_a_distributed_checkpoint_comes_back(tmp_path):
    dcp_of_s3 = pytest.importorskip("s3torchconnector.dcp")
    import s3torchconnector
    import torch
    import torch.distributed.checkpoint as dcp

    os.environ.update(AWS_ACCESS_KEY_ID=clients.KEY, AWS_SECRET_ACCESS_KEY=clients.SECRET)
    with our_server(tmp_path) as url:
        os.environ["AWS_ENDPOINT_URL"] = url
        config = s3torchconnector.S3ClientConfig(force_path_style=True)
        path = f"s3://{clients.BUCKET}/checkpoint/"
        state = {"weight": torch.randn(1000, 300), "step": torch.tensor(7)}
        dcp.save(state, storage_writer=dcp_of_s3.S3StorageWriter(clients.REGION, path, s3client_config=config))
        loaded = {"weight": torch.zeros(1000, 300), "step": torch.tensor(0)}
        dcp.load(loaded, storage_reader=dcp_of_s3.S3StorageReader(clients.REGION, path, s3client_config=config))
        del os.environ["AWS_ENDPOINT_URL"]
    assert torch.equal(loaded["weight"], state["weight"]) and int(loaded["step"]) == 7


def test_ours_and_theirs_read_each_other(tmp_path):
    """s3torchconnector loads what `assay checkpoint` wrote to a bucket, and the reverse, its prefixes included."""
    dcp_of_s3 = pytest.importorskip("s3torchconnector.dcp")
    import s3torchconnector
    import torch
    import torch.distributed.checkpoint as dcp

    os.environ.update(AWS_ACCESS_KEY_ID=clients.KEY, AWS_SECRET_ACCESS_KEY=clients.SECRET, AWS_REGION=clients.REGION)
    state = {"weight": torch.randn(1000, 300), "nested": {"bias": torch.arange(7)}, "step": 7}
    torch.save(state, tmp_path / "stock.pt")

    def convert(source, target, form, *options):
        command = [ASSAY, "checkpoint", "convert", source, target, "--format", form, *options]
        subprocess.run([str(word) for word in command], check=True, capture_output=True)

    with our_server(tmp_path) as url:
        os.environ["AWS_ENDPOINT_URL"] = url
        config = s3torchconnector.S3ClientConfig(force_path_style=True)
        bucket = f"s3://{clients.BUCKET}"
        convert(tmp_path / "stock.pt", f"{bucket}/ours", "dcp", "--ranks", 3, "--prefix", "hex", "--epoch", 2)
        loaded = {"weight": torch.zeros(1000, 300), "nested": {"bias": torch.zeros(7).long()}, "step": 0}
        reader = dcp_of_s3.S3StorageReader(clients.REGION, f"{bucket}/ours/", s3client_config=config)
        dcp.load(loaded, storage_reader=reader)
        assert torch.equal(loaded["weight"], state["weight"]) and loaded["step"] == 7
        assert torch.equal(loaded["nested"]["bias"], state["nested"]["bias"])

        strategy = dcp_of_s3.s3_prefix_strategy.RoundRobinPrefixStrategy(["a", "b"], epoch_num=4)
        writer = dcp_of_s3.S3StorageWriter(
            clients.REGION, f"{bucket}/theirs/", s3client_config=config, prefix_strategy=strategy
        )
        dcp.save(state, storage_writer=writer)
        convert(f"{bucket}/theirs", tmp_path / "back.pt", "pt")
        del os.environ["AWS_ENDPOINT_URL"]
    back = torch.load(tmp_path / "back.pt")
    assert torch.equal(back["weight"], state["weight"]) and back["step"] == 7
