#!/usr/bin/env bash
# The Debian packages of this build: what is in them, what they depend on, and that lintian, where it is installed, finds no error.
#   packages_test.sh BUILD PYTHON      77: this is no Debian, or has no dpkg-shlibdeps
# scripts/bare_machine.sh 12 --packages=DIR installs and uses them.
set -uo pipefail
build=$1 python=$2
command -v dpkg-shlibdeps >/dev/null && command -v cpack >/dev/null || { echo "no dpkg-shlibdeps or cpack here: not tried"; exit 77; }
work=$(mktemp -d "${TMPDIR:-/tmp}/cffs-packages.XXXXXX")
trap 'rm -rf "$work"' EXIT
failures=0
wrong() { echo "$*"; failures=$((failures + 1)); }

(umask 022 && cd "$work" && cpack --config "$build/CPackConfig.cmake" -G DEB -B "$work/out") >"$work/log" 2>&1 || { tail -n 20 "$work/log"; exit 1; }
command=$(ls "$work"/out/cffs_*.deb) library=$(ls "$work"/out/libcffs-dev_*.deb) || { ls "$work/out"; exit 1; }

holds() {  # package path...
  local package=$1 path list
  list=$(dpkg-deb -c "$package" | awk '{ print $6 }')
  shift
  for path in "$@"; do grep -qxF "./$path" <<<"$list" || wrong "$(basename "$package") lacks $path"; done
}
holds "$command" usr/bin/cffs usr/sbin/mount.cffs usr/sbin/mount.fuse.cffs usr/sbin/mount.fuseblk.cffs \
  usr/lib/systemd/system/cffs@.service usr/share/man/man1/cffs.1.gz usr/share/man/man1/cffs-mount.1.gz usr/share/man/man8/mount.cffs.8.gz \
  usr/share/bash-completion/completions/cffs usr/share/zsh/site-functions/_cffs usr/share/fish/vendor_completions.d/cffs.fish \
  usr/share/doc/cffs/copyright usr/share/doc/cffs/changelog.gz usr/share/doc/cffs/changelog.Debian.gz
# What cffs analyze --engine=spark starts, whole.
spark=$(cd "$(dirname "$0")/../../replay/spark" && ls cffs_spark.py cffs_on_spark/*.py | sed 's,^,usr/share/cffs/spark/,') && holds "$command" $spark
holds "$library" usr/include/cffs/core/fs/file_system.h usr/share/doc/libcffs-dev/copyright
dpkg-deb -c "$command" | awk '$6 !~ /^\.\/usr\// && $6 != "./"' | grep . && wrong "cffs has files outside of /usr"
twice=$(for package in "$work"/out/*.deb; do dpkg-deb -c "$package" | awk '$1 !~ /^d/ { print $6 }'; done | sort | uniq -d)
[ -z "$twice" ] || wrong "two packages have the same file: $twice"
for package in "$command" "$library"; do
  dpkg-deb -c "$package" | grep -E "dist-packages|_engine" && wrong "$(basename "$package") has files of the Python package"
done
for needed in libfuse3 libleveldb1d libc6 fuse3; do
  grep -q "$needed" <<<"$(dpkg-deb -f "$command" Depends)" || wrong "cffs does not depend on $needed: $(dpkg-deb -f "$command" Depends)"
done
# The unit starts the program that the package has, and names its pages.
dpkg-deb -x "$command" "$work/root"
grep -q '^ExecStart=/usr/bin/cffs mount' "$work/root/usr/lib/systemd/system/cffs@.service" || wrong "the unit starts another program"
[ "$("$work/root/usr/bin/cffs" --version)" = "cffs $(dpkg-deb -f "$command" Version | sed 's/-.*//')" ] || wrong "the program is of another version"
# The module, as the distribution's Python finds it once it is installed.
module=$(compgen -G "$work/out/python3-cffs_*.deb")
if [ -n "$module" ]; then
  version=$(dpkg-deb -f "$module" Version | sed 's/-.*//')
  minor=$("$python" -c 'import sys; print(sys.version_info.minor)')
  place=usr/lib/python3/dist-packages
  holds "$module" $place/cffs/__init__.py $place/cffs/store.py $place/cffs/fsspec.py "$place/cffs/_engine.$("$python" -c 'import sysconfig; print(sysconfig.get_config_var("SOABI"))').so" \
    "$place/cffs-$version.dist-info/METADATA" "$place/cffs-$version.dist-info/entry_points.txt" \
    usr/share/doc/python3-cffs/copyright usr/share/doc/python3-cffs/changelog.gz usr/share/doc/python3-cffs/examples/dataset.py
  dpkg-deb -c "$module" | grep -E '__pycache__|RECORD$' && wrong "python3-cffs has byte code, or a list of files, which are dpkg's to make"
  for needed in "python3 (>= 3.$minor~)" "python3 (<< 3.$((minor + 1)))" libleveldb1d libc6; do
    grep -qF "$needed" <<<"$(dpkg-deb -f "$module" Depends)" || wrong "python3-cffs does not depend on $needed: $(dpkg-deb -f "$module" Depends)"
  done
  dpkg-deb -e "$module" "$work/control"
  grep -q 'py3compile -p python3-cffs' "$work/control/postinst" && grep -q 'py3clean -p python3-cffs' "$work/control/prerm" ||
    wrong "python3-cffs compiles no byte code, or leaves it behind"
  dpkg-deb -x "$module" "$work/python"
  (cd "$work" && PYTHONPATH=$work/python/$place PYTHONDONTWRITEBYTECODE=1 "$python" - "$version" <<'END') || wrong "the packed module does not work, see above"
import sys
from importlib.metadata import entry_points, version
import cffs
assert cffs.__file__.startswith(sys.path[1]), cffs.__file__
assert version("cffs") == cffs.__version__ == sys.argv[1], (version("cffs"), cffs.__version__)
found = [point.value for point in entry_points(group="fsspec.specs") if point.name == "cffs"]
assert found == ["cffs.fsspec:CffsFileSystem"], found
cffs.format("store")
with cffs.Store("store", "r+") as store:
    store.write("/a", b"text")
with cffs.open("store:/a") as file:
    assert file.read() == b"text"
END
elif grep -q '^set(CPACK_COMPONENTS_ALL ".*python' "$build/CPackConfig.cmake"; then
  wrong "no python3-cffs was made"
else
  echo "no Python module in this build: not asked"
fi
if command -v lintian >/dev/null; then
  lintian --allow-root --fail-on error "$work"/out/*.deb || wrong "lintian found errors"
else
  echo "no lintian here: not asked"
fi
echo "$failures failures"
[ $failures = 0 ]
