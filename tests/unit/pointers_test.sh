#!/usr/bin/env bash
# What comments and pages point to exists: every path of this tree that they name ("core/fs/homes.cc", "docs/adr"), and every
# file that a page or a header names without its folder (`homes.cc`). History (CHANGELOG, docs/adr) may name what is gone.
set -u
export LC_ALL=C
readonly kTops='core|grouping|fusefs|replay|bench|cli|python|tests|scripts|docs|traces|cmake|packaging'

# "file:line:name" for each name below a directory that leads nowhere.
dangling() {
  cd "$1" || return
  local tops=() top
  for top in ${kTops//|/ } README.md CMakeLists.txt; do [ -e "$top" ] && tops+=("$top"); done
  local -A known=()
  while IFS= read -r path; do known[${path##*/}]=1; done < <(find "${tops[@]}" -type f)
  # Without a full stop or dash at its end; tests that have made-up trees or patterns of names are left out.
  grep -rnHoP "(?<![\w./\$@~-])($kTops)/[\w./*-]*[\w*]" --include='*.h' --include='*.cc' --include='*.md' --include='*.sh' \
    --include='*.txt' --include='*.py' --include='*.1' "${tops[@]}" |
    while IFS=: read -r file line name; do
      case $file in docs/adr/* | tests/unit/layering_test.sh | tests/unit/pointers_test.sh | tests/unit/tree_test.sh) continue ;; esac
      [[ $name =~ /NAME(\.|$) ]] && continue
      compgen -G "$name" >/dev/null || compgen -G "$name.*" >/dev/null || echo "$file:$line:$name"
    done
  grep -rnHoP '(?<![\w./<-])[a-z][a-z0-9]*_?[a-z0-9_]*\.(h|cc)\b' --include='*.md' --include='*.h' "${tops[@]}" |
    while IFS=: read -r file line name; do
      case $file in docs/adr/*) continue ;; replay/* | tests/* | bench/*) [[ $file == *.md ]] || continue ;; esac
      [ -n "${known[$name]:-}" ] || echo "$file:$line:$name"
    done
}

# The rules themselves.
made=$(mktemp -d) && trap 'rm -rf "$made"' EXIT
mkdir -p "$made/core/fs" "$made/docs/adr"
cat >"$made/core/fs/homes.h" <<'END'
// See core/fs/homes.h, core/fs, core/fs/home* and moves.h; not core/fs/gone.cc. <system.h>
#include "core/fs/lost.h"
END
echo 'core/fs/homes (both files), `homes.h`, `away.cc`, tests/suites/NAME.sh, docs/adr.' >"$made/docs/page.md"
echo 'core/fs/before.cc was here' >"$made/docs/adr/0001.md"
expected='core/fs/homes.h:1:core/fs/gone.cc
core/fs/homes.h:1:moves.h
core/fs/homes.h:2:core/fs/lost.h
docs/page.md:1:away.cc'
found=$(dangling "$made" | sort)
[ "$found" = "$expected" ] || { echo "the test itself is wrong: of a made-up tree it says"; diff <(echo "$expected") <(echo "$found"); exit 1; }

found=$(dangling "$1")
[ -z "$found" ] || { echo "named, but not there:"; echo "$found"; exit 1; }
