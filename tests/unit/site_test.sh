#!/usr/bin/env bash
# The site can be made of the pages: every link and anchor leads somewhere, and a link that does not is refused. 77: the generator is not installed.
set -euo pipefail
cd "$1"
tools=${CFFS_SITE_TOOLS:-${XDG_CACHE_HOME:-$HOME/.cache}/cffs-site}
[ -e "$tools/versions" ] || { echo "site: skipped: scripts/make_site.sh --install was not run"; exit 77; }
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
scripts/make_site.sh "$made/site"
for page in index docs/ARCHITECTURE docs/services/NGINX docs/adr/0001-stable-inode-numbers CHANGELOG search; do
  [ -s "$made/site/$page.html" ] || { echo "there is no $page.html"; exit 1; }
done
grep -q 'sendfile' "$made/site/searchindex.js" || { echo "the search does not know a word of a page"; exit 1; }

mkdir "$made/tree"
cp -r README.md CHANGELOG.md CONTRIBUTING.md docs "$made/tree/"
mkdir -p "$made/tree/traces" "$made/tree/scripts/site"
cp traces/README.md "$made/tree/traces/"
cp scripts/make_site.sh scripts/install_packages.sh "$made/tree/scripts/"
cp scripts/site/* "$made/tree/scripts/site/" 2>/dev/null || true
echo '[nothing](GONE.md) and [no place](ADVISE.md#gone)' >>"$made/tree/docs/GROUPING.md"
if said=$("$made/tree/scripts/make_site.sh" "$made/broken" 2>&1); then echo "two broken links were taken: $said"; exit 1; fi
[ "$(grep -cE 'GROUPING.md.*(GONE|gone)' <<<"$said")" = 2 ] || { echo "not two findings: $said"; exit 1; }
[ ! -e "$made/broken" ] || { echo "a site with broken links was made"; exit 1; }
