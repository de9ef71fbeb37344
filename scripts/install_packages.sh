#!/usr/bin/env bash
# Installs what building and testing cffs needs on Debian 12 or later, or the packages named. Does nothing where all is there.
set -euo pipefail

packages=(
  build-essential cmake ninja-build ccache pkg-config git
  libfuse3-dev fuse3 libleveldb-dev libsnappy-dev libboost-dev catch2
  libexpected-dev libcli11-dev libfmt-dev nlohmann-json3-dev libxxhash-dev libarchive-dev
  libsqlite3-dev libgumbo-dev liburiparser-dev
  mount util-linux e2fsprogs xfsprogs btrfs-progs procps psmisc attr rsync diffutils gawk xz-utils zstd sqlite3 python3 make
  strace gnuplot-nox nginx-light wrk
)
[ $# = 0 ] || packages=("$@")

missing=()
for package in "${packages[@]}"; do
  status=$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null || true)
  [ "$status" = installed ] || missing+=("$package")
done
[ ${#missing[@]} -gt 0 ] || exit 0

if [ "$(id -u)" != 0 ]; then
  echo "install_packages: these packages are missing and only root can install them: ${missing[*]}" >&2
  exit 1
fi
echo "== installing ${#missing[@]} packages: ${missing[*]}"
log=$(mktemp)
# Benchmarks start a web server of their own; the package's must not start by itself.
policy=/usr/sbin/policy-rc.d
made_policy=
if [ ! -e "$policy" ]; then
  printf '#!/bin/sh\nexit 101\n' >"$policy"
  chmod 755 "$policy"
  made_policy=1
fi
trap '[ -z "$made_policy" ] || rm -f "$policy"' EXIT
if ! { DEBIAN_FRONTEND=noninteractive apt-get update -q &&
       DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "${missing[@]}"; } >"$log" 2>&1; then
  tail -n 20 "$log" >&2
  rm -f "$log"
  echo "install_packages: apt-get failed, see above; is the network up?" >&2
  exit 1
fi
rm -f "$log"
