#!/usr/bin/env bash
# Every header compiles alone: it includes what it uses.
#
#   tools/check_headers.sh [build folder] [jobs]
#
# Needs a build folder: the compiler's name, and what was generated there.
set -euo pipefail
cd "$(dirname "$0")/.."
build=${1:-build}
jobs=${2:-$(nproc)}

compiler=$(sed -n 's/^CMAKE_CXX_COMPILER:[^=]*=//p' "$build/CMakeCache.txt")
mapfile -t headers < <(git ls-files --cached --others --exclude-standard -- \
                         'include/*.h' 'storage/*.h' 'wheel/*.h' \
                         'recovery/*.h' 'broker/*.h' 'tests/*.h')
# -fsyntax-only makes no code; each header is the only line of a source file.
printf '%s\0' "${headers[@]}" |
  xargs -0 -I{} -P "$jobs" bash -c '
    [[ -f $1 ]] || exit 0
    "$0" -std=c++20 -fsyntax-only -Wall -Wextra -Werror -Wno-psabi -I. \
      -Iinclude -isystem "$2" -x c++ - <<<"#include \"${1#include/}\"" ||
      { echo "==> $1 does not compile alone" >&2; exit 255; }
  ' "$compiler" {} "$build/broker/protocol"
echo "==> ${#headers[@]} headers compile alone."
