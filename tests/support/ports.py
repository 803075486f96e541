"""Ports on this machine that nobody listens on, and that nobody else is given while this process lives."""

import pathlib
import random
import socket

LOWEST = 10_000
RANGE = pathlib.Path("/proc/sys/net/ipv4/ip_local_port_range")
LISTEN = "0A"  # a state of /proc/net/tcp
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


def is_listening(port):
    """Whether a program takes connections there, which hears nothing of the question."""
    tables = [pathlib.Path(f"/proc/net/{name}") for name in ("tcp", "tcp6")]
    lines = [line.split() for table in tables if table.exists() for line in table.read_text().splitlines()[1:]]
    return any(line[1].endswith(f":{port:04X}") and line[3] == LISTEN for line in lines)
