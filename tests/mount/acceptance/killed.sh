# Commands that are killed before any of their calls, and typed again. Sourced by acceptance.sh.

# Before the Nth of these calls, whatever the machine's speed.
killed_calls=openat,mkdir,mkdirat,rename,renameat,renameat2,linkat,unlink,unlinkat,rmdir,ftruncate,write,pwrite64,pwritev,fsync,fdatasync
killed_at() {  # N command...; fails where it was killed
  strace -f -qq -o /dev/null -e trace="$killed_calls" -e inject="$killed_calls:signal=KILL:when=$1" "${@:2}"
}

# Until it comes to its end by itself: BEFORE, the command killed, BEHIND, which types it again and looks.
killed_everywhere() {  # step before behind command...
  local n step=$1 before=$2 behind=$3 killed=0
  shift 3
  for ((n = 1; n < 5000; n += step)); do
    $before
    if killed_at "$n" "$@" >/dev/null 2>&1; then break; fi
    killed=$((killed + 1))
    $behind "$@" || { echo "killed at call $n"; return 1; }
  done
  [ "$killed" -gt 2 ] && [ "$n" -lt 5000 ]
}

killed_new() { rm -rf "$base/work/new"; }
killed_names() { (cd "$1" && find . ! -name '*.l[do]*' ! -name 'MANIFEST*' | sort); }
typed_again() {  # where it came to its end before, it says so
  local said
  said=$("$@" 2>&1) || [[ $said == *"is a cffs store already"* ]] || { echo "$said"; return 1; }
}
killed_format() { typed_again "$@" && "$cffs" fsck --quiet "$base/work/new" && diff "$base/work/names" <(killed_names "$base/work/new"); }
killed_image() { typed_again "$@" && "$cffs" fsck --quiet "$base/work/new"; }
killed_copy() { "$@" && "$cffs" fsck --quiet "$base/work/new" && "$cffs" diff "$base/work/new" "$source_tree/linux"; }
killed_salvage() { typed_again "$@" && "$cffs" diff "$base/work/new" "$base/work/salvaged"; }
killed_export() {
  until said=$("$@" 2>&1); do
    [[ $said == *"is under way"* ]] || { echo "$said"; return 1; }
    sleep 0.1
  done
  diff <(ls -A "$base/work/out") <(echo new.tar) && tar -df "$base/work/out/new.tar" -C "$mnt"
}
killed_out() { rm -rf "$base/work/out"; mkdir "$base/work/out"; }

case_killed() {
  strace -f -qq -o /dev/null true 2>/dev/null || { echo "  no process can be traced here: not tried"; return 0; }
  fresh || return 1
  check "a whole one" "$cffs" format "$base/work/whole"
  killed_names "$base/work/whole" >"$base/work/names"
  check "format" killed_everywhere 7 killed_new killed_format "$cffs" format "$base/work/new"
  check "format of an image" killed_everywhere 7 killed_new killed_image "$cffs" format --backend=region --size=64M --region-size=4M "$base/work/new"
  check "import" "$cffs" import --quiet "$source_tree/linux" "$store"
  check "copy to an image" killed_everywhere 43 killed_new killed_copy "$cffs" copy --quiet --size=128M "$store" "$base/work/new"
  check "mount" "$cffs" mount "$store" "$mnt"
  check "export of a mount" killed_everywhere 11 killed_out killed_export "$cffs" export --quiet "$mnt" "$base/work/out/new.tar"
  check "umount" "$cffs" umount "$mnt"
  rm -r "$store/table"
  check "salvage" "$cffs" salvage --quiet "$store" "$base/work/salvaged"
  check "salvage, killed" killed_everywhere 151 killed_new killed_salvage "$cffs" salvage --quiet "$store" "$base/work/new"
  rm -r "$base/work/new"
  check "an empty store" "$cffs" format --compress=zstd:5 "$base/work/new"
  check "salvage into it, killed" bash -c "$(declare -f killed_at); killed_calls=$killed_calls; ! killed_at 700 '$cffs' salvage --quiet '$store' '$base/work/new' 2>/dev/null"
  check "is none then" refused "was not made to its end" "$cffs" stat "$base/work/new"
  check "salvage into it, again" "$cffs" salvage --quiet "$store" "$base/work/new"
  check "and has all" "$cffs" diff "$base/work/new" "$base/work/salvaged"
  check "as that was made" grep -q 'compress.*zstd:5' <<<"$("$cffs" stat "$base/work/new")"
}
