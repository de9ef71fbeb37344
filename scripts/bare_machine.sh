#!/usr/bin/env bash
# Tries both README commands as a newcomer meets them: on a bare root of a Debian suite, with a clone of this checkout's HEAD and
# no compiler cache, and says how long each took.
#   scripts/bare_machine.sh SUITE [--quick]     SUITE: bookworm or 12, trixie or 13, testing, ...
#   --quick   configures and builds, asks every command for its help, runs the unit tests
# Needs root and debootstrap. The root lies below TMPDIR (/tmp) and is removed whatever ends the run; it has mounts and processes
# of its own, which end with it. Packages come from where this machine's apt gets Debian from. Ends with 75 where no root could
# be made (no way to the packages): nothing was tried then.
set -euo pipefail
cd "$(dirname "$0")/.."
checkout=$PWD

fail() { echo "bare_machine: $*" >&2; exit 1; }

suite=
quick=
for word in "$@"; do
  case $word in
    --quick) quick=1 ;;
    12) suite=bookworm ;;
    13) suite=trixie ;;
    -*) fail "unknown option '$word'; there is: --quick" ;;
    *) suite=$word ;;
  esac
done
[ -n "$suite" ] || fail "name a suite of Debian: bookworm (12), trixie (13), testing"
[ "$(id -u)" = 0 ] || fail "making a root needs root"
scripts/install_packages.sh debootstrap git || fail "debootstrap could not be installed"
[ -e "/usr/share/debootstrap/scripts/$suite" ] || fail "debootstrap knows no suite '$suite'"
git rev-parse --verify -q HEAD >/dev/null || fail "$checkout is no git checkout"
[ -z "$(git status --porcelain --untracked-files=no)" ] || echo "bare_machine: what is not committed is not tried" >&2

# What this machine's apt calls Debian, but for its security archive, which has no suite "testing".
mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' 'Component: main' 2>/dev/null |
         grep -v -- '-security' | head -n 1 || true)
if [ -z "$mirror" ]; then
  mirror=http://deb.debian.org/debian
  echo "bare_machine: apt's sources name no Debian archive; taking $mirror" >&2
fi
proxy=
eval "$(apt-config shell proxy Acquire::http::Proxy)"
[ -z "$proxy" ] || export http_proxy=$proxy

work=$(mktemp -d "${TMPDIR:-/tmp}/cffs-bare-machine.XXXXXX")
root=$work/root
child=
cleanup() {
  trap '' INT TERM
  set +e  # a child that was killed is no reason to leave its root
  [ -z "$child" ] || { kill -KILL "$child"; wait "$child"; } 2>/dev/null  # unshare waits through a TERM
  rm -rf --one-file-system "$work" 2>/dev/null || { sleep 1; rm -rf --one-file-system "$work"; }
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

. scripts/steps.sh
mkdir -p "$root"
echo "== a bare $suite from $mirror"
started=$SECONDS
debootstrap --variant=minbase --include=ca-certificates "$suite" "$root" "$mirror" >"$work/log" 2>&1 ||
  { tail -n 20 "$work/log" >&2; echo "bare_machine: debootstrap failed, see above" >&2; exit 75; }
echo "== a bare root took $(steps_time $((SECONDS - started)))"
[ -z "$proxy" ] || echo "Acquire::http::Proxy \"$proxy\";" >"$root/etc/apt/apt.conf.d/proxy"
cp -L /etc/resolv.conf "$root/etc/resolv.conf"
# What this machine trusts: it may sit behind a proxy that looks into TLS.
trusted=/etc/ssl/certs/ca-certificates.crt
[ ! -r "$trusted" ] || cp -L "$trusted" "$root/root/trusted.crt"
git -c safe.directory='*' clone -q --no-local "file://$checkout" "$root/root/cffs" || fail "the checkout could not be cloned"

cat >"$root/root/try" <<'TRY'
#!/bin/bash
# Runs inside. Each part is timed; the first that fails ends it.
set -euo pipefail
cd /root/cffs
. scripts/steps.sh
[ ! -r /root/trusted.crt ] || export CARGO_HTTP_CAINFO=/root/trusted.crt SSL_CERT_FILE=/root/trusted.crt
export CCACHE_DISABLE=1 HOME=/root TMPDIR=/tmp LC_ALL=C.UTF-8
every_help() {
  local command
  build/release/cffs --version
  for command in $(build/release/cffs --help | sed -n '/^Subcommands:/,$s/^  \([a-z]*\) .*/\1/p'); do
    build/release/cffs "$command" --help >/dev/null || { echo "cffs $command --help fails"; return 1; }
    echo "   cffs $command --help"
  done
}
if [ "$1" = quick ]; then
  steps_of bare_quick 5
  step "scripts/install_packages.sh" scripts/install_packages.sh
  step "configuring" cmake --preset release
  step "building" cmake --build --preset release --target cffs unit_tests
  step "the help of every command" every_help
  step "the tests that need no mount" ctest --preset release -R '^(unit_tests|layering|tree_kinds|installed_library)$'
else
  steps_of bare 2
  step "scripts/quickstart.sh" scripts/quickstart.sh
  step "scripts/test.sh" scripts/test.sh
fi
steps_summary
TRY

# Its own mounts and processes: the last process gone, both are. (The tests need devices, control groups and loop devices.)
cat >"$work/inside" <<'INSIDE'
set -e
root=$1
mount --bind "$root" "$root"
mount -t proc proc "$root/proc"
mount --rbind /sys "$root/sys"
mount --rbind /dev "$root/dev"
exec chroot "$root" /bin/bash /root/try "$2"
INSIDE
setpriv --pdeathsig KILL unshare --mount --propagation slave --pid --fork --kill-child bash "$work/inside" "$root" "${quick:+quick}" &
child=$!
code=0
wait "$child" || code=$?
child=
[ $code = 0 ] || fail "$suite: failed, see above"
echo "== $suite: all of it passed"
