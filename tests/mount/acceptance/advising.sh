# What cffs advise says of a tree, beside the stores that are then made of it. Sourced by acceptance.sh.

# predicted KEY of the store that is called NAME
predicted() { python3 -c "import json,sys; print(next(s for s in json.load(open('$base/work/advice.json'))['stores'] if s['name'] == '$1')['$2'])"; }
# A quarter more or less, and one.
near() { python3 -c "import sys; p, r = map(float, sys.argv[1:]); sys.exit(not (0.75 * r - 1 <= p <= 1.25 * r + 1))" "$1" "$2" || { echo "predicted $1, real $2"; return 1; }; }

case_advise() {
  mkdir -p "$base/work/tree"
  cp -a "$source_tree/linux" "$source_tree/c++" "$base/work/tree/" 2>/dev/null
  head -c 3000000 /dev/urandom >"$base/work/tree/large"
  touch "$base/work/tree/empty" && mkfifo "$base/work/tree/fifo" && ln -s . "$base/work/tree/round" && truncate -s 1T "$base/work/tree/sparse"
  ln "$base/work/tree/large" "$base/work/tree/again"
  times_of "$base/work/tree" >/dev/null  # where times are relative, this look is the last to set them
  times_of "$base/work/tree" >"$base/work/before"
  check "advise" bash -c "'$cffs' advise --disk=hdd --json --html='$base/work/page.html' '$base/work/tree' >'$base/work/advice.json'"
  times_of "$base/work/tree" >"$base/work/after"
  check "nothing of the tree has changed" cmp "$base/work/before" "$base/work/after"
  check "the page is whole and needs nobody else" bash -c "tail -n 1 '$base/work/page.html' | grep -q '</html>' && grep -q '<svg' '$base/work/page.html' && ! grep -qE 'https?://|<script|@import|url\(' '$base/work/page.html'"
  rm "$base/work/tree/sparse"  # that was for the survey; each import would take it as a blob of holes
  check "advise again" bash -c "'$cffs' advise --disk=hdd --json '$base/work/tree' >'$base/work/advice.json'"
  local how name
  for how in none zstd:3; do
    name=$how; [ $how != none ] || name=plain
    rm -rf "$store"; "$cffs" format --compress=$how "$store" >/dev/null
    check "import, $how" "$cffs" import "$base/work/tree" "$store"
    local key real
    for key in composites:composites composite_bytes:composite_bytes stored_bytes:stored_bytes objects:objects object_bytes:object_bytes blobs:blobs; do
      real=$(stat_number "$store" "${key#*:}")
      check "$how: ${key%:*}" near "$(predicted $name "${key%:*}")" "$real"
    done
    check "$how: inodes" near "$(predicted $name inodes)" "$(find "$store" | wc -l)"
  done
  check "it is for such a tree on a hard disk" grep -q '"worth": "yes"' "$base/work/advice.json"
  "$cffs" advise --disk=hdd "$base/work/tree" >"$base/work/advice.txt"
  check "and says what to type" bash -c "grep -q '^What to do: cffs format --compress=zstd:3 STORE && cffs import $base/work/tree STORE$' '$base/work/advice.txt' || { cat '$base/work/advice.txt'; false; }"
  mkdir "$base/work/few" && head -c 60000000 /dev/urandom >"$base/work/few/film"
  check "not for a film" bash -c "'$cffs' advise --disk=hdd '$base/work/few' | grep -q 'cffs is not for this tree'"
  check "a log is asked" bash -c "printf '%s\n' '1.2.3.4 - - [01/Aug/1995:00:00:01 -0400] \"GET /linux/can.h HTTP/1.0\" 200 100' '1.2.3.4 - - [01/Aug/1995:00:00:02 -0400] \"GET /linux/acct.h HTTP/1.0\" 200 100' '1.2.3.4 - - [01/Aug/1995:00:00:03 -0400] \"GET /linux/can.h HTTP/1.0\" 200 100' '1.2.3.4 - - [01/Aug/1995:00:00:04 -0400] \"GET /linux/acct.h HTTP/1.0\" 200 100' >'$base/work/access.log' && '$cffs' advise --disk=hdd --log='$base/work/access.log' '$base/work/tree' | grep -q 'by the log'"
  local odd="$base/work/it's \$(touch ran) Musíca"
  mkdir "$odd" && echo >"$odd/file"
  check "a page of an odd directory" "$cffs" advise --disk=hdd --html="$base/work/odd.html" "$odd"
  # As a browser gives it to who copies it, and as a shell has it then.
  check "has the command that means it" python3 - "$base/work/odd.html" "$odd" <<'PY'
import html, re, subprocess, sys
page, directory = sys.argv[1:]
line = html.unescape(re.search("<pre>(.*?)</pre>", open(page).read(), re.S).group(1))
word = line.split(" && cffs import ", 1)[1].rsplit(" STORE", 1)[0].removeprefix("--policy=none ")
said = subprocess.run(["bash", "-c", "printf %s " + word], check=True, capture_output=True).stdout
assert said == directory.encode(), (word, said)
PY
  check "no directory" refused "is no directory" "$cffs" advise "$base/work/few/film"
  check "nothing there" refused "No such file" "$cffs" advise "$base/work/nowhere"
}
