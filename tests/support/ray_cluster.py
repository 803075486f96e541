"""A Ray cluster of a test's own: several raylets on this machine, each with CPUs and resources that it is told to have."""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request

import ports
import psutil

PYTHON = pathlib.Path(sys.prefix) / "apart" / "ray" / "bin" / "python"
STORE_BYTES = 100 << 20
START_SECONDS = 300
TOKEN = "of-this-test"  # without which the dashboard answers nobody


class Machine:
    """What `ray start --block` started: a raylet and all that belongs to it."""

    def __init__(self, *arguments, cpus, resources, folder):
        command = [PYTHON.parent / "ray", "start", "--block", "--disable-usage-stats", f"--num-cpus={cpus}"]
        # Ports of the system's choice: the usual ones may be taken, and several machines here would have the same.
        command += ["--min-worker-port=0", "--max-worker-port=0", "--dashboard-agent-listen-port=0"]
        command += [f"--object-store-memory={STORE_BYTES}", f"--resources={json.dumps(resources)}", *arguments]
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("RAY_", "OMP_"))}
        environment |= {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": TOKEN}
        self.log = open(folder / f"machine-{len(os.listdir(folder))}.log", "w")
        self.process = subprocess.Popen(
            command, env=environment, stdin=subprocess.DEVNULL, stdout=self.log, stderr=subprocess.STDOUT
        )

    def lose(self):
        """All of its processes at once, as when the machine's power goes."""
        processes = [psutil.Process(self.process.pid), *psutil.Process(self.process.pid).children(recursive=True)]
        for process in processes:
            try:
                process.kill()
            except psutil.NoSuchProcess:
                pass
        self.process.wait()
        self.log.close()

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(timeout=300)
            except subprocess.TimeoutExpired:
                self.lose()
        self.log.close()


class Cluster:
    """The first machine has the dashboard; it takes jobs' drivers, and with no CPUs no ranks."""

    def __init__(self, machines=2, cpus=2, head_cpus=0):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="ray-", dir="/tmp"))  # sockets lie there: a short path
        self.logs = self.folder / "logs"
        self.logs.mkdir()
        self.gcs, dashboard, client = ports.free_ports(3)
        self.address = f"http://127.0.0.1:{dashboard}"
        self.machines = []
        try:
            head = [f"--port={self.gcs}", "--dashboard-host=127.0.0.1", f"--dashboard-port={dashboard}"]
            head += [f"--ray-client-server-port={client}", f"--temp-dir={self.folder}/s"]
            self.add(head_cpus, "--head", "--node-ip-address=127.0.0.1", *head)
            self.wait_for(lambda: self.alive() == 1)
            for number in range(machines):  # one after the other: each start keeps two cores busy
                self.add_machine(cpus)
                self.wait_for(lambda wanted=number + 2: self.alive() == wanted)
        except BaseException:
            self.stop()
            raise

    def add(self, cpus, *arguments, resources=None):
        self.machines.append(Machine(*arguments, cpus=cpus, resources=resources or {}, folder=self.logs))

    def add_machine(self, cpus, resources=None):
        self.add(cpus, f"--address=127.0.0.1:{self.gcs}", "--node-ip-address=127.0.0.1", resources=resources)

    def get(self, path):
        request = urllib.request.Request(self.address + path, headers={"Authorization": f"Bearer {TOKEN}"})
        with urllib.request.urlopen(request, timeout=10) as answer:
            return json.load(answer)

    def alive(self):
        try:
            nodes = self.get("/api/v0/nodes")["data"]["result"]["result"]
        except (OSError, KeyError, ValueError):
            return 0
        return sum(node["state"] == "ALIVE" for node in nodes)

    def running_jobs(self):
        return [job["submission_id"] for job in self.get("/api/jobs/") if job["status"] in ("PENDING", "RUNNING")]

    def wait_for(self, condition):
        deadline = time.monotonic() + START_SECONDS
        while not condition():
            lost = [machine for machine in self.machines if machine.process.poll() is not None]
            assert not lost and time.monotonic() < deadline, self.words()
            time.sleep(0.2)

    def words(self):
        """The ends of what the machines said, and of what their programs wrote."""
        written = self.folder / "s" / "session_latest" / "logs"
        paths = [*sorted(self.logs.iterdir())]
        for pattern in ("gcs_server.out", "raylet*.out", "raylet*.err", "dashboard*.log"):
            paths += sorted(written.glob(pattern))
        return "\n".join(f"{path.name}: {path.read_text(errors='replace')[-2000:]}" for path in paths)

    def stop(self):
        for machine in reversed(self.machines):
            machine.stop()
        shutil.rmtree(self.folder, ignore_errors=True)
