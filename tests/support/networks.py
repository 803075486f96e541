"""Networks of their own: what runs within one is on another machine for whoever runs within the other."""

import os
import subprocess

import pytest
from nodes import wait_for


@pytest.fixture
def cabled():
    """The commands that run a program within each of two networks of their own, which a cable joins, as addresses
    10.77.0.1 and 10.77.0.2: what is on another machine does not answer at a loopback address."""
    if subprocess.run(["unshare", "-n", "true"], capture_output=True, check=False).returncode != 0:
        pytest.skip("networks of their own are for who may make them (root)")
    owners = [subprocess.Popen(["unshare", "-n", "sleep", "600"]) for _ in range(2)]
    within = [["nsenter", "-t", str(owner.pid), "-n"] for owner in owners]
    wait_for(lambda: len({os.readlink(f"/proc/{pid}/ns/net") for pid in ("self", *(o.pid for o in owners))}) == 3)
    cable = ["link", "add", "near", "type", "veth", "peer", "name", "far", "netns", str(owners[1].pid)]
    subprocess.run([*within[0], "ip", *cable], check=True)
    for number, (command, end) in enumerate(zip(within, ("near", "far"), strict=True), 1):
        subprocess.run([*command, "ip", "addr", "add", f"10.77.0.{number}/24", "dev", end], check=True)
        for device in ("lo", end):
            subprocess.run([*command, "ip", "link", "set", device, "up"], check=True)
    yield within
    for owner in owners:
        owner.kill()
        owner.wait()
