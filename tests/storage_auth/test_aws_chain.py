"""AWS credential chains against botocore's on the same environment, files and services."""

import datetime
import hashlib
import json
import os
import urllib.parse

import botocore.session
import pytest
from fakes import served

SOON = (datetime.datetime.now(datetime.UTC) + datetime.timedelta(hours=6)).strftime("%Y-%m-%dT%H:%M:%SZ")
STS = """<{action}Response xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><{action}Result>
<Credentials><AccessKeyId>{key}</AccessKeyId><SecretAccessKey>s-{key}</SecretAccessKey><SessionToken>t-{key}
</SessionToken><Expiration>{soon}</Expiration></Credentials><AssumedRoleUser><AssumedRoleId>i</AssumedRoleId>
<Arn>a</Arn></AssumedRoleUser></{action}Result></{action}Response>""".replace("\n", "")
INSTANCE = {"Code": "Success", "AccessKeyId": "IMDS", "SecretAccessKey": "si", "Token": "ti", "Expiration": SOON}
CONTAINER = {"AccessKeyId": "ECS", "SecretAccessKey": "se", "Token": "te", "Expiration": SOON}
SSO = {"accessKeyId": "SSO", "secretAccessKey": "sso-secret", "sessionToken": "to", "expiration": 4102444800000}


class Cloud:
    """STS, SSO, the container's endpoint and instance metadata in one server; remembers what it was asked."""

    def __init__(self):
        self.asked = []

    def __call__(self, method, path, headers, body):
        self.asked.append((method, path, dict(headers.items()), body.decode()))
        if path == "/":
            return self.sts(urllib.parse.parse_qs(body.decode()), headers)
        if path.startswith("/federation/credentials"):
            ok = headers.get("x-amz-sso_bearer_token") in ("sso-token", "fresh-token")
            return (200, json.dumps({"roleCredentials": SSO})) if ok else (401, '{"message": "Session token invalid"}')
        if path == "/token":
            return 200, json.dumps({"accessToken": "fresh-token", "expiresIn": 28800, "refreshToken": "next"})
        if path == "/container":
            ok = headers.get("Authorization") == "container-token"
            return (200, json.dumps(CONTAINER)) if ok else (401, "{}")
        return self.metadata(method, path, headers)

    def sts(self, form, headers):
        action = form["Action"][0]
        if action == "AssumeRole":
            signer = headers["Authorization"].split("Credential=")[1].split("/")[0]
            return 200, STS.format(action=action, key=f"{signer}-as-{form['RoleArn'][0][-1]}", soon=SOON)
        assert form["WebIdentityToken"] == ["web-token"]
        return 200, STS.format(action=action, key=f"WEB-{form['RoleArn'][0][-1]}", soon=SOON)

    def metadata(self, method, path, headers):
        if method == "PUT" and path == "/latest/api/token":
            return 200, "session"
        if headers.get("x-aws-ec2-metadata-token") != "session":
            return 401, ""
        role = "/latest/meta-data/iam/security-credentials/"
        return (
            (200, "my-role") if path == role else (200, json.dumps(INSTANCE)) if path == role + "my-role" else (404, "")
        )


@pytest.fixture
def cloud():
    with served(Cloud()) as pretend:
        yield pretend


CREDENTIALS = """
[default]
aws_access_key_id = FILE
aws_secret_access_key = sf
[keys]
aws_access_key_id = KEYS
aws_secret_access_key = sk
aws_session_token = tk
"""
PROCESS = """{"Version": 1, "AccessKeyId": "PROC", "SecretAccessKey": "sp", "SessionToken": "tp"}"""
CONFIG = """
# a comment
[profile config-keys]
aws_access_key_id = CONF
aws_secret_access_key: sc
s3 =
    addressing_style = path
[profile role]
role_arn = arn:aws:iam::1:role/R
source_profile = keys
external_id = x y
[profile role-of-role]
role_arn = arn:aws:iam::1:role/Q
source_profile = role
role_session_name = me
[profile role-of-metadata]
role_arn = arn:aws:iam::1:role/M
credential_source = Ec2InstanceMetadata
[profile role-of-environment]
role_arn = arn:aws:iam::1:role/E
credential_source = Environment
[profile web]
role_arn = arn:aws:iam::1:role/W
web_identity_token_file = {home}/web-token
[profile process]
credential_process = {home}/print 'with space' "{home}/out.json"
[profile sso]
sso_session = corp
sso_account_id = 123
sso_role_name = reader
[profile sso-legacy]
sso_start_url = https://corp/start
sso_region = eu-west-1
sso_account_id = 123
sso_role_name = reader
[sso-session corp]
sso_region = eu-west-1
sso_start_url = https://corp/start
[profile empty]
region = eu-west-3
[profile loop]
role_arn = arn:aws:iam::1:role/L
source_profile = loop2
[profile loop2]
role_arn = arn:aws:iam::1:role/L
source_profile = loop
"""


def write_sso_cache(home, token, expires):
    cache = home / ".aws/sso/cache"
    cache.mkdir(parents=True)
    registration = {"clientId": "c", "clientSecret": "cs", "refreshToken": "r", "registrationExpiresAt": SOON}
    for name in ("corp", "https://corp/start"):
        content = {"accessToken": token, "expiresAt": expires, **registration}
        (cache / f"{hashlib.sha1(name.encode()).hexdigest()}.json").write_text(json.dumps(content))


@pytest.fixture
def home(tmp_path):
    (tmp_path / ".aws").mkdir()
    (tmp_path / ".aws/credentials").write_text(CREDENTIALS)
    (tmp_path / ".aws/config").write_text(CONFIG.replace("{home}", str(tmp_path)))
    (tmp_path / "web-token").write_text("web-token")
    (tmp_path / "out.json").write_text(PROCESS)
    (tmp_path / "print").write_text('#!/bin/sh\ntest "$1" = "with space" && cat "$2"\n')
    (tmp_path / "print").chmod(0o755)
    write_sso_cache(tmp_path, "sso-token", SOON)
    return tmp_path


def base_environment(home, cloud):
    return {
        "HOME": str(home),
        "AWS_DEFAULT_REGION": "eu-west-1",
        "AWS_ENDPOINT_URL_STS": cloud.url,
        "AWS_ENDPOINT_URL_SSO": cloud.url,
        "AWS_ENDPOINT_URL_SSO_OIDC": cloud.url,
        "AWS_EC2_METADATA_SERVICE_ENDPOINT": cloud.url,
        "AWS_METADATA_SERVICE_TIMEOUT": "300",  # the second that botocore waits is little for a busy machine
    }


ENVIRONMENT = {"AWS_ACCESS_KEY_ID": "ENV", "AWS_SECRET_ACCESS_KEY": "sv"}
WEB = {"AWS_ROLE_ARN": "arn:aws:iam::1:role/V", "AWS_WEB_IDENTITY_TOKEN_FILE": "{home}/web-token"}
CONTAINER_VARIABLES = {
    "AWS_CONTAINER_CREDENTIALS_FULL_URI": "{cloud}/container",
    "AWS_CONTAINER_AUTHORIZATION_TOKEN": "container-token",
}
NO_FILES = {"AWS_SHARED_CREDENTIALS_FILE": "/nowhere", "AWS_CONFIG_FILE": "/nowhere"}

# variables, profile named by the caller, access key expected
CASES = {
    "environment": (ENVIRONMENT, "", "ENV"),
    "environment with token": ({**ENVIRONMENT, "AWS_SESSION_TOKEN": "tv"}, "", "ENV"),
    "environment before AWS_PROFILE": ({**ENVIRONMENT, "AWS_PROFILE": "keys"}, "", "ENV"),
    "named profile before environment": (ENVIRONMENT, "keys", "KEYS"),
    "default profile": ({}, "", "FILE"),
    "AWS_PROFILE": ({"AWS_PROFILE": "keys"}, "", "KEYS"),
    "config file": ({}, "config-keys", "CONF"),
    "assumed role": ({}, "role", "KEYS-as-R"),
    "assumed role of a role": ({}, "role-of-role", "KEYS-as-R-as-Q"),
    "assumed role of metadata": ({}, "role-of-metadata", "IMDS-as-M"),
    "assumed role of environment": (ENVIRONMENT, "role-of-environment", "ENV-as-E"),
    "web identity of a profile": ({}, "web", "WEB-W"),
    "web identity of the environment": (WEB, "", "WEB-V"),
    "named profile before web identity": (WEB, "keys", "KEYS"),
    "process": ({}, "process", "PROC"),
    "sso session": ({}, "sso", "SSO"),
    "sso without a session": ({}, "sso-legacy", "SSO"),
    "container": ({**NO_FILES, **CONTAINER_VARIABLES}, "", "ECS"),
    "files before container": (CONTAINER_VARIABLES, "", "FILE"),
    "instance metadata": (NO_FILES, "", "IMDS"),
    "container before metadata": ({**NO_FILES, **CONTAINER_VARIABLES}, "", "ECS"),
    "profile without keys falls to metadata": ({}, "empty", "IMDS"),
}


def of_botocore(profile):
    found = botocore.session.Session(profile=profile or None).get_credentials().get_frozen_credentials()
    return {"key": found.access_key, "secret": found.secret_key, "token": found.token or ""}


@pytest.mark.parametrize("name", CASES)
def test_credentials_are_those_of_botocore(ask_in, monkeypatch, home, cloud, name):
    variables, profile, expected = CASES[name]
    filled = {key: value.replace("{home}", str(home)).replace("{cloud}", cloud.url) for key, value in variables.items()}
    environment = {**base_environment(home, cloud), **filled}
    for key in [key for key in os.environ if key.startswith("AWS_")]:
        monkeypatch.delenv(key)
    for key, value in environment.items():
        monkeypatch.setenv(key, value)
    monkeypatch.setattr("botocore.credentials.SSOProvider._SSO_TOKEN_CACHE_DIR", str(home / ".aws/sso/cache"))
    monkeypatch.setattr("botocore.tokens.SSOTokenProvider._SSO_TOKEN_CACHE_DIR", str(home / ".aws/sso/cache"))
    reference = of_botocore(profile)
    answer = ask_in(environment, "aws", profile=profile)
    assert reference["key"] == expected
    assert {key: answer.get(key) for key in reference} == reference, answer
    assert reference["secret"] not in answer["source"]


def test_old_sign_on_tokens_are_refreshed(ask_in, home, cloud):
    for path in (home / ".aws/sso/cache").iterdir():
        content = json.loads(path.read_text())
        path.write_text(json.dumps({**content, "accessToken": "old", "expiresAt": "2020-01-01T00:00:00Z"}))
    environment = base_environment(home, cloud)
    assert ask_in(environment, "aws", profile="sso")["key"] == "SSO"
    written = json.loads((home / ".aws/sso/cache" / f"{hashlib.sha1(b'corp').hexdigest()}.json").read_text())
    assert (written["accessToken"], written["refreshToken"]) == ("fresh-token", "next")
    assert "aws sso login" in ask_in(environment, "aws", profile="sso-legacy")["error"]


def test_the_chain_names_every_source(ask_in, home, cloud):
    environment = {**base_environment(home, cloud), **NO_FILES, "AWS_EC2_METADATA_DISABLED": "true"}
    error = ask_in(environment, "aws")["error"]
    order = [
        "AWS_ACCESS_KEY_ID is not set",
        "role_arn",
        "AWS_WEB_IDENTITY_TOKEN_FILE",
        "sso_account_id",
        "/nowhere",
        "credential_process",
        "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
        "AWS_EC2_METADATA_DISABLED",
        "aws configure",
    ]
    places = [error.index(part) for part in order]
    assert places == sorted(places)
    assert "\n" not in error


@pytest.mark.parametrize(
    ("variables", "profile", "message"),
    [
        ({"AWS_ACCESS_KEY_ID": "ENV"}, "", "without AWS_SECRET_ACCESS_KEY"),
        ({}, "absent", "no AWS profile 'absent'"),
        ({}, "loop", "leads back"),
        ({"AWS_CONTAINER_CREDENTIALS_FULL_URI": "http://example.com/x", **NO_FILES}, "", "by https only"),
        ({"AWS_WEB_IDENTITY_TOKEN_FILE": "/nowhere/token"}, "", "set AWS_ROLE_ARN"),
    ],
)
def test_broken_sources_end_the_chain(ask_in, home, cloud, variables, profile, message):
    answer = ask_in({**base_environment(home, cloud), **variables}, "aws", profile=profile)
    assert message in answer.get("error", str(answer))


def test_secrets_stay_out_of_errors(ask_in, home, cloud):
    (home / ".aws/credentials").write_text("[default]\nsecret without delimiter hunter2\n")
    error = ask_in(base_environment(home, cloud), "aws")["error"]
    assert "line 2" in error and "hunter2" not in error


def test_the_signer_of_s3(ask_in, home, cloud):
    fields = {
        "store": "s3",
        "region": "eu-west-1",
        "method": "GET",
        "url": "http://b.example/k",
        "hash": "UNSIGNED-PAYLOAD",
    }
    answer = ask_in(base_environment(home, cloud), "store", profile="keys", **fields)
    assert "Credential=KEYS/" in answer["headers"]["Authorization"]
    assert "/eu-west-1/s3/aws4_request" in answer["headers"]["Authorization"]
    assert answer["headers"]["x-amz-security-token"] == "tk"
    assert "X-Amz-Expires=60" in answer["url"]
    assert answer["describe"] == f"profile keys of {home}/.aws/credentials"
    assert ask_in({}, "store", anonymous=True, **fields)["headers"] == {}
