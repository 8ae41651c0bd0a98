#!/usr/bin/env bash
# clang-format over every C++ file that git knows or would add.
#
#   tools/format.sh           rewrite
#   tools/format.sh --check   only say what is wrong; exit code 1 if anything
set -euo pipefail
cd "$(dirname "$0")/.."

mode=(-i)
if [[ "${1:-}" == "--check" ]]; then mode=(--dry-run -Werror); fi
git ls-files -z --cached --others --exclude-standard -- '*.cc' '*.h' |
  while IFS= read -r -d '' file; do
    # A file that was removed and not yet committed is listed too.
    if [[ -f $file ]]; then printf '%s\0' "$file"; fi
  done |
  xargs -0 -r -n 40 -P "$(nproc)" clang-format --style=file "${mode[@]}"
echo "==> Format is right."
