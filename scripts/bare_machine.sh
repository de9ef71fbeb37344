#!/usr/bin/env bash
# Tries both README commands as a newcomer meets them: on a bare root of a Debian suite, with a clone of this checkout's HEAD and
# no compiler cache, and says how long each took.
#   scripts/bare_machine.sh SUITE [--quick|--packages[=DIR]]     SUITE: bookworm or 12, trixie or 13, testing, ...
#   --quick          configures and builds, asks every command for its help, runs the unit tests
#   --packages       makes the Debian packages there, puts them into build/packages-SUITE, and tries them on a second root, which
#                    gets nothing else: what they depend on, the commands, a mount by fstab, the Python module and fsspec, the service,
#                    find_package(cffs), their removal
#   --packages=DIR   tries those that are in DIR
# Needs root and debootstrap. The root lies below TMPDIR (/tmp) and is removed whatever ends the run; it has mounts and processes
# of its own, which end with it. Packages come from where this machine's apt gets Debian from. Ends with 75 where no root could
# be made (no way to the packages): nothing was tried then.
set -euo pipefail
cd "$(dirname "$0")/.."
checkout=$PWD

fail() { echo "bare_machine: $*" >&2; exit 1; }

suite=
quick=
packages=
for word in "$@"; do
  case $word in
    --quick) quick=1 ;;
    --packages) packages=made ;;
    --packages=*)
      packages=$(realpath -e "${word#*=}") || fail "there is no directory ${word#*=}"
      compgen -G "$packages/cffs_*.deb" >/dev/null || fail "no package cffs_*.deb is in $packages; scripts/make_packages.sh makes it"
      ;;
    12) suite=bookworm ;;
    13) suite=trixie ;;
    -*) fail "unknown option '$word'; there are: --quick, --packages, --packages=DIR" ;;
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

# A bare root at $root, with a clone of the checkout.
make_root() {
  local started=$SECONDS trusted=/etc/ssl/certs/ca-certificates.crt
  mkdir -p "$root"
  echo "== a bare $suite from $mirror"
  debootstrap --variant=minbase --include=ca-certificates "$suite" "$root" "$mirror" >"$work/log" 2>&1 ||
    { tail -n 20 "$work/log" >&2; echo "bare_machine: debootstrap failed, see above" >&2; exit 75; }
  echo "== a bare root took $(steps_time $((SECONDS - started)))"
  [ -z "$proxy" ] || echo "Acquire::http::Proxy \"$proxy\";" >"$root/etc/apt/apt.conf.d/proxy"
  cp -L /etc/resolv.conf "$root/etc/resolv.conf"
  # What this machine trusts: it may sit behind a proxy that looks into TLS.
  [ ! -r "$trusted" ] || cp -L "$trusted" "$root/root/trusted.crt"
  git -c safe.directory='*' clone -q --no-local "file://$checkout" "$root/root/cffs" || fail "the checkout could not be cloned"
  cp "$work/try" "$root/root/try"
}

cat >"$work/try" <<'TRY'
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
install_them() {
  ls "$packages"
  apt-get -q update >/dev/null
  apt-get -qq install -y --no-install-recommends "$packages"/cffs_*.deb >/tmp/log 2>&1 || { tail -n 20 /tmp/log; return 1; }
  dpkg -s cffs | sed -n 's/^/   /; /Version\|Depends/p'
  cffs --version
  test -e /usr/share/man/man1/cffs-mount.1.gz || grep -rqs 'path-exclude.*/man' /etc/dpkg  # minimal roots leave pages out
  test -L /sbin/mount.cffs && test -e /usr/lib/systemd/system/cffs@.service && test -e /usr/share/doc/cffs/copyright
}
use_them() {
  local code=0
  cffs doctor || code=$?
  [ $code -le 1 ] || [ $code = 4 ] || return 1
  cffs format /srv/store
  cffs import /usr/share/doc /srv/store
  cffs fsck /srv/store
  cffs export /srv/store /tmp/doc
  diff -r --no-dereference /usr/share/doc /tmp/doc
  if [ $code = 4 ]; then
    echo "   nothing can be mounted here: not tried"
    return
  fi
  mkdir /srv/www
  echo '/srv/store /srv/www cffs defaults,nofail 0 0' >>/etc/fstab
  mount /srv/www
  grep ' /srv/www ' /proc/mounts
  diff -r --no-dereference /usr/share/doc /srv/www
  echo new >/srv/www/new
  umount /srv/www
  cffs umount --force /srv/store 2>/dev/null || true  # umount(8) returns before the daemon has closed the store
  mount /srv/www && test "$(cat /srv/www/new)" = new && cffs umount /srv/www
  cffs fsck /srv/store
}
# In the distribution's Python, before and after fsspec is there.
python_them() {
  local place=/usr/lib/python3/dist-packages
  compgen -G "$packages/python3-cffs_*.deb" >/dev/null || { echo "   no package python3-cffs was made: not tried"; return 0; }
  apt-get -qq install -y --no-install-recommends "$packages"/python3-cffs_*.deb >/tmp/log 2>&1 || { tail -n 20 /tmp/log; return 1; }
  dpkg -s python3-cffs | sed -n 's/^/   /; /Version\|Depends/p'
  compgen -G "$place/cffs/__pycache__/store.cpython-*.pyc" >/dev/null || { echo "nothing was compiled to byte code"; return 1; }
  test -e /usr/share/doc/python3-cffs/examples/dataset.py || grep -rqs 'path-exclude.*/doc' /etc/dpkg
  cd /tmp
  cat >/tmp/module.py <<'END'
import importlib.metadata, importlib.util
import cffs
assert importlib.metadata.version("cffs") == cffs.__version__, cffs.__version__
assert importlib.util.find_spec("fsspec") is None, "fsspec was to come later"
files = {f"/notes/{i}.txt": b"note %d\n" % i * i for i in range(1000)}
cffs.format("/srv/notes", compress="zstd")
with cffs.Store("/srv/notes", "r+") as store:
    store.makedirs("/notes")
    for path, data in files.items():
        store.write(path, data)
    store.consolidate()
with cffs.Store("/srv/notes") as store:
    assert [bytes(data) for data in store.read_many(list(files))] == list(files.values())
    group = dict(store.read_group("/notes/7.txt"))
    assert len(group) > 100 and all(files[path] == data for path, data in group.items()), len(group)
print("  ", cffs.__version__, "in", cffs.__file__, "wrote and read", len(files), "files")
END
  python3 /tmp/module.py
  cffs fsck /srv/notes
  test "$(cffs cat /srv/notes:/notes/1.txt)" = "note 1"
  apt-get -qq install -y --no-install-recommends python3-fsspec python3-pip >/tmp/log 2>&1 || { tail -n 20 /tmp/log; return 1; }
  python3 -c 'import fsspec
with fsspec.open("cffs:///srv/notes:/notes/1.txt") as file: assert file.read() == b"note 1\n"
print("   fsspec", fsspec.__version__, "opens cffs://")'
  python3 -m pip list 2>/dev/null | grep -x 'cffs  *[0-9.]*'
  python3 /usr/share/doc/python3-cffs/examples/dataset.py /srv/notes
  apt-get -qq install -y --no-install-recommends python3-pytest >/tmp/log 2>&1 || { tail -n 20 /tmp/log; return 1; }
  python3 -m pytest -q -p no:cacheprovider --basetemp=/tmp/pytest --rootdir=/root/cffs/python /root/cffs/python/tests | tail -n 5
}
# systemd as the first process of a namespace, in a group of its own; what it starts at once is /root/serve.
serve_them() {
  local groups=/tmp/groups group
  mkdir -p $groups
  mount -t cgroup2 none $groups 2>/dev/null || { echo "   no second version of control groups here: not tried"; return; }
  group=$groups$(sed -n 's/^0:://p' /proc/self/cgroup)/cffs-bare-$$
  apt-get -qq install -y --no-install-recommends systemd-sysv dbus >/tmp/log 2>&1 || { tail -n 20 /tmp/log; return 1; }
  cat >/root/serve <<'END'
#!/bin/bash
exec >/root/served 2>&1  # each command, for who has to find out which one failed
set -x
set -euo pipefail
mkdir -p /etc/cffs /srv/served
cffs format /srv/served_store
printf 'STORE=/srv/served_store\nMNT=/srv/served\nOPTIONS=--policy=directory\n' >/etc/cffs/try.conf
systemctl start cffs@try
test "$(systemctl show -P StatusText cffs@try)" = "serving /srv/served_store on /srv/served"
cp -r /etc /srv/served/etc
kill -9 "$(systemctl show -P MainPID cffs@try)"
for i in {1..100}; do [ "$(systemctl show -P NRestarts cffs@try)-$(systemctl is-active cffs@try)" != 1-active ] || break; sleep 0.1; done
test "$(systemctl show -P NRestarts cffs@try)" = 1
ls /srv/served >/dev/null
cd /srv/served && systemctl stop cffs@try && cd /  # in use: it ends all the same
test "$(systemctl is-active cffs@try)-$(systemctl show -P Result cffs@try)" = inactive-success
! grep ' /srv/served ' /proc/mounts
systemctl start cffs@try && systemctl stop cffs@try
cffs fsck /srv/served_store
! systemctl start cffs@without-a-file
echo 'started, ready, killed, started again, stopped'
END
  printf '[Service]\nType=oneshot\nExecStart=/bin/bash /root/serve\nExecStopPost=/usr/bin/systemctl poweroff --force\n[Install]\nWantedBy=multi-user.target\n' >/etc/systemd/system/serve.service
  mkdir -p /etc/systemd/system/multi-user.target.wants
  ln -sf ../serve.service /etc/systemd/system/multi-user.target.wants/serve.service
  ln -sf /lib/systemd/system/multi-user.target /etc/systemd/system/default.target
  cat >/root/boot <<'END'
set -e
mount -t proc none /proc
mount -t tmpfs none /sys/fs/cgroup
mount -t cgroup2 none /sys/fs/cgroup
mount -t tmpfs none /run
mount --make-rshared /
exec env -i container=lxc PATH=/usr/sbin:/usr/bin:/sbin:/bin /sbin/init
END
  mkdir "$group"
  (echo $BASHPID >"$group/cgroup.procs" && exec timeout -s KILL 180 unshare --mount --pid --fork --cgroup --uts --ipc --kill-child bash /root/boot) >/root/console 2>&1 || true
  find "$group" -depth -type d -exec rmdir {} + || true
  umount $groups
  grep -x 'started, ready, killed, started again, stopped' /root/served || { tail -n 20 /root/served /root/console; return 1; }
}
link_them() {
  apt-get -qq install -y --no-install-recommends "$packages"/*.deb cmake make g++ >/tmp/log 2>&1 || { tail -n 20 /tmp/log; return 1; }
  cmake -S docs/examples -B /tmp/example >/tmp/log && cmake --build /tmp/example >>/tmp/log 2>&1 || { tail -n 20 /tmp/log; return 1; }
  find /tmp/example -maxdepth 1 -type f -executable
}
remove_them() {
  local made
  mapfile -t made < <(dpkg-query -W -f '${Package}\n' cffs libcffs-dev python3-cffs 2>/dev/null)
  apt-get -qq purge -y "${made[@]}" >/tmp/log 2>&1 || { tail -n 20 /tmp/log; return 1; }
  if find /usr /var/lib/dpkg /var/lib/systemd -name '*cffs*' | grep . || python3 -c 'import cffs' 2>/dev/null; then return 1; fi
}
# `step` looks at how they end, so that within them the shell would go on after what fails.
export packages=/root/packages
export -f install_them use_them python_them serve_them link_them remove_them
strictly() { bash -euo pipefail -c "$1"; }
if [ "$1" = make ]; then
  steps_of bare_make 1
  step "scripts/make_packages.sh" scripts/make_packages.sh --no-lintian
elif [ "$1" = packages ]; then
  steps_of bare_packages 6
  step "installing cffs, with what it depends on" strictly install_them
  step "a store: made, filled, checked, copied out, mounted by fstab" strictly use_them
  step "the Python module, and fsspec with it" strictly python_them
  step "the service, under systemd" strictly serve_them
  step "a program that links the library" strictly link_them
  step "removing all of it" strictly remove_them
elif [ "$1" = quick ]; then
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
run_inside() {  # what
  local code=0
  setpriv --pdeathsig KILL unshare --mount --propagation slave --pid --fork --kill-child bash "$work/inside" "$root" "$1" &
  child=$!
  wait "$child" || code=$?
  child=
  [ $code = 0 ] || fail "$suite: failed, see above"
}

make_root
if [ -z "$packages" ]; then
  run_inside "${quick:+quick}"
else
  if [ "$packages" = made ]; then
    run_inside make
    packages=$checkout/build/packages-$suite
    rm -rf "$packages"
    mkdir -p "$packages"
    cp "$root"/root/cffs/build/release/packages/*.deb "$packages"
    rm -rf --one-file-system "$root"
    make_root
  fi
  mkdir "$root/root/packages"
  cp "$packages"/*.deb "$root/root/packages"
  run_inside packages
fi
echo "== $suite: all of it passed"
