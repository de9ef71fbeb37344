# What cffs says to who mistypes, interrupts, or finds a mount without its daemon. Sourced by acceptance.sh.

says() {  # pattern command...: whatever it ends with
  local pattern=$1 output
  shift
  output=$("$@" 2>&1)
  grep -Eq -- "$pattern" <<<"$output" || { echo "said '$output' instead of '$pattern'"; return 1; }
}
# The daemon has begun to regroup.
regroups() { grep -q '"state": "running"' <<<"$(getfattr --absolute-names --only-values -n user.cffs.regroup "$mnt")"; }

case_manners() {
  check "a command mistyped" refused "no command 'exprot'; the nearest is export; all commands: cffs --help" "$cffs" exprot
  check "another program's word" refused "the nearest is umount;" "$cffs" unmount "$mnt"
  check "a command's command" refused "cffs bench: no command 'redas'; the nearest is reads" "$cffs" bench redas
  check "an option mistyped" refused "cffs import: no option '--polcy'; the nearest is --policy; all options: cffs import --help" "$cffs" import --polcy x a b
  check "an error names the command's own help" refused "DEST is required; see cffs export --help" "$cffs" export a
  check "a command alone shows how it is used" says "cffs import /var/www" "$cffs" import
  # Each of those that want an argument.
  local command
  for command in $("$cffs" --help | sed -n '/^Subcommands:/,$s/^  \([a-z]*\) .*/\1/p'); do
    case $command in list | doctor | help) continue ;; esac
    check "cffs $command alone" says "^  cffs $command |^  ssh .* cffs $command" "$cffs" "$command"
  done
  check "cffs alone shows all of them" says "^  export  " "$cffs"
  check "a short option mistyped" refused "cffs import: no option '-r'; all options: cffs import --help" "$cffs" import -r a b
  check "an option without its value" refused "cffs format: --compress= has no value; see cffs format --help" "$cffs" format --compress= "$base/work/new"
  check "an argument that is missing" refused "B is required; see cffs diff --help" "$cffs" diff a
  mkdir -p "$base/work"
  check "a directory that is no store is not to become one" refused "cffs format makes one of a new or an empty directory" "$cffs" stat "$base/work"
  check "one compressed file is no archive" refused "archives are written as .tar or" "$cffs" export a "$base/work/a.zst"
  check "help of a command" says "^Usage: cffs trace show " "$cffs" help trace show
  check "the same by --help" says "^Usage: cffs trace show " "$cffs" trace show --help
  check "help of a topic" says "keeps a reserve" "$cffs" help full-disk
  check "all topics" says "^  exit-status " "$cffs" help
  check "help of what is not there" refused "the nearest is export" "$cffs" help exprot

  fresh --dedupe || return 1
  check "import" "$cffs" import --quiet "$source_tree" "$store"
  check "mount" "$cffs" mount "$store" "$mnt"
  check "list" says "^$mnt\$" "$cffs" list
  check "list for programs" bash -c "'$cffs' list --json | python3 -c \"import json,sys; m = next(m for m in json.load(sys.stdin) if m['mount_point'] == '$mnt'); assert m['state'] == 'in use' and m['pid'] == $(daemon_pid), m\""
  check "in use, and where" refused "is in use by pid .*; it is mounted on $mnt\$" "$cffs" fsck "$store"
  for command in "fsck --repair" "salvage TO" "copy TO"; do
    local words=(${command% TO} "$store")
    [ "${command% TO}" = "$command" ] || words+=("$base/work/new")
    check "the same for ${words[0]}" refused "store $store is in use by pid .*; it is mounted on $mnt\$" "$cffs" "${words[@]}"
    check "and nothing was made" test ! -e "$base/work/new"
  done
  mkdir -p "$base/work/other"
  check "the same for who mounts it again" refused "is in use by pid .*; it is mounted on $mnt\$" "$cffs" mount "$store" "$base/work/other"
  check "nothing to cancel" refused "no regrouping of $mnt is under way" "$cffs" regroup --cancel "$mnt"
  # A shell has what it starts in the background ignore Ctrl-C.
  env --default-signal=INT "$cffs" regroup --policy=none "$mnt" >"$base/work/regroup" 2>&1 &
  local watcher=$!
  check "the daemon regroups" within 20 regroups
  kill -INT $watcher
  wait $watcher
  check "who stops watching is told that it goes on" grep -q "is regrouped on by its daemon; to end that: cffs regroup --cancel $mnt" "$base/work/regroup"
  check "it does" regroups
  check "cancel" says "has ended; what was moved stays moved" "$cffs" regroup --cancel "$mnt"
  check "which left the rest" bash -c "getfattr --absolute-names --only-values -n user.cffs.regroup '$mnt' | grep -q '\"stopped\": true'"
  check "diff after that" same "$source_tree" "$mnt"
  check "and it can be begun again" "$cffs" regroup --policy=directory --quiet "$mnt"
  "$cffs" regroup --policy=none "$mnt" >"$base/work/regroup" 2>&1 &
  watcher=$!
  check "it regroups" within 20 regroups
  check "somebody else cancels it" "$cffs" regroup --cancel "$mnt"
  wait $watcher
  check "which is no success for who asked for it" test $? = 1
  check "who is told" grep -q "it was interrupted; what was moved stays moved" "$base/work/regroup"
  local free available
  free=$("$cffs" stat --json "$mnt" | python3 -c "import json,sys; print(json.load(sys.stdin)['backing_available_bytes'] >> 30)")
  available=$(df --output=avail -B1 "$base" | tail -n 1)
  [ "$store" = "${store#"$base/"}" ] || [ -n "${image:-}" ] || check "free room as df counts it" test $((free - (available >> 30))) -ge -1 -a $((free - (available >> 30))) -le 1
  kill -9 "$(daemon_pid)"
  flock --wait 30 "$lock" true
  check "a dead mount is explained" refused "the daemon of this mount is gone; .* cffs umount $mnt, then cffs mount $store $mnt" "$cffs" stat "$mnt"
  check "by each command" refused "the daemon of this mount is gone" "$cffs" export "$mnt:linux" "$base/work/out"
  "$cffs" fsck "$mnt" 2>/dev/null
  check "which is no check that mended all" test $? = 8
  "$cffs" diff "$mnt" "$base/work" 2>/dev/null
  check "nor a difference" test $? = 2
  check "and listed" says "^  store $store, dead" "$cffs" list
  check "what helps: umount" "$cffs" umount "$mnt"
  check "and mount" "$cffs" mount "$store" "$mnt"
  check "diff" same "$source_tree" "$mnt"
  check "umount" "$cffs" umount "$mnt"
  check "fsck" "$cffs" fsck "$store"
}

# A store of many small composites and a large file, so that there is something in the midst of which a command can be interrupted.
many_composites() {
  rm -rf "$store" "$base/work/many"
  mkdir -p "$base/work/many"
  python3 - "$base/work/many" <<'PYTHON'
import os, sys
for d in range(40):
    os.mkdir(f'{sys.argv[1]}/{d}')
    for f in range(20):
        with open(f'{sys.argv[1]}/{d}/{f}', 'wb') as out:
            out.write(f'{d} {f} '.encode() * 1000)
with open(f'{sys.argv[1]}/large', 'wb') as out:
    out.write(os.urandom(256 << 20))
PYTHON
  "$cffs" format --composite-max=32K "$store" && "$cffs" import --quiet "$base/work/many" "$store"
}
# seconds pattern command...: on a terminal of its own; Ctrl-C is typed once the pattern is to be seen. Output and status as they were.
# The last line is "status N".
typed() {
  python3 - "$@" <<'PYTHON'
import os, pty, re, select, signal, sys, time
seconds, pattern, command = float(sys.argv[1]), sys.argv[2].encode(), sys.argv[3:]
pid, master = pty.fork()
if pid == 0:
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    os.execvp(command[0], command)
shown, typed, end = b'', False, time.monotonic() + seconds
while time.monotonic() < end:
    if not select.select([master], [], [], 0.2)[0]:
        continue
    try:
        some = os.read(master, 65536)
    except OSError:
        break
    if not some:
        break
    shown += some
    if pattern and not typed and re.search(pattern, shown):
        typed = True
        os.write(master, b'\x03')
else:
    os.kill(pid, signal.SIGKILL)
status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
sys.stdout.write(shown.decode(errors='replace').replace('\r', '\n'))
print(f'status {status}')
PYTHON
}
interrupted() {  # what it says then, seen before, command...
  local sentence=$1 output
  shift
  output=$(typed 60 "$@")
  grep -q '^status 130$' <<<"$(tail -n 1 <<<"$output")" && grep -Eq -- "$sentence" <<<"$output" || { echo "ended with '$output'"; return 1; }
}

case_interrupted() {
  check "a store of many composites" many_composites || return 1
  # Reading and writing take their time, as on a slow disk: there is a middle, however fast the machine is.
  local slow=(strace -f -qq -o /dev/null -e trace=pread64,pwrite64 -e inject=pread64,pwrite64:delay_enter=10000 "$cffs")
  check "fsck is interrupted" interrupted "the check was interrupted" 'reading the table' "${slow[@]}" fsck --jobs=1 "$store"
  local out=$base/work/out
  rm -rf "$out"
  check "export is interrupted" interrupted "what has come stays, the same command goes on" '[1-9][0-9]* files, ' "${slow[@]}" export "$store" "$out"
  check "no half files" bash -c "find '$out' -type f | while read -r f; do cmp \"\$f\" '$base/work/many/'\"\${f#'$out/'}\" || echo differs; done | grep . && exit 1 || true"
  check "it goes on" says "were there already" "$cffs" export "$store" "$out"
  check "and is done" same "$base/work/many" "$out"
  check "an export to an archive is" interrupted "interrupted; nothing was written" ' files, ' "${slow[@]}" export "$store" "$base/work/out.tar"
  check "of which nothing is there" test ! -e "$base/work/out.tar"
  check "another store" bash -c "rm -rf '$base/work/another' && '$cffs' format '$base/work/another'"
  check "import is interrupted" interrupted "what has come stays, the same command goes on" ' files, ' "${slow[@]}" import "$base/work/many" "$base/work/another"
  check "so it is before anything has come" bash -c "sleep 4 | timeout --preserve-status -s INT 2 '$cffs' import --quiet - '$base/work/another' 2>'$base/work/err'; test \${PIPESTATUS[1]} = 130 && grep -q 'it was interrupted' '$base/work/err' && ! grep -q 'Interrupted system call' '$base/work/err'"
  check "which leaves it closed" bash -c "'$cffs' import --quiet '$base/work/many' '$base/work/another' 2>&1 | grep 'checking all rows' && exit 1 || true"
  check "diff" "$cffs" diff "$base/work/another" "$base/work/many"
  rm -rf "$base/work/another" "$out"
  check "regroup is interrupted" interrupted "what was moved stays moved, the same command goes on" 'moving: [0-9]* of 800 files' "${slow[@]}" regroup --policy=none "$store"
  check "fsck behind it" says "clean" "$cffs" fsck "$store"
  check "it goes on" says 'moved ([0-9]{1,2}|[1-7][0-9]{2}) of ' "$cffs" regroup --policy=none "$store"
  check "and is done" says "moved 0 of 0 files" "$cffs" regroup --policy=none "$store"
  check "back" "$cffs" regroup --policy=directory --quiet "$store"
  check "scrub is interrupted" interrupted "not finished, run it again to go on" 'reading: .* of ' "$cffs" scrub --rate=20M "$store"
  check "it knows how far it came" says "not finished, run it again" "$cffs" scrub --status "$store"
  "$cffs" scrub --status "$store" >/dev/null
  check "which is not that nothing is damaged" test $? = 8
  check "it goes on to the end" says "^$store: .*, 0 damaged(, [0-9]+ large files got checksums)?\$" "$cffs" scrub "$store"
  mkdir -p "$mnt"
  check "mount" "$cffs" mount --quiet=10000 "$store" "$mnt"
  check "most of the files go" bash -c "cd '$mnt' && find . -name '*[0-6]' -type f -delete && sync -f ."
  kill -9 "$(daemon_pid)"
  flock --wait 30 "$lock" true
  check "umount" "$cffs" umount "$mnt"
  check "compact is interrupted" interrupted "what was compacted stays so, the same command goes on" 'compacting: [0-9]* of ' "${slow[@]}" compact "$store"
  check "fsck behind that" says "clean" "$cffs" fsck "$store"
  check "it goes on" "$cffs" compact "$store"
  check "mount" "$cffs" mount --quiet=10000 "$store" "$mnt"
  check "more of the files go" bash -c "cd '$mnt' && find . -name '*[78]' -type f -delete && sync -f ."
  check "the daemon of a mount compacts" "$cffs" compact --quiet "$mnt"
  check "and tells of it" bash -c "getfattr --absolute-names --only-values -n user.cffs.compact '$mnt' | grep -q '\"state\": \"done\"'"
  check "umount" "$cffs" umount "$mnt"
  check "fsck behind all" says "clean" "$cffs" fsck "$store"
  rm -rf "$base/work/many"
}
