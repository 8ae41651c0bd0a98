#!/usr/bin/env bash
# Runs the official Node client's own test suite against a fresh server.
#
#   tests/interop/node_suite.sh DIR [PROGRAM]
#
# DIR is `nodejs` in a checkout of github.com/apache/rocketmq-clients; packages
# and generated files are added there. PROGRAM is build/hourglass. The suite
# wants its protocol classes generated; they are taken from the published
# package instead, which tests/interop/run.py has fetched. Exit code: the
# suite's. What is known to fail, and why: docs/clients.md.
set -euo pipefail
dir=$(cd "${1:?the folder nodejs of a checkout of rocketmq-clients}" && pwd)
cd "$(dirname "$0")/../.."
program=$(realpath "${2:-build/hourglass}")
published=${NODE_CLIENT:-build/interop/node/node_modules/rocketmq-client-nodejs}
work=$(mktemp -d)
server=
stop() {
  [[ -n $server ]] && kill "$server" && wait "$server" || true
  rm -rf "$work"
}
trap stop EXIT

if [[ ! -d $dir/proto/apache ]]; then
  [[ -d $published/proto ]] || {
    echo "no $published: run tests/interop/run.py --client node first" >&2
    exit 2
  }
  mkdir -p "$dir/proto"
  cp -r "$published"/proto/* "$dir/proto/"
fi
if [[ ! -d $dir/node_modules ]]; then
  (cd "$dir" && npm install --ignore-scripts --no-audit --no-fund)
fi

# The topics that test/start-rocketmq.sh of the suite makes. Its FIFO test
# leaves its first message to its lease, and expects the next one meanwhile.
"$program" serve --data "$work/data" --listen 127.0.0.1:0 --admin none \
  --no-auto-create-topics --topic TopicTestForNormal:NORMAL \
  --topic TopicTestForFifo:FIFO --topic TopicTestForDelay:DELAY \
  --topic TopicTestForTransaction:TRANSACTION \
  --unordered-group nodejs-unittest-group \
  >"$work/out" 2>"$work/log" &
server=$!
for _ in $(seq 100); do
  grep -q "listening on" "$work/out" && break
  kill -0 "$server" || { cat "$work/log" >&2; exit 2; }
  sleep 0.1
done
endpoint=$(sed -nE 's/.*listening on ([^ ]+).*/\1/p' "$work/out" | head -1)
echo "==> $(node --version), server at ${endpoint:?the server did not start}"
cd "$dir"
# The log of the clients goes to $HOME/logs.
ROCKETMQ_NODEJS_CLIENT_ENDPOINTS=$endpoint HOME=$work \
  npx egg-bin test --timeout 60000
