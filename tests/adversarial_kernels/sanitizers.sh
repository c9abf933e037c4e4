#!/bin/bash
# Shows `bitgate run --sanitizer` on an NVIDIA GPU: tests/adversarial_kernels/sanitizers.sh [TARGET], with PYTHONPATH=harness:.
# Prints one line an expectation; ends with 1 if one is not met.
set -u
export target=${1:-$(python -c 'from bitgate.runtime.targets import best; print(best().name)')}
export load=tests/adversarial_kernels/kernels/declaration.py
work=$(mktemp -d); export BITGATE_OUT=$work/out; bad=0
expect() {  # NAME CODE WORDS COMMAND...: the exit code, and words (a regular expression) in what it prints
  local name=$1 code=$2 words=$3 began=$SECONDS; shift 3
  timeout 200 "$@" >$work/log 2>&1; local got=$?
  if [ $got = $code ] && tr "\n" " " <$work/log | grep -Eq "$words"
  then echo "ok   $name ($((SECONDS - began)) s)"; grep -E -m2 "Invalid|reported|hazard|verdicts:|passed" $work/log | cut -c1-400
  else bad=1; echo "BAD  $name: exit $got, not $code with /$words/"; tail -c 1500 $work/log; fi
}
bad_kernel() {  # NAME OPTIONS...
  local case=$(python -c "from tests.adversarial_kernels.catalogue import BAD_KERNELS
print(next(one.case for one in BAD_KERNELS if one.name == '$1'))")
  python -m bitgate verify $case --load $load --kernel "adversarial.$1" --target $target "${@:2}"
}
export -f bad_kernel
sound="python -m bitgate verify --target $target"
small="gemm_f16_rcr_m65n66k72 softmax_f32_r64c1000 layernorm_f16_r16c128"
expect "warm: libraries, without a tool" 0 "verdicts: [0-9]+ PASS" $sound $small
expect "memcheck: a read past the end is red" 1 "CRASHED.*Invalid __global__ read of size 4" \
  bash -c "bad_kernel reads_past_the_end --sanitizer memcheck"
expect "racecheck: a missing barrier is red" 1 "CRASHED.*(Race reported between|hazard detected)" \
  bash -c "bad_kernel missing_barrier --sanitizer racecheck"
for tool in memcheck racecheck synccheck initcheck; do
  expect "$tool: a barrier that is there is green" 0 "PASS" bash -c "bad_kernel healthy_reduction --sanitizer $tool"
  expect "$tool: sound cases are green" 0 "verdicts: [0-9]+ PASS *$" $sound $small --sanitizer $tool
done
expect "memcheck: bwd_data is green" 0 "verdicts: [0-9]+ PASS *$" $sound --sanitizer memcheck \
  bwd_data_f16_nhwgc_g1n2k64c64_y3x3_h14x14_s2x2_p1x1
expect "run: some of smoke is green" 0 "passed" python -m bitgate run --target $target --sanitizer memcheck -n 2 -k "layernorm and r1c"
exit $bad
