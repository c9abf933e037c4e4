#!/usr/bin/env bash
# On a GPU machine: builds, runs a tier on the best target present, and leaves results and summary in a folder.
#   ci/gpu.sh [TIER] [FOLDER]        TIER smoke or regression; FOLDER defaults to out
# Uses the Python on PATH with what it has installed; in a checkout nothing needs to be installed of bitgate itself.
set -u
tier=${1:-smoke}
export BITGATE_OUT=${2:-out}
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 2
export PYTHONPATH="$PWD/harness${PYTHONPATH:+:$PYTHONPATH}"
python3 -m bitgate doctor || exit
python3 -m bitgate compile || exit
python3 -m bitgate run --tier "$tier"
