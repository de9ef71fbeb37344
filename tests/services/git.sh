#!/usr/bin/env bash
# Repositories on a mount, served over HTTP and by git's own daemon: docs/services/GIT.md.
. "$(dirname "$0")/service.sh"
require git git
export GIT_AUTHOR_NAME=t GIT_AUTHOR_EMAIL=t@example.org GIT_COMMITTER_NAME=t GIT_COMMITTER_EMAIL=t@example.org GIT_CONFIG_GLOBAL=/dev/null GIT_TERMINAL_PROMPT=0

repository() {
  stop_services
  fresh -- --quiet=0.2 || return 1
  chmod 755 "$base" "$mnt"
  local work=$base/work/tree i
  git init -q "$work" && cp -r "$source_tree/linux" "$work/" && git -C "$work" add -A && git -C "$work" commit -qm one || return 1
  for i in 1 2 3; do echo "// $i" >>"$work/linux/kvm.h" && git -C "$work" commit -qam "change $i" || return 1; done
  # Loose objects, not one pack: that is what many repositories on a server look like, and what groups are for.
  git init -q --bare --shared=group "$mnt/git/project.git" && git -C "$mnt/git/project.git" config receive.unpackLimit 100000 &&
    git -C "$mnt/git/project.git" config http.receivepack true && git -C "$mnt/git/project.git" config gc.auto 0 &&
    git -C "$work" push -q "$mnt/git/project.git" HEAD:main && git -C "$mnt/git/project.git" symbolic-ref HEAD refs/heads/main &&
    chown -R www-data:www-data "$mnt/git"
}
start_http() {
  port=$(free_port)
  local d=$base/work/nginx
  mkdir -p "$d" && chown www-data "$d"
  cat >"$base/work/nginx.conf" <<CONF
user www-data;
daemon off;
pid $base/work/nginx.pid;
error_log $base/work/nginx.log;
events { }
http {
  access_log off;
  client_body_temp_path $d; proxy_temp_path $d; fastcgi_temp_path $d; uwsgi_temp_path $d; scgi_temp_path $d;
  server {
    listen 127.0.0.1:$port;
    location ~ ^/git/ {
      client_max_body_size 0;
      fastcgi_pass unix:$d/socket;
      include /etc/nginx/fastcgi_params;
      fastcgi_param SCRIPT_FILENAME /usr/lib/git-core/git-http-backend;
      fastcgi_param GIT_HTTP_EXPORT_ALL "";
      fastcgi_param GIT_PROJECT_ROOT $mnt;
      fastcgi_param PATH_INFO \$uri;
      fastcgi_param REMOTE_USER trial;
      fastcgi_read_timeout 300;
    }
  }
}
CONF
  # As the package's fcgiwrap.service does it: the socket and the program are www-data's.
  rm -f "$d/socket"
  serve runuser -u www-data -- fcgiwrap -c 2 -s "unix:$d/socket"
  eventually test -S "$d/socket"
  serve nginx -c "$base/work/nginx.conf" -e "$base/work/nginx.log"
  eventually listening "$port"
}
start_daemon() {
  port=$(free_port)
  serve runuser -u www-data -- git daemon --listen=127.0.0.1 --port="$port" --base-path="$mnt" --export-all --enable=receive-pack --reuseaddr
  eventually listening "$port"
}
use() {  # address: clone, push, two at once, a ref that moves under somebody
  local url=$1 c=$base/work/clone
  rm -rf "$c"*
  check "clone" limited git clone -q "$url" "$c"
  check "all is there" diff -r --exclude=.git "$base/work/tree" "$c"
  check "what is loose is grouped" consolidate
  check "clone from composites" limited git clone -q "$url" "$c.2"
  check "all is there" diff -r --exclude=.git "$base/work/tree" "$c.2"
  check "push" bash -c "cd '$c' && echo pushed >new && git add new && git commit -qm new && timeout 60 git push -q origin HEAD:main"
  check "what moved meanwhile is not overwritten" bash -c "cd '$c.2' && echo other >other && git add other && git commit -qm other && ! timeout 60 git push -q origin HEAD:main 2>/dev/null"
  runuser -u www-data -- git -C "$mnt/git/project.git" config core.fsync all
  check "fetch, rebase, push" bash -c "cd '$c.2' && timeout 60 git pull -q --rebase origin main && timeout 60 git push -q origin HEAD:main"
  pushes() { local i; for i in $(seq 8); do git -C "$c" push -q "$url" "HEAD:refs/heads/$1-$i" || return 1; done; }
  local pids=() i
  for i in 1 2 3; do pushes $i & pids+=($!); done
  for i in "${pids[@]}"; do wait "$i"; check "three that push at once" test $? = 0; done
  check "every branch is there" test "$(limited git ls-remote "$url" 'refs/heads/?-*' | wc -l)" = 24
  check "gc on the server" runuser -u www-data -- git -C "$mnt/git/project.git" gc -q --prune=now
  check "fsck of the repository" runuser -u www-data -- git -C "$mnt/git/project.git" fsck --strict
  check "clone after gc" limited git clone -q "$url" "$c.3"
}
limited() { timeout 120 "$@"; }

killed() {  # address
  local url=$1 last
  git -C "$base/work/clone" commit -q --allow-empty -m last && limited git -C "$base/work/clone" pull -q --rebase "$url" main && limited git -C "$base/work/clone" push -q "$url" HEAD:main
  last=$(git -C "$base/work/clone" rev-parse HEAD)
  kill_only
  # Refs alone would be answered from what the kernel still has.
  limited git -C "$base/work/clone" push "$url" HEAD:refs/heads/refused >"$base/work/said" 2>&1
  check "without its daemon a client is told" test "$?" != 0
  echo "  a client without the daemon: $(grep -m 1 -E "^(remote:|fatal:|error:)" "$base/work/said")"
  check "mount again, the service goes on running" mount_again
  check "the last push is there" test "$(limited git ls-remote "$url" refs/heads/main | cut -f 1)" = "$last"
  unmounted() { "$cffs" umount "$mnt"; }
  check "umount beside the running service" eventually unmounted
  check "mount" "$cffs" mount "$store" "$mnt"
  check "it is served again" limited git ls-remote "$url" refs/heads/main
  chown root "$mnt/git/project.git"
  check "a repository of somebody else's is refused" bash -c "! timeout 60 git ls-remote '$url' 2>/dev/null"
  chown www-data "$mnt/git/project.git"
  check "and the repository sound" runuser -u www-data -- git -C "$mnt/git/project.git" fsck --strict
}

case_http() {
  require fcgiwrap fcgiwrap
  require nginx-light nginx
  repository && start_http || return 1
  use "http://127.0.0.1:$port/git/project.git"
  killed "http://127.0.0.1:$port/git/project.git"
  finish
}

case_daemon() {
  repository && start_daemon || return 1
  use "git://127.0.0.1:$port/git/project.git"
  killed "git://127.0.0.1:$port/git/project.git"
  finish
}

run_cases daemon http -- "$@"
