#!/usr/bin/env bash
# The measuring instrument as its users call it: traces, replays, recording mounts, modelled disks, results. Benchmarks run in
# tests/mount/benchmarks.sh.
#   measuring.sh [CASE...]
source "$(dirname "$0")/harness.sh"
traces=$(cd "$(dirname "$0")/../../traces" && pwd)

json() { python3 -c "import json,sys; d=json.load(sys.stdin); print(eval(sys.argv[1]))" "$1"; }
equals() { [ "$("${@:2}")" = "$1" ] || { echo "wanted $1, got $("${@:2}")"; return 1; }; }
trace_says() { "$cffs" trace stat --json "$1" | json "$2"; }
clean_replay() {  # options; the replay must come out as the trace requires
  local out
  out=$("$cffs" replay "$@" --json) || { echo "$out" | tail -n 5; return 1; }
  grep -qx 0 <<<"$(echo "$out" | json "d['failed']+d['not_refused']+d['other_error']+d['wrong_size']+d['wrong_content']")"
}

case_traces() {
  local work=$base/work/traces
  mkdir -p "$work/tree/d"
  echo content >"$work/tree/d/f"
  local session=$traces/c_project_session.strace.xz
  check "import strace" "$cffs" trace import "$session" --below=/home/dev/work -o "$work/s.db"
  check "nothing of it is a surprise" sh -c "! '$cffs' trace import '$session' --below=/home/dev/work -o '$work/s2.db' | grep -q 'do not follow'"
  check "the same input, the same trace" cmp "$work/s.db" "$work/s2.db"
  check "clones, joined lines, no malformed one" equals 0 trace_says "$work/s.db" "int(d['about']['malformed_lines'])"
  check "forks" sh -c "[ $(trace_says "$work/s.db" "d['calls']['spawn']['calls']") -gt 100 ]"
  check "web log" "$cffs" trace import "$traces/nasa_19950801.log.xz" -o "$work/web.db"
  check "every successful GET" equals 30297 trace_says "$work/web.db" "d['calls']['fetch']['calls']"
  check "a packed trace" equals 511923 trace_says "$traces/cpp_dev_session.trace.db.xz" "d['operations']"
  check "plain SQL" equals 30297 sqlite3 "$work/web.db" "SELECT count(*) FROM readable WHERE call='fetch' AND path IS NOT NULL"
  check "record a command" "$cffs" trace record --below="$work/tree" -o "$work/r.db" -- sh -c "cat $work/tree/d/f >$work/tree/copy; rm $work/tree/d/f; exit 0"
  check "with the tree before" equals 1 trace_says "$work/r.db" "d['initial_files']"
  "$cffs" trace record --below="$work/tree" -o "$work/r2.db" -- sh -c 'exit 7' >/dev/null
  check "its exit status is the command's" test $? = 7
  cp "$work/r.db" "$work/r-kept.db"
  check "a command that is not there is an error" sh -c "'$cffs' trace record --below='$work/tree' -o '$work/r.db' -- mistyped-command 2>&1 | grep -q 'could not run the command: nothing is recorded'"
  check "and the trace of that name stays" cmp "$work/r.db" "$work/r-kept.db"
  # The first look finds it, a second one would not.
  check "a file that goes while the tree is listed" strace -o /dev/null -P "$work/tree/copy" -e trace=newfstatat -e inject=newfstatat:error=ENOENT:when=2+ "$cffs" trace record --below="$work/tree" -o "$work/gone.db" -- true
  check "has no size that no reader takes" "$cffs" trace stat "$work/gone.db"
  check "Ctrl-C ends the command, and what was recorded is kept" python3 - "$cffs" "$work" <<'PY'
import os, signal, subprocess, sys, time
cffs, work = sys.argv[1:]
tree = work + "/tree"
# A terminal sends it to all of its foreground group.
p = subprocess.Popen([cffs, "trace", "record", "--below=" + tree, "-o", work + "/r3.db", "--", "sh", "-c", f"cat {tree}/copy; echo >{tree}/begun; sleep 60"],
                     start_new_session=True, stdout=subprocess.DEVNULL, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
for _ in range(600):
    if os.path.exists(tree + "/begun"): break
    time.sleep(0.05)
os.killpg(p.pid, signal.SIGINT)
code = p.wait(timeout=30)
assert code == 128 + signal.SIGINT, code
assert "begun" in subprocess.run([cffs, "trace", "show", work + "/r3.db"], check=True, capture_output=True, text=True).stdout
PY
  check "show" sh -c "'$cffs' trace show '$work/s.db' --first=100 --limit=5 | wc -l | grep -qx 6"
  check "slice" "$cffs" trace slice "$work/s.db" --from=1 --to=2 -o "$work/part.db"
  check "a trace is on the medium before it has its name, and then that" bash -c "strace -f -qq -e trace=fsync,rename -o '$work/calls' '$cffs' trace slice '$work/s.db' --last=5 -o '$work/few.db' && grep -oE 'fsync|rename' '$work/calls' | tr '\\n' ' ' | grep -q 'fsync rename fsync'"
  check "analyse a trace" "$cffs" analyze "$work/s.db" -o "$work/plan.db"
  # Traces and plans are SQLite files, and both are called .db: what is in one says what it is.
  check "judge policies on a trace" "$cffs" evaluate "$work/s.db" --splits=0.5
  check "and a plan of it, whatever its name is" sh -c "cp '$work/plan.db' '$work/groups' && '$cffs' evaluate '$work/s.db' '$work/groups' --splits=0.5 | grep -q '/groups  '"
  check "a plan alone" refused 'no log or trace among the arguments' "$cffs" evaluate "$work/groups"
  check "what is another database" refused 'other.db is not a trace file' sh -c "sqlite3 '$work/other.db' 'CREATE TABLE t(x)' && '$cffs' evaluate '$work/s.db' '$work/other.db'"
  for i in $(seq 50); do echo "1 1.$i unlink(\"/r/a\") = 0"; done >"$work/gaps.strace"
  mkdir "$work/empty"
  check "a recording with gaps" "$cffs" trace import "$work/gaps.strace" --below=/r -o "$work/gaps.db"
  check "is no success to replay" refused 'do not follow from the recording' sh -c "'$cffs' replay '$work/gaps.db' --target='$work/empty' --fresh >'$work/report'"
  check "unless told" "$cffs" replay "$work/gaps.db" --target="$work/empty" --fresh --max-surprises=1
  check "no such file" refused 'No such file' "$cffs" trace stat "$work/missing"
  check "not a trace" refused 'is no trace, web log' "$cffs" trace stat "$cffs"
  check "a slice over the trace that it is cut from" refused 'is what is read, and would be overwritten' "$cffs" trace slice "$work/s.db" --last=2 -o "$work/s.db"
  check "a trace over what it is imported from" refused 'is what is read, and would be overwritten' "$cffs" trace import "$work/gaps.strace" --below=/r -o "$work/gaps.strace"
  check "a time that is no number" refused 'Value nan not in range' "$cffs" trace slice "$work/s.db" --from=nan -o "$work/x.db"
  check "thinking for ever" refused "think.*not 'inf'|inf" "$cffs" replay "$work/s.db" --target="$work/empty" --fresh --think=inf
  # Names that somebody else gave are shown, and not obeyed.
  printf '1 1.0 mkdir("/r/\\33[2Jd", 0755) = 0\n1 1.0 unlink("/r/\\33[31mf") = -1 ENOENT (No such file or directory)\n' >"$work/escapes.strace"
  check "a name with an escape" "$cffs" trace import "$work/escapes.strace" --below=/r -o "$work/escapes.db"
  sqlite3 "$work/escapes.db" "UPDATE clients SET name = char(27) || '[2Jclient'; INSERT INTO about VALUES('odd' || char(27), 'x' || char(27) || char(10) || 'y')"
  check "show shows it" bash -c "'$cffs' trace show '$work/escapes.db' >'$work/shown' && grep -q 'x1b\[2Jd' '$work/shown' && grep -q 'x1b\[2Jclient' '$work/shown' && ! grep -q $'\x1b' '$work/shown'"
  check "and stat what is about it" bash -c "'$cffs' trace stat '$work/escapes.db' >'$work/shown' && grep -q 'xx1b' <(tr -d '\\\\' <'$work/shown') && ! grep -q $'\x1b' '$work/shown'"
  sqlite3 "$work/escapes.db" "UPDATE operations SET result = -17 WHERE call = 'mkdir'; INSERT INTO initial VALUES((SELECT id FROM paths WHERE path LIKE '%d'), 'd', 493, 0, NULL)"
  mkdir -p "$work/not"
  check "and a replay of another tree" bash -c "! '$cffs' replay '$work/escapes.db' --target='$work/not' --max-surprises=1 >'$work/shown' 2>&1 && grep -q 'x1b\[2Jd' '$work/shown' && ! grep -q $'\x1b' '$work/shown'"
  mkdir -p "$work/plays"
  check "a result" "$cffs" replay "$work/s.db" --target="$work/plays" --fresh --results="$work/odd-results.db"
  sqlite3 "$work/odd-results.db" "UPDATE runs SET benchmark = char(27) || '[2Jb', workload = char(27) || 'w', phase = char(27) || 'p', target = char(27) || 't'"
  check "and compare what is in results" bash -c "'$cffs' compare '$work/odd-results.db' >'$work/shown' && grep -q 'x1b\[2Jb' '$work/shown' && ! grep -q $'\x1b' '$work/shown'"
  # What no file can be is passed over, and the rest can be read again.
  printf '1 1.0 truncate("/r/f", 5764607523034234880) = -1 EFBIG (File too large)\n1 1.0 mkdir("/r/x", 0755) = 0\n' >"$work/huge.strace"
  check "a length that no file has" bash -c "'$cffs' trace import '$work/huge.strace' --below=/r -o '$work/huge.db' | grep -q '1 operations and files with more bytes'"
  check "is left out of a trace that can be read" equals 1 trace_says "$work/huge.db" "int(d['about']['too_large'])"
  mkdir "$work/moved"
  check "two files of one name from outside" "$cffs" trace record --below="$work/moved" -o "$work/moved.db" -- sh -c "for i in 1 2; do echo \$i >$work/q; mv $work/q $work/moved/q; done"
  check "are two files" equals 2 trace_says "$work/moved.db" "d['initial_files']"
  check "relative --below" refused 'not absolute' "$cffs" trace import "$session" --below=work -o "$work/x.db"
  check "output over a directory" refused 'no regular file' "$cffs" trace import "$session" -o "$work/tree"
  check "nothing below" refused 'no operation on a file below' "$cffs" trace import "$session" --below=/nowhere -o "$work/x.db"
  check "no strace, one sentence" refused 'cannot run strace' env PATH=/nonexistent "$cffs" trace record --below="$work/tree" -o "$work/x.db" -- true
}

case_replay() {
  fresh -- || return 1
  local work=$base/work/replay
  mkdir -p "$work/native"
  check "slice of a real session" "$cffs" trace slice "$traces/cpp_dev_session.trace.db.xz" --last=40000 -o "$work/dev.db"
  check "import" "$cffs" trace import "$traces/c_project_session.strace.xz" --below=/home/dev/work -o "$work/c.db"
  for t in dev c; do
    check "$t on a native directory" clean_replay "$work/$t.db" --target="$work/native" --fresh --threads=3 --rounds=2 --results="$work/r.db" --name=native
    check "$t on a mount" clean_replay "$work/$t.db" --target="$mnt" --fresh --threads=3 --rounds=2 --results="$work/r.db"
  done
  check "recorded time" clean_replay "$work/c.db" --target="$mnt" --fresh --think=0.1 --longest-idle=0.05
  check "a run is known by what it waited for and checked" sh -c "'$cffs' replay '$work/c.db' --target='$mnt' --fresh --check=size --think=0.01 --results='$work/apart.db' --json >/dev/null && '$cffs' replay '$work/c.db' --target='$mnt' --fresh --results='$work/apart.db' --json >/dev/null"
  check "and not put beside others" equals 2 sqlite3 "$work/apart.db" "SELECT count(DISTINCT phase) FROM runs"
  check "fresh trees are gone" sh -c "[ -z \"\$(ls '$mnt')\" ]"
  check "strace output at once" clean_replay "$traces/c_project_session.strace.xz" --below=/home/dev/work --target="$mnt" --fresh --threads=2
  check "a web log's tree" "$cffs" replay "$traces/nasa_19950801.log.xz" --min-files=1 --target="$mnt" --make-tree
  for state in as-is cold warm; do
    check "web log, $state" clean_replay "$traces/nasa_19950801.log.xz" --min-files=1 --target="$mnt" --cache=$state --rounds=2 --warm-up=0.1 --results="$work/r.db"
  done
  # What is not timed looks up no names: a target that was just mounted is cold.
  "$cffs" umount "$mnt" && "$cffs" mount "$store" "$mnt"
  check "a log as a trace" "$cffs" trace import "$traces/nasa_19950801.log.xz" -o "$work/web.db"
  check "two requests of it" "$cffs" trace slice "$work/web.db" --first=1 --last=2 -o "$work/two.db"
  looked() { "$cffs" stats "$mnt" --json | json "d['requests'].get('lookup', {}).get('count', 0)"; }
  local before_replay
  before_replay=$(looked)
  check "are replayed" clean_replay "$work/two.db" --target="$mnt"
  check "without a look at the whole tree" test $(($(looked) - before_replay)) -lt 12
  mkdir "$work/none"
  check "the tree of a log is missing" refused 'make it with --make-tree' sh -c "'$cffs' replay '$traces/nasa_19950801.log.xz' --min-files=1 --target='$work/none' --json >'$work/report'"
  (cd "$mnt" && find . -name '*.gif' | head -n 20 | sed 's/^..//') >"$work/list"
  check "web log, given cache" clean_replay "$traces/nasa_19950801.log.xz" --min-files=1 --target="$mnt" --cache="list:$work/list"
  local victim
  victim=$(cd "$mnt" && find . -type f -size +10k -name '*.gif' | head -n 1)
  printf x | dd of="$mnt/$victim" bs=1 seek=5000 conv=notrunc status=none
  check "one wrong byte is found" sh -c "'$cffs' replay '$traces/nasa_19950801.log.xz' --min-files=1 --target='$mnt' | grep -q 'with other bytes'"
  check "unless contents are not checked" clean_replay "$traces/nasa_19950801.log.xz" --min-files=1 --target="$mnt" --check=size
  rm "$mnt/$(sqlite3 "$work/web.db" "SELECT path FROM readable WHERE call='fetch' LIMIT 1")"
  check "a file is missing that is wanted in what is not timed alone" refused 'No such file' sh -c "'$cffs' replay '$work/two.db' --target='$mnt' --check=size --warm-up=0.5 --json >'$work/report'"
  check "the tree is missing" refused 'is not there: the trace starts from a tree' "$cffs" replay "$work/dev.db" --target="$work/native" --json
  check "rounds need fresh trees" refused 'several rounds need --fresh' "$cffs" replay "$work/c.db" --target="$work/native" --rounds=2 --json
  check "two targets" refused 'either --target=DIR or --library=STORE' "$cffs" replay "$work/c.db" --target="$work" --library="$store"
  check "odd think time" refused 'is none of' "$cffs" replay "$work/c.db" --target="$work" --think=soon
  "$cffs" umount "$mnt"
  check "the library" clean_replay "$work/dev.db" --library="$store" --fresh --threads=2 --results="$work/r.db"
  check "predict" clean_replay "$work/dev.db" --library="$store" --predict --fresh --results="$work/r.db"
  check "fsck" "$cffs" fsck "$store"
  check "compare" sh -c "'$cffs' compare '$work/r.db' --json | python3 -c 'import json,sys; d=json.load(sys.stdin); assert len(d) >= 3, len(d); assert all(r[\"ratio\"] >= 0 for c in d for r in c[\"results\"])'"
  check "not results" refused 'is not a results' "$cffs" compare "$work/dev.db"
}

case_recording() {
  local work=$base/work/recording
  fresh -- --record="$base/m.db" || return 1
  (cd "$mnt" && mkdir d && echo one >d/a && mv d e && cp e/a e/b && ln -s e/a l && cat l e/b >/dev/null && truncate -s 3 e/b && rm e/a && rmdir e 2>/dev/null; ls -lR . >/dev/null; sync)
  head -c 3000000 /dev/urandom >"$mnt/large"
  check "no trace before the end" test ! -e "$base/m.db"
  check "umount" "$cffs" umount "$mnt"
  check "trace" test -s "$base/m.db"
  check "no surprises" sh -c "! '$cffs' trace stat '$base/m.db' | grep -q surprises"
  check "writes are in it" equals 3000008 trace_says "$base/m.db" "d['calls']['write']['bytes']"
  mkdir -p "$base/work/native"
  check "it replays" clean_replay "$base/m.db" --target="$base/work/native" --fresh --threads=2
  check "mount again, recording" "$cffs" mount --record="$base/m2.db" "$store" "$mnt"
  (cd "$mnt" && cat large e/b >/dev/null && git init -q . 2>/dev/null && ls -la >/dev/null)
  check "umount again" "$cffs" umount "$mnt"
  check "the tree before is in it" equals 3000003 trace_says "$base/m2.db" "d['initial_bytes']"
  check "it replays too" clean_replay "$base/m2.db" --target="$base/work/native" --fresh
  cp "$base/m2.db" "$base/work/kept.db"
  check "a mount that fails when it is mounted" refused 'none/socket' "$cffs" mount --record="$base/m2.db" --metrics="unix:$base/none/socket" "$store" "$mnt"
  check "leaves the recording of an earlier one as it was" cmp "$base/m2.db" "$base/work/kept.db"
  check "and nothing beside it" test -z "$(ls -A "$base" | grep -E 'unfinished|spool')"
  mkdir "$base/work/m3"
  "$cffs" mount -f --record="$base/work/m3/t.db" "$store" "$mnt" 2>"$base/work/said" &
  local daemon=$!
  check "in the foreground" within 20 mountpoint -q "$mnt"
  ls "$mnt" >/dev/null
  rm -r "$base/work/m3"
  check "umount" "$cffs" umount "$mnt"
  wait $daemon
  check "a recording that cannot be kept is no success" test $? = 1
  check "and is told of" grep -q "trace $base/work/m3/t.db: No such file" "$base/work/said"
  check "recording over a directory" refused 'no regular file' "$cffs" mount --record="$base/work" "$store" "$mnt"
  rm -f "$base"/m*.db
}

case_disks() {
  local model=$base/work/model disk=$base/disk
  mkdir -p "$model" "$disk"
  for profile in cloud hdd; do
    truncate -s 256M "$base/work/image"
    "$cffs" bench disk --profile=$profile "$base/work/image" "$model" &
    local server=$!
    for _ in $(seq 100); do mountpoint -q "$model" && break; sleep 0.05; done
    local loop
    loop=$(losetup --find --show --direct-io=on "$model/disk") || return 1
    check "$profile: mkfs" mkfs.ext4 -q -F "$loop"
    check "$profile: mount" mount "$loop" "$disk"
    pace() { setfattr -n user.cffs.pace -v "$1" "$model/disk"; }
    check "$profile: it answers at once" pace "at once"
    cp "$cffs" "$disk/copy"
    sync
    check "$profile: and as modelled" pace modelled
    check "$profile: no other pace" refused 'Invalid argument' pace slow
    umount "$disk" && mount "$loop" "$disk"
    check "$profile: what was written is read" cmp "$cffs" "$disk/copy"
    umount "$disk"
    check "$profile: the file system is whole" e2fsck -fn "$loop"
    losetup -d "$loop"
    for _ in $(seq 100); do umount "$model" 2>/dev/null && break; sleep 0.05; done
    wait $server
    check "$profile: the server ends" test $? = 0
    rm -f "$base/work/image"
  done
  touch "$base/work/empty"
  check "an empty image" refused 'not a file with a size' "$cffs" bench disk "$base/work/empty" "$model"
  check "no image" refused 'No such file' "$cffs" bench disk "$base/work/none" "$model"
}

# Everything that only looks reads a medium that cannot be written, from a directory on it, with nowhere to put anything.
case_looking() {
  local disk=$base/disk work=$base/work before
  mkdir -p "$disk" "$work/tree/d"
  fallocate -l 200M "$work/image" && mkfs.ext4 -q -F "$work/image" && mount -o loop "$work/image" "$disk" || return 1
  cp "$traces/nasa_19950801.log.xz" "$disk/web.log.xz"
  "$cffs" replay "$disk/web.log.xz" --min-files=1 --target="$disk/tree" --make-tree >/dev/null
  "$cffs" analyze "$disk/web.log.xz" -o "$disk/plan.db" >/dev/null
  "$cffs" trace import "$traces/c_project_session.strace.xz" --below=/home/dev/work -o "$disk/session.db" >/dev/null
  "$cffs" replay "$disk/session.db" --target="$work/tree" --fresh --rounds=2 --results="$disk/results.db" >/dev/null
  umount "$disk" && before=$(md5sum <"$work/image")
  mount -o loop,ro "$work/image" "$disk" || return 1
  looks() { (cd "$disk" && env HOME=/nonexistent TMPDIR=/nonexistent "$cffs" "$@" >"$work/out"); }
  check "evaluate, with a tree and a plan" looks evaluate web.log.xz plan.db --tree=tree
  check "it judged the plan" grep -q '^plan.db ' "$work/out"
  check "evaluate the strace output of a session" looks evaluate "$traces/c_project_session.strace.xz" --below=/home/dev/work
  check "trace stat" looks trace stat session.db
  check "trace show" looks trace show session.db
  check "compare" looks compare results.db
  umount "$disk"
  check "not a byte changed" test "$(md5sum <"$work/image")" = "$before"
  # Nor is anything written where it could be: strace names every file that is opened for writing, made, renamed or removed.
  local calls=open,openat,creat,truncate,rename,renameat,renameat2,unlink,unlinkat,mkdir,mkdirat,link,linkat,symlink,symlinkat
  (cd "$work" && strace -f -qq -e trace=$calls -o "$work/calls" "$cffs" evaluate "$traces/nasa_19950801.log.xz" --tree="$work/tree" >/dev/null)
  check "evaluate opens nothing for writing" sh -c "test -s '$work/calls' && ! grep -E 'O_WRONLY|O_RDWR|O_CREAT|^[0-9]+ +(creat|truncate|rename|unlink|mkdir|link|symlink)' '$work/calls'"
}

# The rival that cffs is held against on FUSE.
case_passing() {
  local work=$base/work/passing
  mkdir -p "$work/below" "$work/over"
  head -c 10000 "$cffs" >"$work/below/file"
  "$cffs" bench passthrough "$work/below" "$work/over" &
  local server=$!
  check "it serves" within 20 mountpoint -q "$work/over"
  check "a file is there" cmp "$work/below/file" "$work/over/file"
  cat "$work/below/file" >/dev/null
  # Its pages over there go, those below stay.
  python3 -c "import os,sys; f = os.open(sys.argv[1], os.O_RDONLY); os.posix_fadvise(f, 0, 0, os.POSIX_FADV_DONTNEED)" "$work/over/file"
  strace -f -qq -e trace=pread64,preadv2 -o "$work/calls" -p $server 2>/dev/null &
  local tracer=$!
  check "it is looked at" within 20 grep -qE '^TracerPid:[^0-9]*[1-9]' /proc/$server/status
  check "it is read again" cmp "$work/below/file" "$work/over/file"
  kill $tracer; wait $tracer 2>/dev/null
  check "what is in memory is read once, and no other way" sh -c "grep -q 'preadv2.* = 10000' '$work/calls' && ! grep -q pread64 '$work/calls' || { cat '$work/calls'; false; }"
  umount "$work/over"
  wait $server
}

run_cases traces replay recording disks looking passing -- "$@"
