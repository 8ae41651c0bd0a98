#!/usr/bin/env bash
# Hourglass beside Apache RocketMQ 5 under the same, official, client: a table.
#
#   tools/bench_rocketmq.sh [--short] [--only NAME] [--out FILE] ...
#
# BUILD names the build directory (default: build), HOURGLASS the program.
# Maven fetches RocketMQ's published jars, Go its client; Java 17, Maven and Go
# must be there. All flags are those of tests/load/bench_rocketmq.py.
set -euo pipefail
cd "$(dirname "$0")/.."
build=${BUILD:-build}
out=$PWD/$build/load
mkdir -p "$out"

for tool in java mvn go python3; do
  if ! command -v "$tool" >/dev/null; then
    echo "bench_rocketmq.sh: $tool is not installed" >&2
    exit 1
  fi
done
pom=tests/load/rocketmq/pom.xml
if ! cmp -s "$pom" "$out/jars/pom.xml"; then
  echo "==> Fetching RocketMQ" >&2
  rm -rf "$out/jars"
  mvn -q -B -f "$pom" dependency:copy-dependencies -DincludeScope=runtime \
    -DoutputDirectory="$out/jars" >&2
  cp "$pom" "$out/jars/pom.xml"
fi
(cd tests/load/go && go build -o "$out/load" .)
exec python3 tests/load/bench_rocketmq.py --program "${HOURGLASS:-$build/hourglass}" \
  --jars "$out/jars" --load "$out/load" --work "$out" "$@"
