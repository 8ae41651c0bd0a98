#!/usr/bin/env bash
# Installs the build into an empty folder, builds examples/embed against it as
# an outside project would, runs it, and looks at what it prints.
#
#   tests/install/run.sh SOURCE BUILD [cmake arguments for the example...]
set -euo pipefail
source_dir=$1
build_dir=$2
shift 2

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cmake --install "$build_dir" --prefix "$work/prefix" >"$work/install.log" ||
  { cat "$work/install.log"; exit 1; }

# Only include/hourglass is public.
if find "$work/prefix/include" -name '*.h' |
   grep -v "^$work/prefix/include/hourglass/"; then
  echo "FAIL: the headers above are not public and were installed"
  exit 1
fi

# The example must find the installed package and nothing of the tree.
cp -r "$source_dir/examples/embed" "$work/embed"
cmake -S "$work/embed" -B "$work/build" -G Ninja \
  -DCMAKE_PREFIX_PATH="$work/prefix" -DCMAKE_FIND_USE_PACKAGE_REGISTRY=OFF \
  "$@" >"$work/configure.log" || { cat "$work/configure.log"; exit 1; }
cmake --build "$work/build" >"$work/build.log" ||
  { cat "$work/build.log"; exit 1; }

cat >"$work/expected" <<'END'
call moved: 1
party: cancelled
delivered tea: your tea is ready
delivered call: ring back
nothing pending: 1
END
# Twice on the same folder: the second run opens what the first one left.
for run in first second; do
  timeout 60 "$work/build/embed" "$work/data" >"$work/$run" ||
    { echo "FAIL: the $run run ended with $?"; cat "$work/$run"; exit 1; }
  diff -u "$work/expected" "$work/$run" ||
    { echo "FAIL: the $run run printed something else"; exit 1; }
done
echo "OK"
