"""External accounts and impersonated service accounts against google-auth, on services that pretend."""

import datetime
import json
import urllib.parse

import google.auth.jwt
import pytest
from conftest import public_pem
from fakes import serve, served
from google.auth import _helpers, aws, identity_pool, impersonated_credentials, pluggable
from google.auth.transport import requests as google_requests

SCOPES = ["https://www.googleapis.com/auth/devstorage.full_control"]
AUDIENCE = "//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/pool/providers/one"
ROBOT = "robot@project.iam.gserviceaccount.com"
IMPERSONATE = f"/v1/projects/-/serviceAccounts/{ROBOT}:generateAccessToken"
SUBJECT = "eyJ.subject-token.sig"


METADATA_HEADERS = ("X-aws-ec2-metadata-token", "X-aws-ec2-metadata-token-ttl-seconds")
#: What the instance of AWS that Google's fake is too says of itself.
METADATA = {
    "/session": "session-token",
    "/zone": "us-east-2b",
    "/role": "machine",
    "/role/machine": json.dumps({"AccessKeyId": "ASIAROLE", "SecretAccessKey": "role-secret", "Token": "role/token=="}),
}


class Google:
    """Security token service, IAM, token endpoint and another provider in one; keeps what it was asked."""

    def __init__(self):
        self.asked = []

    def __call__(self, method, path, headers, body):
        kind = headers.get("Content-Type", "")
        form = kind.startswith("application/x-www-form-urlencoded")
        content = urllib.parse.parse_qs(body.decode()) if form else json.loads(body or "null")
        names = ("Authorization", "X-Proof", "Content-Type", *METADATA_HEADERS)
        kept = {name: headers[name] for name in names if name in headers}
        self.asked.append((method, path, kept, content))
        if path in METADATA:
            return 200, METADATA[path]
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


def ask(ask_in, tmp_path, info, **environment):
    path = tmp_path / "credentials.json"
    path.write_text(json.dumps(info))
    return ask_in({"HOME": str(tmp_path), "GOOGLE_APPLICATION_CREDENTIALS": str(path), **environment}, "gcs")


def both(ask_in, services, tmp_path, info, reference, **environment):
    """What ours and google-auth's requests were, and our answer."""
    answer = ask(ask_in, tmp_path, info, **environment)
    ours, services.asked = services.asked, []
    reference.refresh(google_requests.Request())
    theirs = services.asked
    for method, path, _, content in theirs:
        if path.startswith("/v1/projects"):  # google-auth sends what it has none of as null
            for name in [name for name, value in content.items() if value is None]:
                del content[name]
        assert method in ("GET", "POST", "PUT")
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


ALLOWED = {"GOOGLE_EXTERNAL_ACCOUNT_ALLOW_EXECUTABLES": "1"}
ID_TOKEN = {"version": 1, "success": True, "token_type": "urn:ietf:params:oauth:token-type:id_token"}


def program(tmp_path, answer):
    """One that prints the answer, and leaves beside itself what it was told."""
    path = tmp_path / "the program"
    path.write_text(f"#!/bin/sh\nenv | grep ^GOOGLE_EXTERNAL | sort > '{path}.told'\necho \"$1\" >> '{path}.told'\n")
    with path.open("a") as file:
        file.write(f"cat <<'END'\n{answer if isinstance(answer, str) else json.dumps(answer)}\nEND\n")
    path.chmod(0o755)
    return path


def executable(path, **more):
    return {"executable": {"command": f"'{path}' \"one argument\"", "timeout_millis": 60000, **more}}


@pytest.mark.parametrize("kind", ["id_token", "saml", "impersonated", "out of its file"])
def test_executables_run_as_google_auth_runs_them(ask_in, google_services, tmp_path, monkeypatch, kind):
    monkeypatch.setenv(*next(iter(ALLOWED.items())))
    answer = ID_TOKEN | {"id_token": SUBJECT, "expiration_time": 4070908800}
    if kind == "saml":
        answer = {**ID_TOKEN, "token_type": "urn:ietf:params:oauth:token-type:saml2", "saml_response": SUBJECT}
    path = program(tmp_path, "" if kind == "out of its file" else answer)
    more = {}
    if kind == "out of its file":
        more = {"output_file": str(tmp_path / "kept")}
        (tmp_path / "kept").write_text(json.dumps(answer))
    info = external(google_services.url, executable(path, **more))
    if kind == "impersonated":
        info["service_account_impersonation_url"] = google_services.url + IMPERSONATE
    told = tmp_path / "the program.told"
    answers = ask(ask_in, tmp_path, info, **ALLOWED)
    ours, google_services.asked = google_services.asked, []
    told_by_us = told.read_text() if told.exists() else None
    reference = pluggable.Credentials.from_info(info).with_scopes(SCOPES)
    _, _, theirs = both(ask_in, google_services, tmp_path, info, reference, **ALLOWED)
    assert answers["token"] in ("federated", "robot-token"), answers
    assert ours == theirs and ours[0][3]["subject_token"] == [SUBJECT]
    if kind == "impersonated":  # google-auth's copy of itself that runs the program has forgotten for whom
        assert f"GOOGLE_EXTERNAL_ACCOUNT_IMPERSONATED_EMAIL={ROBOT}\n" in told_by_us
    else:
        assert told_by_us == (told.read_text() if told.exists() else None)
    assert (told_by_us is None) == (kind == "out of its file")
    assert told_by_us is None or told_by_us.endswith("one argument\n")


@pytest.mark.parametrize(
    ("answer", "word"),
    [
        (ID_TOKEN | {"success": False, "code": "401", "message": "who are\nyou"}, "401, who are"),
        (ID_TOKEN | {"id_token": SUBJECT, "expiration_time": 1}, "expired"),
        (ID_TOKEN | {"id_token": SUBJECT, "version": 2}, "version"),
        (ID_TOKEN | {"id_token": SUBJECT, "token_type": "other"}, "token_type"),
        ({"id_token": SUBJECT}, "success"),
        ("no JSON", "no JSON object"),
    ],
)
def test_answers_of_executables_that_are_none(ask_in, google_services, tmp_path, answer, word):
    info = external(google_services.url, executable(program(tmp_path, answer)))
    error = ask(ask_in, tmp_path, info, **ALLOWED)["error"]
    assert word in error and "\n" not in error and SUBJECT not in error


def test_executables_that_may_not_run_or_do_not_end(ask_in, google_services, tmp_path):
    path = program(tmp_path, ID_TOKEN | {"id_token": SUBJECT})
    info = external(google_services.url, executable(path))
    for allowed in ({}, {"GOOGLE_EXTERNAL_ACCOUNT_ALLOW_EXECUTABLES": "yes"}):
        assert "ALLOW_EXECUTABLES" in ask(ask_in, tmp_path, info, **allowed)["error"]
    assert not (tmp_path / "the program.told").exists()
    assert (
        "timeout_millis"
        in ask(ask_in, tmp_path, external(google_services.url, executable(path, timeout_millis=1)), **ALLOWED)["error"]
    )
    path.write_text("#!/bin/sh\nexit 3\n")
    assert "exit code 3" in ask(ask_in, tmp_path, info, **ALLOWED)["error"]
    path.write_text("#!/bin/sh\nsleep 60\n")
    info = external(google_services.url, executable(path, timeout_millis=5000))
    assert "within 5 s" in ask(ask_in, tmp_path, info, **ALLOWED)["error"]
    assert google_services.asked == []


def of_aws(url, session):
    source = {
        "environment_id": "aws1",
        "regional_cred_verification_url": "https://sts.{region}.amazonaws.com?Action=GetCallerIdentity&Version=2011-06-15",
        "region_url": url + "/zone",
        "url": url + "/role",
    }
    if session:
        source["imdsv2_session_token_url"] = url + "/session"
    return external(url, source, subject_token_type="urn:ietf:params:aws:token-type:aws4_request")


def signed_by_google_auth(monkeypatch, subject, keys):
    """What google-auth's signer makes of the request at the time of ours, the audience among what is signed."""
    fields = {one["key"]: one["value"] for one in subject["headers"]}
    moment = datetime.datetime.strptime(fields["x-amz-date"], "%Y%m%dT%H%M%SZ")
    assert abs((_helpers.utcnow() - moment).total_seconds()) < 60
    with monkeypatch.context() as at:
        at.setattr(_helpers, "utcnow", lambda: moment)
        signed = aws.RequestSigner("us-east-2").get_request_options(
            keys, subject["url"], "POST", additional_headers={"x-goog-cloud-target-resource": AUDIENCE}
        )
    return fields, signed


@pytest.mark.parametrize("where", ["environment", "environment with a session", "metadata", "metadata with a session"])
def test_requests_of_aws_are_signed_as_google_auth_does(ask_in, google_services, tmp_path, monkeypatch, where):
    keys = aws.AwsSecurityCredentials("ASIAROLE", "role-secret", "role/token==")
    environment = {}
    if where.startswith("environment"):
        keys = aws.AwsSecurityCredentials("AKIAENV", "env/secret", "env-token" if "session" in where else None)
        environment = {
            "AWS_REGION": "us-east-2",
            "AWS_ACCESS_KEY_ID": keys.access_key_id,
            "AWS_SECRET_ACCESS_KEY": keys.secret_access_key,
        }
        if keys.session_token:
            environment["AWS_SESSION_TOKEN"] = keys.session_token
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"):
        monkeypatch.delenv(name, raising=False)
        if name in environment:
            monkeypatch.setenv(name, environment[name])
    info = of_aws(google_services.url, session="session" in where)
    reference = aws.Credentials.from_info(info).with_scopes(SCOPES)
    answer, ours, theirs = both(ask_in, google_services, tmp_path, info, reference, **environment)
    assert answer["token"] == "federated", answer
    subjects = [json.loads(urllib.parse.unquote(asked[-1][3].pop("subject_token")[0])) for asked in (ours, theirs)]
    # google-auth asks for a session twice; it leaves the audience out of what is signed, against its own advice.
    assert [json.dumps(one) for one in ours] == list(dict.fromkeys(json.dumps(one) for one in theirs))
    assert {one["key"] for one in subjects[0]["headers"]} == {one["key"] for one in subjects[1]["headers"]}
    fields, signed = signed_by_google_auth(monkeypatch, subjects[0], keys)
    assert fields == signed["headers"]
    assert [subjects[0][name] for name in ("url", "method")] == [subjects[1][name] for name in ("url", "method")]
    assert len(ours) == {"environment": 1, "metadata": 4}[where.split()[0]] + (where == "metadata with a session")


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
        ({"credential_source": {"environment_id": "aws2"}}, "'aws2'"),
        ({"credential_source": {"environment_id": "aws1"}}, "regional_cred_verification_url"),
        ({"credential_source": {"other": 1}}, "neither a file nor a URL"),
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
