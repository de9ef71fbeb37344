#!/usr/bin/env bash
# Dependencies point one way (docs/ARCHITECTURE.md). A line for each folder, lowest first: the folders whose headers it may
# include and, after the bar, the libraries that are the business of few. All else is forbidden. A line can only name folders of
# the lines above it, so no two folders include each other, over however many others; a folder without a line fails.
set -u
export LC_ALL=C
layers='
core/base        |
core/object      core/base | leveldb
core/region      core/base core/object |
core/rados       core/base core/object | rados
core/backend     core/base core/object core/region core/rados |
core/table       core/base core/object | leveldb
core/blob        core/base core/object |
core/packed      core/base core/object | zstd lz4
core/composite   core/base core/object core/packed core/table |
core/live        core/base |
core/database    core/base | sqlite3
grouping/mining  |
grouping/reference | libxml uriparser
grouping         grouping/mining grouping/reference |
core/fs          core/base core/object core/packed core/table core/blob core/composite grouping |
core/follow      core/base core/object core/table core/fs |
core/reorganise  core/base core/object core/packed core/table core/composite core/fs grouping grouping/mining grouping/reference |
core/inspect     core/base core/object core/packed core/table core/blob core/composite core/fs core/reorganise grouping |
core/repair      core/base core/object core/packed core/table core/blob core/composite core/fs |
core/plan        core/base core/object core/packed core/database core/fs core/reorganise grouping |
core/transfer    core/base core/object core/table core/fs grouping | archive
core/browse      core/base core/object core/table core/fs |
core/batch       core/base core/object core/table core/composite core/fs core/browse |
core/warm        core/base core/object core/packed core/table core/blob core/composite core/fs core/browse |
core/advise      core/base core/object core/packed core/table core/composite core/fs core/transfer grouping |
core/backup      core/base core/object core/table core/blob core/composite core/fs core/reorganise core/inspect |
fusefs           core/base core/object core/live core/region core/rados core/backend core/fs core/follow core/reorganise core/inspect core/plan core/backup | fuse liburing

replay/logs      core/base grouping/reference | archive
replay/results   core/base core/object core/backend core/table core/database | sqlite3
replay/trace     core/base core/database replay/logs | sqlite3
replay/model     core/base replay/trace |
replay/import    core/base core/object replay/logs replay/trace replay/model |
replay/analysis  core/base core/object core/table core/composite core/plan grouping grouping/mining grouping/reference replay/logs replay/trace |
replay/spark     core/base core/object grouping grouping/mining replay/logs replay/analysis |
replay/play      core/base core/object core/fs replay/trace replay/model replay/results |

bench/disk       core/base core/object fusefs | fuse
bench/passthrough core/base core/object fusefs | fuse
bench/floor      core/base core/object fusefs bench/passthrough | fuse
bench/rig        core/base core/object core/packed core/region core/backend core/fs core/reorganise core/plan replay/play replay/results bench/passthrough bench/disk |
bench/suite      core/base core/object core/region core/backend fusefs replay/trace replay/model replay/import replay/play replay/results bench/rig grouping grouping/reference |
bench/report     core/base replay/results bench/rig bench/suite |

cli              * | CLI
python/extension core/base core/object core/backend core/composite core/fs core/follow core/reorganise core/plan core/browse core/batch | pybind11
tests            core/base core/object core/fs |
tests/pool       core/base core/rados |
tests/fuzz       * |
tests/model      core/object core/fs core/follow core/reorganise core/inspect core/backup tests |
tests/crash      core/base core/object core/region core/rados core/backend core/table core/fs core/follow core/reorganise core/inspect core/repair core/backup tests tests/model tests/pool |
tests/unit       * | leveldb sqlite3 fuse archive
tests/mount      core/base fusefs tests tests/model | fuse
'

# Prints what is wrong below a directory; nothing: all is well. The second argument 1: lines without a folder are in order.
faults() {
  cd "$1" || return
  local tops=() top
  for top in core grouping fusefs replay bench cli python tests; do [ -d "$top" ] && tops+=("$top"); done
  { find "${tops[@]}" -name '*.h' -o -name '*.cc' | sed 's|/[^/]*$||' | sort -u
    grep -rHnE '^[ ]*#[ ]*include' --include='*.h' --include='*.cc' "${tops[@]}"
  } | layers=$layers lenient=${2:-0} awk '
    BEGIN {
      guarded = "pybind11 leveldb sqlite3 fuse liburing CLI archive libxml uriparser rados zstd lz4"; libraries = split(guarded, library, " ")
      n = split(ENVIRON["layers"], line, "\n")
      for (i = 1; i <= n; ++i) {
        if (line[i] == "") continue
        bar = index(line[i], "|"); words = split(substr(line[i], 1, bar - 1), word, " "); folder = word[1]
        for (w = 2; w <= words; ++w) {
          if (word[w] == "*") { for (f in known) may[folder, f] = 1; continue }
          if (!(word[w] in known)) print "the line of " folder " names " word[w] ", which has no line above it"
          may[folder, word[w]] = 1
        }
        words = split(substr(line[i], bar + 1), word, " ")
        for (w = 1; w <= words; ++w) may_library[folder, word[w]] = 1
        known[folder] = 1
      }
    }
    !/#/ {
      seen[$0] = 1
      if (!($0 in known)) print $0 " has no line in layering_test.sh"
      next
    }
    {
      from = substr($0, 1, index($0, ":") - 1); sub(/\/[^\/]*$/, "", from)
      target = $0; sub(/^[^#]*#[ ]*include[ ]*/, "", target)
      if (target ~ /^"/) {
        to = target; sub(/^"/, "", to); sub(/".*/, "", to)
        if (!sub(/\/[^\/]*$/, "", to)) { print $0 ": a header is named by its path from the top"; next }
        if (to != from && !((from, to) in may)) print $0 ": " from " must not include " to
      } else {
        sub(/^</, "", target)
        for (l = 1; l <= libraries; ++l)
          if (target ~ "^(linux/)?" library[l] "[^a-z]" && !((from, library[l]) in may_library))
            print $0 ": " from " must not include " library[l]
      }
    }
    END {
      if (!ENVIRON["lenient"]) for (folder in known) if (!(folder in seen)) print folder " has a line, but holds no code"
    }'
}

# The rules themselves: each of these includes is refused, and only these.
made=$(mktemp -d) && trap 'rm -rf "$made"' EXIT
write() { mkdir -p "$made/$(dirname "$1")" && printf '#include %s\n' "${@:2}" >"$made/$1"; }
write core/base/error.h '<string>'
write core/object/store.h '"core/base/error.h"' '<leveldb/env.h>'
write core/table/up.h '"core/fs/file_system.h"'
write core/base/library.cc '<leveldb/db.h>' '<linux/fuse.h>' '<sqlite3.h>'
write replay/logs/turn.cc '"replay/trace/trace.h"' '"line_reader.h"'
write replay/new/folder.cc '<string>'
write replay/loose.cc '<string>'
refused=$(faults "$made" 1 | sort)
expected="core/base/library.cc:1:#include <leveldb/db.h>: core/base must not include leveldb
core/base/library.cc:2:#include <linux/fuse.h>: core/base must not include fuse
core/base/library.cc:3:#include <sqlite3.h>: core/base must not include sqlite3
core/table/up.h:1:#include \"core/fs/file_system.h\": core/table must not include core/fs
replay has no line in layering_test.sh
replay/logs/turn.cc:1:#include \"replay/trace/trace.h\": replay/logs must not include replay/trace
replay/logs/turn.cc:2:#include \"line_reader.h\": a header is named by its path from the top
replay/new has no line in layering_test.sh"
if [ "$refused" != "$expected" ]; then
  echo "the test itself is wrong: of a made-up tree it says"
  diff <(echo "$expected") <(echo "$refused")
  exit 1
fi

found=$(faults "$1")
[ -z "$found" ] || { echo "$found"; exit 1; }
