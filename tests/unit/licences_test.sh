#!/usr/bin/env bash
# docs/LICENCES.md names every library that the program is linked with, and none that it is not. Arguments: the tree, the program.
set -euo pipefail
export LC_ALL=C
# libleveldb.so.1d is libleveldb.so there.
needed=$(readelf -d "$2" | sed -n 's/.*(NEEDED).*\[\(.*\.so\).*\]/\1/p' | grep -v '^ld-linux' | sort -u)
named=$(sed -n '/^## Linked/,/^Loaded when/p' "$1/docs/LICENCES.md" | grep '^| lib' | cut -d '|' -f 2 | grep -o '[a-z0-9_+]*\.so' | sort -u)
[ "$(wc -l <<<"$needed")" -ge 10 ] || { echo "the program does not look linked: $needed"; exit 1; }
# What an optimised build may leave out: libm, libgcc_s.
unnamed=$(comm -23 <(echo "$needed") <(echo "$named"))
unused=$(comm -13 <(echo "$needed") <(echo "$named") | grep -vE '^lib(m|gcc_s)\.so$' || true)
[ -z "$unnamed" ] || echo "linked, and not in docs/LICENCES.md:" $unnamed
[ -z "$unused" ] || echo "in docs/LICENCES.md, and not linked:" $unused
[ -z "$unnamed$unused" ]
