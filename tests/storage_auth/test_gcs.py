"""Google's credentials and signed URLs against google-auth and google-cloud-storage."""

import base64
import datetime
import json
import urllib.parse
from unittest import mock

import google.auth.jwt
import pytest
from conftest import public_pem
from fakes import serve, served
from google.auth import crypt
from google.auth.transport import requests as google_requests
from google.cloud.storage import _signing
from google.oauth2 import credentials, service_account

EMAIL = "robot@project.iam.gserviceaccount.com"
NOW = datetime.datetime(2026, 1, 31, 12, 34, 56)
STAMP = NOW.strftime("%Y%m%dT%H%M%SZ")


def account_info(pem, token_uri):
    return {
        "type": "service_account",
        "client_email": EMAIL,
        "private_key_id": "kid7",
        "private_key": pem,
        "token_uri": token_uri,
    }


USER_INFO = {
    "type": "authorized_user",
    "client_id": "client",
    "client_secret": "hush",
    "refresh_token": "refresh",
    "quota_project_id": "payer",
}


class TokenService:
    def __init__(self):
        self.asked = []

    def __call__(self, method, path, headers, body):
        self.asked.append((method, path, dict(headers.items()), urllib.parse.parse_qs(body.decode())))
        return 200, json.dumps({"access_token": "ya29.token", "expires_in": 3599, "token_type": "Bearer"})


@pytest.fixture
def service():
    with served(TokenService()) as pretend:
        yield pretend


def write(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content))
    return str(path)


def test_jwts_are_those_of_google_auth(tool, pem):
    claims = {"aud": "https://oauth2.googleapis.com/token", "exp": 1769866496, "iat": 1769862896, "iss": EMAIL}
    header = {"typ": "JWT", "alg": "RS256", "kid": "kid7"}
    answer = tool.ask("jwt", pem=pem, header=header, claims=claims)
    signer = crypt.RSASigner.from_string(pem, key_id="kid7")
    assert google.auth.jwt.decode(answer["token"], verify=False) == claims
    signed, signature = answer["token"].rsplit(".", 1)
    assert signer.sign(signed) == base64.urlsafe_b64decode(signature + "=" * (-len(signature) % 4))
    assert answer["expires"] == 1769866496


def test_service_accounts_ask_as_google_auth_asks(ask_in, service, tmp_path, pem, rsa_key):
    path = write(tmp_path / "key.json", account_info(pem, service.url + "/token"))
    answer = ask_in({"HOME": str(tmp_path), "GOOGLE_APPLICATION_CREDENTIALS": path}, "gcs")
    assert answer["token"] == "ya29.token" and EMAIL in answer["source"]
    scopes = ["https://www.googleapis.com/auth/devstorage.full_control"]
    reference = service_account.Credentials.from_service_account_file(path, scopes=scopes)
    reference.refresh(google_requests.Request())
    ours, theirs = [asked[3] for asked in service.asked]
    assert ours["grant_type"] == theirs["grant_type"]
    decoded = [
        google.auth.jwt.decode(
            form["assertion"][0],
            certs=public_pem(rsa_key),
            audience="https://oauth2.googleapis.com/token",
            clock_skew_in_seconds=10,
        )
        for form in (ours, theirs)
    ]
    for claim in ("iss", "aud", "scope"):
        assert decoded[0][claim] == decoded[1][claim]
    assert decoded[0]["exp"] - decoded[0]["iat"] == 3600
    assert google.auth.jwt.decode_header(ours["assertion"][0]) == google.auth.jwt.decode_header(theirs["assertion"][0])


def test_users_refresh_as_google_auth_does(ask_in, service, tmp_path):
    info = {**USER_INFO, "token_uri": service.url + "/token"}
    write(tmp_path / "gcloud/application_default_credentials.json", info)
    environment = {"HOME": str(tmp_path), "CLOUDSDK_CONFIG": str(tmp_path / "gcloud")}
    answer = ask_in(environment, "gcs")
    assert answer["token"] == "ya29.token"
    reference = credentials.Credentials.from_authorized_user_info(info)
    reference._token_uri = service.url + "/token"
    reference.refresh(google_requests.Request())
    ours, theirs = [asked[3] for asked in service.asked]
    assert ours == theirs
    fields = {"store": "gs", "method": "GET", "url": "https://storage.googleapis.com/b/k"}
    signed = ask_in(environment, "store", **fields)
    assert signed["headers"] == {"Authorization": "Bearer ya29.token", "x-goog-user-project": "payer"}
    assert "service account's key" in signed["url"]


def test_the_metadata_server_is_the_last_resort(ask_in, service, tmp_path):
    host = service.url.removeprefix("http://")
    answer = ask_in({"HOME": str(tmp_path), "GCE_METADATA_HOST": host}, "gcs")
    assert answer["source"] == f"metadata server {host}"
    method, path, headers, _ = service.asked[0]
    assert (method, headers["Metadata-Flavor"]) == ("GET", "Google")
    assert path.startswith("/computeMetadata/v1/instance/service-accounts/default/token")


def test_the_chain_names_every_source(ask_in, tmp_path):
    with serve(lambda *_: (404, "")) as url:
        environment = {"HOME": str(tmp_path), "GCE_METADATA_HOST": url.removeprefix("http://")}
        error = ask_in(environment, "gcs")["error"]
    for part in ("GOOGLE_APPLICATION_CREDENTIALS is not set", "application_default_credentials.json", "status 404"):
        assert part in error


def test_services_that_stumble_are_asked_again(ask_in, tmp_path):
    asked = []

    def answer(*_):
        asked.append(1)
        if len(asked) < 3:
            return 503, ""
        return 200, json.dumps({"access_token": "late", "expires_in": 60})

    with serve(answer) as url:
        path = write(tmp_path / "user.json", {**USER_INFO, "token_uri": url})
        assert ask_in({"HOME": str(tmp_path), "GOOGLE_APPLICATION_CREDENTIALS": path}, "gcs")["token"] == "late"
    assert len(asked) == 3


def test_refusals_say_what_the_service_said(ask_in, tmp_path):
    refusal = json.dumps({"error": "invalid_grant", "error_description": "Token has been expired or revoked."})
    with serve(lambda *_: (400, refusal)) as url:
        path = write(tmp_path / "user.json", {**USER_INFO, "token_uri": url})
        error = ask_in({"HOME": str(tmp_path), "GOOGLE_APPLICATION_CREDENTIALS": path}, "gcs")["error"]
    assert "invalid_grant, Token has been expired or revoked." in error and "hush" not in error
    path = write(tmp_path / "other.json", {"type": "gdch_service_account"})
    error = ask_in({"HOME": str(tmp_path), "GOOGLE_APPLICATION_CREDENTIALS": path}, "gcs")["error"]
    assert "'gdch_service_account'" in error


@pytest.mark.parametrize("name", ["plain.txt", "a b/c+d", "é/日本", "x=y&z", "~(a)*'!"])
def test_signed_urls_are_those_of_google_cloud_storage(tool, rsa_key, pem, name):
    resource = "/bucket/" + urllib.parse.quote(name.encode(), safe="/~")
    signing = mock.Mock(spec=["sign_bytes", "signer_email"], signer_email=EMAIL)
    signing.sign_bytes = crypt.RSASigner.from_string(pem).sign
    with mock.patch.object(_signing, "get_v4_now_dtstamps", return_value=(STAMP, STAMP[:8])):
        with mock.patch.object(_signing, "ensure_signed_credentials"):
            theirs = _signing.generate_signed_url_v4(signing, resource, 600, method="GET")
    request = {"method": "GET", "url": "https://storage.googleapis.com" + resource, "headers": []}
    ours = tool.ask("goog_presign", **request, pem=pem, email=EMAIL, time=STAMP, seconds=600)
    expected = urllib.parse.parse_qs(urllib.parse.urlsplit(theirs).query)
    signature = crypt.RSASigner.from_string(pem).sign(ours["string_to_sign"]).hex()
    assert (expected.pop("x-goog-signature", None) or expected.pop("X-Goog-Signature")) == [signature]
    assert urllib.parse.parse_qs(urllib.parse.urlsplit(ours["url"]).query) == expected

    parts = urllib.parse.urlsplit(theirs)
    wire = {"method": "GET", "path": parts.path, "query": parts.query, "headers": [["Host", parts.netloc]]}
    account = {"email": EMAIL, "public_pem": public_pem(rsa_key), "time": STAMP, "region": "europe-west1"}
    assert tool.ask("verify", **wire, **account)["accepted"]
    assert tool.ask("verify", **{**wire, "path": parts.path + "x"}, **account)["code"] == "SignatureDoesNotMatch"
    assert tool.ask("verify", **wire, **{**account, "email": "other"})["code"] == "InvalidAccessKeyId"


def test_emulators_and_hmac_keys(ask_in, tmp_path):
    fields = {"store": "gs", "method": "GET", "url": "https://storage.googleapis.com/b/k", "hash": "UNSIGNED-PAYLOAD"}
    assert ask_in({"HOME": str(tmp_path), "STORAGE_EMULATOR_HOST": "x:1"}, "store", **fields)["headers"] == {}
    hmac = {"HOME": str(tmp_path), "GCS_HMAC_ACCESS_KEY_ID": "GOOG1", "GCS_HMAC_SECRET_ACCESS_KEY": "s"}
    headers = ask_in(hmac, "store", **fields)["headers"]
    assert headers["Authorization"].startswith("GOOG4-HMAC-SHA256 Credential=GOOG1/")
    assert "/auto/storage/goog4_request" in headers["Authorization"]
