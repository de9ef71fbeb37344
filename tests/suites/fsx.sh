#!/usr/bin/env bash
# fsx (the crate): random operations on one file, every read checked. Several seeds, also at once, also with direct I/O.
. "$(dirname "$0")/suite.sh" "$@"
require fsx

operations=${long:+20000}; operations=${operations:-2500}
seeds=${long:+12}; seeds=${seeds:-3}
shim=

config() {  # name, largest file, largest operation, alignment: all operations there are
  cat >"$base/work/$1.toml" <<TOML
flen = $2
[opsize]
max = $3
min = 1
${4:+align = $4}
[weights]
close_open = 1.0
invalidate = 1.0
mapread = 1.0
mapwrite = 1.0
read = 1.0
write = 1.0
truncate = 1.0
fsync = 0.3
fdatasync = 0.3
$([ -n "${4:-}" ] || echo 'posix_fallocate = 1.0  # aligned, it asks for 0 bytes, which nobody allocates')
punch_hole = 1.0
sendfile = 1.0
posix_fadvise = 1.0
copy_file_range = 1.0
TOML
}

run() {  # what, seed, file, config or nothing
  check "$1, seed $2" limited 120 env ${shim:+LD_PRELOAD="$shim"} RUST_LOG=warn \
    fsx -q -S "$2" -N "$operations" -P "$base/work" ${4:+-f "$4"} "$mnt/$3"
}

all_seeds() {  # what, config or nothing
  local seed
  for seed in $(seq "$seeds"); do
    run "$1" "$seed" "file$seed" "${2:-}"
    rm -f "$mnt/file$seed"
  done
}

case_default() {
  fresh_mount || return 1
  all_seeds "default weights"
  finish
}

case_full() {
  fresh_mount || return 1
  config small 40000 9000
  config large 3000000 300000
  all_seeds "all operations, small file" "$base/work/small.toml"
  all_seeds "all operations, large file" "$base/work/large.toml"
  finish
}

case_together() {
  fresh_mount || return 1
  config small 60000 9000
  local pids=() seed
  for seed in 11 12 13 14 15 16; do
    ( failures=0; run "six at once" $seed together$seed "$base/work/small.toml"; exit $failures ) & pids+=($!)
  done
  local pid
  for pid in "${pids[@]}"; do wait "$pid" || failures=$((failures + 1)); done
  finish
}

case_direct() {
  require cc
  fresh_mount || return 1
  shim=$base/work/direct_io.so
  check "the shim builds" cc -shared -fPIC -o "$shim" "$here/direct_io.c" -ldl || return 1
  config direct 200000 30000
  config aligned 1048576 65536 4096
  all_seeds "O_DIRECT" "$base/work/direct.toml"
  all_seeds "O_DIRECT, aligned" "$base/work/aligned.toml"
  shim=
  finish
}

run_cases default full together direct -- "${suite_arguments[@]}"
