#!/usr/bin/env bash
# clang's thread-safety analysis (core/base/mutex.h) finds nothing in core and fusefs, and would find what it is there for;
# the clang preset, which .ci/run builds, looks at the rest. Looks at the sources only, with the build's own flags:
# no objects are made. The fuzzers, which clang alone builds, it reads as well: that they still fit the sources. Exit 77: there is no clang here.
# Arguments: the sources, the build directory.
set -euo pipefail
sources=$1 build=$2
clang=
for candidate in clang++-{19,18,17,16,15,14} clang++; do
  clang=$(command -v "$candidate") && break
done
if [ -z "$clang" ]; then
  echo "thread_safety: no clang++ (14 to 19) is installed, so nobody checked the locks" | tee -a "${CFFS_SKIPPED:-/dev/null}"
  exit 77
fi
work=$(mktemp -d "${TMPDIR:-/tmp}/cffs-thread-safety.XXXXXX")
trap 'rm -rf "$work"' EXIT
# Other warnings are the business of the clang preset.
check=("$clang" -fsyntax-only -Wno-everything -Wthread-safety -Werror -ferror-limit=0)

# --- the analysis finds what it should: each of these lines breaks one promise, and without it all is well ---------------
cat >"$work/unit.cc" <<'UNIT'
#include "core/fs/locking.h"

namespace cffs {
struct Counter {
  Mutex mutex;
  int value CFFS_GUARDED_BY(mutex) = 0;
  void add() CFFS_REQUIRES(mutex) { ++value; }
};
void right(Counter& counter, RowLocks& locks, Node& node) {
  {
    const MutexLock guard(counter.mutex);
    counter.add();
  }
  const NodeUpdate update(locks, node);
  node.row_alone = node.inode.size == 0;
}
#if BROKEN == 1
int wrong(const Counter& counter) { return counter.value; }
#elif BROKEN == 2
void wrong(Counter& counter) { counter.add(); }
#elif BROKEN == 3
std::uint64_t wrong(const Node& node) { return node.inode.size; }
#elif BROKEN == 4
void wrong(Node& node) { node.row_alone = true; }
#elif BROKEN == 5
void wrong(RowLocks& locks, Node& node, Key key) {
  const RowLocks::SharedGuard one(locks, key);
  const NodeUpdate another(locks, node);
}
#endif
}  // namespace cffs
UNIT
made_up() { "${check[@]}" -std=c++20 -D_FILE_OFFSET_BITS=64 -I"$sources" -DBROKEN="$1" "$work/unit.cc" 2>"$work/said"; }
made_up 0 || { cat "$work/said"; echo "thread_safety: refused a unit that locks as it should"; exit 1; }
for broken in 1 2 3 4 5; do
  if made_up "$broken" || ! grep -q -e '-Wthread-safety' "$work/said"; then
    cat "$work/said"
    echo "thread_safety: a unit that breaks a promise was not refused for it (BROKEN=$broken)"
    exit 1
  fi
done

# --- the sources ------------------------------------------------------------------------------------------------------
python3 - "$sources" "$build" "${check[@]}" <<'UNITS'
import concurrent.futures, glob, json, os, shlex, subprocess, sys

sources, build, *check = sys.argv[1:]
parts = ("core", "fusefs")
# Several sources may be one unit, which lies where the build is.
folders = {part: tuple(os.path.join(top, part, "") for top in (sources, build)) for part in parts}


def arguments(unit):
    """Its includes and definitions, none of what concerns code or GCC alone."""
    words = iter(shlex.split(unit["command"]))
    for word in words:
        if word in ("-isystem", "-I", "-D"):
            yield from (word, next(words))
        elif word.startswith(("-I", "-D", "-std=")):
            yield word


def findings(unit):
    command = [*check, *arguments(unit), unit["file"]]
    run = subprocess.run(command, cwd=unit["directory"], stderr=subprocess.PIPE, text=True)
    return run.stderr or (f"{unit['file']}: clang ended with {run.returncode}\n" if run.returncode != 0 else "")


with open(os.path.join(build, "compile_commands.json")) as commands:
    everything = json.load(commands)
units = [unit for unit in everything if unit["file"].startswith(sum(folders.values(), ()))]
for part in parts:
    if not any(unit["file"].startswith(folders[part]) for unit in units):
        sys.exit(f"thread_safety: no unit of {part} is in {build}/compile_commands.json")
# Of the fuzzers no build for use knows: with all that any unit is compiled with.
words = dict.fromkeys(word for unit in everything for word in arguments(unit) if word not in ("-isystem", "-I", "-D"))
folders_of_others = [word for word in words if not word.startswith("-")]
command = shlex.join(["c++", *(word for word in words if word.startswith("-")), *(f"-I{folder}" for folder in folders_of_others)])
units += [{"command": command, "directory": build, "file": path} for path in sorted(glob.glob(os.path.join(sources, "tests/fuzz/*.cc")))]
refused = 0
with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as several:
    for said in several.map(findings, units):
        refused += said != ""
        sys.stdout.write(said)
print(f"thread_safety: {len(units)} units looked at, {refused} refused")
sys.exit(refused > 0)
UNITS
