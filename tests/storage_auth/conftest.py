"""The program that signs, asked line by line; and keys for it."""

import json
import os
import pathlib
import subprocess

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

TOOL = pathlib.Path(os.environ.get("ASSAY_BIN_DIR", "build/release/bin")) / "signing_tool"


class Tool:
    """A running signing_tool; `ask` sends one question and returns its answer."""

    def __init__(self, environment=None):
        self.process = subprocess.Popen(
            [TOOL], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )

    def ask(self, do, **fields):
        self.process.stdin.write(json.dumps({"do": do, **fields}) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def close(self):
        self.process.stdin.close()
        self.process.wait(timeout=300)


@pytest.fixture(scope="session")
def tool():
    running = Tool()
    yield running
    running.close()


@pytest.fixture
def ask_in():
    """Asks a fresh program in an environment of the test's own."""

    def ask(environment, do, **fields):
        running = Tool({"PATH": os.environ["PATH"], **environment})
        try:
            return running.ask(do, **fields)
        finally:
            running.close()

    return ask


@pytest.fixture(scope="session")
def rsa_key():
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


def private_pem(key, passphrase=None):
    encryption = (
        serialization.BestAvailableEncryption(passphrase.encode()) if passphrase else serialization.NoEncryption()
    )
    return key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, encryption).decode()


def public_pem(key):
    public = key.public_key()
    return public.public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo).decode()


@pytest.fixture(scope="session")
def pem(rsa_key):
    return private_pem(rsa_key)
