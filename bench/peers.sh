#!/usr/bin/env bash
# Packed stores beside file systems that are made once and only read: what a tree takes, and how fast it is read cold, by name and at
# random, on the machine's own disk and on modelled ones (docs/COMPRESSION.md has the tables that it made).
#   peers.sh [--bin DIR] [--disks raw,cloud,hdd] [--erofs DIR] [--tiny] TREE...
# --erofs: a folder with a newer mkfs.erofs than the machine's, which is then used (zstd needs 1.8). The machine's own disk is read three
# times, modelled ones once: they are slow enough to say the same each time; of the tree a tenth is read at random, there a thirtieth. The load
# before each run is printed: with other work beside, compare what ran side by side and nothing else.
set -euo pipefail
cd "$(dirname "$0")/.."
bin=build/release disks=raw,cloud,hdd tiny=()
while [[ ${1:-} = --* ]]; do
  case $1 in
    --bin) bin=$2; shift 2 ;;
    --disks) disks=$2; shift 2 ;;
    --erofs) PATH=$(realpath "$2"):$PATH; shift 2 ;;
    --tiny) tiny=(--tiny); shift ;;
    *) echo "peers.sh: no such option: $1" >&2; exit 2 ;;
  esac
done
[ $# -gt 0 ] || { echo "peers.sh: name a tree" >&2; exit 2; }
targets=${TARGETS:-ext4,directory,directory+lz4,directory+zstd:3,directory+zstd:9,squashfs:lz4,squashfs:zstd,erofs:lz4,erofs:zstd}

for tree; do
  for disk in ${disks//,/ }; do
    readers=1 share=0.03
    [ "$disk" != raw ] || readers=1,1,1 share=0.1
    echo "== $tree, $disk; $(date +%H:%M:%S), load $(cut -d' ' -f1-3 /proc/loadavg)"
    "$bin/cffs" bench reads --tree="$tree" --disk="$disk" --only=name,random --threads=$readers --share=$share --targets="$targets" "${tiny[@]}" |
      sed -n '/^medians/,$p'
  done
done
