#!/usr/bin/env bash
# The tests of CPython that touch files, run with their temporary files on the native file system and on the mount: the
# same must pass.
. "$(dirname "$0")/suite.sh" "$@"
python=/usr/bin/python3
require $python
$python -c 'import test.libregrtest' 2>/dev/null || { echo "cpython.sh: CPython's tests are missing; scripts/install_suites.sh installs them" >&2; exit 1; }

quick=(test_os test_posix test_fileio test_file test_mmap test_shutil test_tempfile test_glob test_stat
       test_genericpath test_posixpath test_fcntl test_dbm test_filecmp test_linecache test_fnmatch test_pty test_unicode_file
       test_unicode_file_functions test_univnewlines test_shelve)
more=(test_io test_largefile test_lzma test_pathlib test_mailbox test_zipfile test_tarfile test_gzip test_bz2 test_sqlite3 test_logging test_fileinput
      test_import test_zipimport test_py_compile test_compileall test_venv test_netrc test_configparser test_http_cookiejar)

# What a thread or a warning prints may come between a test's name and its result.
results_of() {
  awk 'function told(text) { if (!match(text, /(ok|FAIL|ERROR|skipped.*|expected failure)$/)) return 0
         result = substr(text, RSTART); sub(/^skipped.*/, "skipped", result); print name " " result; name = ""; return 1 }
       match($0, /^test[A-Za-z0-9_]+ \([^)]*\)/) && index($0, "... ") {
         name = substr($0, RSTART, RLENGTH); rest = $0; sub(/.*\.\.\. /, "", rest); told(rest); next }
       name != "" { told($0) }'
}

results() {  # directory: a line for each test
  local t
  for t in "${tests[@]}"; do
    rm -rf "$1/t" && mkdir -p "$1/t"
    ( cd "$1/t" && TMPDIR="$1/t" limited 150 $python -m test -u largefile,-largefile --tempdir "$1/t" -v "$t" 2>&1 ) |
      results_of
  done | LC_ALL=C sort
}

case_same() {
  tests=("${quick[@]}")
  [ -z "$long" ] || tests+=("${more[@]}")
  [ ${#suite_arguments[@]} -eq 0 ] || tests=("${suite_arguments[@]}")
  fresh_mount || return 1
  mkdir -p "$base/work/native"
  results "$base/work/native" >"$base/work/expected"
  results "$mnt" >"$base/work/found"
  echo "  $(grep -c ' ok$' "$base/work/expected") pass natively, $(grep -c ' ok$' "$base/work/found") on the mount"
  check "the tests ran" test "$(wc -l <"$base/work/expected")" -gt 10
  check "the same results" diff "$base/work/expected" "$base/work/found"
  finish
}

run_cases same --
