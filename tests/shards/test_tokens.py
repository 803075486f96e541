"""Data sets that hold tokens beside their text: those of the tokenizers library, and trained on as the text is."""

import pathlib

from conftest import write_rows
from test_tune import TEXT, tune  # noqa: F401
from tokenizers import Tokenizer

FOLDER = pathlib.Path(__file__).parents[2] / "share" / "tokenizers" / "assay-8k"
IGNORED = -100


def expected(row):
    """As trl's SFTTrainer has them: as many tokens masked as the prompt alone has, and an end of the text."""
    tokenizer = Tokenizer.from_file(str(FOLDER / "tokenizer.json"))
    prompt = tokenizer.encode(row["prompt"]).ids
    ids = tokenizer.encode(row["prompt"] + row["completion"]).ids + [tokenizer.token_to_id("<|endoftext|>")]
    return ids, [IGNORED] * len(prompt) + ids[len(prompt) :]


def test_tokens_stand_beside_the_text(cli, real, tmp_path):
    source = write_rows(tmp_path / "rows.jsonl", TEXT)
    said = cli.json("convert", source, tmp_path / "set", "--tokenizer", FOLDER, "--size-limit", "3000")
    rows = cli.rows(tmp_path / "set")
    assert [{"prompt": row["prompt"], "completion": row["completion"]} for row in rows] == TEXT
    assert [(row["input_ids"], row["labels"]) for row in rows] == [expected(row) for row in TEXT]
    assert said["tokens"] == sum(len(row["input_ids"]) for row in rows)
    assert cli.json("inspect", tmp_path / "set")["tokens"] == said["tokens"]
    assert cli.json("verify", tmp_path / "set")["whole"]
    workers = ["--size-limit", "3000", "--workers", 3]
    cli.run("convert", source, tmp_path / "threads", "--tokenizer", "smollm2-135m", *workers)
    for shard in (tmp_path / "set").glob("shard.*"):
        assert shard.read_bytes() == (tmp_path / "threads" / shard.name).read_bytes()


def test_trained_on_they_give_the_losses_of_the_text(cli, tune, tmp_path):  # noqa: F811
    source = write_rows(tmp_path / "rows.jsonl", TEXT)
    cli.run("convert", source, tmp_path / "set", "--tokenizer", FOLDER)
    options = ["--max-steps", "9"]
    of_tokens = tune.run(tmp_path / "set", *options)
    assert of_tokens["losses"] == tune.run(source, *options)["losses"]
    assert of_tokens["tokenizer"].endswith(FOLDER.name)
    other = tune.refused(tmp_path / "set", "--response-template", "Answer:")
    assert "another tokenizer" in other and "--tokenizer" in other
    (tune.model / "tokenizer.json").write_bytes((FOLDER / "tokenizer.json").read_bytes())
    assert "another tokenizer" in tune.refused(tmp_path / "set")  # without the file that names its special tokens


def test_what_cannot_be_tokenised_is_refused(cli, tmp_path):
    source = write_rows(tmp_path / "rows.jsonl", TEXT[:3] + [{"prompt": "a", "completion": 7}])
    line = cli.refused("convert", source, tmp_path / "set", "--columns", "prompt:str", "--tokenizer", FOLDER)
    assert f"{source}:4: " in line
    ids = write_rows(tmp_path / "ids.jsonl", [{"input_ids": [1], "labels": [1]}])
    assert "'input_ids' of their own" in cli.refused("convert", ids, tmp_path / "ids", "--tokenizer", FOLDER)
    both = write_rows(tmp_path / "both.jsonl", [TEXT[0] | {"input_ids": [1, 2], "labels": [1, 2]}])
    columns = ["--columns", "prompt:str,completion:str"]
    line = cli.refused("convert", both, tmp_path / "both", *columns, "--tokenizer", FOLDER)
    assert f"{both}:1: " in line and "'input_ids' of its own" in line
    (tmp_path / "rows.csv").write_text("prompt,completion\na,b\n")
    line = cli.refused("convert", tmp_path / "rows.csv", tmp_path / "csv", "--tokenizer", FOLDER)
    assert "JSON lines and of Parquet" in line
    assert "nowhere" in cli.refused("convert", source, tmp_path / "no", "--tokenizer", "nowhere")


def test_what_is_appended_has_the_same_tokens(cli, tmp_path):
    source = write_rows(tmp_path / "rows.jsonl", TEXT)
    first = cli.json("convert", source, tmp_path / "set", "--tokenizer", FOLDER)
    again = cli.json("convert", source, tmp_path / "set", "--append", "--tokenizer", FOLDER)
    assert again["tokens"] == 2 * first["tokens"]
    assert "the same --tokenizer" in cli.refused("convert", source, tmp_path / "set", "--append")
