#!/usr/bin/env bash
# File system benchmarks, run for what they check rather than for their figures: dbench, fsmark, postmark, bonnie++.
. "$(dirname "$0")/suite.sh" "$@"
require dbench fs_mark postmark bonnie++

case_dbench() {
  fresh_mount || return 1
  local loadfile=/usr/share/dbench/client.txt
  check "dbench, 4 clients" limited 200 dbench -c $loadfile -D "$mnt" -t "$([ -n "$long" ] && echo 60 || echo 4)" 4
  check "dbench, synchronous" limited 200 dbench -c $loadfile -D "$mnt" -t 2 -s -S 2
  finish
}

case_fsmark() {
  fresh_mount || return 1
  # It writes past the end of a buffer where a path is long, and a log where it stands.
  mark() { ( cd "$mnt" && limited 200 fs_mark -k -l "$base/work/fs_log" "$@" ); }
  # A directory for each of its processes: they draw the names from the microsecond in which they began, and where both
  # began in the same one, about one run in 400, each name is made twice.
  check "fs_mark, no sync" mark -d plain-0 -d plain-1 -s 10240 -n 2000 -S 0 -t 2
  check "fs_mark, fsync of each file" mark -d synced-0 -d synced-1 -s 4096 -n 200 -S 1 -t 2
  local directory number
  for directory in plain-0:2000 plain-1:2000 synced-0:200 synced-1:200; do
    number=$(find "$mnt/${directory%:*}" -type f | wc -l)
    check "fs_mark left ${directory#*:} files in ${directory%:*}: $number" test "$number" = "${directory#*:}"
  done
  finish
}

case_postmark() {
  fresh_mount || return 1
  printf '%s\n' "set location $mnt" 'set number 1000' 'set transactions 3000' 'set size 500 30000' 'set read 4096' run quit >"$base/work/postmark"
  check "postmark" limited 200 postmark "$base/work/postmark"
  check "postmark removed all" test -z "$(ls "$mnt")"
  finish
}

case_bonnie() {
  fresh_mount || return 1
  check "bonnie++" limited 300 bonnie++ -d "$mnt" -s 64 -r 32 -n 2:20000:100:4 -u root -q -f
  finish
}

run_cases dbench fsmark postmark bonnie -- "${suite_arguments[@]}"
