#!/usr/bin/env bash
# A wrong command line ends with 2, whoever finds out that it is one: CLI11, or the command itself, which does so before it looks at any store. What is
# wrong with a store or a file ends as the manual says, and not with 2.
#   command_line_test.sh BUILD
set -uo pipefail
cffs=$(realpath "$1")/cffs
export LC_ALL=C.UTF-8
base=$(mktemp -d "${TMPDIR:-/tmp}/cffs-command-line.XXXXXX")
trap 'rm -rf "$base"' EXIT
trap 'exit 143' TERM
chmod 755 "$base"
cd "$base" || exit 1
failures=0 tried=0
wrong() { echo "$*"; failures=$((failures + 1)); }
# A benchmark that began would be refused: it wants root.
nobody=()
[ "$(id -u)" != 0 ] || nobody=(setpriv --reuid=65534 --regid=65534 --clear-groups)
ends() {  # status words...: and says a line on stderr alone
  local status=$1 code as=()
  shift
  tried=$((tried + 1))
  [ "${1:-}" != bench ] || as=("${nobody[@]}")
  timeout 60 "${as[@]}" "$cffs" "$@" >out 2>err </dev/null
  code=$?
  [ $code = "$status" ] || wrong "cffs ${*:1:9}: $code, not $status: $(head -n 2 err)"
  [ $code = 0 ] || [ -s err ] || [ -s out ] || wrong "cffs $*: not a word"
  [ $code != 2 ] || [ ! -s out ] || wrong "cffs $*: on stdout: $(head -n 2 out)"
}

# --- of every command, from its help ---

# What else must be given, so that only one thing is wrong; nothing of this is there.
needed() {
  case "$*" in
    "bench paper") echo "--all --report-only --results=r.db" ;;
    "trace import" | "trace slice" | "trace record") echo "-o t.db" ;;
    replay) echo "--target=nowhere" ;;
    analyze) echo "-o p.db" ;;
  esac
}
look() {  # command words
  local help usage arguments=() extra=() option value sub many=
  help=$("$cffs" "$@" --help) || { wrong "cffs $* --help fails"; return; }
  for sub in $(sed -n '/^Subcommands:/,/^$/s/^  \([a-z][^ ]*\).*/\1/p' <<<"$help"); do look "$@" "$sub"; done
  grep -q '^Subcommands:' <<<"$help" && { ends 2 "$@"; ends 2 "$@" no-such-command; ends 2 "$@" --no-such-option; return; }
  usage=$(sed -n "s/^Usage: cffs $*//p" <<<"$help")
  for option in $usage; do
    case $option in
      "[OPTIONS]") ;;
      *...*) many=1; [[ $option = \[* ]] || arguments+=(nowhere) ;;
      \[*) many=1 ;;
      *) arguments+=(nowhere) ;;
    esac
  done
  [ "$*" = import ] && arguments=(nowhere nostore)
  read -ra extra <<<"$(needed "$@")"
  ends 2 "$@" --no-such-option
  grep -q -- "no option '--no-such-option'" err || wrong "cffs $* --no-such-option: $(head -n 2 err)"
  ends 2 "$@" --no-such-option "${extra[@]}" "${arguments[@]}"
  ends 2 "$@" "${extra[@]}" "${arguments[@]}" --no-such-option
  if [ ${#arguments[@]} -gt 0 ]; then
    ends 2 "$@"
    ends 2 "$@" "${extra[@]}" "${arguments[@]:1}"
  fi
  [ -n "$many" ] || ends 2 "$@" "${extra[@]}" "${arguments[@]}" one-too-many
  # "  -d,--max-depth N  text": an option whose value is of a kind that not every word is.
  while read -r option value; do
    option=${option##*,}
    case $value in
      SIZE | N | NUMBER | SECONDS | POLICY | HOW | ADDRESS | DIR:SIZE | LIST | URL | *"|"*) ;;
      FORMAT) ;;
      *) continue ;;
    esac
    case $option in
      --*) ends 2 "$@" "${extra[@]}" "$option=@" "${arguments[@]}" ;;
      *) ends 2 "$@" "${extra[@]}" "$option" @ "${arguments[@]}" ;;
    esac
    [ "$value" = LIST ] || ends 2 "$@" "${extra[@]}" "${arguments[@]}" "$option"  # without its value
  done < <(sed -n '/^Options:/,/^[A-Z]/s/^  \(-[^ ]*\) \([^ ]*\)\( .*\)\?$/\1 \2/p' <<<"$help")
}
for command in $("$cffs" --help | sed -n '/^Subcommands:/,/^$/s/^  \([a-z][^ ]*\).*/\1/p'); do
  [ "$command" = find ] || look "$command"  # whose words are find(1)'s
done
ends 2
ends 2 --no-such-option
ends 2 no-such-command

# --- what no help tells: options that exclude each other, or have no effect ---

"$cffs" format s && mkdir p && touch p/file a.zip x.log && tar -cf a.tar p || exit 1
# What could not be said was not done: 1 is "all that was found is mended", and not that.
"$cffs" fsck s >/dev/full 2>err
[ $? = 8 ] || wrong "cffs fsck whose answer does not fit: not 8: $(cat err)"
"$cffs" backup s b >/dev/full 2>err
[ $? = 8 ] || wrong "cffs backup whose answer does not fit: not 8: $(cat err)"
rm -rf b
while read -ra words; do
  case ${words[0]:-#} in \#*) continue ;; esac
  ends 2 "${words[@]}"
  [ "$(wc -l <err)" = 1 ] || wrong "cffs ${words[*]}: not one line: $(cat err)"
done <<'TABLE'
import p s --to=../x
import p s:x/../y
import --delete p s
import --update --delete p p s
import --update --delete a.tar s
import --checksum a.tar s
import --to=d p s:e
import --policy=nothing p s
import --plan=p.db p s
import --site-root=htdocs p s
import --policy=reference --site-root=../out p s
import --depth=3 p s
import --policy=frequency --shared=3 p s
export s d --delete
export s d.tar --update
export s d.7z
export s:.. d
regroup s
regroup s --dry-run
regroup s --compress=zstd --plan-ahead
regroup s --policy=directory --depth=2
regroup s --policy=frequency --plan-ahead
regroup nowhere --policy=nothing
regroup nowhere --compress=zstd:99
regroup --cancel --policy=none s
mount -o bogus s p
mount -o policy=nothing s p
mount -o cache_size=lots s p
mount -o quiet=never s p
mount -o transport=pigeon s p
mount --policy=foo s p
mount --depth=2 s p
mount --plan-ahead s p
mount --follow --standby s p
mount --metrics=0.0.0.0:1 s p
mount --local-cache=/tmp s p
mount --local-cache=/tmp:1K s p
format --inline-max=abc new
format --inline-max=0 new
format --inline-max=8K --composite-file-max=4K new
format --composite-max=2G new
format --compress=zip new
format --size=1G new
format --large-block=1M new
format --backend=region new
format --backend=region --size=64M --large-block=1000 new
format --pool=p new
format --backend=rados new
format --backend=region rados:p/n
format --pool=q rados:p/n
format rados:p
stat --by-directory=deep s
fsck rados:nothing
scrub --stop --rate=1M s
scrub --status --anew s
scrub --status --stop s
backup s
backup --status s d
backup --stop --rate=1M s
copy s s
copy s ./s/
copy --size=1G s rados:p/n
dump --composite=1 --inode=1 s
dump --inode=-1 s
du -s -a s
du -s -d 2 s
diff -q --details s p
find -name x
find s -foo
find s -size big
find s -name
find s ( -name x
find s -o
find nowhere -maxdepth deep
find s -exec ls
stats --table-log --json p
warm --memory=lots s
warm rados:p/n
advise --sample=some p
analyze x.log --tune --algorithm=closed
analyze x.log --cache=1M
analyze x.log --exchange-bytes=1M
analyze x.log --algorithm=benefit --exchange-bytes=0
analyze x.log --algorithm=adjacency --min-support=7
analyze x.log --disk-at=/srv
analyze x.log --batch=7
analyze x.log --format=runes
analyze x.log --master=local[*]
analyze x.log --engine=spark --master=here
analyze x.log --engine=spark --tune
analyze - --tune
evaluate x.log --depth=2
evaluate x.log --site-root=htdocs
evaluate x.log --algorithm=adjacency
evaluate plan.db
replay x.log
replay x.log --target=p --library=s
replay x.log --target=p --predict
replay x.log --target=p --foreign-owner
replay x.log --library=s --make-tree
replay x.log --target=p --make-tree --fresh
replay x.log --target=p --cold --cache=warm
replay x.log --target=p --cache=hot
replay x.log --target=p --think=hard
replay x.log --target=p --hosts=0
trace import x.log --below=here --format=strace -o t.db
bench reads --resume
bench reads --tiny --paper
bench reads --threads=many
bench paper --results=r.db
bench paper --all tablefs --results=r.db
help exprot
help ls nothing
TABLE
[ -z "$(ls -A p | grep -v '^file$')" ] && [ ! -e new ] && [ ! -e d ] || wrong "something was made"

# --- what is right of the words, and wrong of what they name ---

head -c 4096 /dev/zero >no-archive.tar
mkdir broken && cp -r s/. broken/ && echo damaged >broken/superblock
while read -ra words; do
  case ${words[0]:-#} in \#*) continue ;; esac
  ends "${words[@]}"
done <<'TABLE'
1 stat nowhere
1 stat p
1 stat broken
8 fsck nowhere
8 scrub nowhere
8 scrub --rate=1M p
8 backup nowhere d
8 backup --status s
1 import nowhere s
1 import p nowhere
1 import --update --delete nowhere s
1 import --policy=frequency --plan=nowhere.db p s
1 export nowhere d
1 export s:nowhere d
1 mount nowhere p
1 mount s nowhere
1 mount --policy=frequency --plan=nowhere.db s p
1 umount p
1 format s
1 format p
1 compact nowhere
1 regroup nowhere --policy=none
1 regroup s --policy=frequency --plan=nowhere.db
1 regroup --cancel s
1 dump nowhere
1 copy nowhere d
1 salvage p d
1 ls nowhere
1 ls s:nowhere
1 cat s:nowhere
1 du s:nowhere
1 find nowhere -name x
1 find s:nowhere -name x
1 find s -newer nowhere
2 diff s nowhere
1 diff s p
0 diff s s
1 warm nowhere
1 stats p
1 top p
1 advise nowhere
1 analyze nowhere.log
1 evaluate x.log --tree=nowhere
1 replay nowhere.log --target=p
1 trace stat nowhere
1 trace import x.log -o t.db
1 compare nowhere.db
TABLE

# As many words as a command line has room for: no more of the stack is taken for each.
expression=(-name 1)
for ((i = 0; i < 45000; ++i)); do expression+=(-o -name x); done
ends 0 find s "${expression[@]}"

echo "$tried command lines, $failures failures"
[ $failures = 0 ]
