#!/usr/bin/env bash
# Netty's HashedWheelTimer and Kafka's TimingWheel on the trace of
# `make bench-wheels`, in a JVM; one JSON line each. Netty's runs in real time:
# two minutes.
#
#   tools/bench_jvm.sh [kafka|netty COUNT [uniform|clustered]]
#
# Maven fetches their published jars into build-jvm/.
set -euo pipefail
cd "$(dirname "$0")/.."
tools/install_dependencies.sh --bench-jvm

out=$PWD/build-jvm
if [[ ! -d $out/lib ]]; then
  echo "==> Fetching Netty and Kafka" >&2
  mvn -q -B -f tests/bench/jvm/pom.xml dependency:copy-dependencies \
    -DoutputDirectory="$out/lib" >&2
fi
mapfile -t sources < <(find tests/bench/jvm/src -name '*.java')
javac -nowarn -d "$out/classes" -cp "$out/lib/*" "${sources[@]}"

run() {
  java -Xmx12g -Xms4g -XX:+UseParallelGC -Dio.netty.noUnsafe=false \
    -Dorg.slf4j.simpleLogger.defaultLogLevel=error \
    -cp "$out/classes:$out/lib/*" WheelTrace "$@" 2>/dev/null
}
if (($# > 0)); then
  run "$@"
  exit
fi
for count in 1000 100000 10000000; do
  for shape in uniform clustered; do run kafka $count $shape; done
done
run netty 100000
