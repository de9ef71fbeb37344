#!/usr/bin/env bash
# Installs what the tests of tests/suites and tests/services run: packages, two crates, a source package, fsspec.
#   scripts/install_suites.sh [--sources]     --sources: also git's, built, for its own tests (minutes)
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)

sources=
case "${1:-}" in
  '') ;;
  --sources) sources=1 ;;
  *) echo "install_suites: unknown option '$1'; there is: --sources" >&2; exit 1 ;;
esac
tools=${CFFS_SUITE_TOOLS:-${XDG_CACHE_HOME:-$HOME/.cache}/cffs-suites}
mkdir -p "$tools/sources"

# Debian's own Python, whatever else is on the path.
python3_minor() { basename "$(readlink -f /usr/bin/python3)" | cut -d. -f2; }
packages=(ca-certificates acl attr libcap2-bin fio stress-ng dbench fsmark postmark bonnie++ postgresql dpkg-dev "libpython3.$(python3_minor)-testsuite" sqlite3 git rsync make gcc)
# The crates want a newer Rust than Debian 12's own; a rustup that is there is used.
command -v cargo >/dev/null || packages+=("$(apt-cache show cargo-web >/dev/null 2>&1 && echo cargo-web || echo cargo)")
[ -z "$sources" ] || packages+=(libssl-dev libcurl4-openssl-dev zlib1g-dev libexpat1-dev gettext)
"$here/install_packages.sh" "${packages[@]}"

# The services that are tried on a mount, and their clients.
"$here/install_packages.sh" curl fcgiwrap samba samba-vfs-modules smbclient nfs-ganesha nfs-ganesha-vfs libnfs-utils rpcbind sshfs openssh-sftp-server ||
  echo "install_suites: without these packages tests services_* are skipped" >&2

crate() {  # name, version
  [ -x "$tools/bin/$1" ] && return
  echo "== building the crate $1 $2"
  cargo install --quiet --locked --root "$tools" --version "$2" "$1" || {
    echo "install_suites: cargo could not build $1 $2, see above; is crates.io reachable?" >&2
    exit 1
  }
}
crate pjdfstest 0.2.2
crate fsx 0.3.2

# fsspec with its own tests, which Debian 12's is too old for; the test "suite_fsspec" runs them on the Python package.
if [ ! -x "$tools/python/bin/pytest" ]; then
  "$here/install_packages.sh" python3-venv
  [ -z "$(ls -A "$tools/python" 2>/dev/null)" ] || [ -e "$tools/python/pyvenv.cfg" ] ||
    { echo "install_suites: $tools/python is no virtual environment: name another directory in CFFS_SUITE_TOOLS" >&2; exit 1; }
  rm -rf "$tools/python"
  /usr/bin/python3 -m venv "$tools/python" && "$tools/python/bin/pip" install -q --disable-pip-version-check fsspec==2025.9.0 pytest==8.4.2 ||
    { rm -rf "$tools/python"; echo "install_suites: without fsspec the test \"suite_fsspec\" is skipped; is PyPI reachable?" >&2; }
fi

# What makes a site of the pages, which the test "site" does.
"$here/make_site.sh" --install || echo "install_suites: without it the test \"site\" is skipped" >&2

. "$here/source_packages.sh"
fetch() {  # source package
  ( cd "$tools/sources" && source_packages "$tools/apt" source -q --download-only "$1" >/dev/null ) || {
    echo "install_suites: the source package $1 could not be fetched" >&2
    exit 1
  }
}
ls "$tools"/sources/hello_*.orig.tar.* >/dev/null 2>&1 || fetch hello
if [ -n "$sources" ] && [ ! -x "$tools/sources/git/t/helper/test-tool" ]; then
  fetch git
  echo "== building git's test helpers"
  rm -rf "$tools/sources/git" && mkdir "$tools/sources/git"
  tar -C "$tools/sources/git" --strip-components=1 -xf "$(ls "$tools"/sources/git_*.orig.tar.* | tail -n 1)"
  make -C "$tools/sources/git" -s -j"$(nproc)" NO_TCLTK=1 >/dev/null 2>&1 || {
    echo "install_suites: git's sources do not build" >&2
    exit 1
  }
fi
