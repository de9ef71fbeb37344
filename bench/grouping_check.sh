#!/usr/bin/env bash
# Holds what `cffs evaluate` predicts against replays on real mounts, on a part of a log that nothing was mined from.
#
# The log is cut in two by lines. The tree is what the whole log implies; groups are mined from the first part; the second
# is replayed cold, one reader, on stores with policies none, directory and frequency, each on an ext4 of its own, and
# judged by evaluate on the same lines, once as if a miss always read its group, once as a mount reads on that disk, which is
# measured. Printed: device reads and bytes, predicted and measured, and the errors. Then what the access record costs: the same
# replay with and without it, interleaved.
set -euo pipefail

here=$(cd "$(dirname "$0")/.." && pwd)
bin=$here/build/release
log=$here/traces/nasa_19950801.log.xz
train=70
rounds=3
mining=()
usage() {
  cat <<USAGE
usage: bench/grouping_check.sh [--log FILE] [--train PERCENT] [--rounds N] [--tune DISK] [--bin DIR]
  --log FILE       web log, Common or Combined Log Format ($log)
  --train PERCENT  share of the lines that groups are mined from ($train)
  --rounds N       cold replays of each policy; the median counts ($rounds)
  --tune DISK      groups, what becomes of the rest and of tiny files as analyze --tune chooses for that disk
                   (hdd, cloud, ssd) and a cache that holds everything; without it, what analyze does by itself
  --bin DIR        where cffs was built ($bin)
USAGE
}
fail() { echo "grouping_check: $*" >&2; exit 1; }
while [ $# -gt 0 ]; do
  case $1 in
    --log) log=$2; shift 2 ;;
    --train) train=$2; shift 2 ;;
    --rounds) rounds=$2; shift 2 ;;
    --tune) mining=(--tune --disk="$2" --cache=64G); shift 2 ;;
    --bin) bin=$2; shift 2 ;;
    -h|--help) usage; exit 0 ;;
    *) usage >&2; fail "unknown option '$1'" ;;
  esac
done
cffs=$bin/cffs
[ -x "$cffs" ] || fail "no cffs in $bin; run scripts/quickstart.sh, which builds it"
[ -r "$log" ] || fail "cannot read the log $log"
[ "$(id -u)" = 0 ] || fail "mounting and dropping caches needs root; run it with sudo"

work=$(mktemp -d "${TMPDIR:-/tmp}/cffs-grouping-check.XXXXXX")
loops=()
cleanup() {
  trap '' INT TERM
  set +e
  mountpoint -q "$work/mnt" && { timeout 60 "$cffs" umount "$work/mnt" || umount -l "$work/mnt"; }
  for d in "$work"/disk-*; do mountpoint -q "$d" && umount "$d"; done
  for l in "${loops[@]}"; do losetup -d "$l"; done
  rm -rf "$work"
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
say() { echo "== $*"; }

say "cutting $(basename "$log"): groups from the first $train %, judged on the rest"
case $log in *.xz) xz -dc "$log" ;; *.gz) gzip -dc "$log" ;; *.zst) zstd -dcq "$log" ;; *) cat "$log" ;; esac >"$work/whole.log"
lines=$(wc -l <"$work/whole.log")
head -n $((lines * train / 100)) "$work/whole.log" >"$work/train.log"
tail -n +$((lines * train / 100 + 1)) "$work/whole.log" >"$work/test.log"
"$cffs" replay "$work/whole.log" --target="$work/tree" --make-tree --min-files=1 >/dev/null
# The second part as operations on the whole log's tree: alone it knows less of the files' sizes, and its replay would be
# of other files.
"$cffs" trace import "$work/whole.log" -o "$work/whole.db" >/dev/null
"$cffs" trace import "$work/train.log" -o "$work/train.db" >/dev/null
trained=$("$cffs" trace stat --json "$work/train.db" | python3 -c 'import json, sys; print(json.load(sys.stdin)["operations"])')
"$cffs" trace slice --first=$((trained + 1)) "$work/whole.db" -o "$work/test.db" >/dev/null
"$cffs" analyze "$work/train.log" -o "$work/plan.db" --top=0 "${mining[@]}" | grep -E '^(groups|expected|takes)'

declare -A device
policies=(none directory frequency)
mkdir "$work/mnt"
for p in "${policies[@]}"; do
  mkdir "$work/disk-$p"
  truncate -s 3G "$work/$p.img"
  mkfs.ext4 -q -F -m 0 "$work/$p.img"
  if device[$p]=$(losetup --find --show --direct-io=on "$work/$p.img" 2>/dev/null || losetup --find --show "$work/$p.img" 2>/dev/null); then
    loops+=("${device[$p]}")
    mount -o noatime "${device[$p]}" "$work/disk-$p"
  else
    device[$p]=
    say "no loop device here: a plain directory is used, its reads are not counted"
  fi
  "$cffs" format "$work/disk-$p/store"
  plan=()
  [ $p != frequency ] || plan=(--plan="$work/plan.db")
  "$cffs" import --policy=$p "${plan[@]}" "$work/tree" "$work/disk-$p/store" >/dev/null
done
shopt -s inherit_errexit  # what fails in $(...) ends it
counters() { [ -n "${device[$1]}" ] || { echo "0 0"; return; }; awk '{printf "%d %.0f\n", $1, $3 * 512}' "/sys/block/$(basename "${device[$1]}")/stat"; }
replay() {  # policy, then mount options; prints reads, bytes, requests/s
  local p=$1 before after
  shift
  [ -z "${device[$p]}" ] || { umount "$work/disk-$p"; mount -o noatime "${device[$p]}" "$work/disk-$p"; }
  sync; echo 3 >/proc/sys/vm/drop_caches
  "$cffs" mount --policy=$p -o noatime --regroup-interval=0 "$@" "$work/disk-$p/store" "$work/mnt"
  before=($(counters "$p"))
  if ! "$cffs" replay "$work/test.db" --target="$work/mnt" --threads=1 --json >"$work/run.json"; then
    "$cffs" umount "$work/mnt"
    fail "the replay under policy $p did not come out as the log says"
  fi
  after=($(counters "$p"))
  "$cffs" umount "$work/mnt"
  echo "$((after[0] - before[0])) $((after[1] - before[1])) $(python3 -c "import json; print(json.load(open('$work/run.json'))['requests_per_s'])")"
}
for round in $(seq "$rounds"); do
  for p in "${policies[@]}"; do
    figures=$(replay "$p")
    echo "$p $figures" >>"$work/measured"
  done
  for record in 0 4M; do
    figures=$(replay directory --access-record=$record)
    echo "record$record $figures" >>"$work/measured"
  done
  say "round $round done"
done
# The kernel's cache holds all of it, so evaluate's does too.
for reading in group mount; do
  "$cffs" evaluate "$work/test.log" "$work/plan.db" --tree="$work/tree" --train=0.01 --cold --cache=64G --reading=$reading \
    --disk=this --disk-at="$work/disk-directory" --json >"$work/predicted-$reading.json"
done
python3 - "$work" <<'PY'
import json, sys
work = sys.argv[1]
measured = {}
for line in open(work + "/measured"):
    name, reads, size, rate = line.split()
    measured.setdefault(name, []).append((int(reads), int(size), float(rate)))
median = lambda values: sorted(values)[len(values) // 2]
def predictions(reading):
    predicted = {p["policy"]: p for p in json.load(open(f"{work}/predicted-{reading}.json"))["policies"]}
    predicted["frequency"] = predicted[work + "/plan.db"]
    return predicted
models = [predictions(reading) for reading in ("group", "mount")]
print(f"\n{'':<11}{'reads':>8}{'of groups':>16}{'as mounted':>16}{'MB':>9}{'of groups':>16}{'as mounted':>16}{'requests/s':>12}")
def beside(predicted, value, digits):
    return f"{predicted:>9.{digits}f} {100 * (predicted / max(value, 1e-6) - 1):>+4.0f} %"
for p in ("none", "directory", "frequency"):
    reads, size, rate = (median([m[i] for m in measured[p]]) for i in range(3))
    print(f"{p:<11}{reads:>8}" + "".join(f"{beside(m[p]['reads'], reads, 0):>16}" for m in models) +
          f"{size / 1e6:>9.1f}" + "".join(f"{beside(m[p]['bytes_read'] / 1e6, size / 1e6, 1):>16}" for m in models) + f"{rate:>12.0f}")
on, off = (median([m[2] for m in measured[r]]) for r in ("record4M", "record0"))
print(f"\nthe access record: {on:.0f} requests/s with it, {off:.0f} without: {100 * (1 - on / off):+.1f} % (median of {len(measured['record0'])})")
PY
