#!/usr/bin/env bash
# Dependencies point one way (docs/ARCHITECTURE.md). Each line: a folder, and what it must not include.
set -u
cd "$1"
failures=0
forbid() {
  local folder=$1 pattern=$2 found
  found=$(grep -rnE "#include [<\"]($pattern)" "$folder" --include='*.h' --include='*.cc')
  if [ -n "$found" ]; then
    echo "$folder must not include $pattern:"
    echo "$found"
    failures=1
  fi
}
forbid core 'fusefs/|replay/|bench/|cli/|fuse|CLI/'
forbid grouping 'core/|fusefs/|replay/|bench/|cli/|fuse|leveldb|sqlite'
forbid fusefs 'replay/|bench/|cli/|leveldb'
forbid replay 'fusefs/|bench/|cli/|fuse|leveldb'
forbid bench 'cli/|leveldb|CLI/'
forbid replay/trace 'replay/(play|results)/'
forbid replay/model 'replay/(play|results)/'
forbid replay/results 'replay/(trace|play|model)/'
forbid bench/disk 'bench/(rig|suite|report)/'
forbid bench/rig 'bench/(suite|report)/'
forbid core/database 'core/(object|table|composite|blob|fs|plan|transfer)/'
forbid core/object 'core/(table|composite|blob|fs|transfer)/'
forbid core/table 'core/(composite|blob|fs|transfer)/'
forbid core/composite 'core/(blob|fs|transfer)/'
forbid core/blob 'core/(composite|fs|transfer|table)/'
forbid core/fs 'core/(transfer|plan)/|leveldb|sqlite'
forbid core/plan 'core/transfer/|leveldb'
exit $failures
