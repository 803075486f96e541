#!/usr/bin/env bash
# Ranks are child processes of `assay` on this machine.
exec "$(dirname "$0")/explore.sh" local --launcher local
