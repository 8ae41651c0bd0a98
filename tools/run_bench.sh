#!/usr/bin/env bash
# `make bench`: every benchmark of the program in a short form, some minutes
# in all. docs/benchmarks.md has the long form and what it measured.
#
#   HOURGLASS=build/hourglass tools/run_bench.sh [arguments for every one...]
set -euo pipefail
cd "$(dirname "$0")/.."
hourglass=${HOURGLASS:-build/hourglass}

# Each job works in a fresh folder of its own, and removes it.
mkdir -p data
cd data

bench() {
  echo
  echo "==> hourglass bench $*"
  "$hourglass" bench "$@"
}

[[ $hourglass == /* ]] || hourglass=../$hourglass
bench put --messages 2M "$@"
bench put --messages 2k --producers 1 --in-flight 1 "$@"
bench burst --messages 200k "$@"
bench steady --rate 20k --seconds 10 "$@"
bench backlog --messages 2M "$@"
bench restart --messages 2M --rounds 2 --compare 200k "$@"
bench cancel --messages 200k "$@"

echo
echo "==> Done. docs/benchmarks.md says what the figures mean and what the"
echo "    full-size runs gave."
