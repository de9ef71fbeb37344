#!/usr/bin/env bash
# The scripts that install into a directory of the user's choice remove what they have made there, and nothing else.
#   install_places_test.sh SOURCE
set -euo pipefail
work=$(mktemp -d "${TMPDIR:-/tmp}/cffs-install-places.XXXXXX")
trap 'rm -rf "$work"' EXIT
for script in install_spark install_spark_places; do
  for there in install.log installed; do
    mkdir "$work/$script-$there"
    echo mine >"$work/$script-$there/$there"
    echo mine >"$work/$script-$there/letters"
    if said=$("$1/scripts/$script.sh" "$work/$script-$there" 2>&1); then
      echo "$script.sh installed over a directory with a file '$there'" >&2
      exit 1
    fi
    [[ $said = *"is neither empty nor what this script has made"* ]] || { echo "$script.sh: $said" >&2; exit 1; }
    [ "$(cat "$work/$script-$there/letters" "$work/$script-$there/$there")" = $'mine\nmine' ] || { echo "$script.sh removed what is not its own" >&2; exit 1; }
  done
done
