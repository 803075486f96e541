"""The formula against counts by hand, and against the products that a model really runs."""

import itertools

import pytest
from harness.flops import MASKED, Shape, step_work, supervised_tokens

SHAPE = Shape(hidden=8, intermediate=12, layers=3, heads=4, groups=2, head_dim=2, vocabulary=40, tied=True)
LINEAR = 8 * 8 + 2 * 8 * 4 + 8 * 8 + 3 * 8 * 12


def make_row(length, masked=0):
    ids = list(range(1, length + 1))
    return {"input_ids": ids, "labels": [MASKED] * masked + ids[masked:]}


def test_shape_of_a_configuration():
    config = {
        "hidden_size": 8,
        "intermediate_size": 12,
        "num_hidden_layers": 3,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "vocab_size": 40,
        "tie_word_embeddings": True,
    }
    assert Shape.from_config(config) == SHAPE
    assert Shape.from_config({**config, "head_dim": 16}).head_dim == 16
    del config["num_key_value_heads"], config["tie_word_embeddings"]
    assert Shape.from_config(config).groups == 4
    assert not Shape.from_config(config).tied


def test_parameters():
    assert SHAPE.parameters() == 3 * (LINEAR + 16) + 40 * 8 + 8
    smollm2 = Shape(576, 1536, 30, 9, 3, 64, 49152, True)
    assert smollm2.parameters() == 134_515_008


def test_the_first_token_of_a_row_is_never_predicted():
    assert supervised_tokens(make_row(5)) == 4
    assert supervised_tokens(make_row(5, masked=1)) == 4
    assert supervised_tokens(make_row(5, masked=3)) == 2
    assert supervised_tokens(make_row(1)) == 0


def test_full_fine_tune():
    work = step_work(SHAPE, [make_row(5, masked=3), make_row(7)], "full", "bfloat16")
    assert (work.tokens, work.supervised) == (12, 8)
    assert work.linear == 3 * 2 * 12 * 3 * LINEAR
    assert work.attention == 6 * 2 * 3 * (15 + 28) * 4 * 2
    assert work.head == 3 * 2 * 8 * 8 * 40
    assert work.lora == 0
    assert work.flops == work.linear + work.attention + work.head
    assert work.bytes == 10 * 2 * SHAPE.parameters()


def test_lora_needs_no_gradients_of_frozen_weights_nor_below_the_first_adapters():
    work = step_work(SHAPE, [make_row(5)], "lora", "float32", rank=2)
    first_layer_inputs = 8 * 8 + 2 * 8 * 4
    assert work.linear == 2 * 5 * (2 * 3 * LINEAR - first_layer_inputs)
    assert work.attention == 2 * 15 * 8 * (6 * 3 - 1)
    assert work.head == 2 * 2 * 4 * 8 * 40
    # forward x A^T and low B^T; backward dB, d(low), dA and, above the first layer, dx
    per_layer = (8 + 8 + 8 + 8 + 8 + 8) + (8 + 4 + 4 + 4 + 8 + 8)
    assert work.lora == 2 * 5 * 2 * (3 * per_layer - (8 + 8))
    assert work.bytes == 2 * 4 * SHAPE.parameters()


@pytest.mark.parametrize("method", ["lora", "full"])
def test_products_that_autograd_runs(method):
    """torch's own counter over a plain decoder whose attention computes whole squares of scores."""
    torch = pytest.importorskip("torch")
    from torch.utils.flop_counter import FlopCounterMode

    tokens, rank = 6, 2
    full = method == "full"
    parameters = {name: torch.randn(o, i, requires_grad=full) for name, (i, o) in SHAPE.linears().items()}
    embedding = torch.randn(SHAPE.vocabulary, SHAPE.hidden, requires_grad=full)
    adapters = [
        {
            name: (
                torch.randn(rank, SHAPE.linears()[name][0], requires_grad=not full),
                torch.randn(SHAPE.linears()[name][1], rank, requires_grad=not full),
            )
            for name in ("q_proj", "v_proj")
        }
        for _ in range(SHAPE.layers)
    ]

    def linear(x, name, layer):
        y = x @ parameters[name].T
        if not full and name in adapters[layer]:
            a, b = adapters[layer][name]
            y = y + (x @ a.T) @ b.T
        return y

    def heads(x, count):
        return x.view(tokens, count, SHAPE.head_dim).transpose(0, 1)

    def decoder(x):
        for layer in range(SHAPE.layers):
            q = heads(linear(x, "q_proj", layer), SHAPE.heads)
            k, v = (
                heads(linear(x, name, layer), SHAPE.groups).repeat_interleave(SHAPE.heads // SHAPE.groups, 0)
                for name in ("k_proj", "v_proj")
            )
            mixed = (torch.softmax(q @ k.transpose(1, 2), -1) @ v).transpose(0, 1).reshape(tokens, -1)
            x = x + linear(mixed, "o_proj", layer)
            x = x + linear(linear(x, "gate_proj", layer) * linear(x, "up_proj", layer), "down_proj", layer)
        return x

    with FlopCounterMode(display=False) as counter:
        x = decoder(embedding[torch.arange(tokens)])
        torch.nn.functional.cross_entropy(x[:-1] @ embedding.T, torch.arange(1, tokens)).backward()

    work = step_work(SHAPE, [make_row(tokens)], method, "float32", rank=rank)
    whole_squares = work.attention * tokens**2 / (tokens * (tokens + 1) / 2)
    assert counter.get_total_flops() == work.linear + work.lora + work.head + whole_squares


def test_masking_and_length_only_ever_remove_work():
    rows = [make_row(9), make_row(9, masked=4), make_row(6, masked=4)]
    flops = [step_work(SHAPE, [row], "lora", "bfloat16").flops for row in rows]
    assert all(a > b for a, b in itertools.pairwise(flops))
