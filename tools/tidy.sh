#!/usr/bin/env bash
# clang-tidy with the checks of .clang-tidy.
#
#   tools/tidy.sh                 source files changed since main
#   tools/tidy.sh --all           all of them
#   tools/tidy.sh FILE...         these
set -euo pipefail
cd "$(dirname "$0")/.."

case "${1:-}" in
  --all) mapfile -t files < <(git ls-files -- '*.cc') ;;
  "")
    base=$(git merge-base HEAD main 2>/dev/null || git rev-parse HEAD)
    mapfile -t files < <({ git diff --name-only --diff-filter=d "$base" -- '*.cc'
                           git ls-files --others --exclude-standard -- '*.cc'
                         } | sort -u)
    ;;
  *) files=("$@") ;;
esac
# Outside projects: they are built against the installed package.
mapfile -t files < <(printf '%s\n' "${files[@]}" | grep -vE '^(examples/|$)')
if ((${#files[@]} == 0)); then
  echo "==> Nothing changed since main; 'make tidy ALL=1' looks at everything."
  exit 0
fi

# For compile_commands.json only; nothing is compiled there.
cmake -S . -B build-tidy -G Ninja >/dev/null
echo "==> clang-tidy on ${#files[@]} files"
printf '%s\0' "${files[@]}" |
  xargs -0 -n 1 -P "$(nproc)" clang-tidy -p build-tidy --quiet
echo "==> Tidy."
