#!/usr/bin/env bash
# SQLite in every journal mode, several writers at once, one of them killed; no committed row may be missing.
. "$(dirname "$0")/suite.sh" "$@"
require sqlite3 python3

case_modes() {
  fresh_mount || return 1
  check "every journal mode" limited 280 python3 - "$mnt" "${long:+150}" <<'PY'
import os, random, signal, sqlite3, subprocess, sys, time
where = sys.argv[1]
rows = int(sys.argv[2] or 30)
WRITER = r'''
import sqlite3, sys, time
path, who, rows, sync = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
db = sqlite3.connect(path, timeout=60, isolation_level=None)
db.execute("pragma synchronous=" + sync)
for i in range(rows):
    while True:
        try:
            db.execute("begin immediate")
            db.execute("insert into t values(?, ?, ?)", (who, i, "x" * (i * 37 % 3000)))
            db.execute("commit")
            break
        except sqlite3.OperationalError as e:
            if "locked" not in str(e): raise
            time.sleep(0.005)
    print(i, flush=True)
'''
def run(mode, sync):
    path = "%s/%s-%s.db" % (where, mode, sync)
    db = sqlite3.connect(path)
    assert db.execute("pragma journal_mode=" + mode).fetchone()[0] == mode, mode
    db.execute("create table t(who int, n int, filler text, primary key(who, n))")
    db.commit()
    if mode not in ("wal", "persist", "truncate", "delete", "memory", "off"): raise SystemExit("?")
    db.close()
    def start(who, n):
        # The mode is the connection's, but for WAL, which the file remembers.
        code = WRITER.replace('db.execute("pragma synchronous', 'db.execute("pragma journal_mode=%s")\ndb.execute("pragma synchronous' % mode)
        return subprocess.Popen([sys.executable, "-c", code, path, str(who), str(n), sync], stdout=subprocess.PIPE, text=True)
    safe = mode not in ("memory", "off")   # without a journal on disk, a killed writer may leave damage: none is killed
    writers = [start(w, rows) for w in range(3)]
    victim = start(9, 10**6) if safe else None
    if victim:
        time.sleep(0.5)
        victim.send_signal(signal.SIGKILL)
        told = [int(l) for l in victim.communicate()[0].split()]
    for w in writers:
        w.communicate()
        assert w.returncode == 0, (mode, w.returncode)
    db = sqlite3.connect(path)
    assert db.execute("pragma integrity_check").fetchone()[0] == "ok", mode
    for w in range(3):
        assert db.execute("select count(*) from t where who=?", (w,)).fetchone()[0] == rows, (mode, w)
    if victim:
        there = db.execute("select count(*) from t where who=9").fetchone()[0]
        assert len(told) <= there <= len(told) + 1, (mode, len(told), there)
    db.execute("vacuum")
    assert db.execute("pragma integrity_check").fetchone()[0] == "ok", mode
    db.close()
for mode in ("delete", "truncate", "persist", "wal", "memory", "off"):
    for sync in ("full", "normal"):
        run(mode, sync)
PY
  finish
}

run_cases modes --
