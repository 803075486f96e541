"""Slurm of a test's own: munged, slurmctld and one slurmd on this machine, as root, without systemd."""

import os
import pathlib
import shutil
import signal
import socket
import subprocess
import tempfile
import time

import ports

CONF = """\
ClusterName=t
SlurmctldHost={name}(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.sock
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldPort={controller}
SlurmdPort={machine}
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SlurmdParameters=config_overrides
ReturnToService=2
SelectType=select/cons_tres
SchedulerParameters=bf_interval=1,sched_interval=1,sched_min_interval=10000
NodeName={name} NodeAddr=127.0.0.1 CPUs={cpus} RealMemory=2000 State=UNKNOWN
PartitionName=p Nodes={name} Default=YES MaxTime=INFINITE State=UP
"""


class Slurm:
    def __init__(self, cpus=4):
        assert os.geteuid() == 0, "slurmd needs root to start jobs"
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="assay-slurm-", dir="/tmp"))
        self.folder.chmod(0o755)
        (self.folder / "state").mkdir()
        (self.folder / "spool").mkdir()
        self.conf = self.folder / "slurm.conf"
        self.environment = dict(os.environ, SLURM_CONF=str(self.conf))
        controller, machine = ports.free_ports(2)
        name = socket.gethostname()
        self.conf.write_text(
            CONF.format(name=name, folder=self.folder, controller=controller, machine=machine, cpus=cpus)
        )
        version = 1 if pathlib.Path("/sys/fs/cgroup/memory").exists() else 2
        lines = [f"CgroupPlugin=cgroup/v{version}", *(["IgnoreSystemd=yes"] if version == 2 else [])]
        (self.folder / "cgroup.conf").write_text("\n".join(lines) + "\n")
        self.pid_files = [self.folder / name for name in ("slurmd.pid", "slurmctld.pid", "munged.pid")]
        try:
            self.start_munge()
            self.start_controller()
            self.run("slurmd", "-f", self.conf)
            self.wait_until_idle()
        except BaseException:
            self.stop()
            raise

    def start_munge(self):
        key = self.folder / "munge.key"
        key.write_bytes(os.urandom(1024))
        key.chmod(0o400)
        names = {"socket": "munge.sock", "pid-file": "munged.pid", "log-file": "munged.log", "seed-file": "munged.seed"}
        self.run(
            "munged",
            f"--key-file={key}",
            *(f"--{option}={self.folder / name}" for option, name in names.items()),
            "--force",
        )

    def run(self, *command):
        finished = subprocess.run(
            [str(word) for word in command], env=self.environment, capture_output=True, text=True, timeout=300
        )
        assert finished.returncode == 0, (command, finished.stdout, finished.stderr)
        return finished.stdout

    def wait_until_idle(self):
        deadline = time.monotonic() + 300
        while "idle" not in self.run("sinfo", "--noheader", "--format=%T"):
            assert time.monotonic() < deadline, self.words()
            time.sleep(0.2)

    def jobs(self):
        return self.run("squeue", "--noheader", "--format=%i %T").split("\n")[:-1]

    def words(self):
        return "\n".join(path.read_text()[-2000:] for path in sorted(self.folder.glob("*.log")))

    def start_controller(self):
        self.run("slurmctld", "-f", self.conf)

    def stop_controller(self):
        end(self.folder / "slurmctld.pid")

    def stop(self):
        for path in self.pid_files:
            end(path)
        shutil.rmtree(self.folder, ignore_errors=True)


def end(pid_file):
    """Ends the daemon of `pid_file`, where there is one."""
    if not pid_file.exists():
        return
    pid = int(pid_file.read_text())
    os.kill(pid, signal.SIGTERM)
    deadline = time.monotonic() + 300
    while pathlib.Path(f"/proc/{pid}").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    if pathlib.Path(f"/proc/{pid}").exists():
        os.kill(pid, signal.SIGKILL)
