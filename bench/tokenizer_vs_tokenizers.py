#!/usr/bin/env python3
"""Throughput of the tokeniser beside that of the `tokenizers` library, on one thread and the same texts.

Both encode the same documents (Python's library, then the project's corpus) several times, in turns; the figure is the
best user time, warm caches for both. The library runs its fastest call, encode_batch_fast, on one thread.

    bench/tokenizer_vs_tokenizers.py build/release/bin/tokenizer_tool
"""

import argparse
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "tokenizer"))

PATTERNS = ["gpt2", "llama3", "smollm2", "qwen2", "o200k"]


def library_seconds(tokenizer, texts, rounds):
    best = float("inf")
    for _ in range(rounds):
        begin = resource.getrusage(resource.RUSAGE_SELF).ru_utime
        tokens = sum(len(e) for e in tokenizer.encode_batch_fast(texts, add_special_tokens=False))
        best = min(best, resource.getrusage(resource.RUSAGE_SELF).ru_utime - begin)
    return best, tokens


def own_seconds(tool, tokenizer_json, texts_file, rounds):
    line = subprocess.run(
        [tool, "time", tokenizer_json, texts_file, str(rounds)], capture_output=True, text=True, check=True
    )
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


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tool", help="the tokenizer_tool program of the build")
    parser.add_argument("--turns", type=int, default=3, help="turns A B A B")
    parser.add_argument("--megabytes", type=float, default=10)
    parser.add_argument("--vocab-size", type=int, default=32000, help="of the tokenisers trained here")
    parser.add_argument("--patterns", nargs="*", default=PATTERNS)
    arguments = parser.parse_args()
    os.environ |= {
        "RAYON_NUM_THREADS": "1",
        "TOKENIZERS_PARALLELISM": "false",
        "ASSAY_BIN_DIR": str(pathlib.Path(arguments.tool).parent),
    }

    import test_parity
    import tokenizers

    limit = int(arguments.megabytes * 1e6)
    half = test_parity.read_texts(test_parity.library_sources(), limit * 6 // 10)
    texts = half + test_parity.read_texts(test_parity.corpus_files(), limit * 4 // 10)
    size = sum(len(text.encode()) for text in texts)
    print(f"tokenizers {tokenizers.__version__}, {len(texts)} documents, {size / 1e6:.2f} MB")
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        test_parity.write_texts(folder / "texts.bin", texts)
        for name in arguments.patterns:
            tokenizer = build(name, arguments.vocab_size, texts[::5])
            tokenizer.save(str(folder / "tokenizer.json"))
            theirs, ours = float("inf"), float("inf")
            for _ in range(arguments.turns):
                seconds, their_tokens = library_seconds(tokenizer, texts, 1)
                theirs = min(theirs, seconds)
                seconds, our_tokens = own_seconds(arguments.tool, folder / "tokenizer.json", folder / "texts.bin", 3)
                ours = min(ours, seconds)
                time.sleep(0.1)
            same = "same count" if their_tokens == our_tokens else f"DIFFERENT COUNTS {their_tokens} {our_tokens}"
            print(
                f"{name:8} {our_tokens} tokens ({same}): tokenizers {size / 1e6 / theirs:6.2f} MB/s, "
                f"assay {size / 1e6 / ours:7.2f} MB/s, ratio {theirs / ours:.1f}"
            )


if __name__ == "__main__":
    main()
