#!/usr/bin/env bash
# Makes a small Ceph cluster of Debian's own packages on loopback, all of it below one directory, for tests of cffs on RADOS and for
# trying it; kills and pauses its daemons, to see what happens then; and takes it away again.
set -euo pipefail

usage() {
  cat <<USAGE
usage: scripts/rados_cluster.sh start DIR [--osds=N] [--osd-size=SIZE] [--pool=NAME]... [--cephfs]
       scripts/rados_cluster.sh status DIR
       scripts/rados_cluster.sh stop DIR [--keep]
       scripts/rados_cluster.sh osd DIR N kill|start|pause|go-on
       scripts/rados_cluster.sh mon DIR kill|start|pause|go-on

  start   a monitor, a manager, N OSDs (by default 1), each with BlueStore on a sparse file of SIZE (by default 4G), and the pools (by
          default cffs). DIR is new, empty, or what "stop --keep" left, whose data it goes on with. The last line is
          "conf: DIR/ceph.conf", with which "ceph -c DIR/ceph.conf -s" and "rados -c DIR/ceph.conf -p cffs ls" need nothing else.
          Users, with their keys in DIR/keyring: client.admin; client.cffs, which reads and writes the pools and may blocklist;
          client.reader, which reads the pools; client.follower, which reads and locks there, and may follow stores. --cephfs makes
          a CephFS beside them, in pools of its own, with one metadata server, for "ceph-fuse -c DIR/ceph.conf MNT".
  status  what runs. Ends with 0 where all of it does and the monitor answers, else with 1.
  stop    ends all daemons and removes what start made. A second time it does nothing. --keep leaves the data for the next start.
  osd, mon
          kill is SIGKILL, pause SIGSTOP, go-on SIGCONT; start returns once the daemon takes part again.

Pools keep min(N, 3) copies; they take writes with two of them, where N is below 3 with one. Needs ceph-mon, ceph-mgr, ceph-osd and
ceph-common, for --cephfs ceph-mds (ends with 77 without them), but not root.
USAGE
}
fail() { echo "rados_cluster: $*" >&2; exit 1; }
misused() { echo "rados_cluster: $*; see --help" >&2; exit 2; }

# ---- what is asked ----

words=()
osds=
size=
pools=()
keep=
cephfs=
for word in "$@"; do
  case $word in
    -h|--help) usage; exit 0 ;;
    --osds=*) osds=${word#*=} ;;
    --osd-size=*) size=${word#*=} ;;
    --pool=*) pools+=("${word#*=}") ;;
    --keep) keep=1 ;;
    --cephfs) cephfs=1 ;;
    -*) misused "unknown option '$word'" ;;
    *) words+=("$word") ;;
  esac
done
[ ${#words[@]} -gt 0 ] || { usage >&2; exit 2; }
command=${words[0]}
case $command in
  start|status|stop) count=2 ;;
  mon) count=3 ;;
  osd) count=4 ;;
  *) misused "there is no command '$command'" ;;
esac
[ ${#words[@]} = $count ] || misused "'$command' takes $((count - 1)) more word(s), not $((${#words[@]} - 1))"
[ "$command" = start ] || [ -z "$osds$size$cephfs${pools[*]-}" ] || misused "only start takes --osds, --osd-size, --pool and --cephfs"
[ "$command" = stop ] || [ -z "$keep" ] || misused "only stop takes --keep"
dir=$(realpath -m -- "${words[1]}")

for needed in ceph-mon ceph-mgr ceph-osd ceph ceph-authtool monmaptool ${cephfs:+ceph-mds}; do
  command -v $needed >/dev/null || {
    echo "rados_cluster: $needed is missing; scripts/install_packages.sh ceph-mon ceph-mgr ceph-osd ceph-common${cephfs:+ ceph-mds} installs it" >&2
    exit 77
  }
done
unset CEPH_CONF CEPH_ARGS CEPH_KEYRING  # whoever's they are

# ---- its daemons ----

# The process ids of those whose name matches; of all by default. Their arguments tell, not files: those may be gone, or the process
# id in them someone else's by now.
pids() {
  # (-e in one word with its value, lest grep find itself.)
  grep -slzFx -e"--conf=$dir/ceph.conf" /proc/[0-9]*/cmdline |
    xargs -r grep -slzxE -e"--name=${1:-(mon|mgr|osd|mds)[.].+}" | cut -d/ -f3 || true
}
state() {
  local pid letter
  for pid in $(pids "$1"); do
    letter=$(sed -n 's/^State:\t\(.\).*/\1/p' "/proc/$pid/status" 2>/dev/null) || letter=
    case $letter in
      T) echo paused; return ;;
      ''|Z|X) ;;
      *) echo running; return ;;
    esac
  done
  echo gone
}
is() { [ "$(state "$1")" = "$2" ]; }
# A process that ends has no command line any more before its files are closed, and with them what it had locked; they are its threads' until
# the last one is gone, even where the first is a zombie.
all_ended() {  # PID...
  local pid
  for pid in "$@"; do
    ! grep -qs '^State:.[^ZX]' "/proc/$pid"/task/*/status || return 1
  done
}
wait_for() {  # SECONDS COMMAND...
  local end=$((SECONDS + $1))
  shift
  until "$@"; do
    [ $SECONDS -lt $end ] || return 1
    sleep 0.1
  done
}
signal() {  # SIGNAL [NAME]
  local found
  mapfile -t found < <(pids "${2:-}")
  [ ${#found[@]} = 0 ] || kill -s "$1" "${found[@]}" 2>/dev/null || true
}
none_left() { [ -z "$(pids "${1:-}")" ]; }
end_all() {
  local kind
  if [ "${1:-}" = gently ]; then
    signal CONT
    for kind in mds osd mgr mon; do
      signal TERM "${kind}[.].+"
      wait_for 10 none_left "${kind}[.].+" || true
    done
  fi
  local ended
  mapfile -t ended < <(pids)
  killed() { signal KILL; none_left; }
  wait_for 20 killed && wait_for 20 all_ended "${ended[@]}" || fail "processes $(pids | xargs) of $dir do not end"
}

ceph() { timeout -k 1 20 ceph -c "$dir/ceph.conf" --connect-timeout 5 "$@" </dev/null 2>>"$dir/log/commands.log"; }
# "see FILE (its last line)", for a message. (Lines with a blank before them are a crash's dump.)
see() {
  local last
  last=$(grep -v '^ \|^$\|^---' "$1" 2>/dev/null | tail -n 1 | cut -c -200) || true
  echo "see $1${last:+ ($last)}"
}
# What a daemon's program is asked to do, its words in the daemon's log.
run() {  # NAME [OPTION...]
  local name=$1
  shift
  timeout -k 1 60 "ceph-${name%%.*}" --name="$name" --conf="$dir/ceph.conf" "$@" </dev/null >>"$dir/log/$name.log" 2>&1
}
launch() {  # returns with the daemon in the background, its ports bound
  is "$1" gone || fail "$1 is $(state "$1") already"
  run "$1" || { signal KILL "$1"; fail "$1 does not start; $(see "$dir/log/$1.log")"; }
}
mon_answers() { ceph mon stat >/dev/null; }
# As the OSD itself says: the map may still call it up from before.
osd_active() {
  [[ $(timeout -k 1 5 ceph --admin-daemon "$dir/run/$1.asok" status 2>/dev/null) == *'"state": "active"'* ]]
}
wait_for_mon() { wait_for 30 mon_answers || fail "mon.a does not answer; $(see "$dir/log/mon.a.log")"; }
wait_for_osd() {
  wait_for 60 osd_active "$1" || fail "$1 is $(state "$1") and did not become part of the cluster; $(see "$dir/log/$1.log")"
}

# What start was asked for, and how far it came, for those after it.
read_settings() {
  local name value
  made=
  complete=
  had_osds=
  had_size=
  had_cephfs=
  had_pools=()
  while IFS='=' read -r name value; do
    case $name in
      osds) had_osds=$value ;;
      osd-size) had_size=$value ;;
      cephfs) had_cephfs=$value ;;
      pool) had_pools+=("$value") ;;
      made) made=1 ;;
      complete) complete=1 ;;
    esac
  done <"$dir/settings"
}
write_settings() {
  printf '%s\n' "osds=$osds" "osd-size=$size" ${cephfs:+cephfs=1} "${pools[@]/#/pool=}" ${made:+made=1} "$@" >"$dir/settings"
}
# Whether they are this script's: others, too, have a file of that name.
is_cluster() {
  local first=
  [ -f "$dir/settings" ] && { read -r first <"$dir/settings" || true; } && [[ $first =~ ^osds=[0-9]+$ ]]
}
remove_data() { rm -rf --one-file-system "$dir"/{ceph.conf,keyring,all-keys,monmap,mon.a,mgr.x,mds.a,run,crash} "$dir"/osd.*; }

# ---- start ----

free_port() {  # below those the kernel gives to outgoing connections
  local port
  while :; do
    port=$((10000 + (RANDOM << 3 ^ RANDOM) % 20000))
    is_free $port && echo $port && return
  done
}
is_free() { ! (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

write_conf() {
  local copies=$((osds < 3 ? osds : 3))
  cat >"$dir/ceph.conf" <<CONF
[global]
fsid = $(cat /proc/sys/kernel/random/uuid)
mon host = v2:127.0.0.1:$port
public addr = 127.0.0.1
cluster addr = 127.0.0.1
ms bind msgr1 = false
auth allow insecure global id reclaim = false
run dir = $dir/run
crash dir = $dir/crash
# Copies on OSDs, not hosts: there is one host.
osd crush chooseleaf type = 0
osd pool default size = $copies
osd pool default min size = $((copies < 3 ? 1 : 2))
osd pool default pg num = 16
osd pool default pgp num = 16
osd pool default pg autoscale mode = off
mon allow pool size one = true
mon allow pool delete = true
mon max pg per osd = 2000
# An OSD that died or hangs is noticed soon, may do so often, and nothing is moved for it.
osd heartbeat interval = 1
osd heartbeat grace = 6
mon osd adjust heartbeat grace = false
mon osd min down reporters = 1
osd beacon report interval = 5
mon osd report timeout = 60
osd max markdown count = 1000000
mon osd down out interval = 1000000
# A paused monitor must not take the manager for lost.
mon mgr beacon grace = 600
# No warnings (some are the manager's) about what is meant to be so, or the disk that it is on.
mon warn on pool no redundancy = false
mon warn on pool no app = false
mon warn pg not scrubbed ratio = 0
mon warn pg not deep scrubbed ratio = 0
mon data avail warn = 1
mon data avail crit = 0
log max recent = 100
$(printf 'debug %s = 0/0\n' asok auth bdev bluefs bluestore crush filer finisher heartbeatmap journal leveldb mgr mgrc mon monc ms \
  objclass objecter optracker osd paxos perfcounter rados rocksdb throttle timer tp)

[client]
keyring = $dir/keyring

[mon]
mon data = $dir/\$name
mon cluster log file = $dir/log/cluster.log
log file = $dir/log/\$name.log
admin socket = $dir/run/\$name.asok
pid file = $dir/run/\$name.pid

[mgr]
mgr data = $dir/\$name
mgr stats period = 1
mgr tick period = 1
# It loads all modules that there are, wanted or not, which takes seconds and memory; these it can do without.
mgr initial modules =
mgr disabled modules = alerts,cephadm,dashboard,diskprediction_local,influx,insights,iostat,k8sevents,localpool,mirroring,nfs,\
osd_perf_query,osd_support,prometheus,restful,rook,selftest,snap_schedule,stats,telegraf,test_orchestrator,zabbix
log file = $dir/log/\$name.log
admin socket = $dir/run/\$name.asok
pid file = $dir/run/\$name.pid

[mds]
mds data = $dir/\$name
log file = $dir/log/\$name.log
admin socket = $dir/run/\$name.asok
pid file = $dir/run/\$name.pid

[osd]
osd data = $dir/\$name
osd objectstore = bluestore
bluestore block size = $size
bluestore cache autotune = false
bluestore cache size = 64M
osd memory target = 939524096
osd op num shards = 2
osd op num threads per shard = 2
osd recovery sleep hdd = 0
mgr stats period = 1
log file = $dir/log/\$name.log
admin socket = $dir/run/\$name.asok
pid file = $dir/run/\$name.pid
CONF
}

# The monitor starts with all of these; nobody has to be introduced later.
write_keyrings() (
  local all=$dir/all-keys name
  entry() {  # FILE USER CAPS...
    local key
    key=$(ceph-authtool --gen-print-key)
    { printf '[%s]\n  key = %s\n' "$2" "$key"; printf '  caps %s\n' "${@:3}"; } >>"$all"
    [ "$1" = "$all" ] || printf '[%s]\n  key = %s\n' "$2" "$key" >>"$1"
  }
  umask 077
  entry "$all" mon. 'mon = "allow *"'
  entry "$dir/keyring" client.admin 'mon = "allow *"' 'mgr = "allow *"' 'osd = "allow *"' 'mds = "allow *"'
  entry "$dir/keyring" client.cffs 'mon = "profile rbd"' "osd = \"$(pool_caps rwx)\""
  entry "$dir/keyring" client.reader 'mon = "allow r"' "osd = \"$(pool_caps r)\""
  entry "$dir/keyring" client.follower 'mon = "allow r"' "osd = \"$(pool_caps rx)\""
  entry "$dir/mgr.x/keyring" mgr.x 'mon = "allow profile mgr"' 'osd = "allow *"' 'mds = "allow *"'
  entry "$dir/mds.a/keyring" mds.a 'mon = "allow profile mds"' 'mgr = "allow profile mds"' 'osd = "allow rwx"' 'mds = "allow"'
  for name in "${osd_names[@]}"; do
    entry "$dir/$name/keyring" "$name" 'mon = "allow profile osd"' 'mgr = "allow profile osd"' 'osd = "allow *"'
  done
)
pool_caps() {
  local pool caps=
  for pool in "${pools[@]}"; do caps+="${caps:+, }allow $1 pool=$pool"; done
  echo "$caps"
}
make_monmap() {
  monmaptool --create --clobber --fsid "$(sed -n 's/^fsid = //p' "$dir/ceph.conf")" --addv a "[v2:127.0.0.1:$port]" "$dir/monmap" \
    >>"$dir/log/mon.a.log" 2>&1
}

# Whatever is the same for each OSD, at once.
each_osd() {  # FUNCTION
  local name jobs=() job failed=
  for name in "${osd_names[@]}"; do
    "$1" "$name" &
    jobs+=($!)
  done
  for job in "${jobs[@]}"; do wait "$job" || failed=1; done
  [ -z "$failed" ] || exit 1
}
make_osd() { run "$1" --no-mon-config --mkfs --osd-uuid "$(cat "$dir/$1/uuid")" || fail "$1 cannot be made; $(see "$dir/log/$1.log")"; }
start_osd() {
  launch "$1"
  wait_for_osd "$1"
}

# One of them on either: whichever is there is taken up again.
start_cephfs() {
  [ -s "$dir/mds.a/keyring" ] || fail "the cluster in $dir is of an older version, which knew no CephFS; make a new one"
  if ! grep -q 'name: cephfs' <<<"$(ceph fs ls)"; then
    ceph osd pool create cephfs.meta >/dev/null && ceph osd pool create cephfs.data >/dev/null &&
      ceph fs new cephfs cephfs.meta cephfs.data >/dev/null || fail "no CephFS can be made; $(see "$dir/log/commands.log")"
  fi
  launch mds.a
  mds_active() { grep -q 'up:active' <<<"$(ceph mds stat)"; }
  wait_for 60 mds_active || fail "mds.a is not active; $(see "$dir/log/mds.a.log")"
  echo "   CephFS is there: ceph-fuse -c $dir/ceph.conf MNT"
}

all_clean() { pg_stat=$(ceph pg stat) && [[ $pg_stat == "$pgs pgs: $pgs active+clean;"* ]]; }
healthy() { health=$(ceph health) && [ "$health" = HEALTH_OK ]; }

undo() {
  trap '' INT TERM HUP
  set +e
  local jobs
  jobs=$(jobs -p)  # each_osd's
  [ -z "$jobs" ] || { kill $jobs; wait; } 2>/dev/null
  end_all ${complete:+gently}
  [ -n "$complete" ] || remove_data  # but not the logs
}

start() {
  local name pool port pg_stat='' pgs patience health='' osd_names new_pools=()
  none_left || fail "it runs already (or a part of it); stop it first: scripts/rados_cluster.sh stop $dir"
  [[ $dir =~ ^[A-Za-z0-9/._+=@,:-]+$ ]] || fail "'$dir' has characters that Ceph's configuration does not take"
  [ ${#dir} -le 90 ] || fail "'$dir' is too long for the sockets below it; take one of at most 90 characters"
  made=
  complete=
  if is_cluster; then
    read_settings
  elif [ ! -e "$dir" ]; then
    made=1
  elif [ ! -d "$dir" ] || [ -n "$(ls -A "$dir")" ]; then
    fail "$dir is neither empty nor a cluster of this script"
  fi
  [ -z "$size" ] || size=$(numfmt --from=iec -- "$size" 2>/dev/null) || fail "--osd-size takes a size such as 4G"
  if [ -n "$complete" ]; then
    [ "${osds:-$had_osds}" = "$had_osds" ] || fail "$dir has $had_osds OSDs, which --osds does not change"
    [ "${size:-$had_size}" = "$had_size" ] || fail "the OSDs of $dir have $had_size bytes, which --osd-size does not change"
    osds=$had_osds
    size=$had_size
    pools=("${had_pools[@]}" "${pools[@]}")
  fi
  osds=${osds:-1}
  size=${size:-$((4 << 30))}
  [[ $osds =~ ^[1-9][0-9]?$ ]] || fail "--osds takes a number from 1 to 99, not '$osds'"
  [ "$size" -ge $((1 << 30)) ] || fail "--osd-size takes 1G or more"
  [ ${#pools[@]} -gt 0 ] || pools=(cffs)
  mapfile -t pools < <(printf '%s\n' "${pools[@]}" | awk '!seen[$0]++')
  for pool in "${pools[@]}"; do
    [[ $pool =~ ^[A-Za-z0-9_][A-Za-z0-9_.-]*$ ]] || fail "a pool cannot be called '$pool'"
  done
  mapfile -t osd_names < <(seq -f 'osd.%.0f' 0 $((osds - 1)))

  trap undo EXIT
  trap 'exit 129' HUP
  trap 'exit 130' INT
  trap 'exit 143' TERM
  mkdir -p "$dir"
  if [ -z "$complete" ]; then
    remove_data
    write_settings
    mkdir -p "$dir"/{log,run,crash,mgr.x,mds.a} "${osd_names[@]/#/$dir/}"
    echo "   making a monitor, a manager and $osds OSD(s) of $(numfmt --to=iec "$size") in $dir"
    port=$(free_port)
    write_conf
    write_keyrings
    for name in "${osd_names[@]}"; do cat /proc/sys/kernel/random/uuid >"$dir/$name/uuid"; done
    make_monmap && run mon.a --mkfs --monmap "$dir/monmap" --keyring "$dir/all-keys" ||
      fail "mon.a cannot be made; $(see "$dir/log/mon.a.log")"
    rm "$dir/all-keys"
    each_osd make_osd
  else
    mkdir -p "$dir"/{log,run,crash}
    echo "   going on with the cluster in $dir"
    port=$(sed -n 's/^mon host = .*://p' "$dir/ceph.conf")
    if ! is_free "$port"; then  # somebody else's by now
      port=$(free_port)
      sed -i "s/^\(mon host = .*:\).*/\1$port/" "$dir/ceph.conf"
      make_monmap && run mon.a --inject-monmap "$dir/monmap" ||
        fail "mon.a cannot be moved to another port; $(see "$dir/log/mon.a.log")"
    fi
  fi

  launch mon.a
  wait_for_mon
  echo "   the monitor answers at 127.0.0.1:$port"
  # Else the manager makes a pool of its own for what disks say of themselves.
  [ -n "$complete" ] || ceph config set mgr mgr/devicehealth/enable_monitoring false --force ||
    fail "the monitor takes no setting; $(see "$dir/log/commands.log")"
  launch mgr.x
  if [ -z "$complete" ]; then
    for name in "${osd_names[@]}"; do
      ceph osd new "$(cat "$dir/$name/uuid")" "${name#osd.}" >/dev/null || fail "$name cannot be registered; $(see "$dir/log/commands.log")"
    done
  fi
  each_osd start_osd
  echo "   up: ${osd_names[*]}"
  for pool in "${pools[@]}"; do
    [[ " ${had_pools[*]-} " == *" $pool "* && -n $complete ]] || new_pools+=("$pool")
  done
  for pool in "${new_pools[@]}"; do
    ceph osd pool create "$pool" >/dev/null || fail "pool $pool cannot be made; $(see "$dir/log/commands.log")"
  done
  if [ -n "$complete" ] && [ ${#new_pools[@]} -gt 0 ]; then
    ceph auth caps client.cffs mon 'profile rbd' osd "$(pool_caps rwx)" >/dev/null &&
      ceph auth caps client.reader mon 'allow r' osd "$(pool_caps r)" >/dev/null &&
      ceph auth caps client.follower mon 'allow r' osd "$(pool_caps rx)" >/dev/null ||
      fail "the users' rights cannot be changed; $(see "$dir/log/commands.log")"
  fi
  cephfs=${cephfs:-${complete:+$had_cephfs}}
  [ -z "$cephfs" ] || start_cephfs
  pgs=$(ceph osd pool ls detail | sed -n 's/.* pg_num \([0-9]*\) .*/\1/p' | awk '{ sum += $1 } END { print sum }') ||
    fail "the monitor does not list the pools; $(see "$dir/log/commands.log")"
  patience=${complete:+300}  # there may be something to recover
  wait_for "${patience:=60}" all_clean ||
    fail "the pools are not active and clean after $patience s (${pg_stat%%;*}, of $pgs); $(see "$dir/log/cluster.log")"
  wait_for 15 healthy || echo "   but the cluster says: $health"
  write_settings complete=1
  trap - EXIT HUP INT TERM
  echo "   pools usable: ${pools[*]} ($pgs placement groups, active and clean)"
  echo "conf: $dir/ceph.conf"
}

# ---- all else ----

settings_or_fail() {
  is_cluster || fail "there is no cluster in $dir"
}

status() {
  local name answer code=0 pid memory
  settings_or_fail
  read_settings
  answer=$(is mon.a running && ceph health) || { answer='the monitor does not answer'; code=1; }
  echo "$dir: $answer"
  for name in mon.a mgr.x ${had_cephfs:+mds.a} $(seq -f 'osd.%.0f' 0 $((had_osds - 1))); do
    is "$name" running || code=1
    pid=$(pids "$name" | head -n 1)
    memory=$(awk '/^VmRSS/ { printf ", %d MiB", $2 / 1024 }' "/proc/${pid:-none}/status" 2>/dev/null) || true
    echo "  $name: $(state "$name")${pid:+ as $pid}$memory"
  done
  if [ "$answer" != 'the monitor does not answer' ]; then
    { ceph osd stat && ceph pg stat && ceph osd pool ls detail; } |
      sed -nE "s/^pool [0-9]+ '(.*)' .*(size [0-9]+) (min_size [0-9]+) .*(pg_num [0-9]+) .*/pool \1: \2, \3, \4/; s/./  &/p" || code=1
  fi
  echo "  conf: $dir/ceph.conf"
  return $code
}

stop() {
  end_all ${keep:+gently}
  is_cluster || return 0  # nothing of start's
  if [ -n "$keep" ]; then
    rm -rf "$dir/run"
    return
  fi
  read_settings
  remove_data
  rm -rf --one-file-system "$dir/log" "$dir/settings"
  [ -z "$made" ] || rmdir "$dir" 2>/dev/null || true  # what others put there stays
}

act() {  # NAME ACTION
  settings_or_fail
  [[ $1 =~ ^(mon\.a|osd\.[0-9]+)$ && -d $dir/$1 ]] || fail "$dir has no $1"
  case $2 in
    kill)
      ! is "$1" gone || fail "$1 does not run"
      local ended
      mapfile -t ended < <(pids "$1")
      signal KILL "$1"
      wait_for 20 all_ended "${ended[@]}" || fail "$1 does not end"
      ;;
    start)
      if [ "$1" = mon.a ]; then
        launch "$1"
        wait_for_mon
      else
        is mon.a running || fail "an OSD cannot start while the monitor is $(state mon.a)"
        start_osd "$1"
      fi
      ;;
    pause)
      is "$1" running || fail "$1 is $(state "$1")"
      signal STOP "$1"
      wait_for 10 is "$1" paused || fail "$1 does not pause"
      ;;
    go-on)
      is "$1" paused || fail "$1 is $(state "$1"), not paused"
      signal CONT "$1"
      ;;
    *) misused "there is no '$2'; there are: kill, start, pause, go-on" ;;
  esac
}

case $command in
  start) start ;;
  status) status ;;
  stop) stop ;;
  mon) act mon.a "${words[2]}" ;;
  osd) act "osd.${words[2]}" "${words[3]}" ;;
esac
