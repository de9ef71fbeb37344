#!/usr/bin/env bash
# What following costs, and how far behind it is, on this machine: how long a change takes to be seen, what creates cost the writer with none, one and
# several followers, and what a follower takes.
#   bench/following_check.sh [--files=N] [--followers=N]      by default 50,000 files and 4 followers; two minutes
set -euo pipefail
cffs=${CFFS_BINARY:-build/release/cffs}
files=50000 followers=4
for word in "$@"; do
  case $word in
    --files=*) files=${word#*=} ;;
    --followers=*) followers=${word#*=} ;;
    *) echo "following_check: unknown option '$word'; there are: --files=N --followers=N" >&2; exit 2 ;;
  esac
done
base=$(mktemp -d "${TMPDIR:-/tmp}/cffs-following.XXXXXX")
unmount_all() { awk -v below="$base/" 'index($2, below) == 1 { print $2 }' /proc/mounts | sort -r | while read -r m; do timeout 30 "$cffs" umount "$m" >/dev/null 2>&1 || umount -l "$m"; done; }
cleanup() { trap '' INT TERM; set +e; unmount_all; rm -rf "$base"; }
trap cleanup EXIT
trap 'exit 130' INT TERM
mkdir "$base/w" "$base/tree"
echo "a tree of $files files of 1 KB in directories of 100 ..."
python3 - "$base/tree" "$files" <<'PY'
import os, sys
for i in range(int(sys.argv[2])):
    d = f"{sys.argv[1]}/{i // 100}"
    if i % 100 == 0: os.mkdir(d)
    with open(f"{d}/{i}", "wb") as f: f.write(os.urandom(512) * 2)
PY
"$cffs" format "$base/s" >/dev/null
"$cffs" import "$base/tree" "$base/s" 2>/dev/null | tail -n 1
"$cffs" mount -o commit_interval=1 "$base/s" "$base/w"
python3 - "$cffs" "$base" "$followers" <<'PY'
import os, statistics, subprocess, sys, time
cffs, base, most = sys.argv[1], sys.argv[2], int(sys.argv[3])
w = base + "/w"

def creates(tag, n=4000):
    os.mkdir(f"{w}/{tag}")
    began = time.monotonic()
    for i in range(n):
        with open(f"{w}/{tag}/{i}", "wb") as f: f.write(b"x" * 1000)
    return n / (time.monotonic() - began)

def follow(i):
    os.mkdir(f"{base}/r{i}")
    began = time.monotonic()
    subprocess.run([cffs, "mount", "-o", "ro,follow=0.1", base + "/s", f"{base}/r{i}"], check=True, stderr=subprocess.DEVNULL)
    return time.monotonic() - began

def pid(i):
    return int(os.getxattr(f"{base}/r{i}", "user.cffs.follow").split(b'"pid":')[1].split(b"}")[0])

def usage(p):
    with open(f"/proc/{p}/stat") as f: fields = f.read().rsplit(")", 1)[1].split()
    with open(f"/proc/{p}/status") as f: rss = [l for l in f if l.startswith("VmRSS")][0].split()[1]
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK"), int(rss) // 1024

rates = {0: [creates(f"none{k}") for k in range(3)]}
print(f"mounting the first follower: {follow(0):.2f} s")
lag = []
for k in range(20):
    began = time.monotonic()
    with open(f"{w}/now", "w") as f: f.write(str(k))
    while True:
        try:
            if open(f"{base}/r0/now").read() == str(k): break
        except OSError: pass
        time.sleep(0.005)
    lag.append(time.monotonic() - began)
print(f"a change is seen after {statistics.median(lag):.2f} s in the median, {max(lag):.2f} at most of {len(lag)} (commits each second, looks each 0.1 s)")
rates[1] = [creates(f"one{k}") for k in range(3)]
for i in range(1, most): follow(i)
before = [usage(pid(i))[0] for i in range(most)]
began = time.monotonic()
rates[most] = [creates(f"several{k}") for k in range(3)]
time.sleep(2)
took = time.monotonic() - began
for n, r in rates.items():
    print(f"creates of 1 KB with {n} followers: {statistics.median(r):,.0f} a second ({statistics.median(r) / statistics.median(rates[0]):.2f} of those without)")
used = [usage(pid(i)) for i in range(most)]
print(f"a follower that nobody reads, meanwhile: {100 * statistics.mean(u[0] - b for u, b in zip(used, before)) / took:.1f} % of a processor, {statistics.mean(u[1] for u in used):.0f} MB")
PY
