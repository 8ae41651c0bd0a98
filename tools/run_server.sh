#!/usr/bin/env bash
# `make run`: a server in the foreground, and a first message through it. The
# store stays in data/server, so what is pending at the end is there next time.
#
#   HOURGLASS=build/hourglass tools/run_server.sh
#   LISTEN=127.0.0.1:9081 ADMIN=127.0.0.1:9082 DATA=/tmp/d tools/run_server.sh
set -euo pipefail
cd "$(dirname "$0")/.."
hourglass=${HOURGLASS:-build/hourglass}
data=${DATA:-data/server}
listen=${LISTEN:-127.0.0.1:8081}
admin=${ADMIN:-127.0.0.1:8082}
mkdir -p "$(dirname "$data")"

said=$(mktemp)
"$hourglass" serve --data "$data" --listen "$listen" --admin "$admin" >"$said" &
server=$!
stop() {
  trap - INT TERM EXIT
  kill "$server" 2>/dev/null || true
  wait "$server" || true
  rm -f "$said"
}
trap stop INT TERM EXIT

# Not by asking the address: somebody else's server may be there.
until grep -q "listening on" "$said"; do
  kill -0 "$server" 2>/dev/null || {
    wait "$server" || code=$?
    echo "It did not start. To have it elsewhere:" \
         "LISTEN=127.0.0.1:9081 ADMIN=127.0.0.1:9082 make run"
    exit "$code"
  }
  sleep 0.1
done
cat "$said"

echo
echo "\$ $hourglass send hello 'it is time' --in 5s"
"$hourglass" send hello 'it is time' --in 5s --endpoint "$listen"
echo
echo "\$ $hourglass receive hello --group demo --max 1"
"$hourglass" receive hello --group demo --max 1 --endpoint "$listen" || true

cat <<END

It works. The server goes on until Ctrl-C; its store is in $data. Next, in
another terminal:
  $hourglass send hello 'call back' --in 1h30m
  $hourglass top                              what is pending, due, late
  curl http://$admin/v1/forecast
  docs/clients.md                                 Java, Go, Python, Node, curl
  make demo                                       the store without a server
END
wait "$server"
