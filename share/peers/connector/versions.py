"""Prints which versions of the libraries stand here that a connector is of, as one line."""

import importlib.metadata
import sys

TRAINING = ("accelerate", "peft", "torch", "transformers")
CONNECTORS = {
    "streaming": ("boto3", "mosaicml-streaming"),
    "litdata": ("boto3", "litdata", "obstore"),
    "fsspec": ("aiobotocore", "botocore", "fsspec", "s3fs"),
    "s3torchconnector": ("boto3", "s3torchconnector"),
}


def version_of(name):
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def main():
    versions = {name: version_of(name) for name in (*CONNECTORS[sys.argv[1]], *TRAINING)}
    print(", ".join(f"{name} {version}" for name, version in versions.items() if version))


if __name__ == "__main__":
    main()
