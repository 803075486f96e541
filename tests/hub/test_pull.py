"""`assay model pull` against a hub of this test's own, held against huggingface_hub and transformers."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import time

import pytest
import torch
import transformers

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import fake_hub  # noqa: E402

ASSAY = pathlib.Path(os.environ["ASSAY_BIN_DIR"], "assay")
SHARE = pathlib.Path(__file__).parents[2] / "share"
WEIGHTS = "model.safetensors"


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    """A folder as a hub has it: a small model, its tokeniser, and what nobody needs."""
    folder = tmp_path_factory.mktemp("published")
    torch.manual_seed(1)
    config = transformers.LlamaConfig(
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        vocab_size=8192,
    )
    transformers.LlamaForCausalLM(config).save_pretrained(folder)
    (folder / "tokenizer.json").write_bytes((SHARE / "tokenizers/assay-8k/tokenizer.json").read_bytes())
    (folder / "README.md").write_text("# tiny\n")
    (folder / "pytorch_model.bin").write_bytes(b"weights in another form")
    return folder


@pytest.fixture
def hub(published):
    hub = fake_hub.Hub(published)
    yield hub
    hub.close()


@pytest.fixture
def home(tmp_path):
    return tmp_path / "huggingface"


def environment(hub, home, **changes):
    ours = ("HF_", "HUGGING", "ASSAY_S")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    return kept | {"HOME": str(home.parent), "HF_HOME": str(home), "HF_ENDPOINT": hub.url} | changes


def pull(hub, home, *arguments, code=0, **changes):
    ended = subprocess.run(
        [ASSAY, "model", "pull", *arguments],
        capture_output=True,
        text=True,
        timeout=300,
        env=environment(hub, home, **changes),
    )
    assert ended.returncode == code, ended
    return ended


def pulled(hub, home, *arguments, **changes):
    return json.loads(pull(hub, home, *(arguments or ["org/tiny"]), "--output", "json", **changes).stdout)


def refused(hub, home, *arguments, code, **changes):
    """The one line that it ends with."""
    error = pull(hub, home, *(arguments or ["org/tiny"]), code=code, **changes).stderr
    assert error.count("\n") == 1, error
    return error


def tree(home):
    """Blobs with what they hold, links with where they lead, references. A listing of its own is huggingface_hub's."""
    cache = home / "hub" / "models--org--tiny"
    found = {}
    for path in cache.rglob("*"):
        name = path.relative_to(cache).as_posix()
        if path.is_symlink():
            found[name] = os.readlink(path)
        elif path.is_file():
            found[name] = path.read_bytes()
    return found


def incomplete(hub, home):
    return home / "hub/models--org--tiny/blobs" / f"{hub.blob_of(WEIGHTS)}.incomplete"


def test_the_cache_is_what_huggingface_hub_makes_of_it(hub, home, tmp_path):
    names = {name for name in hub.files if name not in ("README.md", "pytorch_model.bin")}
    result = pulled(hub, home)
    assert {file["path"] for file in result["files"]} == names
    assert result["received_bytes"] == result["bytes"] == sum(len(hub.files[name]) for name in names)
    theirs = tmp_path / "theirs"
    fetch = "import huggingface_hub as h; h.snapshot_download('org/tiny', ignore_patterns=['*.md', '*.bin'])"
    subprocess.run(
        [sys.executable, "-c", fetch],
        check=True,
        env=environment(hub, theirs, HF_HUB_DISABLE_XET="1", HF_HUB_DISABLE_TELEMETRY="1"),
    )
    expected = {name: what for name, what in tree(theirs).items() if not name.startswith("trees/")}
    assert tree(home) == expected
    assert {name.split("/")[0] for name in expected} == {"blobs", "refs", "snapshots"}


def test_transformers_and_tune_find_it_by_its_name(hub, home, tmp_path):
    folder = pulled(hub, home)["folder"]
    load = "import transformers as t; t.AutoModelForCausalLM.from_pretrained('org/tiny', local_files_only=True)"
    subprocess.run([sys.executable, "-c", load], check=True, env=environment(hub, home, HF_HUB_OFFLINE="1"))
    rows = tmp_path / "rows.jsonl"
    rows.write_text(
        '{"prompt": "What comes after one?", "completion": " Two comes after one, and three after two."}\n' * 4
    )
    command = [ASSAY, "tune", "--data", rows, "--max-steps", "1", "--dtype", "float32", "--output", "json", "--model"]

    def tune(model):
        ended = subprocess.run([*command, model], capture_output=True, text=True, env=environment(hub, home))
        assert ended.returncode == 0, ended.stderr
        return json.loads(ended.stdout)

    by_name, by_folder = tune("org/tiny"), tune(folder)
    assert by_name["losses"] == by_folder["losses"]
    assert by_name["weights"] == "file"


def test_what_is_there_is_not_fetched_again(hub, home):
    first = pulled(hub, home)
    hub.requests.clear()
    again = pulled(hub, home)
    assert again["received_bytes"] == 0 and again["folder"] == first["folder"]
    assert [path for _, path, _ in hub.requests] == ["/api/models/org/tiny/revision/main"]
    assert "all of it was here" in pull(hub, home, "org/tiny").stdout


def test_what_broke_off_is_gone_on_with(hub, home):
    hub.cut_after[WEIGHTS] = [1000, 5000]
    pulled(hub, home)
    ranges = [headers.get("Range") for server, _, headers in hub.requests if server == "store"]
    assert ranges == [None, "bytes=1000-", "bytes=6000-"]
    blob = home / "hub/models--org--tiny/blobs" / hub.blob_of(WEIGHTS)
    assert blob.read_bytes() == hub.files[WEIGHTS]


def test_a_store_without_ranges_is_read_from_the_beginning(hub, home):
    hub.cut_after[WEIGHTS] = [1000]
    hub.has_ranges = False
    pulled(hub, home)
    assert not incomplete(hub, home).exists()
    assert (home / "hub/models--org--tiny/blobs" / hub.blob_of(WEIGHTS)).read_bytes() == hub.files[WEIGHTS]


def test_one_that_keeps_breaking_off_leaves_what_came_and_nothing_that_looks_whole(hub, home):
    hub.cut_after[WEIGHTS] = [1000] + [0] * 20
    assert WEIGHTS in refused(hub, home, code=1)
    assert incomplete(hub, home).read_bytes() == hub.files[WEIGHTS][:1000]
    assert not any(name.startswith(("snapshots", "refs")) for name in tree(home))
    hub.cut_after.clear()
    hub.requests.clear()
    result = pulled(hub, home)
    assert result["received_bytes"] == len(hub.files[WEIGHTS]) - 1000
    assert [headers.get("Range") for server, _, headers in hub.requests if server == "store"] == ["bytes=1000-"]


def test_a_killed_one_is_gone_on_with(hub, home):
    hub.files["model-2.safetensors"] = os.urandom(64 << 20)
    process = subprocess.Popen([ASSAY, "model", "pull", "org/tiny"], env=environment(hub, home), stdout=-1, stderr=-1)
    big = home / "hub/models--org--tiny/blobs" / f"{hub.blob_of('model-2.safetensors')}.incomplete"
    deadline = time.monotonic() + 60
    while not (big.exists() and big.stat().st_size > 0) and time.monotonic() < deadline:
        time.sleep(0.001)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    came = big.stat().st_size
    hub.requests.clear()
    pulled(hub, home)
    assert any(headers.get("Range") == f"bytes={came}-" for _, _, headers in hub.requests) or came == 64 << 20
    blob = home / "hub/models--org--tiny/blobs" / hub.blob_of("model-2.safetensors")
    assert blob.read_bytes() == hub.files["model-2.safetensors"]


def test_a_full_disk_is_said_at_once_and_gone_on_with(hub, home):
    hub.files["model-2.safetensors"] = os.urandom(1 << 20)
    limit = 700_001  # of a file: in the middle of a piece that comes
    command = ["prlimit", f"--fsize={limit}", ASSAY, "model", "pull", "org/tiny"]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=300, env=environment(hub, home))
    assert ended.returncode == 1 and ended.stderr.count("\n") == 1, ended
    assert "cannot write" in ended.stderr and "File too large" in ended.stderr
    assert sum(path.endswith("model-2.safetensors") for _, path, _ in hub.requests) == 2, "of hub and store, once"
    pulled(hub, home)
    blob = home / "hub/models--org--tiny/blobs" / hub.blob_of("model-2.safetensors")
    assert blob.read_bytes() == hub.files["model-2.safetensors"]


def test_two_at_once_bring_it_once(hub, home):
    hub.files["model-2.safetensors"] = os.urandom(32 << 20)
    command = [ASSAY, "model", "pull", "org/tiny"]
    both = [
        subprocess.Popen(command, env=environment(hub, home), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    for process in both:
        _, errors = process.communicate(timeout=300)
        assert process.returncode == 0, errors
    assert sum(path == "/large/model-2.safetensors" for _, path, _ in hub.requests) == 1
    names = [name for name in tree(home) if name.startswith("snapshots")]
    assert len(names) == len(hub.files) - 2, "without the README and the pickled weights"


@pytest.mark.parametrize("path", [WEIGHTS, "config.json"])
def test_another_content_is_refused_and_removed(hub, home, path):
    hub.wrong = {path}
    assert f"{path}: what came has the sha" in refused(hub, home, code=1)
    assert not any(name.startswith(("snapshots", "refs")) or hub.blob_of(path) in name for name in tree(home))


def test_a_token_goes_to_the_hub_alone(hub, home):
    hub.token = "hf_secret"
    assert "private or gated" in refused(hub, home, code=2)
    pulled(hub, home, HF_TOKEN="hf_secret")
    assert all("Authorization" not in headers for server, _, headers in hub.requests if server == "store")
    home.mkdir(exist_ok=True)
    (home / "token").write_text("hf_secret\n")
    assert pulled(hub, home)["received_bytes"] == 0
    line = refused(hub, home, code=2, HF_TOKEN="hf_secret\nof two lines")
    assert "the token of HF_TOKEN" in line and "secret" not in line


def test_a_mirror_is_asked_where_the_hub_does_not_answer_and_never_with_the_token(hub, home):
    result = pulled(hub, home, "org/tiny", "--endpoint", "http://127.0.0.1:9", "--endpoint", hub.url, HF_TOKEN="hf_x")
    assert result["commit"] == fake_hub.COMMIT
    assert all("Authorization" not in headers for _, _, headers in hub.requests)


def test_a_hub_that_is_busy_is_asked_again(hub, home):
    hub.statuses = [503, 429]
    pulled(hub, home)


def test_a_name_of_the_catalogue_stands_for_its_repository(published, home):
    hub = fake_hub.Hub(published, "HuggingFaceTB/SmolLM2-135M")
    assert pulled(hub, home, "smollm2-135m")["repository"] == "HuggingFaceTB/SmolLM2-135M"
    listed = subprocess.run(
        [ASSAY, "model", "list", "--output", "json"], capture_output=True, check=True, env=environment(hub, home)
    )
    hub.close()
    states = {model["name"]: model["state"] for model in json.loads(listed.stdout)}
    assert states["smollm2-135m"] == "fetched" and states["smollm2-360m"] == "available"


def test_bad_input_is_one_line(hub, home):
    assert "404" in refused(hub, home, "org/absent", code=2)
    assert "404" in refused(hub, home, "org/tiny", "--revision", "v9", code=2)
    assert "no revision" in refused(hub, home, "org/tiny", "--revision", "../x", code=2)
    assert "no name of a model" in refused(hub, home, "../tiny", code=2)
    assert "no repository of a hub is known" in refused(hub, home, "allam-1-13b", code=2)
    assert "no address of a hub" in refused(hub, home, "org/tiny", "--endpoint", "huggingface", code=2)
    assert "none of which matches" in refused(hub, home, "org/tiny", "--include", "*.gguf", code=2)
    assert "nothing is fetched" in refused(hub, home, code=2, HF_HUB_OFFLINE="1")
    assert "127.0.0.1:9" in refused(hub, home, "org/tiny", "--endpoint", "http://127.0.0.1:9", code=1)


def test_a_model_that_was_not_fetched_is_said_how_to(hub, home, tmp_path):
    rows = tmp_path / "rows.jsonl"
    rows.write_text('{"output": "a"}\n')
    ended = subprocess.run(
        [ASSAY, "tune", "--model", "org/tiny", "--data", rows],
        capture_output=True,
        text=True,
        env=environment(hub, home),
    )
    assert ended.returncode == 2 and "assay model pull org/tiny" in ended.stderr
