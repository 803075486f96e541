"""OCI's request signatures, both halves, and its credentials, against the oci package."""

import base64
import datetime
import hashlib
import json
import random
import time
from email.utils import formatdate
from unittest import mock

import oci
import pytest
import requests
from conftest import private_pem, public_pem
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.x509.oid import NameOID
from fakes import jwt_with, serve

NOW = 1769862896
KEY_ID = "ocid1.tenancy.oc1..aaaa/ocid1.user.oc1..bbbb/20:3b:97:13"
PATHS = ["/n/ns/b/bucket/o/key", "/n/ns/b/b/o/a%20b%2Fc?x=1&y=%C3%A9", "/n/ns/b/b/u/k?uploadId=7&uploadPartNum=2", "/n"]


def reference(pem, request, body, exclude_body):
    signer = oci.Signer("ocid1.tenancy.oc1..aaaa", "ocid1.user.oc1..bbbb", "20:3b:97:13", None, None, pem)
    prepared = requests.Request(
        request["method"], request["url"], data=body, headers=dict(request["headers"])
    ).prepare()
    with mock.patch("email.utils.formatdate", return_value=formatdate(NOW, usegmt=True)):
        return signer(prepared, enforce_content_headers=not exclude_body)


@pytest.mark.parametrize("seed", range(12))
def test_signatures_are_those_of_the_oci_package(tool, pem, rsa_key, seed):
    rng = random.Random(seed)
    method = rng.choice(["GET", "PUT", "POST", "DELETE", "HEAD"])
    body = b"x" * rng.randint(0, 20) if method in ("PUT", "POST") else b""
    exclude_body = rng.random() < 0.5
    signs_body = method in ("PUT", "POST") and not exclude_body
    host = rng.choice(["objectstorage.eu-frankfurt-1.oraclecloud.com", "127.0.0.1:8000"])
    request = {
        "method": method,
        "url": f"https://{host}{rng.choice(PATHS)}",
        "headers": [["content-type", "application/json"], ["opc-meta-a", "b"]],
    }
    expected = reference(pem, request, body, exclude_body).headers
    if signs_body:
        request["headers"].append(["Content-Length", str(len(body))])
    digest = base64.b64encode(hashlib.sha256(body).digest()).decode() if signs_body else ""
    answer = tool.ask("oci_sign", **request, pem=pem, key_id=KEY_ID, time=NOW, body_hash=digest)
    assert answer["headers"]["Authorization"] == expected["authorization"]
    assert answer["fingerprint"] == ":".join(f"{b:02x}" for b in hashlib.md5(der(rsa_key)).digest())

    path, _, query = request["url"].split(host)[1].partition("?")
    wire = [[name, value] for name, value in expected.items() if name.lower() != "host"] + [["Host", host]]
    verify = {"method": method, "path": path, "query": query, "headers": wire, "public_pem": public_pem(rsa_key)}
    answer = tool.ask("oci_verify", **verify, time=NOW)
    assert answer == {"accepted": True, "key_id": KEY_ID, "body_signed": signs_body, "message": ""}
    assert not tool.ask("oci_verify", **{**verify, "path": path + "x"}, time=NOW)["accepted"]
    assert not tool.ask("oci_verify", **verify, time=NOW + 301)["accepted"]


def der(key):
    return key.public_key().public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)


def test_encrypted_keys_and_wrong_passphrases(tool, rsa_key):
    ask = {"do": "oci_sign", "method": "GET", "url": "https://h/n", "key_id": KEY_ID, "time": NOW}
    encrypted = private_pem(rsa_key, "sesame")
    assert "Authorization" in tool.ask(**ask, pem=encrypted, passphrase="sesame")["headers"]
    assert "passphrase is wrong" in tool.ask(**ask, pem=encrypted, passphrase="open")["error"]
    assert "no passphrase was given" in tool.ask(**ask, pem=encrypted)["error"]
    assert "no private key" in tool.ask(**ask, pem=public_pem(rsa_key))["error"]


def write_config(home, pem, text):
    (home / ".oci").mkdir()
    (home / "key.pem").write_text(pem)
    (home / ".oci" / "config").write_text(text)


def test_profiles_are_read_as_the_oci_package_reads_them(ask_in, tmp_path, pem, rsa_key):
    write_config(
        tmp_path,
        pem,
        "[DEFAULT]\nuser=ocid1.user.oc1..u\nfingerprint=20:3b\ntenancy=ocid1.tenancy.oc1..t\nregion=eu-frankfurt-1\n"
        f"key_file={tmp_path}/key.pem\n\n[OTHER]\nuser=ocid1.user.oc1..other\n",
    )
    for profile in ("DEFAULT", "OTHER"):
        config = oci.config.from_file(str(tmp_path / ".oci/config"), profile)
        answer = ask_in({"HOME": str(tmp_path)}, "oci", profile=profile)
        assert answer["key_id"] == f"{config['tenancy']}/{config['user']}/{config['fingerprint']}"
        assert answer["public_pem"] == public_pem(rsa_key)
    assert "no profile 'ABSENT'" in ask_in({"HOME": str(tmp_path)}, "oci", profile="ABSENT")["error"]


def test_session_tokens_of_a_profile(ask_in, tmp_path, pem):
    token = jwt_with({"exp": NOW + 3600})
    (tmp_path / "token").write_text(token + "\n")
    write_config(tmp_path, pem, f"[DEFAULT]\nkey_file=~/key.pem\nsecurity_token_file={tmp_path}/token\nregion=x\n")
    answer = ask_in({"HOME": str(tmp_path)}, "oci")
    assert answer["key_id"] == "ST$" + token
    assert answer["expires"] == NOW + 3600


def test_resource_principals(ask_in, tmp_path, pem):
    token = jwt_with({"exp": NOW + 60, "res_tenant": "t"})
    environment = {
        "HOME": str(tmp_path),
        "OCI_RESOURCE_PRINCIPAL_VERSION": "2.2",
        "OCI_RESOURCE_PRINCIPAL_RPST": token,
        "OCI_RESOURCE_PRINCIPAL_PRIVATE_PEM": pem,
    }
    answer = ask_in(environment, "oci")
    assert (answer["key_id"], answer["source"]) == ("ST$" + token, "resource principal")
    reference_signer = oci.auth.signers.EphemeralResourcePrincipalSigner(session_token=token, private_key=pem)
    assert reference_signer.api_key == answer["key_id"]


def instance_identity():
    """A certificate such as an instance has, and its key."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    subject = x509.Name([x509.NameAttribute(NameOID.ORGANIZATIONAL_UNIT_NAME, "opc-tenant:ocid1.tenancy.oc1..i")])
    today = datetime.datetime(2026, 1, 1)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(7)
        .not_valid_before(today)
        .not_valid_after(today + datetime.timedelta(days=3650))
        .sign(key, hashes.SHA256())
    )
    return key, certificate


def test_instance_principals(ask_in, tool, tmp_path):
    key, certificate = instance_identity()
    text = certificate.public_bytes(serialization.Encoding.PEM).decode()
    token = jwt_with({"exp": int(time.time()) + 3600})
    seen = {}

    def answer(method, path, headers, body):
        if path == "/opc/v2/instance/region":
            assert headers["Authorization"] == "Bearer Oracle"
            return 200, "eu-frankfurt-1"
        if path.startswith("/opc/v2/identity/"):
            return 200, private_pem(key) if path.endswith("key.pem") else text
        seen.update(path=path, headers=dict(headers.items()), body=json.loads(body), raw=body)
        return 200, json.dumps({"token": token})

    with serve(answer) as url:
        environment = {
            "HOME": str(tmp_path),
            "OCI_METADATA_BASE_URL": url + "/opc/v2",
            "OCI_SDK_AUTH_CLIENT_REGION_URL": url,
        }
        got = ask_in(environment, "oci")
    assert (got["key_id"], got["source"]) == ("ST$" + token, "instance principal")
    bare = "".join(text.splitlines()[1:-1])
    assert seen["body"]["certificate"] == bare and seen["body"]["intermediateCertificates"] == [bare]
    assert seen["body"]["publicKey"] == "".join(got["public_pem"].splitlines()[1:-1])

    # The request to the auth service is signed as the oci package's own signer for it would sign.
    fingerprint = ":".join(f"{b:02X}" for b in certificate.fingerprint(hashes.SHA1()))
    retriever = mock.Mock(get_private_key=lambda: key)
    signer = oci.auth.federation_client.AuthTokenRequestSigner("ocid1.tenancy.oc1..i", fingerprint, retriever)
    sent = {name.lower(): value for name, value in seen["headers"].items()}
    request = requests.Request(
        "POST", url + seen["path"], data=seen["raw"], headers={"content-type": sent["content-type"]}
    )
    with mock.patch("email.utils.formatdate", return_value=sent["date"]):
        assert signer(request.prepare()).headers["authorization"] == sent["authorization"]


def test_the_chain_names_every_source(ask_in, tmp_path):
    with serve(lambda *_: (404, "")) as url:
        error = ask_in({"HOME": str(tmp_path), "OCI_METADATA_BASE_URL": url}, "oci")["error"]
    for part in ("configuration file: no profile 'DEFAULT'", "OCI_RESOURCE_PRINCIPAL_VERSION is not set", "404"):
        assert part in error
    assert "\n" not in error
