#!/usr/bin/env bash
# Grouping policies on real mounts: groups follow references and accesses, and nobody notices while they are formed.
# Usage: CFFS_BINARY=... tests/mount/grouping.sh [CASE...]
. "$(dirname "$0")/harness.sh"

regroup_number() {  # field, then arguments of cffs regroup
  local field=$1
  shift
  "$cffs" regroup --json "$@" | python3 -c "import json,sys; print(json.load(sys.stdin)['$field'])"
}
in_place() {  # what, policy, store or mount: every group is where it should be
  local what=$1 policy=$2 where=$3
  check "$what: all groups in place" test "$(regroup_number reads_after "$where" --policy="$policy" --dry-run)" = \
    "$(regroup_number reads_before "$where" --policy="$policy" --dry-run)"
}
# A site whose pages embed files of other directories: a style sheet, a logo on all pages, a picture on each.
make_site() {
  python3 - "$1" <<'PY'
import os, random, sys
root = sys.argv[1]
random.seed(1)
for d in ('pages', 'img', 'css'): os.makedirs(f'{root}/{d}', exist_ok=True)
for i in range(40):
    with open(f'{root}/pages/p{i}.html', 'w') as f:
        f.write(f'<html><link rel=stylesheet href=/css/all.css><img src=../img/logo.png><img src="../img/own%20{i}.PNG?v=2">' + 'x' * 500)
    open(f'{root}/img/own {i}.png', 'wb').write(random.randbytes(2000 + i))
open(f'{root}/img/logo.png', 'wb').write(random.randbytes(1500))
open(f'{root}/css/all.css', 'w').write('a{background:url(../img/bg.png)}')
open(f'{root}/img/bg.png', 'wb').write(random.randbytes(999))
PY
}

case_references() {
  fresh || return 1
  make_site "$base/work/site"
  check "import by reference" "$cffs" import --policy=reference "$base/work/site" "$store"
  check "41 groups: a page each with its picture, and the shared files" \
    test "$(regroup_number groups "$store" --policy=reference --dry-run)" = 41
  in_place "after import" reference "$store"
  check "fsck" "$cffs" fsck "$store"

  # Files as they come, in an unlucky order: pages before what they embed.
  fresh -- --policy=reference --quiet=0.1 || return 1
  make_site "$base/work/site"
  cp -r "$base/work/site/pages" "$mnt/"
  sleep 0.8
  cp -r "$base/work/site/css" "$mnt/"; sleep 0.8
  cp -r "$base/work/site/img" "$mnt/"; sleep 1.2
  in_place "pages first" reference "$mnt"
  # A page drops its picture and takes another's; a picture is replaced by rename; a page goes.
  echo '<img src="../img/own 7.png">' >"$mnt/pages/p3.html"
  cp "$base/work/site/img/own 5.png" "$mnt/img/tmp" && mv "$mnt/img/tmp" "$mnt/img/own 5.png"
  rm "$mnt/pages/p9.html"
  sleep 1.2
  check "p3 now lies with own 7" test "$(regroup_number groups_in_place "$mnt" --policy=reference --dry-run)" -ge 39
  check "contents" cmp "$mnt/img/own 7.png" "$base/work/site/img/own 7.png"
  check "umount" "$cffs" umount "$mnt"
  check "fsck after edits" "$cffs" fsck "$store"
}

case_switching() {
  fresh -- --quiet=0.1 || return 1
  make_site "$base/work/site"
  cp -a "$base/work/site/." "$mnt/"
  find "$mnt" -printf '%P %i %s %m %T@ %C@ %n\n' | sort >"$base/work/before"
  exec 8<"$mnt/img/logo.png"
  local policy
  for policy in reference none frequency directory reference; do
    check "regroup to $policy" "$cffs" regroup "$mnt" --policy="$policy"
    check "the mount has it" test "$(getfattr --only-values -n user.cffs.policy "$mnt" 2>/dev/null)" = "$policy"
    check "contents under $policy" same "$base/work/site" "$mnt"
    find "$mnt" -printf '%P %i %s %m %T@ %C@ %n\n' | sort >"$base/work/after"
    check "inode numbers, sizes, modes, times, links under $policy" diff "$base/work/before" "$base/work/after"
  done
  check "a file open all the while" cmp /dev/fd/8 "$base/work/site/img/logo.png"
  exec 8<&-
  check "a second run moves nothing" test "$(regroup_number files_moved "$mnt" --policy=reference)" = 0
  check "umount" "$cffs" umount "$mnt"
  check "fsck" "$cffs" fsck "$store"
}

# Regrouping back and forth while files are read, written, renamed and removed; then a kill -9 in the middle.
case_load() {
  fresh -- --quiet=0.2 || return 1
  cp -r "$source_tree/linux" "$base/work/tree"
  cp -r "$base/work/tree" "$mnt/still"
  mkdir "$mnt/busy"
  sleep 1
  (
    trap 'exit 0' TERM
    n=0
    while :; do
      n=$((n + 1))
      for i in 1 2 3 4 5; do echo "$n $i" >"$mnt/busy/f$i"; done
      mv "$mnt/busy/f1" "$mnt/busy/g1"; ln -f "$mnt/busy/f2" "$mnt/busy/l2"; echo more >>"$mnt/busy/f3"
      [ "$(cat "$mnt/busy/g1")" = "$n 1" ] && [ "$(cat "$mnt/busy/l2")" = "$n 2" ] &&
        [ "$(cat "$mnt/busy/f3")" = "$n 3
more" ] || { echo "round $n read something else" >"$base/work/wrong"; exit 1; }
    done
  ) &
  local writer=$!
  local policy
  for policy in reference directory reference none directory; do
    "$cffs" regroup "$mnt" --policy=$policy >/dev/null 2>"$base/work/error" &
    local job=$!
    check "diff -r while it regroups to $policy" same "$base/work/tree" "$mnt/still"
    wait $job; job=$?
    check "regroup to $policy under load: $(cat "$base/work/error")" test $job = 0
  done
  check "the writer is still at work" kill -0 $writer
  kill $writer; wait $writer 2>/dev/null
  check "the writer read what it wrote" test ! -e "$base/work/wrong"
  if command -v fsx >/dev/null; then
    timeout 20 fsx -N 3000 "$mnt/busy/fsx" >"$base/work/fsx" 2>&1 &
    local fsx=$!
    check "regroup beside fsx" "$cffs" regroup "$mnt" --policy=reference
    wait $fsx; fsx=$?
    check "fsx: $(tail -n 3 "$base/work/fsx")" test $fsx = 0
  fi
  "$cffs" regroup "$mnt" --policy=directory >/dev/null 2>&1 &
  local job=$!
  sleep 0.3
  kill_daemon; wait $job 2>/dev/null
  check "fsck after kill -9 in the middle" "$cffs" fsck "$store"
  check "the regrouping goes on where it stopped" "$cffs" regroup "$store" --policy=directory
  check "then nothing is left to move" test "$(regroup_number files_to_move "$store" --policy=directory --dry-run)" = 0
  check "mount" "$cffs" mount "$store" "$mnt"
  check "contents" same "$base/work/tree" "$mnt/still"
}

# Sessions that cross directories: the mount finds them in its own record and regroups by itself.
case_accesses() {
  fresh -- --policy=frequency --quiet=0.1 --regroup-interval=2 --commit-interval=0.5 || return 1
  local d s
  for d in 1 2 3 4 5 6; do
    mkdir "$mnt/d$d"
    for s in $(seq 1 30); do head -c $((1000 + s * d)) /dev/urandom >"$mnt/d$d/f$s"; done
  done
  sleep 1
  local round
  for round in 1 2 3 4 5; do
    echo 3 >/proc/sys/vm/drop_caches
    for s in $(seq 1 30); do cat "$mnt"/d[1-6]/f$s >/dev/null; done
  done
  local waited=0
  until [ "$(getfattr --absolute-names --only-values -n user.cffs.regroup "$mnt" | python3 -c 'import json,sys; print(json.load(sys.stdin).get("report", {}).get("files_moved", 0))')" -ge 100 ]; do
    sleep 0.5
    waited=$((waited + 1))
    [ $waited -lt 40 ] || { echo "  FAILED: nothing was regrouped"; getfattr -d -m cffs "$mnt"; failures=$((failures + 1)); break; }
  done
  check "the record stays small" test "$(du -sb "$store/accesses" | cut -f 1)" -le $((4 << 20))
  check "umount" "$cffs" umount "$mnt"
  check "fsck" "$cffs" fsck "$store"
  check "the plan is the store's" test -s "$store/plan"
  check "groups of the plan are in place" test "$(regroup_number files_to_move "$store" --policy=frequency --dry-run)" = 0
  # A renamed member and one that was replaced keep their place in the plan.
  check "mount with the plan kept" "$cffs" mount --policy=frequency --quiet=0.1 --regroup-interval=0 "$store" "$mnt"
  # The pauses: consolidation meets each step by itself, and files that the kernel knows no more.
  mv "$mnt/d2/f5" "$mnt/d2/renamed"; echo changed >>"$mnt/d2/renamed"
  sleep 0.4; echo 2 >/proc/sys/vm/drop_caches
  head -c 700 /dev/urandom >"$mnt/d3/tmp"; sleep 0.4; mv "$mnt/d3/tmp" "$mnt/d3/f5"
  rm "$mnt/d4/f5"
  sleep 1.2
  check "umount" "$cffs" umount "$mnt"
  check "mount that mines all the time" "$cffs" mount --policy=frequency --quiet=0.1 --regroup-interval=0.001 "$store" "$mnt"
  # It is refused while the mount is mining.
  told() {
    local round told=0 code
    for round in $(seq 30); do
      timeout 20 "$cffs" regroup --json --dry-run --policy=directory "$mnt" >"$base/work/told" 2>/dev/null
      code=$?
      [ $code != 124 ] || { echo "it watched for ever"; return 1; }
      [ $code = 0 ] && grep -q '"policy": "directory"' "$base/work/told" && told=$((told + 1))
    done
    [ $told -gt 0 ]
  }
  check "who asks it to regroup is told what came of that" told
  check "umount" "$cffs" umount "$mnt"
  check "they were moved back to their group" test "$(regroup_number files_to_move "$store" --policy=frequency --dry-run)" = 0
}

case_plans() {
  fresh || return 1
  local log=$base/work/log plan=$base/work/plan.db
  make_site "$base/work/site"
  python3 - >"$log" <<'PY'
for r in range(30):
    for i in range(40):
        for n, path in enumerate((f'/pages/p{i}.html', '/css/all.css', f'/img/own%20{i}.png')):
            print(f'10.0.{r}.{i} - - [01/Aug/2025:{r % 24:02}:{i:02}:{n:02} +0000] "GET {path} HTTP/1.1" 200 2000')
PY
  check "analyze" "$cffs" analyze "$log" -o "$plan" --graph "$base/work/plan.svg"
  check "its picture says what is what" grep -q "used together; thicker: more" "$base/work/plan.svg"
  check "the same log gives the same plan" bash -c "'$cffs' analyze '$log' -o '$plan.2' >/dev/null && cmp '$plan' '$plan.2'"
  check "40 groups" test "$(sqlite3 "$plan" 'SELECT count(*) FROM groups')" = 40
  check "members in the order of access" test "$(sqlite3 "$plan" "SELECT group_concat(path) FROM group_files WHERE grp = (SELECT grp FROM group_files WHERE path = 'pages/p7.html')")" = "pages/p7.html,img/own 7.png"
  check "the picture is XML" python3 -c "import sys, xml.dom.minidom; xml.dom.minidom.parse('$base/work/plan.svg')"
  check "import by plan" "$cffs" import --policy=frequency --plan="$plan" "$base/work/site" "$store"
  check "all in place" test "$(regroup_number files_to_move "$store" --policy=frequency --plan="$plan" --dry-run)" = 0
  check "fsck" "$cffs" fsck "$store"
  check "mount with it" "$cffs" mount --policy=frequency --plan="$plan" "$store" "$mnt"
  check "contents" same "$base/work/site" "$mnt"
  check "a plan that is no plan" refused 'log is not a plan|file is not a database' "$cffs" regroup "$mnt" --policy=frequency --plan="$log"
  check "a plan that is not there" refused 'none.db: No such file' "$cffs" regroup "$mnt" --policy=frequency --plan="$base/work/none.db"
  check "a plan for another policy" refused 'plan goes with --policy=frequency' "$cffs" regroup "$mnt" --policy=directory --plan="$plan"
  check "it says how much of the plan the store has" bash -c "'$cffs' regroup '$mnt' --policy=frequency --plan='$plan' | grep -qx '80 of 80 files of the plan are in this store'"
  # A plan of another tree: refused, and the store keeps its own; taken with --plan-ahead, and where all files are still to come.
  sed 's|GET /|GET /elsewhere/|' "$log" >"$log.strange"
  check "analyze of another tree" "$cffs" analyze "$log.strange" -o "$plan.strange"
  cp "$store/plan" "$base/work/own-plan"
  local strange='is of another tree: 0 of 80 files of the plan are in this store'
  check "a strange plan, on a mount" refused "$strange" "$cffs" regroup "$mnt" --policy=frequency --plan="$plan.strange"
  check "umount" "$cffs" umount "$mnt"
  check "a strange plan, in a store" refused "$strange" "$cffs" regroup "$store" --policy=frequency --plan="$plan.strange"
  check "a strange plan, to mount with" refused "$strange" "$cffs" mount --policy=frequency --plan="$plan.strange" "$store" "$mnt"
  check "the store keeps its own" cmp "$store/plan" "$base/work/own-plan"
  cp -r "$base/work/site" "$base/work/with-strangers" && mkdir "$base/work/with-strangers/elsewhere" &&
    cp -r "$base/work/site/pages" "$base/work/with-strangers/elsewhere/"
  check "format" "$cffs" format "$base/work/other"
  check "an empty store takes any plan" bash -c "'$cffs' regroup '$base/work/other' --policy=frequency --plan='$plan.strange' | grep -q '^0 of 80 files of the plan'"
  check "an import says how much of the plan came" bash -c "'$cffs' import --policy=frequency --plan='$plan.strange' '$base/work/with-strangers' '$base/work/other' | grep -qx '40 of 80 files of the plan are in this store'"
  check "--plan-ahead" "$cffs" regroup "$store" --policy=frequency --plan="$plan.strange" --plan-ahead
  check "mount -o plan_ahead" bash -c "'$cffs' mount -o plan_ahead --policy=frequency --plan='$plan.strange' '$store' '$mnt' 2>&1 | grep -qx 'cffs: 0 of 80 files of the plan are in this store'"
  check "umount" "$cffs" umount "$mnt"
  check "mount with the right one again" "$cffs" mount --policy=frequency --plan="$plan" "$store" "$mnt"
  check "a policy for an import into a mount" refused "$mnt is mounted, and the daemon groups what comes" "$cffs" import --policy=frequency "$base/work/site" "$mnt/pages"
  check "fsck of a mount" refused "$mnt is in the mount of store $store; unmount it" "$cffs" fsck "$mnt"
  check "umount" "$cffs" umount "$mnt"
  printf 'damaged' | dd of="$store/plan" bs=1 seek=20 conv=notrunc 2>/dev/null
  check "a damaged plan object does not keep the store from being mounted" "$cffs" mount --policy=frequency "$store" "$mnt"
  check "umount" "$cffs" umount "$mnt"
  fresh
  make_site "$base/work/site"
  check "no plan and no record" refused 'has no plan and its access record' "$cffs" regroup "$store" --policy=frequency
  check "junk is refused" refused 'of no known format' "$cffs" analyze /bin/ls
  printf '10.0.0.1 - - [01/Aug/2025:10:00:01 +0000] "GET /a HTTP/1.1" 200 1\n' >"$log"
  mkdir "$base/work/dir"
  check "a plan over a directory" refused 'no regular file' "$cffs" analyze "$log" -o "$base/work/dir"
  check "a log that is a directory" refused 'is a directory' "$cffs" analyze "$base/work/dir"
  cp "$log" "$base/work/log.copy"
  for output in --output --graph --transactions; do
    check "$output over the log" refused 'is what is read, and would be overwritten' "$cffs" analyze "$base/work/log.copy" "$output=$base/work/dir/../log.copy"
  done
  check "the log is as it was" cmp "$log" "$base/work/log.copy"
  check "what is no number" refused 'Value nan not in range' "$cffs" evaluate "$log" --train=nan
  check "among others" refused 'Value nan not in range' "$cffs" evaluate "$log" --splits=0.5,nan
  check "an empty log" refused 'no successful access' "$cffs" analyze /dev/null
  check "evaluate" "$cffs" evaluate "$log" --tree="$base/work/site"
}

# Documents that ask for endless work: the mount that groups by them ends when it is told to.
case_strangers() {
  local i level deep
  fresh -- --policy=reference --quiet=0.1 --commit-interval=0.2 || return 1
  { echo 'v0 = x.c y.c'; for level in $(seq 16); do
      printf 'v%d =' "$level"; printf ' $(v%d)' $(for i in 1 2 3 4 5 6 7 8; do echo $((level - 1)); done); echo; done
    for i in 1 2 3 4; do echo "all$i: \$(v16)"; done; } >"$base/work/Makefile"
  check "a Makefile of about a page" test "$(stat -c %s "$base/work/Makefile")" -lt 2000
  python3 -c "print(''.join('<b a=%d>' % i for i in range(500)) + '<p>x' * 100000)" >"$base/work/page.html"
  for i in $(seq 40); do mkdir "$mnt/d$i" && cp "$base/work/Makefile" "$base/work/page.html" "$mnt/d$i/"; done
  # Long paths that lead nowhere, looked for from each directory above.
  python3 -c "for i in range(171): print('#include \"b%d' % i + '/a' * 1990 + '/x.h\"')" >"$base/work/a.c"
  deep=$mnt$(printf '/d%.0s' $(seq 128))
  check "a program far below" eval 'mkdir -p "$deep" && cp "$base/work/a.c" "$deep/"'
  sleep 1
  check "umount ends" timeout 30 "$cffs" umount "$mnt"
  check "fsck" "$cffs" fsck "$store"
  check "the next mount" "$cffs" mount --policy=reference --quiet=0.1 "$store" "$mnt"
  check "what was written is there" cmp "$base/work/Makefile" "$mnt/d40/Makefile"
  check "its umount" timeout 30 "$cffs" umount "$mnt"
  check "compact" timeout 120 "$cffs" compact "$store"
}

run_cases references switching load accesses plans strangers -- "$@"
