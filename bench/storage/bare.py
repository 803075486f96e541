"""The least that a get takes: bytes that come over one connection, written into new files by one thread that does
nothing else: it asks for nothing, checks nothing, and renames nothing."""

import json
import os
import pathlib
import resource
import socket
import subprocess
import sys
import time

from storage import ceilings

BARE = "bare loop"
BLOCK = 256 << 10
FILES_A_FOLDER = 100


def measure_bare(work, folder):
    """A row of a get of `work` into `folder`, which is made."""
    command = [sys.executable, "-m", "storage.bare", work.size, work.count, folder]
    bench = pathlib.Path(__file__).parent.parent
    finished = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, text=True, check=True, cwd=bench)
    return json.loads(finished.stdout)


def receive_file(connection, size, path):
    block = memoryview(bytearray(min(BLOCK, size)))
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    left = size
    while left > 0:
        got = connection.recv_into(block, min(left, len(block)), socket.MSG_WAITALL)
        if got == 0 or os.write(file, block[:got]) != got:
            raise RuntimeError(f"{left} bytes of {path} are missing")
        left -= got
    os.close(file)


def receive(size, count, folder):
    mib = -(-size * count // ceilings.BLOCK)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        command = [sys.executable, ceilings.__file__, listener.getsockname()[1], mib]
        sender = subprocess.Popen([str(word) for word in [*command, 1]], stdout=subprocess.DEVNULL)
        connection, _ = listener.accept()
    with connection:
        start, cpu_start = time.perf_counter(), time.process_time()
        for index in range(count):
            part = folder / f"part-{index // FILES_A_FOLDER:03}"
            if index % FILES_A_FOLDER == 0:
                part.mkdir(parents=True)
            receive_file(connection, size, part / f"file-{index:05}.bin")
        seconds, cpu_seconds = time.perf_counter() - start, time.process_time() - cpu_start
        while connection.recv(BLOCK):
            pass
    sender.wait()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
    print(json.dumps({"seconds": seconds, "cpu_seconds": cpu_seconds, "peak_rss_bytes": peak}))


if __name__ == "__main__":
    receive(int(sys.argv[1]), int(sys.argv[2]), pathlib.Path(sys.argv[3]))
