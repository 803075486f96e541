#!/usr/bin/env bash
# Ranks on the machines of a Slurm cluster: the one that answers `sinfo` here (SLURM_PARTITION names a partition), or one
# of this machine that is started here and ends with this (as root; Debian: slurmctld slurmd slurm-client munge).
set -euo pipefail
here=$(dirname "$(realpath "$0")")
if ! sinfo >/dev/null 2>&1; then
  folder=$(mktemp -d /tmp/assay-slurm-XXXXXX)
  trap '"$here/slurm_of_one_machine.sh" stop "$folder"' EXIT
  "$here/slurm_of_one_machine.sh" start "$folder"
  export SLURM_CONF=$folder/slurm.conf ASSAY_SLURM_FOLDER=$folder/shared
fi
"$here/explore.sh" slurm --launcher slurm ${SLURM_PARTITION:+--address "$SLURM_PARTITION"}
