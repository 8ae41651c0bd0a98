#!/usr/bin/env bash
# Measures the timing wheels beside others (docs/wheels.md), into
# OUT/*.json; tools/plot_wheels.py makes tables and figures of them.
#
#   tools/bench_wheels.sh BUILD OUT [PART...]
#
# Parts: small (10^3 and 10^5), large_wheels, large_others (10^7; some
# minutes), rest (empty hour, producers), jvm (Maven fetches jars). All by
# default but jvm.
set -euo pipefail
cd "$(dirname "$0")/.."
build=${1:?build folder}
out=${2:?folder for results}
shift 2
parts=("$@")
((${#parts[@]})) || parts=(small large_wheels large_others rest)
mkdir -p "$out"

run() {
  "$build/tests/wheels_bench" --benchmark_format=json \
    --benchmark_filter="$2" >"$out/$1.json"
}
for part in "${parts[@]}"; do
  echo "==> $part" >&2
  case $part in
    small) run small '/(1000|100000)/' ;;
    large_wheels) run large_wheels 'Wheel.*/10000000/' ;;
    large_others) run large_others '^(std|boost|libevent).*/10000000/' ;;
    rest) run rest '^(empty_hour|producers)' ;;
    jvm) tools/bench_jvm.sh >"$out/jvm.jsonl" ;;
    *)
      echo "no such part: $part" >&2
      exit 2
      ;;
  esac
done
