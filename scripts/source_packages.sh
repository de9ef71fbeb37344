# Sourced. Debian's source packages by lists of their own, so that the system's stay as they are.
#   source_packages DIR ARGUMENT...     apt-get with ARGUMENTs; its lists lie in DIR, and are read the first time
source_packages() {
  local work=$1
  shift
  mkdir -p "$work/lists/partial" "$work/cache/archives/partial"
  if [ ! -e "$work/sources.list" ]; then
    sed -n 's/^deb /deb-src /p' /etc/apt/sources.list 2>/dev/null >"$work/sources.list" || true
    awk '/^URIs:/ {u=$2} /^Suites:/ {$1=""; s=$0} /^Components:/ {$1=""; n=split(s, a, " "); for (i=1;i<=n;i++) print "deb-src", u, a[i], $0}' \
      /etc/apt/sources.list.d/*.sources 2>/dev/null >>"$work/sources.list" || true
  fi
  local options=(-o APT::Sandbox::User=root -o "Dir::Etc::SourceList=$work/sources.list" -o Dir::Etc::SourceParts=/dev/null -o "Dir::State::Lists=$work/lists" -o "Dir::Cache=$work/cache")
  [ -n "$(ls "$work/lists" | grep Sources)" ] || apt-get "${options[@]}" update -q >/dev/null || return
  apt-get "${options[@]}" "$@"
}
