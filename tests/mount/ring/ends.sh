# How such a mount ends: in good order, or not.

busy() {  # clients that go on until the mount is gone; their errors are nobody's business
  local i
  load=()
  for i in 1 2 3 4; do
    (n=0; while mountpoint -q "$mnt" && [ $n -lt 4000 ]; do
       n=$((n + 1)); echo $n >"$mnt/b$i.$((n % 50))"; cat "$mnt/b$i.$((n % 30))" >/dev/null; rm -f "$mnt/b$i.$((n % 20))"
       [ $((n % 10)) != 0 ] || { dd if=/dev/zero of="$mnt/B$i" bs=1M count=3 status=none; cat "$mnt/B$i" >/dev/null; }
     done) >/dev/null 2>&1 &
    load+=($!)
  done
  sleep 0.5
}
calm() { local i; for i in "${load[@]}"; do gone "$i" || return 1; done; wait "${load[@]}"; return 0; }

case_ends_under_load() {
  local round daemon
  for round in 1 2 3 4; do
    fresh -- --transport=ring
    daemon=$(daemon_pid)
    busy
    case $round in
      1) check "umount --force" timeout 60 "$cffs" umount --force "$mnt" ;;
      2) check "umount -l" eval 'umount -l "$mnt"' ;;
      3) check "SIGTERM" kill -TERM "$daemon" ;;
      4) check "somebody stands in it" eval '(cd "$mnt" && sleep 3) & sleep 0.2; kill -TERM $daemon' ;;
    esac
    check "the daemon ends" gone "$daemon"
    check "the clients end" calm
    check "whole" eval 'flock --wait 30 "$store/lock" true; whole'
  done
}

case_killed_daemon() {
  local round
  fresh -- --transport=ring
  for round in 1 2 3 4 5; do
    echo "round $round" >"$mnt/kept$round"
    busy
    kill_daemon
    check "the clients end" calm
    check "it mounts again" ring
    check "what was acknowledged is there" eval '[ "$(cat "$mnt/kept$round")" = "round $round" ]'
  done
  check "unmount" unmounted
  check "whole" whole
}

case_aborted() {
  local round daemon
  mountpoint -q /sys/fs/fuse/connections || mount -t fusectl fusectl /sys/fs/fuse/connections
  for round in 1 2 3; do
    fresh -- --transport=ring
    daemon=$(daemon_pid)
    busy
    echo 1 >"/sys/fs/fuse/connections/$(connection)/abort"
    check "the daemon ends" gone "$daemon"
    umount -l "$mnt" 2>/dev/null
    check "the clients end" calm
    check "whole" eval 'flock --wait 30 "$store/lock" true; whole'
  done
}

case_remounts() {
  local i
  fresh
  for i in $(seq 20); do
    check "mount $i" ring || return
    echo "$i" >"$mnt/file"
    [ $((i % 5)) != 0 ] || check "the ring" comes_by ring
    check "unmount $i" unmounted || return
  done
  check "whole" whole
  check "no thread of io_uring is left over" eval '[ "$(ls /proc/*/fd -l 2>/dev/null | grep -c "io_uring")" -lt 50 ]'
}

# The system gives no more threads, or no more descriptors: the mount is refused in one sentence, or works by the device or with those it has.
case_threads() {
  local limit word
  fresh
  for limit in $(seq 16 4 60); do
    if word=$(ulimit -n "$limit"; "$cffs" mount "$store" "$mnt" 2>&1); then
      check "with $limit descriptors" eval 'answers 10 && echo word >"$mnt/file" && [ "$(cat "$mnt/file")" = word ]'
      check "unmount" unmounted
    else
      check "one sentence says why" eval 'grep -q "^cffs: " <<<"$(tail -n 1 <<<"$word")"'  # before it libfuse may have said its own
      check "nothing is left" eval '! mountpoint -q "$mnt"'
    fi
  done
  check "whole" whole
}
