#!/usr/bin/env bash
# The long forms of tests/crash (docs/crash-tests.md), one after the other.
#
#   BUILD=build tools/run_crash_tests.sh CYCLES SEED
set -euo pipefail
build=${BUILD:-build}
cycles=${1:-2000}
seed=${2:-1}
tests=$(dirname "$0")/../tests/crash
flags=(--program "$build/hourglass"
       --crash-program "$build/tests/hourglass_crash" --seed "$seed")

failed=()
run() {
  echo "==> $1"
  python3 "$tests/$1.py" "${flags[@]}" "${@:2}" || failed+=("$1")
}

run point_test
run kill_test --cycles "$cycles"
run disk_test
run file_test
run process_test --stop-seconds 60
run clock_test --jump-lives 60
if ((${#failed[@]})); then
  echo "==> FAILED: ${failed[*]}"
  exit 1
fi
echo "==> All is well."
