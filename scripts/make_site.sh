#!/usr/bin/env bash
# Makes a site of the pages of this tree, with search, in build/site; build/site/index.html is its beginning, and needs no server and no network.
#   scripts/make_site.sh [DIR]      DIR instead of build/site
#   scripts/make_site.sh --install  installs what it needs, and makes nothing
# A link that leads nowhere, or a page that nothing leads to, is an error. Sphinx, MyST and the theme furo are installed, for this alone, into
# ~/.cache/cffs-site: Debian 12 has all three, but of furo without the script that chooses light or dark.
set -euo pipefail
cd "$(dirname "$0")/.."
fail() { echo "make_site: $*" >&2; exit 1; }

install_only=
case "${1:-}" in
  --install) install_only=1; shift ;;
  -*) fail "usage: scripts/make_site.sh [DIR] or scripts/make_site.sh --install" ;;
esac
site=$(realpath -m "${1:-build/site}")
[ ! -e "$site" ] || [ -e "$site/searchindex.js" ] || [ -z "$(ls -A "$site")" ] || fail "$site is there and is no site; name another place"
versions=(sphinx==9.0.4 myst-parser==5.2.0 furo==2025.12.19)
tools=${CFFS_SITE_TOOLS:-${XDG_CACHE_HOME:-$HOME/.cache}/cffs-site}
if [ "$(cat "$tools/versions" 2>/dev/null)" != "${versions[*]}" ]; then
  scripts/install_packages.sh python3-venv || fail "python3-venv could not be installed"
  echo "make_site: installing ${versions[*]} into $tools"
  [ -z "$(ls -A "$tools" 2>/dev/null)" ] || [ -e "$tools/versions" ] || [ -e "$tools/cffs-site" ] || fail "$tools is neither empty nor from here; name another directory in CFFS_SITE_TOOLS"
  rm -rf "$tools"
  mkdir -p "$tools" && : >"$tools/cffs-site"
  /usr/bin/python3 -m venv "$tools" && "$tools/bin/pip" install -q --disable-pip-version-check "${versions[@]}" ||
    fail "the generator could not be installed, see above; is the network up?"
  echo "${versions[*]}" >"$tools/versions"
fi

[ -z "$install_only" ] || exit 0

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/tree" "$work/static"
pages() {
  find README.md CHANGELOG.md CONTRIBUTING.md docs traces/README.md -type f \( -name '*.md' -o -path 'docs/images/*' -o -path 'docs/examples/*' \)
}
pages | while read -r page; do install -D -m 644 "$page" "$work/tree/$page"; done
cp scripts/site/conf.py "$work/tree/"
mkdir "$work/tree/static" && cp scripts/site/site.css "$work/tree/static/"

CFFS_TREE=$PWD "$tools/bin/python" -m sphinx -W --keep-going -q -j auto -b html -d "$work/doctrees" "$work/tree" "$work/html" || fail "see above"
cp "$work/html/README.html" "$work/html/index.html"
rm -rf "$work/html/.buildinfo" "$work/html/objects.inv"
# Nothing is fetched from elsewhere, by whoever reads it.
if grep -rlE '<(script|link|img)[^>]+(src|href)="(https?:)?//' --include='*.html' "$work/html"; then fail "these pages fetch from elsewhere"; fi
rm -rf "$site"
mkdir -p "$(dirname "$site")"
mv "$work/html" "$site"
echo "make_site: $(find "$site" -name '*.html' | wc -l) pages, $site/index.html"
