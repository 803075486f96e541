"""The order of samples beside the real mosaicml-streaming: every place of every rank is the same."""

import json
import os
import pathlib
import random
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "support"))
import apart

ORDER_TOOL = pathlib.Path(os.environ["ASSAY_BIN_DIR"]) / "order_tool"
ORDERS = pathlib.Path(__file__).parent / "apart" / "orders.py"
SHUFFLES = ["naive", "py1s", "py1br", "py1e", "py2s", None]
BATCHINGS = ["random", "stratified", "per_stream", "device_per_stream"]


def random_streams(draw, weights):
    streams = []
    for _ in range(draw.randint(1, 4)):
        shards = [draw.randint(1, 120) for _ in range(draw.randint(1, 9))]
        if draw.random() < 0.2:
            shards.insert(draw.randrange(len(shards)), 0)  # what streaming writes before a sample over the limit
        stream = {"shards": shards}
        if weights == "proportion":
            stream["proportion"] = draw.choice([0.1, 0.25, 1, 3, 1 / 3])
        elif weights == "absolute":
            kind = draw.choice(["repeat", "choose", None])
            if kind == "repeat":
                stream["repeat"] = draw.choice([0.3, 0.5, 1, 1.7, 2, 3.25])
            elif kind == "choose":
                stream["choose"] = draw.randint(1, 3 * sum(shards))
        streams.append(stream)
    return streams


def random_case(draw):
    nodes = draw.choice([1, 1, 2, 3, 4])
    canonical = draw.choice([0, nodes, 2 * nodes, 6 * nodes, 64, 1, 2])
    weights = draw.choice(["none", "none", "proportion", "absolute"])
    streams = random_streams(draw, weights)
    total = sum(sum(stream["shards"]) for stream in streams)
    batch = draw.choice([1, 2, 3, 7, 16])
    ranks = draw.choice([1, 2, 3, 4, 8])
    resumes = draw.random() < 0.4
    return {
        "streams": streams,
        "epoch_size": draw.randint(1, 2 * total) if weights != "absolute" and draw.random() < 0.3 else 0,
        "balanced": draw.random() < 0.7,
        "granularity": draw.choice([1, 1, 4, 10]),
        "relaxed": draw.random() < 0.7,
        "canonical_nodes": canonical,
        "batch": batch,
        "shuffle": draw.choice(SHUFFLES),
        "seed": draw.choice([9176, 0, 1, 2**32 + 5, draw.randrange(2**40)]),
        "block": draw.choice([0, 1, 2, 3, 16, 100, 1000]),
        "batching": draw.choice([*BATCHINGS, "random"]),
        "nodes": nodes,
        "ranks_per_node": ranks,
        "workers": draw.choice([1, 2, 5]),
        "epoch": draw.choice([0, 1, 2, 17]),
        "samples": draw.choice([batch * ranks * nodes, draw.randint(1, total)]) if resumes else 0,
        "initial_nodes": draw.choice([1, 2, 3]) if resumes else 0,
    }


def ours(cases):
    lines = "".join(json.dumps(case) + "\n" for case in cases)
    finished = subprocess.run([ORDER_TOOL], input=lines, capture_output=True, text=True, check=True)
    return [json.loads(line) for line in finished.stdout.splitlines()]


def agree(case, mine, theirs):
    """Streaming gives samples that canonical nodes repeat, and refuses to go on among them: then those alone are left."""
    if "Resuming further" not in theirs.get("error", ""):
        return mine.get("samples") == theirs.get("samples")
    left = sum(sample >= 0 for sample in mine.get("samples", []))
    return left <= (case["canonical_nodes"] or 64 * case["nodes"]) + case["nodes"] * case["ranks_per_node"]


def compare(cases, folder):
    """How many of the cases have an order."""
    answers = zip(cases, ours(cases), apart.answer(ORDERS, cases, folder), strict=True)
    orders = 0
    for case, mine, theirs in answers:
        assert agree(case, mine, theirs), (case, mine.get("error"), theirs.get("error"))
        orders += "samples" in theirs
    return orders


def test_random_cases_are_equal(tmp_path):
    draw = random.Random(0)
    assert compare([random_case(draw) for _ in range(1000)], tmp_path) > 480


def long_case(shuffle):
    draw = random.Random(5)
    case = random_case(draw) | {"streams": [{"shards": [draw.randint(900, 1100) for _ in range(150)]}]}
    case |= {"shuffle": shuffle, "batching": "random", "canonical_nodes": 3, "nodes": 1, "workers": 1, "batch": 8}
    return case | {"block": 20_000, "epoch_size": 0, "samples": 0, "initial_nodes": 0, "granularity": 1}


def test_many_samples_are_equal(tmp_path):
    cases = [long_case(shuffle) for shuffle in SHUFFLES[:-1]]
    assert compare(cases, tmp_path) == len(cases)
