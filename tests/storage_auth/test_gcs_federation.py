"""External accounts and impersonated service accounts against google-auth, on services that pretend."""

import json
import urllib.parse

import google.auth.jwt
import pytest
from conftest import public_pem
from fakes import serve, served
from google.auth import identity_pool, impersonated_credentials
from google.auth.transport import requests as google_requests

SCOPES = ["https://www.googleapis.com/auth/devstorage.full_control"]
AUDIENCE = "//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/pool/providers/one"
ROBOT = "robot@project.iam.gserviceaccount.com"
IMPERSONATE = f"/v1/projects/-/serviceAccounts/{ROBOT}:generateAccessToken"
SUBJECT = "eyJ.subject-token.sig"


class Google:
    """Security token service, IAM, token endpoint and another provider in one; keeps what it was asked."""

    def __init__(self):
        self.asked = []

    def __call__(self, method, path, headers, body):
        kind = headers.get("Content-Type", "")
        form = kind.startswith("application/x-www-form-urlencoded")
        content = urllib.parse.parse_qs(body.decode()) if form else json.loads(body or "null")
        kept = {name: headers[name] for name in ("Authorization", "X-Proof", "Content-Type") if name in headers}
        self.asked.append((method, path, kept, content))
        if path == "/subject":
            return 200, json.dumps({"id_token": SUBJECT})
        if path.startswith("/v1/projects"):
            return 200, json.dumps({"accessToken": "robot-token", "expireTime": "2099-01-01T00:00:00Z"})
        return 200, json.dumps({"access_token": "federated", "expires_in": 3599, "token_type": "Bearer"})


@pytest.fixture
def google_services():
    with served(Google()) as pretend:
        yield pretend


def external(url, source, **more):
    return {
        "type": "external_account",
        "audience": AUDIENCE,
        "subject_token_type": "urn:ietf:params:oauth:token-type:jwt",
        "token_url": url + "/v1/token",
        "credential_source": source,
        **more,
    }


def ask(ask_in, tmp_path, info):
    path = tmp_path / "credentials.json"
    path.write_text(json.dumps(info))
    return ask_in({"HOME": str(tmp_path), "GOOGLE_APPLICATION_CREDENTIALS": str(path)}, "gcs")


def both(ask_in, services, tmp_path, info, reference):
    """What ours and google-auth's requests were, and our answer."""
    answer = ask(ask_in, tmp_path, info)
    ours, services.asked = services.asked, []
    reference.refresh(google_requests.Request())
    theirs = services.asked
    for method, path, _, content in theirs:
        if path.startswith("/v1/projects"):  # google-auth sends what it has none of as null
            for name in [name for name, value in content.items() if value is None]:
                del content[name]
        assert method in ("GET", "POST")
    return answer, ours, theirs


@pytest.mark.parametrize("where", ["file", "json file", "url"])
def test_subject_tokens_are_exchanged_as_google_auth_does(ask_in, google_services, tmp_path, where):
    file = tmp_path / "token"
    file.write_text(SUBJECT if where == "file" else json.dumps({"id_token": SUBJECT}))
    source = {"file": str(file)}
    if where == "url":
        source = {"url": google_services.url + "/subject", "headers": {"X-Proof": "machine"}}
    if where != "file":
        source["format"] = {"type": "json", "subject_token_field_name": "id_token"}
    info = external(google_services.url, source)
    reference = identity_pool.Credentials.from_info(info).with_scopes(SCOPES)
    answer, ours, theirs = both(ask_in, google_services, tmp_path, info, reference)
    assert answer["token"] == "federated" and "external account" in answer["source"]
    assert ours == theirs
    assert ours[-1][3]["subject_token"] == [SUBJECT]


def test_clients_of_workforce_pools(ask_in, google_services, tmp_path):
    (tmp_path / "token").write_text(SUBJECT)
    pool = {"audience": "//iam.googleapis.com/locations/global/workforcePools/pool/providers/one"}
    info = external(google_services.url, {"file": str(tmp_path / "token")}, workforce_pool_user_project="77", **pool)
    reference = identity_pool.Credentials.from_info(info).with_scopes(SCOPES)
    _, ours, theirs = both(ask_in, google_services, tmp_path, info, reference)
    options = [json.loads(urllib.parse.unquote(asked[0][3].pop("options")[0])) for asked in (ours, theirs)]
    assert options == [{"userProject": "77"}] * 2 and ours == theirs
    google_services.asked = []
    info |= {"client_id": "client", "client_secret": "hush"}
    reference = identity_pool.Credentials.from_info(info).with_scopes(SCOPES)
    _, ours, theirs = both(ask_in, google_services, tmp_path, info, reference)
    assert ours == theirs and ours[0][2]["Authorization"].startswith("Basic ")


def test_external_accounts_become_a_service_account(ask_in, google_services, tmp_path):
    (tmp_path / "token").write_text(SUBJECT)
    info = external(
        google_services.url,
        {"file": str(tmp_path / "token")},
        service_account_impersonation_url=google_services.url + IMPERSONATE,
        service_account_impersonation={"token_lifetime_seconds": 1800},
    )
    reference = identity_pool.Credentials.from_info(info).with_scopes(SCOPES)
    answer, ours, theirs = both(ask_in, google_services, tmp_path, info, reference)
    assert answer["token"] == "robot-token" and ROBOT in answer["source"]
    assert answer["expires"] == 4070908800
    assert ours == theirs
    assert ours[1][2]["Authorization"] == "Bearer federated" and ours[1][3]["lifetime"] == "1800s"


@pytest.mark.parametrize("kind", ["service_account", "authorized_user"])
def test_impersonated_service_accounts(ask_in, google_services, tmp_path, pem, rsa_key, kind, monkeypatch):
    token_uri = google_services.url + "/token"
    if kind == "service_account":
        own = {"type": kind, "client_email": "me@x", "private_key_id": "k", "private_key": pem, "token_uri": token_uri}
    else:
        own = {
            "type": kind,
            "client_id": "client",
            "client_secret": "hush",
            "refresh_token": "refresh",
            "token_uri": token_uri,
        }
    info = {
        "type": "impersonated_service_account",
        "service_account_impersonation_url": google_services.url + IMPERSONATE,
        "delegates": ["between@x"],
        "source_credentials": own,
    }
    reference = impersonated_credentials.Credentials.from_impersonated_service_account_info(info, scopes=SCOPES)
    reference._iam_endpoint_override = google_services.url + IMPERSONATE
    reference._source_credentials._token_uri = token_uri
    answer, ours, theirs = both(ask_in, google_services, tmp_path, info, reference)
    assert answer["token"] == "robot-token" and ROBOT in answer["source"]
    if kind == "service_account":
        claims = [
            google.auth.jwt.decode(
                asked[0][3].pop("assertion")[0],
                certs=public_pem(rsa_key),
                audience="https://oauth2.googleapis.com/token",
                clock_skew_in_seconds=10,
            )
            for asked in (ours, theirs)
        ]
        assert [claim["scope"] for claim in claims] == ["https://www.googleapis.com/auth/iam"] * 2
        assert claims[0]["iss"] == claims[1]["iss"]
    assert ours == theirs and ours[1][3]["delegates"] == ["between@x"]


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"credential_source": {"environment_id": "aws1"}}, "file nor a URL"),
        ({"credential_source": {"file": "/none/such"}}, "/none/such"),
        ({"credential_source": None}, "credential_source"),
        ({"audience": ""}, "audience"),
        ({"service_account_impersonation_url": "https://x/y"}, "generateAccessToken"),
    ],
)
def test_what_is_missing_is_said(ask_in, google_services, tmp_path, change, word):
    (tmp_path / "token").write_text(SUBJECT)
    info = external(google_services.url, {"file": str(tmp_path / "token")}) | change
    error = ask(ask_in, tmp_path, info)["error"]
    assert word in error and "\n" not in error and SUBJECT not in error


def test_refusals_hold_no_secret(ask_in, tmp_path):
    (tmp_path / "token").write_text(SUBJECT)
    refusal = json.dumps({"error": "invalid_grant", "error_description": "The subject token is expired."})
    with serve(lambda *_: (400, refusal)) as url:
        info = external(url, {"file": str(tmp_path / "token")}, client_id="client", client_secret="hush")
        error = ask(ask_in, tmp_path, info)["error"]
    assert "invalid_grant, The subject token is expired." in error
    assert SUBJECT not in error and "hush" not in error
    with serve(lambda *_: (403, json.dumps({"error": {"code": 403, "message": "Permission denied"}}))) as url:
        info = external(url, {"file": str(tmp_path / "token")})
        assert "403" in ask(ask_in, tmp_path, info)["error"]
