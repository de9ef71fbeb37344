#!/usr/bin/env bash
# nginx in front of a mount: docs/services/NGINX.md.
. "$(dirname "$0")/service.sh"
require nginx-light nginx
require curl curl

start_nginx() {  # lines for the server's block
  port=$(free_port)
  mkdir -p "$base/work/nginx" && chown www-data "$base/work/nginx"
  cat >"$base/work/nginx.conf" <<CONF
worker_processes 2;
user www-data;
daemon off;
pid $base/work/nginx.pid;
error_log $base/work/nginx.log;
events { worker_connections 256; }
http {
  access_log off;
  client_body_temp_path $base/work/nginx;
  proxy_temp_path $base/work/nginx; fastcgi_temp_path $base/work/nginx; uwsgi_temp_path $base/work/nginx; scgi_temp_path $base/work/nginx;
  sendfile on;
  sendfile_max_chunk 2m;
  tcp_nopush on;
  server { listen 127.0.0.1:$port; root $mnt/site; client_max_body_size 0; $1 }
}
CONF
  serve nginx -c "$base/work/nginx.conf" -e "$base/work/nginx.log"
  eventually listening "$port"
}
readonly kCache='open_file_cache max=10000 inactive=30s; open_file_cache_valid 1s; open_file_cache_errors on;'
url() { echo "http://127.0.0.1:$port/$1"; }
says() { [ "$(curl -s -o /dev/null -w '%{http_code}' "${@:2}")" = "$1" ] || { curl -sv "${@:2}" 2>&1 | head -c 600; return 1; }; }
all_right() {  # every byte of some files
  local file
  while read -r file; do curl -sf "$(url "$file")" | cmp - "$base/work/expected/$file" || return 1; done < <(some_files)
}
threads_or_not() { if grep -q -- --with-threads <<<"$(nginx -V 2>&1)"; then echo 'aio threads;'; fi; }

case_serve() {
  site || return 1
  start_nginx "$kCache $(threads_or_not)" || return 1
  check "files, small and large" all_right
  check "consolidation under it" consolidate
  check "the same from composites, cold" bash -c "echo 3 >/proc/sys/vm/drop_caches"
  check "the same from composites" all_right
  check "a part of the large one" bash -c "curl -sf -r 5000000-5999999 '$(url large.bin)' | cmp - <(tail -c +5000001 '$base/work/expected/large.bin' | head -c 1000000)"
  local tag
  tag=$(curl -sI "$(url index.html)" | awk 'tolower($1) == "etag:" { print $2 }' | tr -d '\r')
  check "an unchanged file is not sent again" says 304 -H "If-None-Match: $tag" "$(url index.html)"
  check "the tag is the same after regrouping" bash -c "'$cffs' regroup --policy=directory '$mnt' && test \"\$(curl -so /dev/null -w '%{http_code}' -H 'If-None-Match: $tag' '$(url index.html)')\" = 304"
  check "what www-data may not read is refused" says 403 "$(url private.txt)"
  check "what is not there is not found" says 404 "$(url nothing)"
  finish
}

# A page is replaced as editors and deployments do it.
case_change() {
  site || return 1
  start_nginx "" || return 1
  replace() { echo "$1" >"$mnt/site/new" && mv "$mnt/site/new" "$mnt/site/index.html"; }
  shows() { [ "$(curl -s "$(url index.html)")" = "$1" ]; }
  check "a page" shows '<p>one'
  replace two
  check "is new at once without open_file_cache" shows two
  stop_services
  start_nginx "$kCache" || return 1
  check "a page that is kept open" shows two
  replace three
  check "is whole, old or new" bash -c "curl -s '$(url index.html)' | grep -qxE 'two|three'"
  check "and new when open_file_cache_valid has passed" eventually shows three
  # Many readers, while their files are replaced and regrouped: no answer but the whole old or the whole new one.
  readers() {
    local i
    for i in $(seq 100); do curl -sf "$(url index.html)" "$(url kvm.h)" || return 1; done >"$base/work/read.$1"
  }
  local pids=() i
  for i in 1 2; do readers $i & pids+=($!); done
  for i in $(seq 40); do replace "page $i"; cp "$base/work/expected/kvm.h" "$mnt/site/new.h" && mv "$mnt/site/new.h" "$mnt/site/kvm.h"; sleep 0.02; done
  check "regroup under load" "$cffs" regroup --policy=reference "$mnt"
  for i in "${pids[@]}"; do wait "$i"; check "a reader got every answer" test $? = 0; done
  whole() { python3 - "$base/work/read.$1" "$base/work/expected/kvm.h" <<'PY'
import re, sys
text, header = open(sys.argv[1], 'rb').read(), open(sys.argv[2], 'rb').read()
parts = text.split(header)
assert len(parts) == 101, len(parts)
assert all(re.fullmatch(rb'(two|three|page \d+)\n', p) for p in parts[:-1]), parts[:3]
PY
  }
  for i in 1 2; do check "whole pages" whole $i; done
  finish
}

case_write() {
  grep -q http_dav_module <<<"$(nginx -V 2>&1)" || { echo "  nginx has no http_dav_module: not tried"; return 0; }
  site || return 1
  chown www-data "$mnt/site/deep"
  start_nginx 'location /deep/ { dav_methods PUT DELETE MKCOL COPY MOVE; dav_access user:rw group:r all:r; create_full_put_path on; }' || return 1
  local big=$base/work/expected/large.bin
  check "PUT of a small file" curl -sf -T "$base/work/expected/kvm.h" "$(url deep/new/kvm.h)"
  check "PUT of a large file" curl -sf -T "$big" "$(url deep/large.bin)"
  check "MOVE" curl -sf -X MOVE -H "Destination: $(url deep/moved.bin)" "$(url deep/large.bin)"
  check "DELETE" curl -sf -X DELETE "$(url deep/new/kvm.h)"
  check "nobody but the directory's owner writes" says 405 -T "$big" "$(url large.bin)"
  check "what was put is there" cmp "$mnt/site/deep/moved.bin" "$big"
  check "and belongs to www-data" test "$(stat -c %U:%a "$mnt/site/deep/moved.bin")" = www-data:644
  kill_only
  check "the killed daemon, mounted again" mount_again
  check "what was put is there after kill -9" cmp "$mnt/site/deep/moved.bin" "$big"
  finish
}

case_killed() {
  site || return 1
  start_nginx "" || return 1
  check "files" all_right
  kill_only
  check "mount again, without open_file_cache" mount_again
  check "all is served at once" all_right
  stop_services
  start_nginx "$kCache" || return 1
  check "files" all_right
  kill_only
  local code
  code=$(curl -s -o /dev/null -w '%{http_code}' "$(url acct.h)")
  echo "  without its daemon: $code"
  check "an error, not a page" test "$code" -ge 400
  check "nginx says why" eventually grep -q 'Transport endpoint is not connected' "$base/work/nginx.log"
  check "mount again, nginx goes on running" mount_again
  # What it keeps open is the old mount's, and has the same inode number, size and time as the new one's: it would keep that until it is inactive.
  check "reload" nginx -c "$base/work/nginx.conf" -e "$base/work/nginx.log" -s reload
  check "all is served again" eventually all_right
  # Who wants to unmount learns who is in the way; a reload lets go of what is kept open.
  check "nginx keeps files open" curl -sf -o /dev/null "$(url index.html)"
  check "umount names nginx" refused nginx timeout 20 "$cffs" umount "$mnt"
  check "reload" nginx -c "$base/work/nginx.conf" -e "$base/work/nginx.log" -s reload
  unmounted() { "$cffs" umount "$mnt"; }
  check "umount beside the running nginx" eventually unmounted
  check "it answers: not found" eventually says 404 "$(url index.html)"
  chmod 0 "$mnt"
  check "a mount point that nobody may read makes it: forbidden" eventually says 403 "$(url index.html)"
  chmod 755 "$mnt"
  check "mount" "$cffs" mount "$store" "$mnt"
  check "all is served again" eventually all_right
  finish
}

run_cases serve change write killed -- "$@"
