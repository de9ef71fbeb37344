#!/usr/bin/env bash
# fio with verification: buffered and direct, asynchronous, mapped, small files by the hundred; what was written is read back
# and compared, also after a remount.
. "$(dirname "$0")/suite.sh" "$@"
require fio

size=${long:+256m}; size=${size:-16m}

run() {  # what, fio arguments
  local what=$1
  shift
  check "$what" limited 300 fio --name=job --directory="$mnt" --size="$size" --verify=crc32c --verify_fatal=1 \
    --do_verify=1 --randrepeat=1 --fallocate=none --output="$base/work/fio.log" "$@"
}

case_buffered() {
  fresh_mount || return 1
  run "libaio, buffered, random writes" --ioengine=libaio --direct=0 --rw=randwrite --bs=1k-64k --bs_unaligned --iodepth=8
  run "libaio, four jobs" --ioengine=libaio --direct=0 --rw=randrw --bs=4k --iodepth=8 --numjobs=4 --size=4m
  run "psync with fsync" --ioengine=psync --rw=randwrite --bs=4k --fsync=64 --size=4m
  run "mmap" --ioengine=mmap --rw=randwrite --bs=4k
  finish
}

case_direct() {
  fresh_mount || return 1
  run "libaio, direct, random writes" --ioengine=libaio --direct=1 --rw=randwrite --bs=4k-64k --iodepth=16
  run "psync, direct, O_SYNC" --ioengine=psync --direct=1 --sync=1 --rw=write --bs=64k --size=4m
  run "io_uring, direct" --ioengine=io_uring --direct=1 --rw=randrw --bs=4k --iodepth=8
  finish
}

case_small_files() {
  fresh_mount || return 1
  local layout=(--ioengine=psync --rw=randwrite --bs=512 --nrfiles=300 --filesize=512-20k --size=4m --openfiles=50)
  run "300 small files" "${layout[@]}"
  run "preallocated" --ioengine=psync --rw=write --bs=4k --fallocate=posix --nrfiles=20 --size=8m --filename_format='pre.$filenum'
  sync; sleep 1
  mount_again
  run "verified after a remount" "${layout[@]}" --verify_only
  finish
}

run_cases buffered direct small_files -- "${suite_arguments[@]}"
