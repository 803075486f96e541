"""The parts of the storage benchmark that have no peers: a modelled network, faults, and kills."""

import json

import yaml
from harness.machine import ROOT

from storage import crash
from storage.clients import rows_of, run
from storage.server import BUCKET, environment, serve

PROFILE = "same-region-s3"
MIXED_OPERATIONS, KILLS = 10_000, 200


class WentWrong(Exception):
    """An object was found that is neither what it was nor what it should be."""


def modelled_total_mib_per_s():
    profile = yaml.safe_load((ROOT / "share" / "profiles" / f"{PROFILE}.yaml").read_text())
    text = str(profile["bandwidth"]["total"])
    units = {"KiB": 1 / 1024, "MiB": 1, "GiB": 1024, "kB": 1e3 / 2**20, "MB": 1e6 / 2**20, "GB": 1e9 / 2**20}
    for unit, mib in units.items():
        if text.endswith(unit):
            return float(text.removesuffix(unit)) * mib
    return float(text) / 2**20


def profile_part(bin_dir, quick):
    """A put and a get under a modelled network."""
    mib = 256 if quick else 2048
    with serve(bin_dir, "--profile", PROFILE) as url:
        command = [bin_dir / "assay", "object", "bench", f"s3://{BUCKET}", "--size", mib << 20, "--repeats", 1]
        for _ in range(2):  # the first fills the server's memory
            rows = rows_of(run([*command, "--output", "json"], "the profile's run", environment(url)))
    found = {name: row["mib_per_s"] for name, row in rows.items()}
    return {"mib": mib, "profile": PROFILE, "total": modelled_total_mib_per_s(), **found}


def fault_part(bin_dir, quick):
    """Mixed operations, each checked, while requests fail in every way that the server knows."""
    operations = 500 if quick else MIXED_OPERATIONS
    with serve(bin_dir, "--profile", "bad-day", "--seed", 7) as url:
        command = [bin_dir / "assay", "object", "bench", f"s3://{BUCKET}", "--work", "mixed", "--count", operations]
        stdout = run([*command, "--stall-timeout", 2, "--output", "json"], "the run with faults", environment(url))
    found = json.loads(stdout)
    if found["wrong"]:
        raise WentWrong(f"{found['wrong']} operations gave a wrong object: {'; '.join(found['first_wrong'])}")
    return {"operations": operations, **{name: found[name] for name in ("right", "errors", "wrong", "first_error")}}


def crash_part(bin_dir, quick):
    """kill -9 at random moments of a put."""
    found = crash.run(bin_dir, 10 if quick else KILLS)
    if found["mixed"]:
        raise WentWrong(f"a killed put left a mixture: {found}")
    return found


PARTS = {"profile": profile_part, "faults": fault_part, "crash": crash_part}
