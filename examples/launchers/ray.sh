#!/usr/bin/env bash
# Ranks on a Ray cluster: the one whose dashboard is at $RAY_DASHBOARD ("http://head:8265"), or one of this machine that
# is started here and ends with this. `ray` must be in PATH (pip install "ray[default]").
set -euo pipefail
here=$(dirname "$(realpath "$0")")
if [ -z "${RAY_DASHBOARD:-}" ]; then
  RAY_DASHBOARD=http://127.0.0.1:8265
  ray start --head --num-cpus=2 --dashboard-host=127.0.0.1 --disable-usage-stats
  trap 'ray stop' EXIT
fi
ASSAY_RAY_PYTHON=${ASSAY_RAY_PYTHON:-$(dirname "$(realpath "$(command -v ray)")")/python}
export ASSAY_RAY_PYTHON
"$here/explore.sh" ray --launcher ray --address "$RAY_DASHBOARD"
