#!/usr/bin/env bash
# Records a developer's session of an hour and more: public source packages of this Debian are unpacked, brought into git, configured, built,
# edited, rebuilt, searched, tested, branched, merged and cleaned away, each in turn. Into a trace for `cffs bench development --trace=OUT`.
# Nothing is installed, and the package manager's own lists stay as they are.
set -euo pipefail

# What needs no more than a compiler, zlib and, for three of them, CMake.
# Not lz4, whose tests copy byte by byte.
packages=(zlib m4 sed grep gzip diffutils findutils tar patch libpng1.6 libevent gawk make-dfsg fmtlib googletest leveldb bison coreutils git)
edits=12
minutes=100000
usage() {
  cat <<USAGE
usage: scripts/development_session.sh [--cffs=PROGRAM] [--edits=N] [--minutes=M] OUT.trace.db [PACKAGE...]
  PROGRAM  by default cffs from PATH
  N        cycles of editing, building and committing for each package; by default $edits
  M        no package is begun after so many minutes; by default all are worked on
  PACKAGE  source packages; by default
           ${packages[*]}
USAGE
}
fail() { echo "development_session: $*" >&2; exit 1; }

# ---- the session itself, recorded: in the directory of the sources, one package after the other ----

# The Nth source of the package whose name ends so, the same each time; nothing where it has none.
nth_source() {
  git ls-files | awk -v n="$1" -v ending="\\.($2)\$" \
    'tolower($0) !~ /test|example|win|contrib/ && $0 ~ ending { a[++count] = $0 } END { if (count) print a[n * 7 % count + 1] }'
}

configure() {
  if [ -x configure ]; then
    FORCE_UNSAFE_CONFIGURE=1 ./configure --disable-nls --quiet || ./configure  # zlib's is not autoconf's
  elif [ -f CMakeLists.txt ]; then
    cmake -S . -B build -DCMAKE_BUILD_TYPE=Debug -DLEVELDB_BUILD_BENCHMARKS=OFF -DLEVELDB_BUILD_TESTS=OFF
  fi
}
build() {
  if [ -d build ] && [ -f build/CMakeCache.txt ]; then
    cmake --build build -j2
  else
    make -j2
  fi
}
check() {
  if [ -d build ] && [ -f build/CMakeCache.txt ]; then
    timeout --foreground 300 ctest --test-dir build
  else
    timeout --foreground 300 make -j2 check
  fi
}

work_on() {
  local name=$1 edit file started=$SECONDS
  mkdir "$name"
  tar -xf "../archives/$name" -C "$name" --strip-components=1
  cd "$name"
  git init -q -b main . && git add -A -f && git commit -q -m "import"
  printf '/build/\n*.o\n' >>.git/info/exclude
  configure && build || echo "   $name does not build here: its sources are edited and searched all the same"
  for edit in $(seq "$edits"); do
    file=$(nth_source "$edit" 'c|cc|cpp|cxx')
    [ -z "$file" ] || printf '/* change %s */\n' "$edit" >>"$file"
    if [ $((edit % 4)) = 0 ]; then
      file=$(nth_source "$edit" 'h|hh|hpp')
      [ -z "$file" ] || printf '/* change %s */\n' "$edit" >>"$file"
    fi
    git grep -n "change $edit" >/dev/null || true
    build || true
    git status --short -uno >/dev/null
    git diff >/dev/null
    git commit -q -a -m "change $edit" || true
  done
  check || true
  grep -rIn 'TODO' . >/dev/null || true
  find . -name '*.c' -newer configure >/dev/null 2>&1 || true
  git log --stat >/dev/null
  [ -z "$file" ] || git blame "$file" >/dev/null
  git checkout -q -b side HEAD~3 && printf 'side\n' >side.txt && git add -f side.txt && git commit -q -m side
  git checkout -q -f main && git merge -q --no-edit side && build || true
  git clone -q . "../$name.copy" && rm -rf "../$name.copy"
  git gc -q
  if [ -f build/CMakeCache.txt ]; then rm -rf build; else make clean || true; fi
  cd ..
  # What was finished long ago goes.
  finished+=("$name")
  if [ ${#finished[@]} -gt 6 ]; then rm -rf "${finished[0]}"; finished=("${finished[@]:1}"); fi
  echo "   $name: $((SECONDS - started)) s" >&3
}

if [ "${1:-}" = --session ]; then  # by cffs trace record, in the directory of the sources
  edits=$2 minutes=$3
  shift 3
  exec 3>&1 >../session.log 2>&1
  trap 'exit 130' INT
  unset XDG_CONFIG_HOME GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE GIT_CONFIG_GLOBAL  # whoever's they are
  export HOME=$PWD/.home LC_ALL=C GIT_CONFIG_NOSYSTEM=1 GIT_PAGER=cat
  mkdir "$HOME" && git config --global user.name dev && git config --global user.email dev@example.org && git config --global advice.detachedHead false
  finished=()
  for name; do
    [ $SECONDS -lt $((minutes * 60)) ] || break
    work_on "$name"
  done
  exit 0
fi

# ---- before it: the sources ----

program=cffs
while [ $# -gt 0 ]; do
  case $1 in
    -h|--help) usage; exit 0 ;;
    --cffs=*) program=${1#*=} ;;
    --edits=*) edits=${1#*=} ;;
    --minutes=*) minutes=${1#*=} ;;
    -*) usage >&2; exit 2 ;;
    *) break ;;
  esac
  shift
done
[ $# -gt 0 ] || { usage >&2; exit 2; }
[ "$edits" -ge 1 ] 2>/dev/null || fail "--edits takes a number from 1, not '$edits'"
[ "$minutes" -ge 1 ] 2>/dev/null || fail "--minutes takes a number from 1, not '$minutes'"
output=$(realpath -m "$1")
shift
[ $# = 0 ] || packages=("$@")
[ ! -e "$output" ] || fail "$output exists already; name another file"
program=$(command -v "$program") || fail "$program is not there; --cffs=PROGRAM names it"
program=$(realpath "$program")
for needed in apt-get dpkg-source strace git gcc make cmake; do
  command -v $needed >/dev/null || fail "$needed is not there; install it first (dpkg-source is dpkg-dev's)"
done

self=$(realpath "$0")
work=$(mktemp -d "${TMPDIR:-/tmp}/cffs-session.XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 143' TERM
mkdir -p "$work"/{sources,archives,download}
. "$(dirname "$self")/source_packages.sh"

release=$(. /etc/os-release && echo "${VERSION_CODENAME:-stable}")
fetch() { source_packages "$work/apt" -qq source --download-only --tar-only "$1" >"$work/apt.log" 2>&1; }
cd "$work/download"
for name in "${packages[@]}"; do
  # Where a mirror lacks the newest version, the release's own one.
  fetch "$name" || fetch "$name/$release" ||
    fail "source package $name cannot be downloaded ($(tail -n 1 "$work/apt.log"))"
  archive=$(find . -name '*.tar.*' ! -name '*.asc' | head -n 1)
  [ -n "$archive" ] || fail "source package $name has no archive"
  mv "$archive" "$work/archives/$name"
  rm -f ./*
done
echo "   ${#packages[@]} source packages, $(du -sh "$work/archives" | cut -f1); the session is recorded"

cd "$work/sources"
trap : INT  # the session ends with it, and what was recorded is kept
status=0
"$program" trace record --below=. -o "$output" -- bash "$self" --session "$edits" "$minutes" "${packages[@]}" || status=$?
[ $status = 0 ] || { cp "$work/session.log" "$output.log" 2>/dev/null; fail "the session ended with $status; $output.log has what it printed, $output what was recorded until then"; }
"$program" trace stat "$output"
