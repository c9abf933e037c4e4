#!/usr/bin/env bash
# On a machine with two GPUs or more: a tier with one worker and with two, the same cases. Shows how busy each GPU was,
# that no case ran twice, and the throughput of two beside that of one.
#   ci/two_gpus.sh [TIER] [FOLDER]        TIER smoke or regression; FOLDER defaults to out
set -u
tier=${1:-regression}
folder=$(mkdir -p "${2:-out}" && cd "${2:-out}" && pwd) || exit 2
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 2
export PYTHONPATH="$PWD/harness${PYTHONPATH:+:$PYTHONPATH}"
python3 -m bitgate compile || exit

# What each GPU does, five times a second: nvidia-smi's figure is the share of time with a kernel on it.
watch_gpus() {
  while :; do
    nvidia-smi --query-gpu=index,utilization.gpu --format=csv,noheader,nounits 2>/dev/null || rocm-smi --showuse --csv
    sleep 0.2
  done
}

# The first run fills caches that the others find.
BITGATE_OUT="$folder/warm" python3 -m bitgate run --tier "$tier" -n 2 > "$folder/warm.txt" 2>&1
for workers in 1 2; do
  watch_gpus > "$folder/busy$workers.csv" &
  watcher=$!
  BITGATE_OUT="$folder/n$workers" python3 -m bitgate run --tier "$tier" -n "$workers" > "$folder/n$workers.txt" 2>&1
  echo "$?" > "$folder/n$workers.code"
  kill "$watcher"
  wait "$watcher" 2>/dev/null
  tail -n 3 "$folder/n$workers.txt"
done
python3 benchmarks/two_gpus.py "$folder"
