#!/usr/bin/env bash
# stress-ng's file system class, with its own verification; what also fails on the native file system here is left out.
. "$(dirname "$0")/suite.sh" "$@"
require stress-ng

seconds=${long:+20}; seconds=${seconds:-1}
# Not of this file system: /proc, /sys, /dev, pipes, terminals, kernel interfaces that need a device.
elsewhere=" procfs sysfs dev dev-shm binderfs cgroup dirdeep sysinval"

case_filesystem() {
  fresh_mount || return 1
  local stressor
  for stressor in $(stress-ng --class 'filesystem?' 2>/dev/null | tr ' ' '\n' | grep -v -E "^(class|filesystem|stressors:|'filesystem'|)$"); do
    [[ "$elsewhere " != *" $stressor "* ]] || continue
    [ ${#suite_arguments[@]} -eq 0 ] || [[ " ${suite_arguments[*]} " == *" $stressor "* ]] || continue
    mkdir -p "$mnt/$stressor" "$base/work/native"
    if ! limited $((seconds + 60)) stress-ng --verify --temp-path "$mnt/$stressor" --timeout "$seconds" --"$stressor" 2 \
        >"$base/work/$stressor.log" 2>&1; then
      if limited $((seconds + 60)) stress-ng --verify --temp-path "$base/work/native" --timeout "$seconds" --"$stressor" 2 \
          >"$base/work/native.log" 2>&1; then
        echo "  FAILED: stress-ng --$stressor (the native file system passes)"
        grep -E 'fail|error|info.*terminated' "$base/work/$stressor.log" | head -n 5 | sed 's/^/    /'
        failures=$((failures + 1))
      else
        echo "  skipped: $stressor also fails on the native file system"
      fi
    fi
    rm -rf "${mnt:?}/$stressor" || { echo "  FAILED: $stressor leaves what cannot be removed"; failures=$((failures + 1)); }
  done
  finish
}

run_cases filesystem --
