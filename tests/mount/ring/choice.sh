# Which transport a mount takes, what it says of it, and what happens where the ring is not to be had.

case_choice() {
  fresh
  check "by itself" silent "$cffs" mount "$store" "$mnt"
  check "it takes the ring" comes_by ring
  check "stat names it" eval 'said=$("$cffs" stat "$mnt") && grep -q "requests come  *by io_uring" <<<"$said"'
  check "unmount" unmounted
  check "the device is asked for" silent "$cffs" mount --transport=device "$store" "$mnt"
  check "and taken" comes_by device
  check "stat names it, too" eval 'said=$("$cffs" stat "$mnt") && grep -q "requests come  *by /dev/fuse" <<<"$said"'
  check "unmount" unmounted
  check "as a mount option" silent "$cffs" mount -o transport=ring "$store" "$mnt"
  check "which is heard" comes_by ring
  check "unmount" unmounted
  check "without ACLs, where the root is the kernel's" silent "$cffs" mount -o transport=ring,noacl "$store" "$mnt"
  check "the ring again" comes_by ring
  check "unmount" unmounted
  check "a word nobody knows" refused "transport wants one of auto, ring, device, not 'pipe'" "$cffs" mount -o transport=pipe "$store" "$mnt"
  check "a store that is not mounted names none" eval '! grep -q transport <<<"$("$cffs" stat --json "$store")"'
}

# In one sentence where it was asked for; else the mount works all the same.
case_refused() {
  fresh
  echo N >$parameter
  check "switched off" refused 'switched off in this kernel; root switches it on with: echo Y > /sys/module' ring
  check "by itself the device is taken, and a script is told nothing" silent "$cffs" mount "$store" "$mnt"
  check "the device" comes_by device
  check "unmount" unmounted
  check "a person is told once" eval '[ "$(script -qec "$cffs mount $store $mnt" /dev/null | grep -c "switched off; root switches it on with: echo Y > $parameter")" = 1 ]'
  check "unmount" unmounted
  check "but who asked for the device is not" eval '[ -z "$(script -qec "$cffs mount --transport=device $store $mnt" /dev/null)" ]'
  check "unmount" unmounted
  echo Y >$parameter
  if [ -e $disabled ]; then
    echo 2 >$disabled
    check "io_uring is forbidden" refused 'FUSE over io_uring is not to be had here: .*mount with transport=device' ring
    check "nothing is left of it" eval '! mountpoint -q "$mnt"'
    check "by itself the device is taken" silent "$cffs" mount "$store" "$mnt"
    check "the device" comes_by device
    check "it works" eval 'echo word >"$mnt/file" && [ "$(cat "$mnt/file")" = word ]'
    echo "$disabled_before" >$disabled
    check "unmount" unmounted
  fi
  check "whole" whole
}
