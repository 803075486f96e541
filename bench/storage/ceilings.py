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


def loopback(mib, source_mib=1):
    """(MiB per second, MiB per CPU second of the sender) of one connection with a process on each side: the sender from
    `source_mib` of memory, the receiver into one megabyte, again and again."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        command = [sys.executable, __file__, listener.getsockname()[1], mib, source_mib]
        sender = subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE, text=True)
        connection, _ = listener.accept()
        with connection:
            memory = memoryview(bytearray(BLOCK))
            connection.recv_into(memory[:1])
            start = time.perf_counter()
            received = 1
            while got := connection.recv_into(memory):
                received += got
            seconds = time.perf_counter() - start
        cpu_seconds, _ = sender.communicate()
        if sender.returncode != 0 or received != mib * BLOCK:
            raise RuntimeError(f"the raw socket moved {received} of {mib * BLOCK} bytes")
    return mib / seconds, mib / float(cpu_seconds)


def send(port, mib, source_mib):
    """Prints the CPU seconds it took."""
    memory = memoryview(numpy.ones(source_mib * BLOCK, numpy.uint8))
    with socket.create_connection(("127.0.0.1", port)) as connection:
        start = time.process_time()
        for block in range(mib):
            begin = block % source_mib * BLOCK
            connection.sendall(memory[begin : begin + BLOCK])
        print(time.process_time() - start)


if __name__ == "__main__":
    send(*(int(word) for word in sys.argv[1:]))
