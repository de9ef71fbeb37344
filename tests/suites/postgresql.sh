#!/usr/bin/env bash
# PostgreSQL with its data on the mount: checksums, load, kill -9 of the postmaster, recovery, and a look at every page.
. "$(dirname "$0")/suite.sh" "$@"
bindir=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -n 1)
PATH=${bindir:-/nonexistent}:$PATH
require initdb pg_ctl pgbench psql pg_amcheck pg_checksums runuser

as_postgres() { limited 240 runuser -u postgres -- env PATH="$PATH" "$@"; }
stop_server() { as_postgres pg_ctl -D "$mnt/data" -m immediate stop >/dev/null 2>&1; }
trap 'stop_server; stop_churn; cleanup' EXIT
start_server() { as_postgres pg_ctl -D "$mnt/data" -w -t 60 -l "$mnt/log/server" -o "-k $base/socket -c listen_addresses=" start; }
sql() { as_postgres psql -h "$base/socket" -X -q -t -A -d postgres -c "$1"; }

case_server() {
  fresh_mount && open_to_others || return 1
  mkdir -p "$base/socket" "$mnt/data" "$mnt/log"
  chown postgres "$base/socket" "$mnt/data" "$mnt/log"
  chmod 700 "$mnt/data"
  check "initdb with checksums" as_postgres initdb -k -D "$mnt/data" || return 1
  check "start" start_server || return 1
  check "pgbench: tables" as_postgres pgbench -h "$base/socket" -i -s "${scale:-2}" postgres
  check "pgbench: load" as_postgres pgbench -h "$base/socket" -c 4 -T "${duration:-5}" postgres
  check "balances agree" test "$(sql 'select (select sum(abalance) from pgbench_accounts) = (select sum(delta) from pgbench_history)')" = t
  # The postmaster is killed under load (-n: pgbench would empty the history first); what was committed must be there.
  as_postgres pgbench -n -h "$base/socket" -c 4 -T 30 postgres >/dev/null 2>&1 &
  local load=$!
  sleep 2
  kill -9 "$(head -n 1 "$mnt/data/postmaster.pid")"
  wait $load
  # Its children end when they notice; until then a new server refuses.
  for _ in $(seq 100); do pgrep -u postgres -x postgres >/dev/null || break; sleep 0.2; done
  check "start again, recovering" start_server || return 1
  check "balances agree after recovery" test "$(sql 'select (select sum(abalance) from pgbench_accounts) = (select sum(delta) from pgbench_history)')" = t
  check "pg_amcheck" as_postgres pg_amcheck -h "$base/socket" --install-missing --heapallindexed postgres
  check "stop" as_postgres pg_ctl -D "$mnt/data" -w -m fast stop
  check "pg_checksums" as_postgres pg_checksums --check -D "$mnt/data"
  sync
  mount_again
  check "pg_checksums after a remount" as_postgres pg_checksums --check -D "$mnt/data"
  check "start after a remount" start_server
  check "stop again" as_postgres pg_ctl -D "$mnt/data" -w -m fast stop
  finish
}

[ -z "$long" ] || { scale=20; duration=60; }
run_cases server --
