"""Ports on this machine that nobody listens on, and that nobody else is given while this process lives."""

import pathlib
import random
import socket

LOWEST = 10_000
RANGE = pathlib.Path("/proc/sys/net/ipv4/ip_local_port_range")
held = []


def candidates():
    """Below those that the system gives to connections, so that none is taken before a program listens on it."""
    first = int(RANGE.read_text().split()[0])
    return range(LOWEST, first if first > 2 * LOWEST else 65_536)


def is_free(port):
    """Of several processes that ask at once one gets it: the name without a file is its own until it ends."""
    name = socket.socket(socket.AF_UNIX)
    try:
        name.bind(f"\0assay-tests-port-{port}")
        with socket.create_server(("", port)):
            pass
    except OSError:
        name.close()
        return False
    held.append(name)
    return True


def free_ports(count):
    """All different."""
    found = []
    while len(found) < count:
        port = random.SystemRandom().choice(candidates())
        if is_free(port):
            found.append(port)
    return found


def free_port():
    return free_ports(1)[0]
