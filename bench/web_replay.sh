#!/usr/bin/env bash
# The main job: a real web log replayed cold, at zero think time, on four targets side by side.
#
#   native        the tree on ext4
#   pass-through  a tuned FUSE pass-through (bench/passthrough/passthrough.h) over that same ext4
#   cffs none     a cffs store, policy none (TableFS as published), on an ext4 of its own
#   cffs directory  the same with policy directory
#
# Each ext4 is an image on a loop device, so that device reads can be counted for each target alone. Every run starts
# cold: the mount is taken down, caches are dropped, all is mounted again. Rounds are interleaved; the first table shows
# the round with the median requests/s of each target. The second is a cold sweep, as a backup or a search does it: one
# reader lists the tree and reads every file once, in the order of the listing.
#
# All of it on the machine's own disk; then one round each on a modelled cloud volume and, with the site only once, on a modelled hard disk
# (docs/MEASURING.md, "Disks"), because what groups are worth is decided by what a device read costs. The last table has all.
set -euo pipefail

here=$(cd "$(dirname "$0")/.." && pwd)
bin=$here/build/release
log=$here/traces/nasa_19950801.log.xz
threads=4
rounds=3
min_files=10000
disks=raw,cloud,hdd
work=
json=

usage() {
  cat <<USAGE
usage: bench/web_replay.sh [--log FILE] [--disks LIST] [--threads N] [--rounds N] [--min-files N] [--work DIR] [--bin DIR] [--json FILE]
  --log FILE      web log, Common or Combined Log Format     ($log)
  --disks LIST    raw: the machine's; cloud, hdd: modelled   ($disks)
  --threads N     concurrent readers                         ($threads)
  --rounds N      rounds on raw; the median counts           ($rounds)
  --min-files N   on raw the site is repeated as virtual hosts until the tree has so many files ($min_files)
  --work DIR      where images are made, about 3 GB          (a new directory below \${TMPDIR:-/tmp})
  --bin DIR       where cffs was built                       ($bin)
  --json FILE     also write every round's figures there, one JSON object a line
USAGE
}
fail() { echo "web_replay: $*" >&2; exit 1; }

while [ $# -gt 0 ]; do
  case $1 in
    --log) log=$2; shift 2 ;;
    --disks) disks=$2; shift 2 ;;
    --threads) threads=$2; shift 2 ;;
    --rounds) rounds=$2; shift 2 ;;
    --min-files) min_files=$2; shift 2 ;;
    --work) work=$2; shift 2 ;;
    --bin) bin=$2; shift 2 ;;
    --json) json=$2; shift 2 ;;
    -h|--help) usage; exit 0 ;;
    *) usage >&2; fail "unknown option '$1'" ;;
  esac
done
cffs=$bin/cffs
[ -x "$cffs" ] || fail "no cffs in $bin; run scripts/quickstart.sh, which builds it"
[ -r "$log" ] || fail "cannot read the log $log"
[ "$(id -u)" = 0 ] || fail "mounting and dropping caches needs root; run it with sudo"
[ -c /dev/fuse ] || fail "/dev/fuse is missing; load the fuse module"
for d in ${disks//,/ }; do
  case $d in raw|cloud|hdd) ;; *) fail "there is no disk '$d'; there are raw, cloud and hdd" ;; esac
done

[ -z "$work" ] || mkdir -p "$work"
work=$(mktemp -d "${work:-${TMPDIR:-/tmp}}/cffs-web-replay.XXXXXX")  # what is removed at the end is ours alone
targets=(native passthrough none directory)
stores=(none directory)
images=(native "${stores[@]}")
in_memory=  # where images of modelled disks lie, if there is room

unmount_one() {  # takes down whatever is mounted on $1, whatever it takes
  mountpoint -q "$1" 2>/dev/null || return 0
  for _ in 1 2 3 4 5 6 7 8 9 10; do
    umount "$1" 2>/dev/null && return 0
    sleep 0.2
  done
  umount -l "$1" 2>/dev/null || true
}
declare -A device model_pid
detach_disk() {  # $1: name
  unmount_one "$work/disk-$1"
  [ -z "${device[$1]:-}" ] || losetup -d "${device[$1]}" 2>/dev/null || true
  unset "device[$1]"
  unmount_one "$work/model-$1"
  [ -z "${model_pid[$1]:-}" ] || wait "${model_pid[$1]}" 2>/dev/null || true
  unset "model_pid[$1]"
}
take_down() {  # all of one disk
  local t
  for t in passthrough "${stores[@]}"; do unmount_one "$work/mnt-$t"; done
  # A daemon that was unmounted is still closing its store.
  for _ in $(seq 50); do pgrep -f "cffs (mount|bench passthrough) .*$work/" >/dev/null || break; sleep 0.1; done
  for t in "${images[@]}"; do detach_disk "$t"; done
  rm -rf "$work"/disk-* "$work"/mnt-* "$work"/model-* "$work"/*.img
  [ -z "$in_memory" ] || rm -rf "$in_memory"
  in_memory=
}
cleanup() {
  trap '' INT TERM
  set +e
  take_down
  rm -rf "$work"/*.out
  rmdir "$work" 2>/dev/null
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

say() { echo "== $*"; }

# --- one ext4 for each store, on a disk -------------------------------------------------------------------------------
use_loop=1
image_of() { echo "${in_memory:-$work}/$1.img"; }
attach() {  # $1: name, $2: file that it lies on
  local dev
  dev=$(losetup --find --show --direct-io=on "$2" 2>/dev/null) || dev=$(losetup --find --show "$2" 2>/dev/null) || return 1
  device[$1]=$dev
  mount -o noatime "$dev" "$work/disk-$1"
}
make_disk() {  # $1: name, $2: size in MB
  mkdir -p "$work/disk-$1"
  [ -n "$use_loop" ] || return 0
  truncate -s "$2M" "$(image_of "$1")"
  mkfs.ext4 -q -F -m 0 -E lazy_itable_init=0,lazy_journal_init=0 "$(image_of "$1")"
  attach "$1" "$(image_of "$1")" && return 0
  use_loop=
  rm -f "$(image_of "$1")"
  say "no loop devices here: plain directories are used, device reads are not counted, disks not modelled"
}
put_on_model() {  # $1: name, $2: the model; from now on every request takes as long as that disk would
  detach_disk "$1"
  mkdir -p "$work/model-$1"
  "$cffs" bench disk --profile="$2" "$(image_of "$1")" "$work/model-$1" & model_pid[$1]=$!
  for _ in $(seq 100); do mountpoint -q "$work/model-$1" && break; sleep 0.05; done
  mountpoint -q "$work/model-$1" || fail "the modelled disk did not come up"
  attach "$1" "$work/model-$1/disk" || fail "no loop device for the modelled disk"
}
remount_disk() {
  [ -n "$use_loop" ] || return 0
  umount "$work/disk-$1"
  mount -o noatime "${device[$1]}" "$work/disk-$1"
}
used() {  # "inodes KB" in use on the disk of $1
  if [ -n "$use_loop" ]; then
    df --output=iused,used -k "$work/disk-$1" | tail -n 1
  else
    echo "$(find "$work/disk-$1" | wc -l) $(du -sk "$work/disk-$1" | cut -f1)"
  fi
}

# --- the tree, the stores -----------------------------------------------------------------------------------------------
declare -A empty
prepare() {  # $1: files that the tree must have
  local name
  for name in "${images[@]}"; do make_disk "$name" 2048; done
  for name in "${images[@]}"; do empty[$name]=$(used "$name"); done
  "$cffs" replay "$log" --target="$work/disk-native/tree" --make-tree --min-files="$1" || fail "the tree could not be made"
  for name in "${stores[@]}"; do
    say "store with policy $name: format and import"
    "$cffs" format "$work/disk-$name/store" || fail "format failed"
    "$cffs" import --policy="$name" "$work/disk-native/tree" "$work/disk-$name/store" || fail "import failed"
  done
  sync
}

# --- cold runs ----------------------------------------------------------------------------------------------------------
disk_of() { case $1 in native|passthrough) echo native ;; *) echo "$1" ;; esac; }
reads() { if [ -n "$use_loop" ]; then awk '{printf "%d %.0f\n", $1, $3 * 512}' "/sys/block/$(basename "${device[$1]}")/stat"; else echo "0 0"; fi; }

passthrough_pid=
up() {
  mkdir -p "$work/mnt-$1"
  case $1 in
    native) ;;
    passthrough)
      "$cffs" bench passthrough "$work/disk-native/tree" "$work/mnt-passthrough" & passthrough_pid=$!
      for _ in $(seq 100); do mountpoint -q "$work/mnt-passthrough" && break; sleep 0.05; done
      mountpoint -q "$work/mnt-passthrough" || fail "the pass-through did not come up"
      # cffs mount raises the kernel's readahead to 1 MiB; the baseline gets the same.
      echo 1024 >"/sys/class/bdi/$(mountpoint -d "$work/mnt-passthrough")/read_ahead_kb" ;;
    *) "$cffs" mount --policy="$1" -o noatime "$work/disk-$1/store" "$work/mnt-$1" || fail "mount failed" ;;
  esac
}
down() {
  case $1 in
    native) ;;
    passthrough) umount "$work/mnt-passthrough"; wait "$passthrough_pid" || true ;;
    *) "$cffs" umount "$work/mnt-$1" ;;
  esac
}
start_cold() {  # $1: target; sets before
  remount_disk "$(disk_of "$1")"
  sync
  echo 3 >/proc/sys/vm/drop_caches
  before=($(reads "$(disk_of "$1")"))
  up "$1"
}
finish() {  # $1: target; sets device_reads and device_bytes, counted since start_cold
  local after
  after=($(reads "$(disk_of "$1")"))
  device_reads=$((after[0] - before[0]))
  device_bytes=$((after[1] - before[1]))
  down "$1"
}
where() { if [ "$1" = native ]; then echo "$work/disk-native/tree"; else echo "$work/mnt-$1"; fi; }

replays() {  # $1: disk, $2: rounds, $3: files
  local round t
  for round in $(seq "$2"); do
    for t in "${targets[@]}"; do
      start_cold "$t"
      "$cffs" replay "$log" --target="$(where "$t")" --min-files="$3" --threads="$threads" --check=size --json >"$work/run.out" ||
        fail "the replay on $t failed"
      finish "$t"
      python3 - "$1" "$t" "$round" "$device_reads" "$device_bytes" "$work/run.out" >>"$work/results.out" <<'PY'
import json, sys
disk, target, n, reads, read_bytes, path = sys.argv[1:]
run = json.load(open(path))
run.update(disk=disk, target=target, round=int(n), device_reads=int(reads), device_bytes=int(read_bytes))
print(json.dumps(run))
PY
      say "disk $1, round $round, $t: $(tail -n 1 "$work/results.out" | python3 -c 'import json, sys; print(round(json.load(sys.stdin)["requests_per_s"]))') requests/s"
    done
  done
}
sweeps() {  # $1: disk, $2: rounds
  local round t from to files
  for round in $(seq "$2"); do
    for t in "${targets[@]}"; do
      start_cold "$t"
      from=$(date +%s.%N)
      files=$(cd "$(where "$t")" && find . -type f -print0 | tee >(xargs -0 cat >/dev/null; echo $? >"$work/swept.out") | tr -cd '\0' | wc -c)
      while [ ! -s "$work/swept.out" ]; do sleep 0.01; done
      to=$(date +%s.%N)
      [ "$(cat "$work/swept.out")" = 0 ] || fail "not all files of $t could be read, see above"
      rm -f "$work/swept.out"
      finish "$t"
      echo "$1 $t $files $from $to $device_reads $device_bytes" >>"$work/sweeps.out"
    done
    say "disk $1, sweep $round done"
  done
}

say "log: $log"
: >"$work/results.out"
: >"$work/sweeps.out"
: >"$work/space.out"
for disk in ${disks//,/ }; do
  files=$min_files
  times=$rounds
  if [ $disk != raw ]; then
    [ -n "$use_loop" ] || continue
    [ $disk != hdd ] || files=1
    times=1
    # Images in memory where there is room, so that the model alone takes time.
    [ "$(df --output=avail -m /dev/shm 2>/dev/null | tail -n 1)" -lt 4096 ] || in_memory=$(mktemp -d /dev/shm/cffs-web-replay.XXXXXX)
  fi
  say "disk $disk: making the tree and the stores"
  prepare $files
  if [ $disk != raw ]; then
    for name in "${images[@]}"; do put_on_model "$name" $disk; done
  fi
  replays $disk $times $files
  sweeps $disk $times
  for name in "${images[@]}"; do echo "$disk $name ${empty[$name]} $(used "$name")"; done >>"$work/space.out"
  take_down
done
[ -z "$json" ] || cp "$work/results.out" "$json"

python3 - "$work/results.out" "$work/space.out" "${use_loop:-0}" "$work/sweeps.out" "$(basename "$log")" "$threads" <<'PY'
import json, sys
runs = [json.loads(line) for line in open(sys.argv[1])]
counted = sys.argv[3] == "1"
names = {"native": "native ext4", "passthrough": "FUSE pass-through", "none": "cffs none", "directory": "cffs directory"}
space, swept = {}, {}
for line in open(sys.argv[2]):
    disk, name, *n = line.split()
    n = [int(x) for x in n]
    space[disk, name] = (n[2] - n[0], (n[3] - n[1]) / 1024)
for line in open(sys.argv[4]):
    disk, target, files, start, end, reads, read_bytes = line.split()
    seconds = float(end) - float(start)
    swept.setdefault((disk, target), []).append((int(files) / seconds, seconds, int(reads), int(read_bytes), int(files)))

def median(rows):
    return sorted(rows, key=lambda row: row[0])[len(rows) // 2]

def table(head, rows):
    widths = [max(len(row[i]) for row in rows + [head]) for i in range(len(head))]
    for row in [head] + rows:
        print("  ".join(c.ljust(w) if i == 0 else c.rjust(w) for i, (c, w) in enumerate(zip(row, widths))).rstrip())

def shown(count):
    return f"{count:.0f}" if counted else "-"

disks = list(dict.fromkeys(run["disk"] for run in runs))
log_speed, sweep_speed, log_reads, sweep_reads = {}, {}, {}, {}
for disk in disks:
    of_disk = [(run["requests_per_s"], run) for run in runs if run["disk"] == disk]
    rounds = len(of_disk) // len(names)
    rows = []
    for target in names:
        speed, r = median([row for row in of_disk if row[1]["target"] == target])
        log_speed[disk, target] = speed
        log_reads[disk, target] = r["device_reads"]
        inodes, mb = space[disk, target if target in ("none", "directory") else "native"]
        us = [f"{r[key] / 1000:.1f}" for key in ("p50_ns", "p90_ns", "p99_ns", "p999_ns", "max_ns")]
        rows.append([names[target], f"{speed:.0f}", *us, shown(r["device_reads"]), shown(r["device_bytes"] / 1e6),
                     str(inodes), f"{mb:.0f}"])
    print(f"\n== disk {disk}: cold replay of {sys.argv[5]}, {sys.argv[6]} threads, ext4 below all targets, median of {rounds}")
    table(["target", "requests/s", "p50 us", "p90 us", "p99 us", "p99.9 us", "max us", "device reads", "MB read", "inodes", "MB used"], rows)
    rows = []
    for target in names:
        rate, seconds, reads, read_bytes, files = median(swept[disk, target])
        sweep_speed[disk, target] = rate
        sweep_reads[disk, target] = reads
        rows.append([names[target], f"{rate:.0f}", f"{seconds:.2f}", shown(reads), shown(read_bytes / 1e6)])
    print(f"\n== disk {disk}: cold sweep: one reader lists the tree and reads every one of {files} files once, median of {rounds}")
    table(["target", "files/s", "seconds", "device reads", "MB read"], rows)

words = {"raw": "this machine's own (raw)", "cloud": "modelled cloud volume, 0.5 ms, 125 MB/s", "hdd": "modelled hard disk, 7,200 rpm"}
print("\n== what cffs directory gains (above 1) and loses (below): its speed as a multiple, by disk; for a page in Markdown\n")
print("| disk | cold | files | × native ext4 | × FUSE pass-through | device reads, ext4 → cffs |")
print("|---|---|---|---|---|---|")
for disk in disks:
    for what, speed, reads in (("web log", log_speed, log_reads), ("sweep", sweep_speed, sweep_reads)):
        times = [f"{speed[disk, 'directory'] / speed[disk, other]:.2f}" for other in ("native", "passthrough")]
        counts = " → ".join(f"{reads[disk, target]:,}" for target in ("native", "directory")) if counted else "-"
        print("|", " | ".join([words[disk], what, f"{swept[disk, 'native'][0][4]:,}", *times, counts]), "|")
PY
