#!/usr/bin/env bash
# All measurements that need a GPU, in one call; texts, records and JSON go to a folder. Ends with 1 if any step failed.
#   benchmarks/on_gpu.sh FOLDER [STEP...]     steps: doctor build smoke regression large digests reference two; default: all
# "two" runs only where there are two GPUs. Each step has its own output FOLDER/<step>.txt and time in FOLDER/steps.txt.
set -u
folder=$(mkdir -p "$1" && cd "$1" && pwd) || exit 2
shift
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 2
export PYTHONPATH="$PWD/harness${PYTHONPATH:+:$PYTHONPATH}"
steps=${*:-doctor build smoke regression large digests reference two}
gpus=$(nvidia-smi -L 2>/dev/null | wc -l)
bitgate() { python3 -m bitgate "$@"; }

step_doctor() { nvidia-smi; bitgate doctor; }
step_build() { bitgate compile; bitgate compile --target host; }
# Twice: the second run is the warm one.
step_smoke() {
  BITGATE_OUT="$folder/smoke" bitgate run --tier smoke && BITGATE_OUT="$folder/smoke" bitgate run --tier smoke
}
step_regression() { BITGATE_OUT="$folder/regression" bitgate run --tier regression; }
step_large() { BITGATE_OUT="$folder/large" bitgate run suites/large --tier regression -v --durations=0; }
# The host computes what it has no stored digest for, and what it has is held to what it computes on this machine.
step_digests() {
  BITGATE_OUT="$folder/smoke" bitgate run --tier smoke --target host &&
    python3 benchmarks/digests_agree.py "$folder"/smoke/sm_*/results.jsonl "$folder/smoke/host/results.jsonl"
}
step_reference() { python3 benchmarks/gpu_reference.py --out "$folder/reference.json"; }
step_two() {
  if [ "$gpus" -lt 2 ]; then echo "only $gpus GPU"; else ci/two_gpus.sh regression "$folder/two"; fi
}

failed=0
: > "$folder/steps.txt"
for step in $steps; do
  begin=$(date +%s)
  "step_$step" > "$folder/$step.txt" 2>&1
  code=$?
  echo "$step: exit code $code, $(($(date +%s) - begin)) s" | tee -a "$folder/steps.txt"
  tail -n 4 "$folder/$step.txt"
  [ "$code" = 0 ] || failed=1
done
exit "$failed"
