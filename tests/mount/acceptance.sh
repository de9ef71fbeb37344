#!/usr/bin/env bash
# What a user would try first, on a real mount with real programs. Usage: CFFS_BINARY=... tests/mount/acceptance.sh [CASE...]
. "$(dirname "$0")/harness.sh"
for topic in transfers archivers moving compress dedupe programs shortages damage killed mounts places looking advising manners services observing browsing; do . "$(dirname "$0")/acceptance/$topic.sh"; done

run_cases import manners interrupted killed compress dedupe advise browse warm transfer moving exporting arriving hostile archives formats archivers writers programs names files errors options threads full unreserved overcommitted quota emptied below damage codes strangers scrub live backup copy salvage repair looking handed features follow holders foreign awaited inherited successors strays nested devices doctor service -- "$@"
