#!/usr/bin/env bash
# `make demo`: plays examples/orders.jsonl through the program. The store stays
# in data/demo, so a run that was killed goes on where it was.
#
#   HOURGLASS=build/hourglass tools/run_demo.sh
set -euo pipefail
cd "$(dirname "$0")/.."
hourglass=${HOURGLASS:-build/hourglass}
data=${DATA:-data/demo}
input=examples/orders.jsonl
# Stands beside the store from the first message in until the last one out.
marker=$data.unfinished
mkdir -p "$(dirname "$data")"

echo
if [[ -e $marker ]]; then
  cat <<END
The last run was interrupted. Its store is in $data: what was still pending
is delivered now, and nothing that was delivered before comes again.

END
  input=/dev/null
else
  rm -rf "$data"
  cat <<END
Playing $input: $(wc -l <"$input") orders, reminders and retries. Some are due
at once, the last one in 10 seconds. Each line below is a message that has
just become due; compare its due_ms with its delivered_ms. Meanwhile you may
type in another terminal:  kill -9 \$(pgrep -n hourglass)
and here 'make demo' again: nothing is lost, and nothing comes twice.

END
  touch "$marker"
fi

"$hourglass" pipe --data "$data" --until-empty --acks "$data.acks.jsonl" \
  <"$input"
rm -f "$marker"

cat <<END

All delivered. Next:
  $hourglass log $data                    all that happened, a line each
  $hourglass stat --data $data            counts and times of this store
  echo '{"body":"hello","delay":"5s"}' |
    $hourglass pipe --data $data --until-empty
  make test                               all tests
  make bench                              what it costs on this machine
END
