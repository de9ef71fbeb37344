#!/usr/bin/env bash
# Every benchmark, tiny, so that none rots; and what becomes of their results. Nothing may be left behind.
#   benchmarks.sh [NAME...]      some benchmarks; "end": interruption and refusals
set -uo pipefail
cffs=${CFFS_BINARY:?set CFFS_BINARY to the cffs binary under test}
base=$(mktemp -d "${TMPDIR:-/tmp}/cffs-benchmarks.XXXXXX")
failures=0
cleanup() { rm -rf "$base"; }
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

fail() { echo "  FAILED: $1"; failures=$((failures + 1)); }
nothing_left() {
  grep -q "$base" /proc/mounts && { fail "$1 left a mount"; grep "$base" /proc/mounts; }
  grep -q "$base" <<<"$(losetup -l -n -O BACK-FILE)" && fail "$1 left a loop device"
  pgrep -f "cffs .*$base/" >/dev/null && { fail "$1 left a process"; pgrep -af "cffs .*$base/"; }
  local image
  for image in /dev/shm/cffs-bench-*; do  # of a process that is over: others may measure meanwhile
    [ ! -e "$image" ] || kill -0 "$(echo "$image" | cut -d- -f3)" 2>/dev/null || fail "$1 left $image"
  done
  [ -z "$(ls "$base" | grep -v '^r\.\|^plots$\|^page')" ] || { fail "$1 left files"; ls "$base"; }
}
export TMPDIR=$base

one() {
  echo "== $1"
  local started=$SECONDS
  shift 0
  if ! timeout 300 "$cffs" bench "$@" --tiny --results="$base/r.db" >"$base/r.out" 2>&1; then
    fail "$1"
    tail -n 5 "$base/r.out"
    return
  fi
  nothing_left "$1"
  echo "  $(grep -c ' 1  ' "$base/r.out") runs, $((SECONDS - started)) s"
}
refused() {  # pattern command...
  local pattern=$1 output
  shift
  if output=$("$@" 2>&1 >/dev/null); then fail "accepted: $*"; return; fi
  grep -Eq "$pattern" <<<"$output" || fail "said '$output' instead of '$pattern'"
}

names=("$@")
[ ${#names[@]} -gt 0 ] || mapfile -t names < <("$cffs" bench list | awk '/^[a-z]/ {print $1}')
for name in "${names[@]}"; do
  [ "$name" = end ] || one "$name"
done

case " ${names[*]} " in *" end "*)
  echo "== end"
  one metadata --disk=cloud --targets=ext4,directory,library
  one postmark --disk=hdd --targets=directory --memory=256M --aged=0.2 --rounds=2
  one create --targets=none@xfs,library@btrfs --sync
  one metadata --targets=floor-xattrs,floor@ext4
  one reads --targets=floor@ext4,floor@xfs --disk=cloud
  # Peers: images, made from the same tree and only read. Without what makes them they are left out, in a sentence.
  one reads --targets=ext4,squashfs:zstd:3,squashfs:lz4@xfs,erofs:lz4 --disk=cloud --threads=2
  grep -Eq '^sweep by name, 2 threads +squashfs:zstd:3 +[0-9.]+ +0\.[0-9]+ ' "$base/r.out" || { fail "no share of the tree"; tail -n 12 "$base/r.out"; }
  mkdir "$base/r.bin"
  ln -s "$(command -v mkfs.ext4)" "$(command -v cp)" "$base/r.bin/"
  printf '#!/bin/sh\nexit 1\n' >"$base/r.bin/mkfs.erofs" && chmod 755 "$base/r.bin/mkfs.erofs"
  said=$(timeout 120 env PATH="$base/r.bin" "$cffs" bench reads --tiny --threads=1 --only=random --targets=squashfs:zstd,erofs:zstd,ext4 2>&1) || fail "reads without peers"
  grep -q '^squashfs:zstd is left out: mksquashfs is not installed: apt-get install squashfs-tools$' <<<"$said" || fail "no word on mksquashfs: $said"
  grep -q '^erofs:zstd is left out: mkfs.erofs here cannot compress with zstd' <<<"$said" || fail "no word on mkfs.erofs: $said"
  grep -Eq '^ext4 +at random' <<<"$said" || fail "ext4 was left out, too: $said"
  rm -r "$base/r.bin"
  nothing_left "a benchmark without peers"
  mkdir "$base/r.site"
  echo '<img src="logo.png"><p>one' >"$base/r.site/one.html"
  echo '<img src="logo.png"><p>two' >"$base/r.site/two.html"
  head -c 5000 /dev/zero >"$base/r.site/logo.png"
  one web-server --site="$base/r.site" --targets=reference,frequency
  one obfs-1 --mount-sync --targets=ext2,ext3,xfs
  grep -Eq '^files: all, rewrite +xfs +[0-9.]+$' "$base/r.out" || fail "no throughput over utilization"
  one programs --targets=floor --only=tar,find,rsync,rm
  mkdir "$base/r.native"
  one fdtree --targets="dir:$base/r.native" -d 2 -f 1 -s 1 -l 2
  rmdir "$base/r.native" || fail "a benchmark left files in a directory that it was given"
  "$cffs" compare "$base/r.db" --plot="$base/plots" --html="$base/page.html" >"$base/r.out" 2>&1 || { fail compare; tail -n 3 "$base/r.out"; }
  [ "$(ls "$base/plots"/*.png | wc -l)" -gt 5 ] && [ "$(ls "$base/plots"/*.svg | wc -l)" -gt 5 ] || fail "figures"
  ls "$base/plots"/*-writes.svg > /dev/null 2>&1 || fail "no figure of the device's traffic"
  grep -q '<svg class="plot"' "$base/page.html" || fail "the page has no figures"
  # Of a publication: every headline is measured, and what was is not run again.
  paper() { timeout 120 "$cffs" bench paper composite-files --tiny --results="$base/r.papers.db" --markdown="$base/page.md" >"$base/r.out" 2>&1; }
  paper || { fail "bench paper"; tail -n 5 "$base/r.out"; }
  [ "$(grep -Ec '^\| (web server|development) .*\| (as published|more|less) \|$' "$base/page.md")" = 6 ] || { fail "headlines"; cat "$base/page.md"; }
  paper && [ "$(grep -c 'is in .* already' "$base/r.out")" = 2 ] || fail "what was measured is measured again"
  nothing_left paper
  refused "name a publication, or --all" "$cffs" bench paper --tiny --results="$base/r.papers.db"
  refused "is what is read" "$cffs" bench paper --all --report-only --results="$base/r.papers.db" --markdown="$base/r.papers.db"
  # Ctrl-C in the middle: nothing stays.
  "$cffs" bench metadata --files 2000000 --targets=directory --disk=hdd >/dev/null 2>&1 &
  pid=$!
  sleep 3
  kill -TERM $pid
  wait $pid
  [ $? != 0 ] || fail "an interrupted benchmark says that all went well"
  nothing_left interruption
  "$cffs" bench reads --tree=/usr/include --targets=squashfs:lz4 --disk=hdd >"$base/r.out" 2>&1 &
  pid=$!
  for ((i = 0; i < 300; i++)); do grep -q " $base/[^ ]*/squashfs:lz4/mnt squashfs " /proc/mounts && break; sleep 0.1; done
  kill -TERM $pid
  wait $pid
  [ $? != 0 ] || fail "an interrupted benchmark of a peer says that all went well"
  nothing_left "interruption of a peer"
  refused "squashfs:lz4 cannot be written to: it is for cffs bench reads" "$cffs" bench create --tiny --targets=squashfs:lz4
  refused "compressed with zstd, lz4 or lz4hc" "$cffs" bench reads --tiny --targets=erofs:zip
  refused "there is no target 'zfs'" "$cffs" bench create --targets=zfs
  refused "mount-sync is for file systems of the machine's own: leave directory" "$cffs" bench obfs-1 --tiny --mount-sync --targets=directory
  refused "cannot be told of floor" "$cffs" bench obfs-micro --tiny --targets=floor
  refused "99 is not a percentage from 0 to 95" "$cffs" bench obfs-micro --tiny --utilization=25,99 --targets=ext4
  refused "'tiny' is not mixed, large or small" "$cffs" bench obfs-micro --tiny --mix=tiny --targets=ext4
  refused "which library cannot serve" "$cffs" bench programs --tiny --targets=library
  refused "there is no HTML in it" "$cffs" bench web-server --tiny --site="$base/plots" --targets=ext4
  refused "with --site, --check=size" "$cffs" bench web-server --tiny --site="$base/r.site" --check=content --targets=ext4
  refused "1 is not a share from 0 to below 1" "$cffs" bench web-server --tiny --train=1 --targets=ext4
  refused "trace nowhere is not there" "$cffs" bench web-server --tiny --trace=nowhere --targets=ext4
  refused "no regular file; choose another name" "$cffs" bench create --tiny --targets=ext4 --results="$base"
  grep -q ' 1  ' <<<"$("$cffs" bench create --tiny --targets=ext4 --results="$base" 2>&1)" && fail "measured before it looked at the results file"
  nothing_left refusals
esac
echo "$failures failures"
[ $failures = 0 ]
