#!/usr/bin/env bash
# Ranks in pods of a Kubernetes cluster, through `kubectl proxy` at $KUBERNETES_PROXY; in a pod, without that. pod.yaml
# (or the file that ASSAY_KUBERNETES_POD names) says which image, and where the shared folder is.
set -euo pipefail
here=$(dirname "$(realpath "$0")")
export ASSAY_KUBERNETES_POD=${ASSAY_KUBERNETES_POD:-$here/pod.yaml}
export ASSAY_KUBERNETES_FOLDER=${ASSAY_KUBERNETES_FOLDER:-/shared/runs}
"$here/explore.sh" kubernetes --launcher kubernetes ${KUBERNETES_PROXY:+--address "$KUBERNETES_PROXY"}
