#!/usr/bin/env bash
# `make bench`: every benchmark of the program in a short form, some minutes
# in all. docs/benchmarks.md has the long form and what it measured.
#
#   HOURGLASS=build/hourglass tools/run_bench.sh [arguments for every one...]
set -euo pipefail
cd "$(dirname "$0")/.."
hourglass=${HOURGLASS:-build/hourglass}
data=${DATA:-data/bench}

bench() {
  echo
  echo "==> hourglass bench $*"
  rm -rf "$data"
  mkdir -p "$(dirname "$data")"
  "$hourglass" bench "$@" --data "$data"
}

bench put --messages 2000000 --size 256 --producers 8 --spread 24h "$@"
bench put --messages 2000 --size 256 --producers 1 --wait "$@"
bench burst --messages 200000 --size 256 "$@"
bench steady --rate 20000 --seconds 10 --size 256 "$@"
bench backlog --messages 2000000 --size 256 --spread 30d "$@"
bench restart --messages 2000000 --size 256 --spread 30d "$@"
bench cancel --messages 200000 --size 256 "$@"
rm -rf "$data"

echo
echo "==> Done. docs/benchmarks.md says what the figures mean and what the"
echo "    full-size runs gave."
