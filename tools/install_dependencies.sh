#!/usr/bin/env bash
# Installs what Hourglass is built with, from Debian's own packages (Debian 12
# or newer). Does nothing, and needs no root, when everything is there.
#
#   tools/install_dependencies.sh           what building and testing needs
#   tools/install_dependencies.sh --clang   also clang-format and clang-tidy
#   tools/install_dependencies.sh --fuzz    also clang and its fuzzer
#   tools/install_dependencies.sh --bench-wheels  also libevent, Boost.Asio
#   tools/install_dependencies.sh --bench-jvm     also a JVM and Maven
#   tools/install_dependencies.sh --list    print the package names
set -euo pipefail

packages=(
  # compiler and build
  g++ make cmake ninja-build ccache pkg-config
  # what the store links
  librocksdb-dev libxxhash-dev libboost-filesystem-dev libabsl-dev
  # the program
  libcli11-dev libspdlog-dev nlohmann-json3-dev libtomlplusplus-dev
  libhiredis-dev
  # the admin API
  libcpp-httplib-dev prometheus-cpp-dev
  # the protocol front
  libgrpc++-dev protobuf-compiler-grpc libprotobuf-dev protobuf-compiler
  libssl-dev
  # tests and benchmarks
  libgtest-dev libgmock-dev libbenchmark-dev redis-server python3 git
  # tests that set the clock and make small disks
  libfaketime e2fsprogs mount util-linux
)
# Half a gigabyte that only `make format` and `make tidy` need.
clang_packages=(clang-format clang-tidy)
fuzz_packages=(clang libclang-rt-dev)
# What the timing wheels are measured beside (`make bench-wheels`).
wheels_packages=(libevent-dev libboost-dev)
jvm_packages=(openjdk-17-jdk-headless maven)

case "${1:-}" in
  "") ;;
  --clang) packages+=("${clang_packages[@]}") ;;
  --fuzz) packages+=("${fuzz_packages[@]}") ;;
  --bench-wheels) packages+=("${wheels_packages[@]}") ;;
  --bench-jvm) packages+=("${jvm_packages[@]}") ;;
  --list)
    printf '%s\n' "${packages[@]}" "${clang_packages[@]}" "${fuzz_packages[@]}" \
      "${wheels_packages[@]}" "${jvm_packages[@]}"
    exit 0
    ;;
  *)
    echo "usage: $0 [--clang | --fuzz | --bench-wheels | --bench-jvm | --list]" >&2
    exit 2
    ;;
esac

if ! command -v dpkg-query >/dev/null; then
  echo "This is not Debian: install by hand what" \
       "'tools/install_dependencies.sh --list' prints." >&2
  exit 1
fi

installed=$(dpkg-query -W -f '${db:Status-Abbrev} ${Package}\n' 2>/dev/null |
            awk '$1 == "ii" { print $2 }')
missing=()
for package in "${packages[@]}"; do
  grep -qxF -- "$package" <<<"$installed" || missing+=("$package")
done
if ((${#missing[@]} == 0)); then
  exit 0
fi

as_root=()
if ((EUID != 0)); then
  if ! command -v sudo >/dev/null; then
    echo "Missing packages: ${missing[*]}" >&2
    echo "There is no sudo here. As root, run: apt-get install ${missing[*]}" >&2
    exit 1
  fi
  as_root=(sudo)
fi

echo "==> Installing ${#missing[@]} packages: ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
install=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive
         apt-get install -y --no-install-recommends "${missing[@]}")
# Package lists may be missing (a fresh container) or old: refresh them once.
if [[ -z "$(ls /var/lib/apt/lists/*_Packages* 2>/dev/null)" ]] ||
   ! "${install[@]}"; then
  "${as_root[@]}" apt-get update
  "${install[@]}"
fi
echo "==> Packages are there."
