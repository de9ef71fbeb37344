#!/usr/bin/env bash
# Installs Apache Spark for `cffs analyze --engine=spark`: pyspark and what it needs from PyPI, pinned and checked by their hashes,
# in a virtual environment of its own, and Java from Debian.
#   scripts/install_spark.sh [DIR]     by itself ${CFFS_SPARK}, else ${XDG_DATA_HOME:-~/.local/share}/cffs/spark
# Does nothing where the same is there. On a cluster, the same DIR on each worker.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)

case "${1:-}" in
  -h|--help) sed -n '2,6s/^# \{0,1\}//p' "$0"; exit 0 ;;
  -*) echo "install_spark: unknown option '$1'; there is: [DIR]" >&2; exit 2 ;;
esac
place=${1:-${CFFS_SPARK:-${XDG_DATA_HOME:-$HOME/.local/share}/cffs/spark}}
fail() { echo "install_spark: $*" >&2; exit 1; }

# Spark 3.5 is the last that runs on Java 17 and Python 3.11 alike, which Debian 12 has. pyspark is a source package: setuptools
# and wheel build it, pinned like the rest.
building='setuptools==70.3.0 --hash=sha256:fe384da74336c398e0d956d1cae0669bc02eed936cdb1d49b57de1990dc11ffc
wheel==0.43.0 --hash=sha256:55c570405f142630c6b9f72fe09d9b67cf1477fcf543ae5b8dcb1f5b7377da81'
needed='pyspark==3.5.5 --hash=sha256:6effc9ce98edf231f4d683fd14f7270629bf8458c628d6a2620ded4bb34f3cb9
py4j==0.10.9.7 --hash=sha256:85defdfd2b2376eb3abf5ca6474b51ab7e0de341c75a02f46dc9b5976f5a5c1b
numpy==1.26.4 --hash=sha256:666dbfb6ec68962c033a450943ded891bed2d54e6755e35e5835d63f4f6931d5 --hash=sha256:7ab55401287bfec946ced39700c053796e7cc0e3acbef09993a9ad2adba6ca6e
pyarrow==15.0.2 --hash=sha256:90adb99e8ce5f36fbecbbc422e7dcbcbed07d985eed6062e459e23f9e71fd197 --hash=sha256:3a4f240852b302a7af4646c8bfe9950c4691a419847001178662a98915fd7ee7
pandas==2.2.2 --hash=sha256:6d2123dc9ad6a814bcdea0f099885276b31b24f7edf40f6cdbc0912672e22eee --hash=sha256:58b84b91b0b9f4bafac2a0ac55002280c094dfc6402402332c0913a59654ab2b
python-dateutil==2.9.0.post0 --hash=sha256:a8b2bc7bffae282281c8140a97d3aa9c14da0b136dfe83f850eea9a5f7470427
pytz==2024.1 --hash=sha256:328171f4e3623139da4983451950b28e95ac706e13f3f2630a879749e7a8b319
tzdata==2024.1 --hash=sha256:9068bc196136463f5245e51efda838afa15aaeca9903f49050dfa2679db4d252
six==1.16.0 --hash=sha256:8abb2f1d86890a2dfb989f9a77cfcfd3e47c2a354b01111771326f8aa26e0254'
sum=$(printf '%s\n%s\n' "$building" "$needed" | sha256sum | cut -d ' ' -f 1)
[ "$(cat "$place/installed" 2>/dev/null)" != "$sum" ] || exit 0

# What another version left, or who was interrupted, is not mixed with this: it goes first. Nothing else does, so what is in the way must have
# the mark of this script, or be what versions without one have made: a virtual environment, and the sum of what is in it.
made_here() {
  [ "$(cat "$place/made_by" 2>/dev/null)" = install_spark.sh ] || { [ -e "$place/pyvenv.cfg" ] && grep -qxE '[0-9a-f]{64}' "$place/installed" 2>/dev/null; }
}
if [ -n "$(ls -A "$place" 2>/dev/null)" ] && ! made_here; then
  fail "$place is neither empty nor what this script has made: name another directory"
fi

# A Java that is there is used, whoever installed it.
packages=()
[ -n "${JAVA_HOME:-}" ] || command -v java >/dev/null || packages+=(openjdk-17-jre-headless)
python=/usr/bin/python3  # Debian's own, whatever else is on the path
[ -x $python ] && $python -c 'import ensurepip' 2>/dev/null || packages+=(python3-venv)
[ ${#packages[@]} = 0 ] || "$here/install_packages.sh" "${packages[@]}"
[ "$($python -c 'import sys; print("%d.%d" % sys.version_info[:2])')" = 3.11 ] || python=$(command -v python3.11) ||
  fail "Spark 3.5 wants Python 3.11, which is neither /usr/bin/python3 nor in PATH: install it"

rm -rf "$place"
mkdir -p "$place" && echo "install_spark.sh" >"$place/made_by" && : >"$place/install.log"
$python -m venv "$place" || fail "no virtual environment could be made in $place, see above"
log=$place/install.log
pip() {
  "$place/bin/python" -m pip install --quiet --no-deps --require-hashes --no-build-isolation --disable-pip-version-check \
    -r /dev/stdin "$@" >>"$log" 2>&1 && return
  tail -n 5 "$log" >&2
  fail "pip failed, see above and $log; is pypi.org reachable?"
}
echo "   downloading Spark 3.5.5 (380 MB) to $place"
pip <<<"$building"
pip <<<"$needed"
echo "$sum" >"$place/installed"
