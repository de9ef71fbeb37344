#!/usr/bin/env bash
# pjdfstest (the crate): what every system call must answer, as root and as ordinary users.
. "$(dirname "$0")/suite.sh" "$@"
require pjdfstest

case_all() {
  fresh_mount && open_to_others || return 1
  cat >"$base/work/pjdfstest.toml" <<'TOML'
[features]
posix_fallocate = {}
utime_now = {}
utimensat = {}
rename_ctime = {}
[settings]
naptime = 0.02
allow_remount = false
[dummy_auth]
entries = [["nobody", "nogroup"], ["daemon", "daemon"]]
TOML
  # Names of sockets have 108 bytes at most, so the suite sees the mount at a short path, in a namespace of its own.
  mkdir -p "$base/work/other"
  # (A chroot's / is no mount whose propagation could be changed; the last umount is for there.)
  limited 300 unshare --mount --propagation unchanged bash -c '
    mount --make-rprivate / 2>/dev/null
    mount --bind "$1" /mnt || exit 1
    shift
    pjdfstest -p /mnt "$@"
    code=$?
    umount /mnt
    exit $code' _ "$mnt" -c "$base/work/pjdfstest.toml" -s "$base/work/other" "${suite_arguments[@]}" >"$base/work/log" 2>&1
  local code=$?
  grep -E 'FAILED|panicked' "$base/work/log" | head -n 20
  local summary failed skipped
  summary=$(grep '^Summary:' "$base/work/log" | tail -n 1)
  echo "  ${summary:-it did not finish}"
  failed=$(sed -nE 's/.* ([0-9]+) failed.*/\1/p' <<<"$summary"); skipped=$(sed -nE 's/.* ([0-9]+) skipped.*/\1/p' <<<"$summary")
  check "pjdfstest: nothing failed" test "$code" = 0 -a "${failed:-1}" = 0
  [ ${#suite_arguments[@]} -gt 0 ] || check "pjdfstest: at most 14 skipped" test "${skipped:-99}" -le 14
  finish
}

run_cases all --
