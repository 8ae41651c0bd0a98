#!/usr/bin/env bash
# The whole table of docs/benchmarks.md at full size: one JSON object a line.
# Takes about five minutes on a fast disk, 70 GB of it, and a machine that does
# nothing else.
#
#   tools/bench_all.sh results.jsonl [DIR]      # DIR: on the disk to measure
#   tools/bench_table.py results.jsonl          # the table
#
# HOURGLASS   the program (build/hourglass)
# BACKLOG     messages of the large backlog (100M)
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
hourglass=$(realpath "${HOURGLASS:-$root/build/hourglass}")
results=$(realpath "${1:?usage: tools/bench_all.sh RESULTS [DIR]}")
dir=${2:-$root/data}
backlog=${BACKLOG:-100M}

mkdir -p "$dir"
cd "$dir"
: >"$results"
# The jobs remove their own folders; the backlog is kept from one job to the
# next, and removed here.
large=$(mktemp -d bench-backlog-XXXXXX)
trap 'rm -rf "$large"' EXIT

failed=0
bench() {
  echo "==> hourglass bench $*" >&2
  # One job that fails must not cost the results of the others.
  "$hourglass" bench "$@" --json >>"$results" || failed=1
}

bench put
bench put --producers 1 --in-flight 1 --messages 20k
bench burst
bench steady
bench cancel
bench backlog --messages "$backlog" --data "$large" --keep
bench restart --messages "$backlog" --data "$large" --keep

echo "==> results in $results; tools/bench_table.py makes the table" >&2
exit $failed
