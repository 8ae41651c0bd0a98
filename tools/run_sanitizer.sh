#!/usr/bin/env bash
# Builds and runs the unit and model tests under a sanitizer; with asan some
# seeds of the simulator too (tsan would have nothing to see: one thread).
#
#   tools/run_sanitizer.sh asan|asan-front|tsan [jobs]
#
# With tsan only the tests that have threads. With asan-front `hourglass serve`
# and what is around it, which the others leave out; then malformed calls for
# SECONDS_MAX (300), and a look for leaks when that server ends. gRPC is as
# Debian compiled it.
#
# HOURGLASS_MODEL_OPERATIONS bounds the model test (CI sets it: sanitizers
# are 5 to 15 times slower).
set -euo pipefail
cd "$(dirname "$0")/.."
preset=${1:?asan, asan-front or tsan}
jobs=${2:-$(nproc)}
only=()

[[ $preset == asan* ]] && tools/install_dependencies.sh --fuzz
if [[ ! -f "build-$preset/build.ninja" ]]; then
  echo "==> Configuring build-$preset/"
  cmake --preset "$preset" >/dev/null
fi
mapfile -t targets < <(ninja -C "build-$preset" -t targets all |
                       sed -nE 's/^((unit|model|[a-z]+_unit|[a-z]+_model)_test): phony$/\1/p')
[[ $preset == asan ]] && targets+=(simulate)
if [[ $preset == asan-front ]]; then
  # Those that the test preset runs.
  targets=(hourglass {front,groups,admin,access,filter,client,log}_unit_test)
fi
# Tests without a second thread have nothing for ThreadSanitizer to see.
if [[ $preset == tsan ]]; then
  one_thread='^(recovery|simulation|text|program|bench)_unit_test$'
  mapfile -t targets < <(printf '%s\n' "${targets[@]}" | grep -Ev "$one_thread")
  only=(--tests-regex "^($(IFS='|'; echo "${targets[*]}"))\$")
fi
echo "==> Compiling the tests with $preset: ${targets[*]}"
cmake --build --preset "$preset" --parallel "$jobs" --target "${targets[@]}"
echo "==> Running them"
# ThreadSanitizer of GCC 12 cannot live with the address randomisation of new
# kernels (vm.mmap_rnd_bits > 28).
run=(ctest --preset "$preset" --parallel "$jobs" "${only[@]}")
if [[ $preset == tsan ]] && setarch -R true 2>/dev/null; then
  run=(setarch -R "${run[@]}")
fi
"${run[@]}"
[[ $preset == asan-front ]] || exit 0

echo "==> Malformed calls and broken connections"
# A finding or a leak is another exit code of the server: the script says so.
export ASAN_OPTIONS=detect_leaks=1:detect_stack_use_after_return=1
export UBSAN_OPTIONS=print_stacktrace=1
python3 tests/fuzz/front_fuzz.py --program "build-$preset/hourglass" \
  --work build/interop --any-memory --seconds "${SECONDS_MAX:-300}"
