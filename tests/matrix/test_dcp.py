"""PyTorch's distributed checkpoints through s3torchconnector's writer and reader, against our server."""

import os

import clients
import pytest
from conftest import our_server


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
