# What a mount tells of itself while it is used: cffs stats, cffs top, --metrics. Sourced by acceptance.sh.

# live EXPRESSION of the numbers s, such as "s['requests']['mkdir']['count']"
live() { "$cffs" stats --json "$mnt" | python3 -c "import json,sys; s = json.load(sys.stdin); n = lambda k: s['requests'].get(k, {}).get('count', 0); print($1)"; }
is() { [ "$1" = "$2" ] || { echo "$1, not $2"; return 1; }; }
scrape() { curl -sS -m 20 --unix-socket "$base/work/metrics" http://cffs/metrics; }
# value NAME{LABELS} of a scrape
value() { awk -v name="$1" '$1 == name { print $2; found = 1 } END { if (!found) print 0 }' "$base/work/scrape"; }
# Clients that mean no good, many at a time, for a while; then it must still answer.
hostile_clients() {
  python3 - "$1" <<'PY'
import socket, sys, threading
path = sys.argv[1]
def connect():
    s = socket.socket(socket.AF_UNIX); s.connect(path); s.settimeout(20); return s
held = [connect() for _ in range(100)]                       # say nothing
def giant():
    s = connect()
    try:
        for _ in range(64): s.sendall(b"x" * 65536)
    except OSError: pass
def deaf():                                                  # asks and never reads
    s = connect(); s.sendall(b"GET /metrics HTTP/1.1\r\n\r\n"); held.append(s)
def half():
    s = connect(); s.sendall(b"GET /metrics HTTP/1.1\r\n\r\n"); s.shutdown(socket.SHUT_WR)
    text = b""
    while True:
        more = s.recv(65536)
        if not more: break
        text += more
    assert b"cffs_mount_info" in text, text[:200]
threads = [threading.Thread(target=t) for t in [giant, deaf] * 20]
for t in threads: t.start()
for t in threads: t.join()
half()
PY
}

case_live() {
  fresh -- --metrics="unix:$base/work/metrics" || return 1
  check "a socket of its owner's alone" is "$(stat -c %a "$base/work/metrics")" 600
  local made=$(live "n('mkdir')") unlinked=$(live "n('unlink')")
  mkdir -p "$mnt/here/there" "$mnt/else"
  for i in $(seq 50); do echo "$i" >"$mnt/here/$i"; done
  head -c 3000000 /dev/zero >"$mnt/else/large"
  rm "$mnt"/here/{1..20}
  ls "$mnt/nowhere" 2>/dev/null
  rmdir "$mnt/here" 2>/dev/null
  check "each mkdir is counted" is "$(live "n('mkdir')")" $((made + 3))
  check "each unlink" is "$(live "n('unlink')")" $((unlinked + 20))
  check "the bytes that were written" is "$(live "s['requests']['write']['bytes']")" $((3000000 + 9 * 2 + 41 * 3))
  check "an error by its name" is "$(live "s['requests']['rmdir']['errors']")" "{'ENOTEMPTY': 1}"
  check "as many in the buckets as there were" is "$(live "all(sum(b[1] for b in k['buckets']) == k['count'] for k in s['requests'].values())")" True
  check "percentiles in order" is "$(live "all(0 < k['p50_ns'] <= k['p90_ns'] <= k['p99_ns'] <= k['p999_ns'] <= k['most_ns'] for k in s['requests'].values())")" True
  check "the blob went to the store" is "$(live "s['written']['blob_bytes'] >= 2000000 and s['written']['amplification'] >= 1")" True
  check "a commit" bash -c "'$cffs' compact '$mnt' && '$cffs' stat '$mnt'"
  check "is counted" is "$(live "s['commits']['count'] >= 1 and s['commits']['age_s'] < 60 and s['commits']['failed'] == 0")" True
  check "and nothing waits" is "$(live "s['backlog']['staged_directories']")" 0
  check "stats for people" bash -c "'$cffs' stats '$mnt' | grep -Eq '^mkdir +3 '"
  check "LevelDB's own log" bash -c "'$cffs' stats --table-log '$mnt' | grep -Eq '^20[0-9-]+T[0-9:]+Z '"
  check "again and again" bash -c "timeout -s INT 3 '$cffs' stats --watch=0.3 '$mnt' >'$base/work/watch'; grep -c 'since the mount began' '$base/work/watch' | grep -qv '^[01]$'"

  check "curl" bash -c "curl -sS -m 20 --unix-socket '$base/work/metrics' http://cffs/metrics >'$base/work/scrape'"
  check "the same numbers are told" is "$(value 'cffs_request_duration_seconds_count{kind="mkdir"}')" $((made + 3))
  check "in the last bucket all of them" is "$(value 'cffs_request_duration_seconds_bucket{kind="mkdir",le="+Inf"}')" $((made + 3))
  check "errors" is "$(value 'cffs_request_errors_total{kind="rmdir",errno="ENOTEMPTY"}')" 1
  local asked=$(live "n('getxattr')")
  for i in 1 2 3; do scrape >/dev/null; done
  check "a scrape is no request of the mount" is "$(live "n('getxattr')")" $((asked + 1))

  # What cffs top asks for, at moments that are known here.
  window() { python3 -c "import os; print(os.getxattr('$mnt', 'user.cffs.load.test.$1').decode())"; }
  window 60000 >/dev/null
  bash -c 'for i in {1..25}; do mkdir "$1/else/d$i"; done; exec cat "$1/else/large"' looker "$mnt" >/dev/null
  (cd "$mnt/else" && for i in {1..30}; do : >"f$i"; done)
  window 60000 >"$base/work/top"
  top() { python3 -c "import json; t = json.load(open('$base/work/top')); d = {x['path']: x for x in t['directories']}; p = {x['name']: x for x in t['processes']}; print($1)"; }
  check "top: nothing is missed" is "$(top "t['missed']")" 0
  check "the directory in which names were made" is "$(top "d['/else']['changes']")" 55
  check "each process that made one" is "$(top "sum(x['changes'] for x in t['processes'] if x['name'] == 'mkdir')")" 25
  check "sums" is "$(top "sum(x['requests'] for x in t['directories']) == sum(x['requests'] for x in t['processes']) == t['requests']")" True
  local id
  for id in a b c; do python3 -c "import os; os.getxattr('$mnt', 'user.cffs.load.$id.60000')"; done
  check "a fifth viewer is refused" refused "four others are watching" "$cffs" top --once "$mnt"
  for id in a b c; do python3 -c "import os; os.getxattr('$mnt', 'user.cffs.load.$id.0')"; done
  window 0 >/dev/null
  check "top for programs" bash -c "'$cffs' top --once --json --interval=0.2 '$mnt' | python3 -c 'import json,sys; json.load(sys.stdin)[\"processes\"]'"
  check "top for people" bash -c "'$cffs' top --once --interval=0.2 '$mnt' | grep -q 'directory$'"

  check "hostile clients of the socket" hostile_clients "$base/work/metrics"
  check "the mount goes on" timeout 20 dd if="$mnt/else/large" of=/dev/null status=none
  check "and so do scrapes" bash -c "curl -sS -m 20 --unix-socket '$base/work/metrics' http://cffs/metrics | grep -q cffs_mount_info"
  check "umount with clients there" timeout 60 "$cffs" umount "$mnt"
  check "the socket goes with the mount" test ! -e "$base/work/metrics"

  local port=$((20000 + RANDOM % 10000))
  check "a port of this host" "$cffs" mount --metrics=127.0.0.1:$port "$store" "$mnt"
  check "answers" bash -c "curl -sS -m 20 http://127.0.0.1:$port/metrics | grep -q '^cffs_commits_total 0'"
  mkdir "$base/work/other"
  "$cffs" format "$base/work/second" >/dev/null
  check "a port that is taken" refused "somebody listens at 127.0.0.1 port $port" "$cffs" mount --metrics=127.0.0.1:$port "$base/work/second" "$base/work/other"
  check "nothing is mounted there" bash -c "! mountpoint -q '$base/work/other'"
  check "addresses that others reach" refused "only this host may ask" "$cffs" mount --metrics=0.0.0.0:$port "$base/work/second" "$base/work/other"
  check "a socket below the mount" refused "below the mount point" "$cffs" mount --metrics="unix:$base/work/other/socket" "$base/work/second" "$base/work/other"
  check "a file in its place stays" bash -c "echo precious >'$base/work/file'; ! '$cffs' mount --metrics='unix:$base/work/file' '$base/work/second' '$base/work/other' 2>/dev/null && grep -q precious '$base/work/file'"
  check "umount" "$cffs" umount "$mnt"
  check "the port is free" "$cffs" mount -o metrics=127.0.0.1:$port "$store" "$mnt"
  check "killed" kill_daemon
  # A directory that says what mounts say, as a stranger's may; and, while it is watched, another mount's, which has done less.
  mkdir "$base/work/stranger"
  numbers() {  # uptime, count, bytes, errors
    printf '{"uptime_s": %s, "requests": {"re\\u001b[2Jad": {"count": %s, "bytes": %s, "errors": {"EI\\u0007O": %s}, "buckets": [[9, %s]]}}, "read_ahead": {}, "frames": {}, "table": {"files_by_level": []}, "commits": {}, "backlog": {}, "written": {}, "memory": {}, "process": {}, "log_lines": {"er\\u001b[1mror": 1}}' "$1" "$2" "$3" "$4" "$2"
  }
  if setfattr -n user.cffs.live -v "$(numbers 100 50 5000 7)" "$base/work/stranger" 2>/dev/null; then
    check "names of strangers" bash -c "'$cffs' stats '$base/work/stranger' >'$base/work/shown' && grep -q '^re.x1b.2Jad' '$base/work/shown' && ! LC_ALL=C grep -q \$'[\e\a]' '$base/work/shown'"
    timeout -s INT 4 "$cffs" stats --watch=1 "$base/work/stranger" >"$base/work/shown" & local watcher=$!
    sleep 0.5
    setfattr -n user.cffs.live -v "$(numbers 2 60 3000 3)" "$base/work/stranger"
    wait $watcher
    check "another mount's numbers are all new" bash -c "sed -n 3p '$base/work/shown' | grep -Eq '^re.x1b.2Jad +60 +30 .* 3000 B +EI.x07O 3$' || ! head -n 3 '$base/work/shown'"
  else
    echo "  no user attributes in $base: not tried"
  fi
  check "no mount" refused "is not where a store is mounted" "$cffs" stats "$base/work"
  check "nothing there" refused "No such file" "$cffs" top "$base/work/nowhere"
}
