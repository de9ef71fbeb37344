#!/usr/bin/env bash
# The main job: a real web log replayed cold, at zero think time, on four targets side by side.
#
#   native        the tree on ext4
#   pass-through  a tuned FUSE pass-through (bench/rig/passthrough.h) over that same ext4
#   cffs none     a cffs store, policy none (TableFS as published), on an ext4 of its own
#   cffs directory  the same with policy directory
#
# Each ext4 is an image on a loop device, so that device reads can be counted for each target alone. Every run starts
# cold: the mount is taken down, caches are dropped, all is mounted again. Rounds are interleaved; the first table shows
# the round with the median requests/s of each target. The second is a cold sweep, as a backup or a search does it: one
# reader lists the tree and reads every file once, in the order of the listing.
set -euo pipefail

here=$(cd "$(dirname "$0")/.." && pwd)
bin=$here/build/release
log=$here/traces/nasa_19950801.log.xz
threads=4
rounds=3
min_files=10000
work=
json=

usage() {
  cat <<USAGE
usage: bench/web_replay.sh [--log FILE] [--threads N] [--rounds N] [--min-files N] [--work DIR] [--bin DIR] [--json FILE]
  --log FILE      web log, Common or Combined Log Format     ($log)
  --threads N     concurrent readers                         ($threads)
  --rounds N      rounds; the median counts                  ($rounds)
  --min-files N   the site is repeated as virtual hosts until the tree has so many files ($min_files)
  --work DIR      where images are made, about 3 GB          (a new directory below \${TMPDIR:-/tmp})
  --bin DIR       where cffs was built                       ($bin)
  --json FILE     also write every round's figures there, one JSON object a line
USAGE
}
fail() { echo "web_replay: $*" >&2; exit 1; }

while [ $# -gt 0 ]; do
  case $1 in
    --log) log=$2; shift 2 ;;
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

made_work=
if [ -z "$work" ]; then
  work=$(mktemp -d "${TMPDIR:-/tmp}/cffs-web-replay.XXXXXX")
  made_work=1
else
  mkdir -p "$work"
fi
targets=(native passthrough none directory)
loops=()

unmount_one() {  # takes down whatever is mounted on $1, whatever it takes
  mountpoint -q "$1" 2>/dev/null || return 0
  for _ in 1 2 3 4 5 6 7 8 9 10; do
    umount "$1" 2>/dev/null && return 0
    sleep 0.2
  done
  umount -l "$1" 2>/dev/null || true
}
cleanup() {
  trap '' INT TERM
  set +e
  for t in passthrough none directory; do unmount_one "$work/mnt-$t"; done
  # A daemon that was unmounted is still closing its store.
  for _ in $(seq 50); do pgrep -f "cffs .*$work/" >/dev/null || break; sleep 0.1; done
  for t in native none directory; do unmount_one "$work/disk-$t"; done
  for l in "${loops[@]}"; do losetup -d "$l" 2>/dev/null; done
  rm -rf "$work"/disk-* "$work"/mnt-* "$work"/*.img "$work"/*.out
  [ -z "$made_work" ] || rmdir "$work" 2>/dev/null
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

say() { echo "== $*"; }

# --- the tree, and one ext4 for each store -----------------------------------------------------------------------------
declare -A device
use_loop=1
make_disk() {  # $1: name, $2: size in MB
  mkdir -p "$work/disk-$1"
  [ -n "$use_loop" ] || return 0
  truncate -s "$2M" "$work/$1.img"
  mkfs.ext4 -q -F -m 0 "$work/$1.img"
  local dev
  if ! dev=$(losetup --find --show --direct-io=on "$work/$1.img" 2>/dev/null) &&
     ! dev=$(losetup --find --show "$work/$1.img" 2>/dev/null); then
    use_loop=
    rm -f "$work/$1.img"
    say "no loop devices here: plain directories are used, device reads are not counted"
    return 0
  fi
  loops+=("$dev")
  device[$1]=$dev
  mount -o noatime "$dev" "$work/disk-$1"
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

say "log: $log"
make_disk native 2048
make_disk none 2048
make_disk directory 2048
declare -A empty
for d in native none directory; do empty[$d]=$(used $d); done

"$cffs" replay "$log" --target="$work/disk-native/tree" --make-tree --min-files="$min_files" || fail "the tree could not be made"
for policy in none directory; do
  say "store with policy $policy: format and import"
  "$cffs" format "$work/disk-$policy/store" || fail "format failed"
  "$cffs" import --policy=$policy "$work/disk-native/tree" "$work/disk-$policy/store" || fail "import failed"
done
sync

# --- cold replays ------------------------------------------------------------------------------------------------------
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

: >"$work/results.out"
for round in $(seq "$rounds"); do
  for t in "${targets[@]}"; do
    start_cold $t
    "$cffs" replay "$log" --target="$(where $t)" --min-files="$min_files" --threads="$threads" --check=size --json >"$work/run.out" ||
      fail "the replay on $t failed"
    finish $t
    python3 - "$t" "$round" "$device_reads" "$device_bytes" "$work/run.out" >>"$work/results.out" <<'PY'
import json, sys
target, n, reads, read_bytes, path = sys.argv[1:]
run = json.load(open(path))
run.update(target=target, round=int(n), device_reads=int(reads), device_bytes=int(read_bytes))
print(json.dumps(run))
PY
    say "round $round, $t: $(tail -n 1 "$work/results.out" | python3 -c 'import json, sys; print(round(json.load(sys.stdin)["requests_per_s"]))') requests/s"
  done
done
[ -z "$json" ] || cp "$work/results.out" "$json"

: >"$work/sweeps.out"
for round in $(seq "$rounds"); do
  for t in "${targets[@]}"; do
    start_cold $t
    from=$(date +%s.%N)
    files=$(cd "$(where $t)" && find . -type f -print0 | tee >(xargs -0 cat >/dev/null; : >"$work/swept.out") | tr -cd '\0' | wc -c)
    while [ ! -e "$work/swept.out" ]; do sleep 0.01; done
    to=$(date +%s.%N)
    rm -f "$work/swept.out"
    finish $t
    echo "$t $files $from $to $device_reads $device_bytes" >>"$work/sweeps.out"
  done
  say "sweep $round done"
done

say "cold replay of $(basename "$log"), $threads threads, ext4 below all targets, median of $rounds rounds by requests/s"
for d in native none directory; do echo "$d ${empty[$d]} $(used $d)"; done >"$work/space.out"
python3 - "$work/results.out" "$work/space.out" "${use_loop:-0}" "$work/sweeps.out" <<'PY'
import json, sys
runs = [json.loads(line) for line in open(sys.argv[1])]
space = {}
for line in open(sys.argv[2]):
    name, *n = line.split()
    n = [int(x) for x in n]
    space[name] = (n[2] - n[0], (n[3] - n[1]) / 1024)
counted = sys.argv[3] == "1"
names = {"native": "native ext4", "passthrough": "FUSE pass-through", "none": "cffs none", "directory": "cffs directory"}
head = ["target", "requests/s", "p50 us", "p90 us", "p99 us", "p99.9 us", "max us", "device reads", "MB read", "inodes", "MB used"]
rows = []
speed = {}
for target in names:
    mine = sorted((r for r in runs if r["target"] == target), key=lambda r: r["requests_per_s"])
    r = mine[len(mine) // 2]
    speed[target] = r["requests_per_s"]
    inodes, mb = space[target if target in space else "native"]
    us = lambda key: f"{r[key] / 1000:.1f}"
    rows.append([names[target], f"{r['requests_per_s']:.0f}", us("p50_ns"), us("p90_ns"), us("p99_ns"), us("p999_ns"),
                 us("max_ns"), str(r["device_reads"]) if counted else "-",
                 f"{r['device_bytes'] / 1e6:.0f}" if counted else "-", str(inodes), f"{mb:.0f}"])
def table(head, rows):
    widths = [max(len(row[i]) for row in rows + [head]) for i in range(len(head))]
    for row in [head] + rows:
        print("  ".join(c.ljust(w) if i == 0 else c.rjust(w) for i, (c, w) in enumerate(zip(row, widths))))

def verdict(speed, what):
    for other in ("passthrough", "native"):
        print(f"{what}: cffs directory is {speed['directory'] / speed[other]:.2f} times as fast as {names[other]}")

table(head, rows)
sweeps = {}
for line in open(sys.argv[4]):
    target, files, start, end, reads, read_bytes = line.split()
    seconds = float(end) - float(start)
    sweeps.setdefault(target, []).append((int(files) / seconds, seconds, int(reads), int(read_bytes)))
print("\n== cold sweep: one reader lists the tree and reads every file once, median of the same rounds")
rows, sweep_speed = [], {}
for target in names:
    rate, seconds, reads, read_bytes = sorted(sweeps[target])[len(sweeps[target]) // 2]
    sweep_speed[target] = rate
    rows.append([names[target], f"{rate:.0f}", f"{seconds:.2f}", str(reads) if counted else "-",
                 f"{read_bytes / 1e6:.0f}" if counted else "-"])
table(["target", "files/s", "seconds", "device reads", "MB read"], rows)
print()
verdict(speed, "web log")
verdict(sweep_speed, "sweep")
PY
