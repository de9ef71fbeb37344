#!/usr/bin/env bash
# Types the commands of README.md, every line of every ```sh block, as they stand and in their order. Replaced are only the places (/srv, /mnt, /tmp, /opt
# lie below a temporary directory), build/release (the directory of the binary under test) and the size of benchmarks (--tiny, one round) and of a plain build
# (configured whole, one library of it built; what is installed is the build under test). The two scripts that build and test everything are run by CI itself.
. "$(dirname "$0")/harness.sh"
repository=$(cd "$(dirname "$0")/../.." && pwd)
bin=$(cd "$(dirname "$cffs")" && pwd)

lines() { awk '/^```sh$/ { inside = 1; next } /^```/ { inside = 0 } inside && NF' "$repository/README.md"; }
here_line() {  # a line of README as it is run here
  sed -E -e 's/[[:space:]]+#.*$//' \
    -e ':again' -e "s#(^|[ =:])/(srv|mnt|tmp|opt)(/|[[:space:]]|\$)#\1@base@/\2\3#; t again" -e "s#@base@#$base#g" \
    -e "s#(^|[ ;&|])build/release/#\1$bin/#g" \
    -e "s#cmake --install build/mine#cmake --install $bin#; s#build/mine#$base/mine#g; s#(cmake --build [^ ]+) -j[0-9]*#\1 -j2 --target cffs_grouping#" \
    -e '/cffs bench /s#--rounds=[0-9]+#--rounds=1#; s#(cffs bench [a-z-]+)#\1 --tiny#' <<<"$1"
}
new_files() { git status --porcelain 2>/dev/null | grep "^??"; }
take_down_all() {
  mountpoint -q "$base/mnt" 2>/dev/null && { timeout 60 "$cffs" umount --force "$base/mnt" 2>/dev/null || umount -l "$base/mnt"; }
}
cleanup() { trap '' INT TERM; take_down_all; timeout 60 "$repository/scripts/rados_cluster.sh" stop "$base/tmp/ceph" >/dev/null 2>&1; rm -rf "$base"; }

case_commands() {
  local line said typed=0 started
  mkdir -p "$base/srv" "$base/tmp" "$base/mnt"
  cd "$repository" || return 1
  new_files >"$base/before"
  while IFS= read -r line; do
    case $line in scripts/quickstart.sh*|scripts/test.sh*) continue ;; esac
    typed=$((typed + 1))
    said=$(here_line "$line")
    started=$SECONDS
    check "$line" timeout 240 bash -c "$said" || { echo "    typed: $said"; return 1; }
    echo "  $((SECONDS - started)) s: ${line%%  #*}"
  done < <(lines)
  check "there were commands to type ($typed)" test $typed -ge 15
  check "README unmounts what it mounts" bash -c "! mountpoint -q '$base/mnt'"
  new_files >"$base/after"
  check "nothing is left in the tree" diff "$base/before" "$base/after"
}

# What README says in passing, without a block.
case_mentions() {
  check "cffs --help" "$cffs" --help
  local command
  for command in format mount umount advise import export analyze evaluate regroup stat fsck scrub backup copy salvage compact dump trace replay bench compare; do
    check "cffs $command --help" "$cffs" $command --help
  done
  check "every script that README names is there" bash -c "cd '$repository' && for f in \$(grep -oE '(scripts|bench|tests)/[a-z_/]+\\.sh' README.md | sort -u); do test -x \$f || { echo \$f; exit 1; }; done"
  check "every page that README links is there" bash -c "cd '$repository' && for f in \$(grep -oE '\\]\\([^)#]+' README.md | cut -c 3- | grep -v '^http'); do test -e \$f || { echo \$f; exit 1; }; done"
}

run_cases commands mentions -- "$@"
