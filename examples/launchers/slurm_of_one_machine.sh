#!/usr/bin/env bash
# slurm_of_one_machine.sh start|stop FOLDER: a Slurm of this machine alone, as root and without systemd, all of whose
# files are in FOLDER; SLURM_CONF=FOLDER/slurm.conf speaks to it.
set -euo pipefail
what=$1
folder=$(realpath "$2")

configure() {
  chmod 755 "$folder"
  mkdir -p "$folder/state" "$folder/spool"
  cat >"$folder/slurm.conf" <<END
ClusterName=example
SlurmctldHost=$(hostname)(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$folder/munge.sock
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/spool
SlurmctldPidFile=$folder/slurmctld.pid
SlurmdPidFile=$folder/slurmd.pid
SlurmctldLogFile=$folder/slurmctld.log
SlurmdLogFile=$folder/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SlurmdParameters=config_overrides
ReturnToService=2
SelectType=select/cons_tres
NodeName=$(hostname) NodeAddr=127.0.0.1 CPUs=$(nproc) RealMemory=2000 State=UNKNOWN
PartitionName=all Nodes=$(hostname) Default=YES MaxTime=INFINITE State=UP
END
  if [ -e /sys/fs/cgroup/memory ]; then
    echo "CgroupPlugin=cgroup/v1" >"$folder/cgroup.conf"
  else
    printf 'CgroupPlugin=cgroup/v2\nIgnoreSystemd=yes\n' >"$folder/cgroup.conf"
  fi
}

start() {
  configure
  head -c 1024 /dev/urandom >"$folder/munge.key"
  chmod 400 "$folder/munge.key"
  munged --force --key-file="$folder/munge.key" --socket="$folder/munge.sock" --pid-file="$folder/munged.pid" \
    --log-file="$folder/munged.log" --seed-file="$folder/munged.seed"
  slurmctld -f "$folder/slurm.conf"
  slurmd -f "$folder/slurm.conf"
  until SLURM_CONF=$folder/slurm.conf sinfo --noheader --format=%T 2>/dev/null | grep -q idle; do sleep 0.5; done
}

stop() {
  for daemon in slurmd slurmctld munged; do
    if [ -e "$folder/$daemon.pid" ]; then
      kill "$(cat "$folder/$daemon.pid")" || true
    fi
  done
  sleep 3
  rm -rf "$folder"
}

"$what"
