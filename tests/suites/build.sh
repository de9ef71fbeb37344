#!/usr/bin/env bash
# A parallel make of a real source package on the mount; its own tests then run there too.
. "$(dirname "$0")/suite.sh" "$@"
require make cc

case_package() {
  local archive
  archive=$(ls "$CFFS_SUITE_SOURCES"/hello_*.orig.tar.* 2>/dev/null | head -n 1)
  [ -n "$archive" ] || skip "no source package in $CFFS_SUITE_SOURCES; scripts/install_suites.sh fetches it"
  fresh_mount || return 1
  tar -C "$mnt" -xf "$archive" || return 1
  local d; d=$(ls -d "$mnt"/hello-*)
  check "configure" bash -c "mkdir '$mnt/build' && cd '$mnt/build' && '$d/configure' -q"
  check "make -j4" limited 240 make -s -C "$mnt/build" -j4
  check "it runs" bash -c "'$mnt/build/hello' | grep -q 'Hello, world'"
  check "make check" limited 240 make -s -C "$mnt/build" -j4 check
  check "nothing left to do" bash -c "make -C '$mnt/build' -q all-am || make -C '$mnt/build' all-am"
  check "install" make -s -C "$mnt/build" install "DESTDIR=$mnt/root"
  finish
}

run_cases package --
