#!/usr/bin/env bash
# Ranks on this machine, started by the torchrun in PATH, or by the one that ASSAY_TORCHRUN names.
exec "$(dirname "$0")/explore.sh" torchrun --launcher torchrun
