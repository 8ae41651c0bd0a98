#!/usr/bin/env bash
# Builds the fuzzers (clang, AddressSanitizer, UBSan; beside what `make asan`
# builds) and runs each for a while, from the kept corpus on. Stops at the first
# finding and says how to replay it.
#
#   tools/run_fuzzers.sh [SECONDS]        each target, default 60
#
# TARGET=name   only this one (commit_log, hour_segment, ...)
# KEEP=1        adds what reached new code to the kept corpus
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${1:-60}
jobs=$(nproc)

tools/install_dependencies.sh --fuzz
if [[ ! -f build-asan/build.ninja ]]; then
  echo "==> Configuring build-asan/"
  cmake --preset asan >/dev/null
fi
targets=()
for source in tests/fuzz/*_fuzz.cc; do
  name=$(basename "$source" _fuzz.cc)
  [[ -z "${TARGET:-}" || "$TARGET" == "$name" ]] && targets+=("$name")
done
if ((${#targets[@]} == 0)); then
  echo "No target ${TARGET:-}: see tests/fuzz/*_fuzz.cc" >&2
  exit 2
fi
echo "==> Compiling the fuzzers: ${targets[*]}"
cmake --build --preset asan --parallel "$jobs" \
  --target "${targets[@]/%/_fuzz}"

run_one() {
  local name=$1 seconds=$2
  local found=build-asan/corpus/$name log=build-asan/$name.log
  mkdir -p "$found" build-asan/findings
  if ! build-asan/tests/"${name}_fuzz" -max_total_time="$seconds" \
      -timeout=10 -rss_limit_mb=4096 -print_final_stats=1 \
      -artifact_prefix="build-asan/findings/$name-" \
      "$found" "tests/fuzz/corpus/$name" >"$log" 2>&1; then
    tail -n 40 "$log"
    echo "==> $name: a finding. Replay: build-asan/tests/${name}_fuzz FILE," \
         "where FILE is named above; then keep it in tests/fuzz/corpus/$name"
    return 1
  fi
  echo "==> $name: $(sed -n 's/^stat::number_of_executed_units: //p' "$log")" \
       "inputs in $seconds s, no finding"
  if [[ -n "${KEEP:-}" ]]; then
    build-asan/tests/"${name}_fuzz" -merge=1 \
      "tests/fuzz/corpus/$name" "$found" >>"$log" 2>&1
  fi
}
export -f run_one
echo "==> Running each for $seconds s, $jobs at a time"
printf '%s\n' "${targets[@]}" |
  xargs -P "$jobs" -I{} bash -c "run_one {} $seconds"
