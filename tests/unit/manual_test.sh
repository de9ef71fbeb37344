#!/usr/bin/env bash
# Every command has a manual page, with every option of its --help; what formats pages has nothing to complain of.
#   manual_test.sh SOURCE BUILD
set -uo pipefail
source=$1 build=$2
cffs=$build/cffs
export LC_ALL=C.UTF-8
failures=0
wrong() { echo "$*"; failures=$((failures + 1)); }

pages=0
look() {  # command words
  local page=$build/manual/cffs-$(IFS=-; echo "$*").1 help option sub
  help=$("$cffs" "$@" --help)
  pages=$((pages + 1))
  [ -s "$page" ] || { wrong "no page for cffs $*"; return; }
  for option in $(sed -n '/^Options:/,/^[A-Z]/s/^  \(-[^ {[]*\).*/\1/p' <<<"$help" | tr , ' '); do
    grep -qF -- "\\fB$(sed 's/-/\\-/g' <<<"$option")\\fR" "$page" || wrong "cffs $*: $option is not in its page"
  done
  if grep -q '^Example' <<<"$help"; then grep -q '^.SH EXAMPLES' "$page" || wrong "cffs $*: its examples are not in its page"; fi
  for sub in $(sed -n '/^Subcommands:/,/^$/s/^  \([a-z][^ ]*\).*/\1/p' <<<"$help"); do look "$@" "$sub"; done
}
for command in $("$cffs" --help | sed -n '/^Subcommands:/,/^$/s/^  \([a-z][^ ]*\).*/\1/p'); do look "$command"; done
[ $pages -gt 20 ] || wrong "only $pages pages"
[ "$(ls "$build/manual" | wc -l)" = $pages ] || wrong "$(ls "$build/manual" | wc -l) pages for $pages commands"

# CLI11 2.4 refuses an argument's name with one of these, and with it every command; 2.1 takes it.
refused=$(grep -rPzo --include='*.cc' 'add_(option|flag|store_argument)\([^"()]*"[^"-][^"]*[ :={][^"]*"' "$source/cli" | tr '\0' '\n' | tr -s ' \n' ' ')
[ -z "$refused" ] || wrong "names that newer CLI11 refuses: $refused"

# The overview's words are in the pages of its commands.
grep -q 'takes it over\|taken over' "$build/manual/cffs-mount.1" || wrong "cffs-mount.1 lacks what the overview says of it"

all=("$build"/manual/*.1 "$source"/docs/man/*.[18])
if command -v mandoc >/dev/null; then
  said=$(mandoc -T lint -W warning "${all[@]}" 2>&1)
  [ -z "$said" ] || wrong "mandoc: $said"
else
  echo "no mandoc here: not asked"
fi
if command -v groff >/dev/null && groff -man -Tutf8 /dev/null >/dev/null 2>&1; then
  for page in "${all[@]}"; do
    said=$(groff -man -ww -Tutf8 "$page" 2>&1 >/dev/null)
    [ -z "$said" ] || wrong "groff: $said"
  done
else
  echo "no groff with its macros here: not asked"
fi
echo "$pages pages, $failures failures"
[ $failures = 0 ]
