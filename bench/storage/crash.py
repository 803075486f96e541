"""kill -9 in the middle of puts: what stands afterwards is the old object or the new one."""

import os
import pathlib
import random
import subprocess
import tempfile
import time

from storage.server import BUCKET, environment, serve

BYTES = 24 << 20


def run(bin_dir, kills, say=print):
    """{"old", "new", "mixed"}: how often each was found after a kill at a random moment of a put."""
    found = {"old": 0, "new": 0, "mixed": 0}
    random.seed(1)
    with serve(bin_dir) as url, tempfile.TemporaryDirectory() as folder:
        env = {**environment(url), "HOME": folder}
        assay = str(bin_dir / "assay")
        files = []
        for name in ("a", "b"):
            files.append(pathlib.Path(folder, name))
            files[-1].write_bytes(os.urandom(BYTES))
        contents = [file.read_bytes() for file in files]
        uri = f"s3://{BUCKET}/key"
        put = [assay, "object", "put", "--no-resume", "--part-size", "5MiB", "--quiet"]
        start = time.perf_counter()
        subprocess.run([*put, str(files[0]), uri], env=env, check=True)
        whole, standing = time.perf_counter() - start, 0
        for kill in range(kills):
            process = subprocess.Popen([*put, str(files[1 - standing]), uri], env=env)
            time.sleep(random.uniform(0, 1.3 * whole))
            process.kill()
            process.wait()
            got = subprocess.run([assay, "object", "cat", uri], env=env, check=True, capture_output=True).stdout
            if got == contents[standing]:
                found["old"] += 1
            elif got == contents[1 - standing]:
                found["new"] += 1
                standing = 1 - standing
            else:
                found["mixed"] += 1
            if kill % 50 == 49:
                say(f"    {kill + 1} kills: {found}")
    return found
