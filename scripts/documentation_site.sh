#!/usr/bin/env bash
# Makes a site of real HTML out of documentation packages of this Debian: they are downloaded and unpacked below a directory,
# not installed. For `cffs bench web-server --site=DIR`.
set -euo pipefail

packages=(apache2-doc sqlite3-doc git-doc bash-doc exim4-doc-html debian-reference-en)
usage() {
  cat <<USAGE
usage: scripts/documentation_site.sh DIR [PACKAGE...]
  DIR      new, or empty: a directory for each package
  PACKAGE  with HTML in it; by default ${packages[*]}
USAGE
}
fail() { echo "documentation_site: $*" >&2; exit 1; }
case ${1:-} in
  -h|--help) usage; exit 0 ;;
  ''|-*) usage >&2; exit 2 ;;
esac
mkdir -p "$1" || fail "cannot make $1"
site=$(cd "$1" && pwd)
shift
[ $# = 0 ] || packages=("$@")
[ -z "$(ls -A "$site")" ] || fail "$site is not empty; name a new directory"
command -v apt-get >/dev/null || fail "apt-get is not there: the packages are Debian's"

work=$(mktemp -d "${TMPDIR:-/tmp}/cffs-site.XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
cd "$work"
download() { apt-get -qq -o APT::Sandbox::User=root download "$1" >apt.log 2>&1; }
for package in "${packages[@]}"; do
  download "$package" || { apt-get -qq update >/dev/null 2>&1 && download "$package"; } ||
    fail "$package cannot be downloaded ($(tail -n 1 apt.log)); name packages that this Debian has"
  dpkg-deb -x ./*.deb unpacked
  rm ./*.deb
  # Pages, and what they embed: documentation lies below share, here or there.
  mkdir "$site/$package"
  cp -R --no-dereference unpacked/usr/share/. "$site/$package"
  rm -rf unpacked
  find "$site/$package" ! -type f ! -type d -delete
  echo "   $package: $(find "$site/$package" -type f | wc -l) files, $(find "$site/$package" -type f \( -name '*.html' -o -name '*.htm' \) | wc -l) pages"
done
echo "$site: $(find "$site" -type f | wc -l) files, $(du -sh --apparent-size "$site" | cut -f1)"
