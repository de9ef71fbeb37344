#!/usr/bin/env bash
# A store that is followed over sshfs, which carries no locks: docs/FOLLOWING.md. sshfs talks to sftp's server through a pipe here; nobody listens.
. "$(dirname "$0")/service.sh"
require sshfs sshfs
sftp=/usr/lib/openssh/sftp-server
require openssh-sftp-server "$sftp"

far="$base/work/far"
follower="$base/work/follower"
trap 'stop_services; umount -l "$follower" "$far" 2>/dev/null; cleanup' EXIT
over_sshfs() {
  mkdir -p "$far"
  printf '#!/bin/sh\nexec %s\n' "$sftp" >"$base/work/ssh" && chmod 755 "$base/work/ssh"
  timeout 20 sshfs -o ssh_command="$base/work/ssh",dir_cache=no,direct_io there:"$store" "$far"
}
problem() { getfattr --absolute-names --only-values -n user.cffs.follow "$follower" | grep -o "\"problem\": \"store $far is written to, and nothing is kept for who follows it"; }

case_use() {
  fresh -- || return 1
  mkdir -p "$follower"
  cp -a "$source_tree/linux" "$mnt/site" && echo one >"$mnt/page"
  check "umount the writer" timeout 60 "$cffs" umount "$mnt"
  check "sshfs" over_sshfs
  check "follow the store at rest" timeout 30 "$cffs" mount -o ro,follow=0.2 "$far" "$follower"
  check "the tree" diff -r "$source_tree/linux" "$follower/site"
  check "nothing is wrong" bash -c "! getfattr --absolute-names --only-values -n user.cffs.follow '$follower' | grep -q problem"
  check "the writer comes back" "$cffs" mount -o commit_interval=0.5 "$store" "$mnt"
  local i
  for i in {1..30}; do
    problem >/dev/null && break
    echo "$i" >"$mnt/page" && setfattr -n user.cffs.commit -v 1 "$mnt"
    sleep 1
  done
  check "the follower says that the writer does not see it" problem
  check "umount the follower" timeout 60 "$cffs" umount "$follower"
  umount "$far"
  finish
}

run_cases use -- "$@"
