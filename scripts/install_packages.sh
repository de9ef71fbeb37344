#!/usr/bin/env bash
# Installs what building and testing cffs needs on Debian 12 or later, or the packages named. Does nothing where all is there.
set -euo pipefail

packages=(
  build-essential cmake ninja-build ccache pkg-config git
  libfuse3-dev fuse3 liburing-dev librados-dev libleveldb-dev libsnappy-dev libzstd-dev liblz4-dev libboost-dev catch2
  libexpected-dev libcli11-dev libfmt-dev nlohmann-json3-dev libxxhash-dev libsodium-dev libarchive-dev zlib1g-dev
  libsqlite3-dev libxml2-dev liburiparser-dev
  mount util-linux e2fsprogs xfsprogs btrfs-progs squashfs-tools erofs-utils procps psmisc acl attr libcap2-bin rsync diffutils gawk xz-utils zstd sqlite3 python3 make
  python3-dev pybind11-dev python3-pytest python3-fsspec
  strace gnuplot-nox nginx-light wrk mandoc
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
echo "   ${#missing[@]} packages are missing: ${missing[*]}"
log=$(mktemp)

# apt-get's status lines, one in place on a terminal, elsewhere one every ten seconds.
progress() {
  local kind what percent text last=-10 shown=
  while IFS=: read -r kind what percent text; do
    case $kind in
      dlstatus) text="downloading: $text" ;;
      pmstatus) text="installing: $text" ;;
      *) continue ;;
    esac
    if [ -t 1 ]; then
      printf '\r\033[K   %3d %%  %.70s' "${percent%%.*}" "$text"
      shown=1
    elif [ $((SECONDS - last)) -ge 10 ]; then
      printf '   %3d %%  %s\n' "${percent%%.*}" "$text"
      last=$SECONDS
    fi
  done
  [ -z "$shown" ] || printf '\r\033[K'
}
apt() {  # apt-get's output goes to the log, its status lines (descriptor 3) to progress
  { DEBIAN_FRONTEND=noninteractive apt-get -q -o APT::Status-Fd=3 "$@" 3>&1 >>"$log" 2>&1; } | progress
}
# Benchmarks start a web server of their own; the package's must not start by itself.
policy=/usr/sbin/policy-rc.d
made_policy=
if [ ! -e "$policy" ]; then
  printf '#!/bin/sh\nexit 101\n' >"$policy"
  chmod 755 "$policy"
  made_policy=1
fi
trap '[ -z "$made_policy" ] || rm -f "$policy"' EXIT
echo "   reading the package lists"
if ! { apt update && apt install -y --no-install-recommends "${missing[@]}"; }; then
  tail -n 20 "$log" >&2
  rm -f "$log"
  echo "install_packages: apt-get failed, see above; is the network up?" >&2
  exit 1
fi
rm -f "$log"
