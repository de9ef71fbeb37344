#!/usr/bin/env bash
# What a user would try first, on a real mount with real programs. Usage: CFFS_BINARY=... tests/mount/acceptance.sh [CASE...]
. "$(dirname "$0")/harness.sh"
for topic in transfers compress dedupe programs shortages damage mounts looking advising; do . "$(dirname "$0")/acceptance/$topic.sh"; done

run_cases import compress dedupe advise transfer archives writers programs names files errors options threads full emptied damage scrub backup copy salvage repair looking features follow holders foreign successors devices -- "$@"
