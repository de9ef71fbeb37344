#!/usr/bin/env bash
# A store in a pool beside CephFS on the same cluster, which is made here, on loopback: creates, a tree brought in, cold sweeps and reads at random, a
# web log, a developer's session, rm -rf; and what each takes of the cluster: requests to its OSDs, RADOS objects, bytes.
#   bench/pool_check.sh [--tree=DIR] [--files=N] [--rounds=N] [--osds=N]      by default /usr/include, 5,000 files of 1 KB, one round, one OSD; ten minutes
# Cold is: mounted anew, and the OSDs started anew; CephFS's metadata server stays as it is, with what it has in memory. RBD needs a module of the
# kernel's, or nbd; where there is neither it is not tried.
set -euo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)
cffs=${CFFS_BINARY:-$here/build/release/cffs}
tree=/usr/include files=5000 rounds=1 osds=1
for word in "$@"; do
  case $word in
    --tree=*) tree=${word#*=} ;;
    --files=*) files=${word#*=} ;;
    --rounds=*) rounds=${word#*=} ;;
    --osds=*) osds=${word#*=} ;;
    *) echo "pool_check: unknown option '$word'; there are: --tree=DIR --files=N --rounds=N --osds=N" >&2; exit 2 ;;
  esac
done
for needed in ceph-fuse ceph-mds; do
  command -v $needed >/dev/null || { echo "pool_check: $needed is missing; scripts/install_packages.sh ceph-mon ceph-mgr ceph-osd ceph-mds ceph-common ceph-fuse installs it" >&2; exit 77; }
done
[ -d "$tree" ] || { echo "pool_check: $tree is no directory; name one with --tree" >&2; exit 2; }
base=$(mktemp -d "${TMPDIR:-/tmp}/cffs-pool.XXXXXX")
unmount_all() { awk -v below="$base/" 'index($2, below) == 1 { print $2 }' /proc/mounts | sort -r | while read -r m; do timeout 60 umount "$m" 2>/dev/null || umount -l "$m"; done; }
cleanup() { trap '' INT TERM; set +e; unmount_all; pkill -KILL -f "^ceph-fuse -c $base/" || true; "$here/scripts/rados_cluster.sh" stop "$base/ceph" >/dev/null 2>&1; rm -rf "$base"; }
trap cleanup EXIT
trap 'exit 130' INT TERM
"$here/scripts/rados_cluster.sh" start "$base/ceph" --osds="$osds" --osd-size=10G --cephfs | tail -n 2
export CEPH_CONF=$base/ceph/ceph.conf
python3 - "$cffs" "$base" "$tree" "$files" "$rounds" "$osds" "$here" <<'PY'
import json, math, os, random, statistics, subprocess, sys, time
cffs, base, tree, files, rounds, osds, here = sys.argv[1:4] + [int(n) for n in sys.argv[4:7]] + sys.argv[7:]
cluster = f"{here}/scripts/rados_cluster.sh"
conf = os.environ["CEPH_CONF"]


def quietly(*words):
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0: sys.exit(f"pool_check: {' '.join(words)}: {done.stderr.strip()}")
    return done.stdout


class CephFS:
    name, pools = "CephFS", ["cephfs.meta", "cephfs.data"]

    def mount(self, at): quietly("ceph-fuse", "-c", conf, "-r", f"/{self.round}", at)

    def unmount(self, at): quietly("umount", at)

    def make(self, at, number):
        self.round = f"round{number}"
        quietly("ceph-fuse", "-c", conf, at)
        os.mkdir(f"{at}/{self.round}")
        self.unmount(at)


class Cffs:
    name, pools = "cffs", ["cffs"]

    def mount(self, at): quietly(cffs, "mount", "--policy=directory", self.store, at)

    def unmount(self, at): quietly(cffs, "umount", at)

    def make(self, at, number):
        self.store = f"rados:cffs/round{number}"
        quietly(cffs, "format", self.store)


def at_rest(target):
    """Its objects and bytes once nothing is moved or removed any more: as many for ten seconds; after two minutes as they are."""
    end, seen, since = time.monotonic() + 120, in_pools(target), time.monotonic()
    while time.monotonic() < end and time.monotonic() - since < 10:
        time.sleep(1)
        now = in_pools(target)
        if now[0] != seen[0]: seen, since = now, time.monotonic()
    return in_pools(target)


def requests():
    """Operations of clients that all OSDs have had since they were started."""
    return sum(json.loads(quietly("ceph", "--admin-daemon", f"{base}/ceph/run/osd.{osd}.asok", "perf", "dump"))["osd"]["op"]
               for osd in range(osds))


def in_pools(target):
    pools = json.loads(quietly("rados", "-c", conf, "df", "--format=json"))["pools"]
    return [sum(int(p[what]) for p in pools if p["name"] in target.pools) for what in ("num_objects", "size_bytes")]


results = {}


def add(target, work, *values): results.setdefault(work, {}).setdefault(target.name, []).append(values)


def measured(target, work, count, run):
    before = requests()
    began = time.monotonic()
    run()
    took = time.monotonic() - began
    time.sleep(1)  # most of what is written behind is on its way by then, and counted
    add(target, work, count / took, (requests() - before) / count)


def cold(target, at):
    target.unmount(at)
    for osd in range(osds):
        quietly(cluster, "osd", f"{base}/ceph", str(osd), "kill")
    for osd in range(osds):
        quietly(cluster, "osd", f"{base}/ceph", str(osd), "start")
    while pgs_unclean(): time.sleep(0.5)
    with open("/proc/sys/vm/drop_caches", "w") as f: f.write("3")
    target.mount(at)


def pgs_unclean():
    stat = json.loads(quietly("ceph", "-c", conf, "pg", "stat", "--format=json"))["pg_summary"]["num_pg_by_state"]
    return any(state["name"] != "active+clean" for state in stat)


def create(at):
    os.mkdir(f"{at}/made")
    for i in range(files):
        if i % 100 == 0: os.mkdir(f"{at}/made/{i // 100}")
        with open(f"{at}/made/{i // 100}/{i}", "wb") as f: f.write(b"x" * 1000)


def sweep(top):
    for directory, _, names in os.walk(top):
        for name in names:
            path = f"{directory}/{name}"
            if os.path.islink(path): continue
            with open(path, "rb") as f: f.read()


sources = []
for directory, _, names in os.walk(tree):
    sources += [os.path.relpath(f"{directory}/{n}", tree) for n in names if not os.path.islink(f"{directory}/{n}")]
chosen = random.Random(1).sample(sources, min(2000, len(sources)))
log, session = f"{here}/traces/nasa_19950801.log.xz", f"{here}/traces/c_project_session.strace.xz"
print(f"{len(sources)} files of {tree}, {files} files of 1 KB, {osds} OSD(s)", flush=True)


def replayed(target, work, *words):
    before = requests()
    replay = subprocess.run([cffs, "replay", "--json", "--max-surprises=1", *words], capture_output=True, text=True)
    if replay.returncode != 0:
        print(f"{work}: not on {target.name}: {replay.stderr.strip().splitlines()[-1]}")
        return
    done = json.loads(replay.stdout)
    if done["wrong_content"] or done["failed"]: print(f"{target.name}: {work}: {done['failed']} failed, {done['wrong_content']} wrong")
    add(target, work, done["requests_per_s"], (requests() - before) / done["requests"])


for number in range(rounds):
    for target in [Cffs(), CephFS()] if number % 2 == 0 else [CephFS(), Cffs()]:
        at = f"{base}/{target.name}"
        os.makedirs(at, exist_ok=True)
        empty = in_pools(target)
        target.make(at, number)
        target.mount(at)
        measured(target, "creates of 1 KB, files/s", files, lambda: create(at))
        measured(target, "a tree brought in (cp -r), files/s", len(sources),
                 lambda: quietly("cp", "-r", tree, f"{at}/tree"))
        os.makedirs(f"{at}/web")
        quietly(cffs, "replay", log, "--min-files=1000", f"--target={at}/web", "--make-tree")
        cold(target, at)
        full = at_rest(target)
        add(target, "RADOS objects", full[0] - empty[0], (full[1] - empty[1]) / 1e6)
        measured(target, "cold sweep, files/s", len(sources), lambda: sweep(f"{at}/tree"))
        cold(target, at)

        def at_random():
            for name in chosen:
                with open(f"{at}/tree/{name}", "rb") as f: f.read()
        measured(target, "cold, at random, files/s", len(chosen), at_random)
        cold(target, at)
        replayed(target, "a web log, cold, four clients, requests/s", log, "--min-files=1000", f"--target={at}/web")
        os.makedirs(f"{at}/session")
        replayed(target, "a developer's session, operations/s", session, "--threads=1", "--fresh", f"--target={at}/session")
        measured(target, "rm -rf of the tree, files/s", len(sources), lambda: quietly("rm", "-rf", f"{at}/tree"))
        target.unmount(at)
        print(f"round {number + 1}: {target.name} done", flush=True)

print(f"\n{'':44} {'cffs':>10} {'CephFS':>10} {'ratio':>7}   requests to OSDs for each: cffs, CephFS")
for work, by in results.items():
    ours, theirs = ([statistics.median(r[i] for r in by.get(name, [(math.nan, math.nan)])) for i in (0, 1)] for name in ("cffs", "CephFS"))
    if work.startswith("RADOS"):
        print(f"{work:44} {ours[0]:10,.0f} {theirs[0]:10,.0f} 1/{theirs[0] / max(1, ours[0]):<5.0f}   {ours[1]:.0f} and {theirs[1]:.0f} MB")
    else:
        print(f"{work:44} {ours[0]:10,.0f} {theirs[0]:10,.0f} {ours[0] / theirs[0]:7.2f}   {ours[1]:.2f}, {theirs[1]:.2f}")
PY
