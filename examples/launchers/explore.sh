#!/usr/bin/env bash
# explore.sh NAME [OPTION...]: explores space.yaml through the launcher that the options name, and makes a table and
# a report of it, in the folder $OUT (launchers-out here unless it is set). Needs `assay` in PATH.
set -euo pipefail
name=$1
shift
space=$(dirname "$(realpath "$0")")/space.yaml
out=${OUT:-launchers-out}
mkdir -p "$out"
store=sqlite:///$(realpath "$out")/$name.db
assay explore "$space" --store "$store" "$@"
assay results "$space" --store "$store"
assay report "$space" --store "$store" -o "$out/$name.html"
