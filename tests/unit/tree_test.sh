#!/usr/bin/env bash
# The tree holds only what belongs there. Arguments: the tree, the build directory, and
#   kinds    no file of a kind that is not expected where it is
#   pipes    no script whose pipes fail where a part of them does has one into `grep -q`
#   before   notes what is there before the tests
#   after    nothing has come since: the tests leave nothing behind
set -euo pipefail
cd "$1"
build=$(realpath "$2")
noted=$build/tree_before.txt

# Every file but git's own, an editor's, and those of build directories, wherever these are.
files() {
  local prune=(-path ./.git -o -path ./build -o -path "./${build#"$PWD"/}") cache
  while read -r cache; do prune+=(-o -path "$(dirname "$cache")"); done < <(find . -maxdepth 3 -name CMakeCache.txt)
  find . \( "${prune[@]}" \) -prune -o ! -type d ! -name '*.swp' ! -path ./compile_commands.json -print | sed 's,^\./,,' | LC_ALL=C sort
}

# With git, what is tracked or would be; without, all.
candidates() {
  if [ "$(git rev-parse --show-toplevel 2>/dev/null)" = "$PWD" ]; then
    git ls-files --cached --others --exclude-standard | while read -r file; do [ ! -e "$file" ] || echo "$file"; done
  else
    files
  fi
}

kinds() {
  local file unexpected=0
  while read -r file; do
    case $file in
      core/*.cc | grouping/*.cc | fusefs/*.cc | replay/*.cc | bench/*.cc | cli/*.cc | tests/*.cc | docs/examples/*.cc) ;;
      core/*.h | grouping/*.h | fusefs/*.h | replay/*.h | bench/*.h | cli/*.h | tests/*.h) ;;
      CMakeLists.txt | */CMakeLists.txt | cmake/*.cmake | cmake/precompiled.cc | cmake/*.cmake.in | cmake/*.supp | CMakePresets.json) ;;
      replay/spark/*.py) ;;
      python/extension/*.cc | python/extension/*.h | python/*.py | python/pyproject.toml) ;;
      scripts/*.sh | scripts/*.py | scripts/site/*.css | bench/*.sh | bench/*.py | tests/*.sh | tests/*.py | tests/suites/*.c | tests/mount/*.c | tests/catch2_v3/catch2/catch.hpp | .ci/run) ;;
      tests/golden/*.tar.xz | tests/golden/*.tree | tests/golden/*.superblock | tests/fuzz/corpus/*/*) ;;
      README.md | CHANGELOG.md | CONTRIBUTING.md | docs/*.md | docs/images/*.svg | docs/man/*.1 | docs/man/*.8 | docs/grafana/*.json | traces/README.md) ;;
      traces/*.xz | traces/*.txt) ;;
      cli/completion/_cffs | cli/completion/cffs.bash | cli/completion/cffs.fish) ;;
      packaging/debian/* | packaging/systemd/*.in | packaging/container/Containerfile | packaging/alpine/APKBUILD | packaging/fedora/cffs.spec) ;;
      .clang-format | .clang-tidy | .gitignore) ;;
      LICENSE* | COPYING*) ;;
      *)
        echo "unexpected: $file (if it belongs to the project, tests/unit/tree_test.sh must know its kind)"
        unexpected=1
        ;;
    esac
  done < <(candidates)
  return $unexpected
}

# grep -q leaves at the first line that matches; who has more to say then ends by SIGPIPE, now and then, and the pipe fails though the line is
# there: `grep -q … <<<"$(…)"`. Commands of a shell of their own have pipes that only fail at their end.
pipes() {
  local file found=0
  while read -r file; do
    case $file in *.sh | .ci/run) ;; *) continue ;; esac
    if grep -nHE '\|[ &]*(LC_ALL=C )?grep +-[a-zA-Z]*q' "$file" | grep -vE 'bash -c|sh -c|in_own_space|\|\| *grep|\\"|^[^:]*:[0-9]+: *#'; then found=1; fi
  done < <(candidates)
  return $found
}

case $3 in
  kinds) kinds ;;
  pipes) pipes ;;
  before) files >"$noted" ;;
  after)
    left=$(files | LC_ALL=C comm -13 "$noted" -)
    [ -z "$left" ] || { printf 'left in the tree while the tests ran:\n%s\n' "$left"; exit 1; }
    ;;
esac
