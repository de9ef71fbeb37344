# Running it on a machine: what a service manager hears, what lacks. Sourced by acceptance.sh.

# What cffs doctor says of this machine, and of it with less.
case_doctor() {
  mkdir -p "$base/work"
  local code=0
  state() {  # finding; reads the report
    python3 -c "import json,sys; print(*[f['state'] for f in json.load(sys.stdin)['findings'] if f['name'] == sys.argv[1]])" "$1"
  }
  of() {  # finding state command...: it ends with 1 or 4 where something lacks
    "${@:3}" "$cffs" doctor --json >"$base/work/less" || true
    [ "$(state "$1" <"$base/work/less")" = "$2" ]
  }
  "$cffs" doctor >"$base/work/text" || code=$?
  check "its exit code: 0 or 1, where mounts can be made" test "$code" -le 1
  check "and what it prints" grep -Eq '^(ok|--)  kernel +Linux [0-9]' "$base/work/text"
  "$cffs" doctor --json >"$base/work/json"
  check "each finding says what is, and each that lacks what follows and what mends it" python3 - "$base/work/json" "$code" <<'END'
import json, sys
report = json.load(open(sys.argv[1]))
states = {"good": 0, "lacking": 1, "broken": 4}
assert max(states[f["state"]] for f in report["findings"]) == states[report["state"]] == int(sys.argv[2]), report
for f in report["findings"]:
    assert f["is"] and (f["state"] == "good" or (f["follows"] and f["mend"])), f
    assert f["state"] != "good" or not f["mend"], f
assert len({f["name"] for f in report["findings"]}) == len(report["findings"]) >= 10
END
  check "few open files" of open_files lacking prlimit --nofile=1000:1000
  check "root without its right" of right broken setpriv --bounding-set -sys_admin
  check "which is exit code 4" bash -c "setpriv --bounding-set -sys_admin '$cffs' doctor >'$base/work/out'; test \$? = 4 && grep -q 'cap-add SYS_ADMIN' '$base/work/out'"
  check "that right is a mount's" bash -c "! setpriv --bounding-set -sys_admin '$cffs' doctor --json >/dev/null; ! setpriv --bounding-set -sys_admin '$cffs' mount /nowhere '$base/work' 2>/dev/null"
  check "a machine without /dev/fuse" bash -c "unshare -m bash -c 'mount -t tmpfs none /dev && ! \"$cffs\" doctor >\"$base/work/out\"'; grep -q '> modprobe fuse' '$base/work/out' || grep -q -- '--device /dev/fuse' '$base/work/out'"
  check "it takes no argument" bash -c "! '$cffs' doctor /srv 2>/dev/null"
}

# As systemd would start, stop and clean up after cffs@NAME.service: the unit's own lines.
case_service() {
  fresh || return 1
  local unit notify=$base/work/notify pid
  unit=$(dirname "${BASH_SOURCE[0]}")/../../../packaging/systemd/cffs@.service.in
  listen() {
    python3 - "$notify" "$base/work/heard" <<'END' &
import os, socket, sys
with open(sys.argv[2], "w") as out:
    hears = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    hears.bind(sys.argv[1])
    hears.settimeout(60)
    while True:
        message = hears.recv(4096).decode()
        print(message, file=out, flush=True)
        if "STOPPING=1" in message: break
os.unlink(sys.argv[1])
END
    listener=$!
    until [ -S "$notify" ]; do sleep 0.02; done
  }
  line() (  # of the unit, as systemd takes it apart
    OPTIONS="--policy=none --commit-interval=1" STORE=$store MNT=$mnt exec python3 - "$unit" "$cffs" "$1" <<'END'
import os, shlex, sys
words = next(line for line in open(sys.argv[1]) if line.startswith(sys.argv[3] + "=")).split("=", 1)[1].strip().lstrip("-").replace("@CFFS_BIN_DIR@/cffs", sys.argv[2])
out = []
for word in shlex.split(words):
    if word == "$OPTIONS": out += os.environ["OPTIONS"].split()
    else: out.append(word.replace("${STORE}", os.environ["STORE"]).replace("${MNT}", os.environ["MNT"]).replace("$$", "$"))
os.execvp(out[0], out)
END
  )
  heard() { local i; for i in {1..300}; do grep -q "$1" "$base/work/heard" && return 0; sleep 0.1; done; cat "$base/work/heard"; return 1; }
  serving() {
    listen
    (NOTIFY_SOCKET=$notify line ExecStart) 2>"$base/work/err" &
    pid=$!
  }
  serving
  check "ready when the mount answers" heard '^READY=1$'
  check "with a word on what it serves" grep -qx "STATUS=serving $store on $mnt" "$base/work/heard"
  check "then it is mounted" mountpoint -q "$mnt"
  check "as asked" bash -c "'$cffs' stat --json '$mnt' >/dev/null && echo kept >'$mnt/file'"
  check "what reads ahead of a mount is raised" test "$(cat "/sys/class/bdi/$(mountpoint -d "$mnt")/read_ahead_kb")" = 1024
  check "ExecStop" line ExecStop
  wait "$pid"
  check "the daemon ends well" test $? = 0
  check "it said that it stops" heard '^STOPPING=1$'
  check "ExecStopPost has nothing to do" line ExecStopPost
  wait "$listener"
  serving
  check "ready" heard '^READY=1$'
  check "it is there" grep -q kept "$mnt/file"
  check "ExecStopPost leaves a mount that answers" line ExecStopPost
  check "it answers" mountpoint -q "$mnt"
  kill -9 "$(daemon_pid)"
  wait "$pid" 2>/dev/null
  check "a daemon that was killed leaves a mount on which calls fail" bash -c "! stat -f '$mnt' 2>/dev/null"
  check "ExecStopPost takes it away" line ExecStopPost
  check "the mount point is free" bash -c "stat -f '$mnt' && ! mountpoint -q '$mnt'"
  kill "$listener" && wait "$listener" 2>/dev/null
  rm -f "$notify"
  serving
  check "and starts again" heard '^READY=1$'
  check "SIGTERM, where ExecStop was refused" bash -c "cd '$mnt' && ! '$cffs' umount '$mnt' 2>/dev/null"
  kill -TERM "$(daemon_pid)"
  wait "$pid"
  check "ends it well" test $? = 0
  wait "$listener"
  check "nothing is lost" bash -c "'$cffs' mount '$store' '$mnt' && grep -q kept '$mnt/file'"
  # One that is not for a service manager says nothing, whatever it inherits.
  check "umount" "$cffs" umount "$mnt"
  listen
  check "a mount in the background" env NOTIFY_SOCKET="$notify" "$cffs" mount "$store" "$mnt"
  check "umount" "$cffs" umount "$mnt"
  check "was not heard" test ! -s "$base/work/heard"
  kill "$listener" && wait "$listener" 2>/dev/null
  command -v systemd-analyze >/dev/null || return 0
  sed "s,@CFFS_BIN_DIR@/cffs,$(realpath "$cffs"),; s,@CFFS_CONFIG_DIR@,/etc/cffs," "$unit" >"$base/work/cffs@.service"
  cp "$base/work/cffs@.service" "$base/work/cffs@www.service"
  check "systemd finds no fault in the unit" systemd-analyze verify --man=no "$base/work/cffs@www.service"
}
