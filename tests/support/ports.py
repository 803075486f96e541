"""Ports on this machine that nobody listens on."""

import contextlib
import socket


def free_ports(count):
    """All different: none is given back before all are taken."""
    with contextlib.ExitStack() as taken:
        return [taken.enter_context(socket.create_server(("127.0.0.1", 0))).getsockname()[1] for _ in range(count)]


def free_port():
    return free_ports(1)[0]
