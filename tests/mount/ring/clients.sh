# Many clients at once, slow ones, and ones that are killed.

# Eight wait for a disk that stands still; whoever needs no disk is served meanwhile.
case_slow_disk() {
  local model=$base/model image=$base/work/image loop disk i writers=()
  take_down
  mkdir -p "$mnt" "$model" "$base/work" "$base/disk"
  truncate -s 512M "$image"
  "$cffs" bench disk --profile=cloud "$image" "$model" &
  disk=$!
  for i in $(seq 100); do [ -e "$model/disk" ] && break; sleep 0.05; done
  loop=$(losetup --find --show "$model/disk") && mkfs.ext4 -q "$loop" && mount "$loop" "$base/disk"
  store=$base/disk/store
  check "a store on a slow disk" eval '"$cffs" format "$store" && ring --threads=16'
  for i in 1 2 3 4 5 6 7 8; do head -c 5M /dev/urandom >"$mnt/large$i"; done
  echo word >"$mnt/other"
  for i in 1 2 3 4 5 6 7 8; do dd if=/dev/urandom of="$mnt/large$i" bs=64k count=4 conv=notrunc status=none; done
  kill -STOP $disk
  for i in 1 2 3 4 5 6 7 8; do
    timeout 100 sync "$mnt/large$i" &
    writers+=($!)
  done
  sleep 1
  check "they wait" kill -0 "${writers[@]}"
  for i in 1 2 3; do
    for cpu in $(seq 0 $(($(nproc) - 1))); do
      check "a stat is answered, asked on processor $cpu" eval "taskset -c $cpu timeout 5 stat --cached=never '$mnt/other' >/dev/null"
    done
  done
  kill -CONT $disk
  for i in "${writers[@]}"; do wait "$i"; check "and is done" test $? = 0; done
  check "unmount" unmounted
  check "whole" whole
  store=$base/store
  umount "$base/disk" || umount -l "$base/disk"
  losetup -d "$loop"
  for i in $(seq 100); do umount "$model" 2>/dev/null && break; sleep 0.05; done
  mountpoint -q "$model" && umount -l "$model"
  wait $disk
}

# More processes at once than there are threads.
case_crowd() {
  local i
  fresh -- --transport=ring
  check "300 processes" eval 'for i in $(seq 300); do (mkdir -p "$mnt/d$((i % 7))/e$i" && echo $i >"$mnt/d$((i % 7))/e$i/f" && cat "$mnt/d$((i % 7))/e$i/f" >/dev/null && sync "$mnt/d$((i % 7))/e$i/f") & done; wait'
  check "nothing is missing" eval '[ "$(find "$mnt" -name f | wc -l)" = 300 ] && for i in $(seq 300); do [ "$(cat "$mnt/d$((i % 7))/e$i/f")" = $i ] || exit 1; done'
  check "few threads serve them" eval '[ "$(ls /proc/$(daemon_pid)/task | wc -l)" -lt 40 ]'
  check "with one thread for each processor" eval 'unmounted && ring --threads=1'
  check "the crowd again" eval 'for i in $(seq 100); do (echo $i >"$mnt/g$i" && sync "$mnt/g$i" && rm "$mnt/g$i") & done; wait; [ -z "$(ls "$mnt" | grep g)" ]'
  check "unmount" unmounted
  check "whole" whole
}

case_killed_clients() {
  local round i pids
  fresh -- --transport=ring
  head -c 20M /dev/urandom >"$base/work/large"
  for round in $(seq 15); do
    pids=()
    for i in 1 2 3 4 5 6; do
      (while :; do
         cp "$base/work/large" "$mnt/l$i"; sync "$mnt/l$i"; cat "$mnt/l$i" >/dev/null; mkdir -p "$mnt/d$i"
         for n in 1 2 3 4 5 6 7 8 9; do echo $n >"$mnt/d$i/$n"; done; rm -rf "$mnt/d$i"
       done) 2>/dev/null &
      pids+=($!)
    done
    sleep 0.2
    for i in "${pids[@]}"; do pkill -9 -P "$i"; kill -9 "$i"; done 2>/dev/null
    wait "${pids[@]}" 2>/dev/null
    check "it answers in round $round" answers 10 || break
  done
  check "no client hangs" eval 'sleep 1; ! ps -eo stat,args | grep "^D.*$mnt" | grep -v grep'
  check "unmount" unmounted
  check "whole" whole
}
