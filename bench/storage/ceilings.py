"""What this machine moves at best: a copy within memory, and a raw socket between two processes."""

import socket
import subprocess
import sys
import time

import numpy

BLOCK = 1 << 20


def copy_mib_per_s(mib=1024):
    """Of one thread, memory to memory."""
    source, target = numpy.ones(mib * BLOCK, numpy.uint8), numpy.zeros(mib * BLOCK, numpy.uint8)
    best = 0.0
    for _ in range(3):
        start = time.perf_counter()
        numpy.copyto(target, source)
        best = max(best, mib / (time.perf_counter() - start))
    return best


def loopback_mib_per_s(mib=4096):
    """One connection, a process on each side, the receiver into the same megabyte again and again."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        sender = subprocess.Popen([sys.executable, __file__, str(listener.getsockname()[1]), str(mib)])
        connection, _ = listener.accept()
        with connection:
            memory = memoryview(bytearray(BLOCK))
            connection.recv_into(memory[:1])
            start = time.perf_counter()
            received = 1
            while got := connection.recv_into(memory):
                received += got
            seconds = time.perf_counter() - start
        if sender.wait() != 0 or received != mib * BLOCK:
            raise RuntimeError(f"the raw socket moved {received} of {mib * BLOCK} bytes")
    return mib / seconds


def send(port, mib):
    memory = bytes(BLOCK)
    with socket.create_connection(("127.0.0.1", port)) as connection:
        for _ in range(mib):
            connection.sendall(memory)


if __name__ == "__main__":
    send(int(sys.argv[1]), int(sys.argv[2]))
