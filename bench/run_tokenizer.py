"""Throughput of the tokeniser beside that of the `tokenizers` library, on one thread and the same texts, in turns.

Both encode the same documents (Python's library, then the project's corpus); a turn's figure is user time, the best of
three passes for both, so their caches of words are warm. The library runs its fastest call, encode_batch_fast.
script/bench tokenizer calls this with the programs built.
"""

import argparse
import datetime
import os
import pathlib
import resource
import subprocess
import sys
import tempfile

from harness import cli, machine, page
from harness.intervals import bootstrap_interval, median_ratio
from harness.machine import ROOT
from harness.table import markdown_table

sys.path.insert(0, str(ROOT / "tests" / "tokenizer"))

PATTERNS = ["gpt2", "llama3", "smollm2", "qwen2", "o200k"]
PASSES = 3


def parse_arguments():
    parser = argparse.ArgumentParser(prog="script/bench tokenizer", description=__doc__)
    cli.add_bin_dir(parser, "tokenizer_tool")
    parser.add_argument("--turns", type=int, default=5, help="turns A B A B")
    parser.add_argument("--megabytes", type=float, default=4)
    parser.add_argument("--vocab-size", type=int, default=32000, help="of the tokenisers trained here")
    parser.add_argument("--patterns", nargs="*", choices=PATTERNS, default=PATTERNS)
    parser.add_argument("--output-dir", type=pathlib.Path, default=ROOT / "bench" / "results")
    return parser.parse_args()


def library_turn(tokenizer, texts):
    """(user seconds, tokens)"""
    best = float("inf")
    for _ in range(PASSES):
        begin = resource.getrusage(resource.RUSAGE_SELF).ru_utime
        tokens = sum(len(e) for e in tokenizer.encode_batch_fast(texts, add_special_tokens=False))
        best = min(best, resource.getrusage(resource.RUSAGE_SELF).ru_utime - begin)
    return best, tokens


def own_turn(tool, tokenizer_json, texts_file):
    """(user seconds, tokens)"""
    command = [tool, "time", tokenizer_json, texts_file, str(PASSES)]
    line = subprocess.run(command, capture_output=True, text=True, check=True)
    seconds, tokens = line.stdout.split()
    return float(seconds), int(tokens)


def build(name, vocab_size, training):
    import definitions

    kinds = {
        "gpt2": definitions.gpt2,
        "smollm2": definitions.smollm2,
        "llama3": definitions.llama3,
        "qwen2": definitions.split_then_bytes(definitions.QWEN2),
        "o200k": definitions.split_then_bytes(definitions.O200K),
    }
    plain = definitions.byte_level
    definitions.byte_level = lambda *args, **kwargs: plain(*args, **{**kwargs, "vocab_size": vocab_size})
    try:
        return kinds[name](training)
    finally:
        definitions.byte_level = plain


def read_documents(megabytes):
    import test_parity

    limit = int(megabytes * 1e6)
    texts = test_parity.read_texts(test_parity.library_sources(), limit * 6 // 10)
    return texts + test_parity.read_texts(test_parity.corpus_files(), limit * 4 // 10)


def measure(name, arguments, texts, folder):
    """The table's line of one pre-tokeniser; different counts of tokens are a RuntimeError."""
    tokenizer = build(name, arguments.vocab_size, texts[::5])
    tokenizer.save(str(folder / "tokenizer.json"))
    pairs = []
    for _ in range(arguments.turns):
        ours, our_tokens = own_turn(arguments.bin_dir / "tokenizer_tool", folder / "tokenizer.json", folder / "texts")
        theirs, their_tokens = library_turn(tokenizer, texts)
        if our_tokens != their_tokens:
            raise RuntimeError(f"{name}: {our_tokens} tokens of ours against {their_tokens} of the library")
        pairs.append((ours, theirs))
    megabytes = sum(len(text.encode()) for text in texts) / 1e6
    interval = bootstrap_interval(pairs)
    spread = f" ({interval[0]:.1f} to {interval[1]:.1f})" if interval else ""
    median_ours, median_theirs = (sorted(side)[len(pairs) // 2] for side in zip(*pairs, strict=True))
    line = [name, our_tokens, f"{megabytes / median_theirs:.2f}", f"{megabytes / median_ours:.1f}"]
    return [*line, f"{median_ratio(pairs):.1f}{spread}"]


def report(arguments, texts, lines, version):
    size = sum(len(text.encode()) for text in texts) / 1e6
    head = ["pre-tokeniser", "tokens", f"tokenizers {version}, MB/s", "assay, MB/s", "ratio (95 %)"]
    return (
        f"# Tokeniser against the tokenizers library, {datetime.date.today()}\n\n"
        f"One thread each, in turns A B A B ({arguments.turns}), over {len(texts)} documents of {size:.2f} MB, user time,"
        f" the same number of tokens on both sides. Commit {machine.git_commit()}, {machine.cpu_name()}; load average"
        f" {machine.load_average():.2f} at the end.\n\n"
        f"    {machine.command_line('tokenizer')}\n\n"
        f"{markdown_table(head, lines)}\n\n"
        f"Each figure is the best of {PASSES} passes over the texts: words are in both caches by then; a first pass is"
        " slower.\n"
    )


def main():
    arguments = parse_arguments()
    # Read when the library and the tests' helpers are imported.
    os.environ |= {
        "RAYON_NUM_THREADS": "1",
        "TOKENIZERS_PARALLELISM": "false",
        "ASSAY_BIN_DIR": str(arguments.bin_dir),
    }
    import test_parity
    import tokenizers

    texts = read_documents(arguments.megabytes)
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        test_parity.write_texts(pathlib.Path(folder) / "texts", texts)
        for name in arguments.patterns:
            print(f"==> {name}", flush=True)
            lines.append(measure(name, arguments, texts, pathlib.Path(folder)))
    text = report(arguments, texts, lines, tokenizers.__version__)
    page.publish(text, arguments.output_dir, "tokenizer")


if __name__ == "__main__":
    cli.run(main)
