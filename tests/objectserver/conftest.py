"""Starts `assay object serve` for tests that talk to it with the stores' own clients."""

import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
import served  # noqa: E402

serve = served.serve
ASSAY = served.ASSAY

ACCESS_KEY = "AKIAEXAMPLE"
SECRET_KEY = "secret/key+of=tests"
TOKEN = "ya29.of-tests"


@pytest.fixture
def credentials(tmp_path):
    path = tmp_path / "credentials.yaml"
    path.write_text(
        f"keys:\n  - access_key_id: {ACCESS_KEY}\n    secret_access_key: '{SECRET_KEY}'\n"
        f"  - access_key_id: ASIASESSION\n    secret_access_key: other\n    session_token: session\n    expires: 1000\n"
        f"tokens: [{TOKEN}]\n"
    )
    return path
