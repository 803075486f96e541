#!/usr/bin/env bash
# Ranks on a Ray cluster: the one whose dashboard is at $RAY_DASHBOARD ("http://head:8265"), or one of this machine that
# is started here and ends with this. `ray` must be in PATH (pip install "ray[default]").
set -euo pipefail
here=$(dirname "$(realpath "$0")")
ASSAY_RAY_PYTHON=${ASSAY_RAY_PYTHON:-$(dirname "$(realpath "$(command -v ray)")")/python}
export ASSAY_RAY_PYTHON
if [ -z "${RAY_DASHBOARD:-}" ]; then
  RAY_DASHBOARD=http://127.0.0.1:8265
  # `ray stop` would end every cluster of this machine.
  ray start --head --num-cpus=2 --dashboard-host=127.0.0.1 --disable-usage-stats --block &
  cluster=$!
  trap 'kill "$cluster"; wait "$cluster" || true' EXIT
  until "$ASSAY_RAY_PYTHON" -c "import urllib.request; urllib.request.urlopen('$RAY_DASHBOARD/api/gcs_healthz')" 2>/dev/null; do
    kill -0 "$cluster"
    sleep 1
  done
fi
"$here/explore.sh" ray --launcher ray --address "$RAY_DASHBOARD"
