# Who may mount a store, how, and who holds it. Sourced by acceptance.sh.

# Every option of mount(8), of ext4, and of mount.fuse: it works, or is ignored with a word.
case_options() {
  fresh || return 1
  local silent ignored option
  silent="defaults rw ro suid nosuid dev nodev exec noexec sync async dirsync atime noatime diratime nodiratime relatime norelatime strictatime
    nostrictatime nolazytime silent loud nomand noiversion symfollow nosymfollow auto noauto nofail _netdev user nouser users owner group
    comment=words x-systemd.automount x-gvfs-hide acl noacl user_xattr nogrpid sysvgroups nodiscard noquota commit=7 commit=0
    allow_other default_permissions auto_unmount noallow_other fsname=name subtype=cffs"
  ignored="lazytime mand iversion X-mount.mkdir X-mount.subdir=d loop offset=0 sizelimit=0 private shared slave
    journal_checksum journal_async_commit journal_dev=8 journal_path=/dev/x journal_ioprio=3 noload norecovery data=journal data=ordered
    data=writeback data_err=abort barrier barrier=0 nobarrier max_batch_time=1 min_batch_time=1 auto_da_alloc noauto_da_alloc delalloc
    nodelalloc inode_readahead_blks=8 stripe=4 init_itable=10 noinit_itable discard block_validity noblock_validity dioread_lock
    dioread_nolock max_dir_size_kb=9 i_version quota usrquota grpquota prjquota jqfmt=vfsv1 usrjquota=a grpjquota=a nouser_xattr bsddf minixdf
    check=none nocheck debug errors=remount-ro errors=continue errors=panic grpid bsdgroups resuid=1 resgid=1 sb=1 nouid32 oldalloc orlov bh nobh
    dax inlinecrypt prefetch_block_bitmaps"
  [ -e /sys/fs/selinux/enforce ] || ignored="$ignored context=system_u:object_r:tmp_t:s0 rootcontext=\"a:b:c:s0:c1,c2\""
  works() {  # option, what stderr must say
    timeout 30 "$cffs" mount -o "$1" "$store" "$mnt" 2>"$base/work/said" || { cat "$base/work/said"; return 1; }
    local outcome=0
    [ "$(cat "$base/work/said")" = "$2" ] || { echo "it said: $(cat "$base/work/said")"; outcome=1; }
    ls "$mnt" >/dev/null || outcome=1
    timeout 30 "$cffs" umount "$mnt" && flock --wait 30 "$lock" true && return $outcome  # fsname= hides whose mount it was
  }
  for option in $silent; do check "-o $option" works "$option" ""; done
  for option in $ignored; do
    check "-o $option is ignored with a word" works "$option" "cffs: mount option '$option' has no effect on a cffs mount and is ignored"
  done
  check "silent keeps the word back" works silent,lazytime ""
  check "one that keeps nobody out is refused" refused "'allow_root' would not keep others than root out .*allow_other" "$cffs" mount -o allow_root "$store" "$mnt"
  check "a comma within quotes" works 'fsname="a,b"' ""
  check "one that nobody knows is refused" refused "unknown mount option 'lazytimes'" "$cffs" mount -o rw,lazytimes "$store" "$mnt"

  # What they do.
  shows() { grep -Eq " $mnt ([^ ]*,)?$1(,| )" /proc/self/mountinfo || { grep "$mnt" /proc/self/mountinfo; return 1; }; }
  "$cffs" mount -o noexec,nosymfollow,nosuid,nodev,strictatime,nodiratime,lazytime "$store" "$mnt" 2>/dev/null || return 1
  for option in noexec nosymfollow nosuid nodev nodiratime; do check "the kernel knows $option" shows $option; done
  check "and of no relatime" bash -c "! grep ' $mnt ' /proc/self/mountinfo | grep -q relatime"
  printf '#!/bin/sh\n' >"$mnt/program" && chmod +x "$mnt/program" && ln -s program "$mnt/link"
  check "noexec" bash -c "! '$mnt/program' 2>/dev/null"
  check "nosymfollow" bash -c "! cat '$mnt/link' 2>'$base/work/err' && grep -q 'Too many levels' '$base/work/err' && test \$(readlink '$mnt/link') = program"
  check "strictatime" bash -c "touch -d 2030-01-01 '$mnt/program' && sleep 0.02 && dd if='$mnt/program' iflag=direct status=none >/dev/null && test \$(stat -c %X '$mnt/program') -lt \$(date -d 2029-01-01 +%s)"
  check "nodiratime" bash -c "mkdir '$mnt/dir' && touch -d 2001-01-01 '$mnt/dir' && ls '$mnt/dir' && test \$(stat -c %x '$mnt/dir' | cut -d- -f1) = 2001"
  check "remount,ro" "$cffs" mount -o remount,ro "$store" "$mnt"
  for option in ro noexec nosymfollow nosuid nodev nodiratime; do check "of which $option is one more, or stays" shows $option; done
  check "as strictatime does" bash -c "! grep ' $mnt ' /proc/self/mountinfo | grep -q relatime"
  check "remount,rw" "$cffs" mount -o remount,rw,sync "$store" "$mnt"
  check "remount,noexec" "$cffs" mount -o remount,noexec "$store" "$mnt"
  check "sync stays" bash -c "grep ' $mnt ' /proc/self/mounts | grep -q rw,sync,nosuid"
  check "remount takes the same words" "$cffs" mount -o remount,relatime,diratime,symfollow "$store" "$mnt"
  check "the kernel knows" shows relatime
  check "links are followed" cat "$mnt/link"
  check "remount,noatime" "$cffs" mount -o remount,noatime "$store" "$mnt"
  check "it is known" shows noatime
  check "remount,atime" "$cffs" mount -o remount,atime "$store" "$mnt"
  check "takes it back" shows relatime
  check "umount" "$cffs" umount "$mnt"
  # What `ls -l` hears once, it does not ask again for each file. A directory's default list is copied also where ACLs are off.
  asked() { strace -f -e trace=getxattr,lgetxattr -o "$base/work/asked" ls -l "$mnt" >/dev/null; grep -c "$1" "$base/work/asked"; }
  check "mount" "$cffs" mount "$store" "$mnt"
  touch "$mnt"/f{1..9}
  mkdir "$mnt/listed" && setfacl -m d:u:1000:rwx "$mnt/listed"
  check "ls -l asks for every ACL" test "$(asked system.posix_acl_access)" -ge 9
  [ -e /sys/fs/selinux/enforce ] || check "and for one label" test "$(asked security.selinux)" -le 1
  check "umount" "$cffs" umount "$mnt"
  check "mount without ACLs" "$cffs" mount -o noacl "$store" "$mnt"
  check "a copy has the default list" bash -c "cp -a '$mnt/listed' '$base/work/copy' && getfacl -c '$base/work/copy' 2>/dev/null | grep -q default:user:"
  check "umount" "$cffs" umount "$mnt"
  ln -s "$(realpath "$cffs")" "$base/work/mount.cffs"
  check "as mount(8) calls its helper" "$base/work/mount.cffs" "$store" "$mnt" -o rw,noatime,nodiratime,lazytime,errors=remount-ro
  check "noatime" shows noatime
  check "umount" "$cffs" umount "$mnt"
  check "mount -fav: all but the mount" bash -c "'$base/work/mount.cffs' '$store' '$mnt' -f -v -o rw && ! mountpoint -q '$mnt'"
  check "mount -N is refused" refused "nsenter --mount=NAMESPACE" "$base/work/mount.cffs" "$store" "$mnt" -N /proc/1/ns/mnt -o rw
  check "and makes none" bash -c "! mountpoint -q '$mnt'"
}

# Others hold the mount: a mount namespace of their own, open files, a second place. Nobody waits in silence, nothing is lost.
case_holders() {
  local holder outcome
  unmounted() { ! mountpoint -q "$mnt"; }
  said() { grep -Eq "$1" "$base/work/said" || { echo "not said: $1"; cat "$base/work/said"; return 1; }; }
  # Interrupted as by Ctrl-C after some seconds; a shell that ignores SIGINT must not count.
  interrupted() { timeout 60 env --default-signal=INT timeout --preserve-status -s INT 5 "$cffs" umount "$1" 2>"$base/work/said"; }
  end_of() { kill "$1" 2>/dev/null; wait "$1" 2>/dev/null; }
  # The second comes just after the first was taken: where the signals were let through then, that is made to last.
  twice() {
    strace -qq -o /dev/null -e trace=rt_sigprocmask -e inject=rt_sigprocmask:delay_exit=500000 \
      env --default-signal=INT "$cffs" umount "$1" 2>"$base/work/said" & local traced=$!
    while mountpoint -q "$1"; do sleep 0.05; done
    pkill -INT -P $traced; sleep 0.1; pkill -INT -P $traced; wait $traced
  }
  in_own_namespace() { unshare -m --propagation private sleep 120 & holder=$!; until grep -q "$mnt" "/proc/$holder/mountinfo" && grep -q sleep "/proc/$holder/comm"; do sleep 0.05; done; }

  fresh -- --commit-interval=60 || return 1
  unshare -m true 2>/dev/null || { echo "  no mount namespaces here: not tried"; return 0; }
  echo acknowledged >"$mnt/file"
  in_own_namespace
  interrupted "$mnt"; outcome=$?
  check "Ctrl-C ends the waiting with 130" test $outcome = 130
  check "it said who holds the mount" said "mounted on $mnt in the mount namespace of pid $holder \\(sleep 120\\)"
  check "and what is left" said "the mount is gone here; store $store is still in use by pid [0-9]+ on"
  check "the mount is gone here" unmounted
  check "the store is still in use" refused "is in use by pid" "$cffs" fsck "$store"
  check "without --force a store is no mount" refused "with --force the store" "$cffs" umount "$store"
  check "--force of the store" timeout 60 "$cffs" umount --force "$store"
  check "the store is free" "$cffs" fsck "$store"
  end_of $holder

  "$cffs" mount --commit-interval=60 "$store" "$mnt" || return 1
  check "what was acknowledged is there" grep -qx acknowledged "$mnt/file"
  in_own_namespace
  ( sleep 4; kill $holder ) &
  check "umount returns when the holder ends" timeout 60 "$cffs" umount "$mnt"
  wait
  "$cffs" mount --commit-interval=60 "$store" "$mnt" || return 1
  in_own_namespace
  twice "$mnt"
  check "who presses Ctrl-C twice is told as well" said "the mount is gone here; store $store is still in use by pid [0-9]+ on"
  end_of $holder
  check "its daemon ends" timeout 30 flock --exclusive "$lock" true
  check "fsck" "$cffs" fsck "$store"

  mkdir "$base/work/second"
  "$cffs" mount --commit-interval=60 "$store" "$mnt" && mount --bind "$mnt" "$base/work/second" || return 1
  interrupted "$mnt"; outcome=$?
  check "Ctrl-C beside a bind mount" test $outcome = 130
  check "the bind mount is named" said "mounted here too, on $base/work/second"
  echo 'written through the other' >"$base/work/second/more"
  umount "$base/work/second"
  check "then the daemon ends" timeout 30 flock --exclusive "$lock" true

  # In use here: who is named; --force detaches, and maps and files of others are made durable first.
  "$cffs" mount --commit-interval=60 "$store" "$mnt" || return 1
  check "and has it all" grep -qx 'written through the other' "$mnt/more"
  truncate -s 4096 "$mnt/mapped"
  map_it() {
    rm -f "$base/work/ready"
    python3 - "$mnt/mapped" "$base/work/ready" <<'PY' &
import mmap, sys, time
f = open(sys.argv[1], 'r+b')
m = mmap.mmap(f.fileno(), 4096)
m[0:6] = b'mapped'
open(sys.argv[2], 'w').close()
time.sleep(120)
PY
    holder=$!
    until [ -e "$base/work/ready" ]; do sleep 0.05; done
  }
  map_it
  check "a busy mount names who" refused "$mnt is in use by pid $holder \\([^;]*python3 [^;]*; (mapped )?file $mnt/mapped\\)" "$cffs" umount "$mnt"
  check "it is still mounted" mountpoint -q "$mnt"
  end_of $holder
  # A user that nobody can name: a descriptor on its way between two processes. It is waited for, but not for long.
  in_flight() {  # seconds: holds one for so long
    python3 - "$mnt/mapped" "$base/work/flying" "$1" <<'PY' &
import os, socket, sys, time
a, b = socket.socketpair()
f = os.open(sys.argv[1], os.O_RDONLY)
socket.send_fds(a, [b'x'], [f])
os.close(f)
open(sys.argv[2], 'w').close()
time.sleep(float(sys.argv[3]))
PY
    holder=$!
    until [ -e "$base/work/flying" ]; do sleep 0.05; done
    rm "$base/work/flying"
  }
  in_flight 120
  check "who can't be seen" refused "is in use, by nobody that can be seen from here" "$cffs" umount "$mnt"
  end_of $holder
  in_flight 0.7
  check "who can't be seen and is soon gone" "$cffs" umount "$mnt"
  end_of $holder
  "$cffs" mount --commit-interval=60 "$store" "$mnt" || return 1
  map_it
  check "--force although it is in use" timeout 60 "$cffs" umount --force "$mnt"
  check "the mount is gone" unmounted
  end_of $holder
  check "mount" "$cffs" mount "$store" "$mnt"
  check "what was changed through the map is there" bash -c "head -c 6 '$mnt/mapped' | grep -qx mapped"

  # Another mount took the place: the daemon of the first must leave it alone when it is ended.
  in_own_namespace
  interrupted "$mnt"
  mkdir "$base/work/other" && "$cffs" format "$base/work/other" && "$cffs" mount "$base/work/other" "$mnt" || return 1
  check "--force of the first store" timeout 60 "$cffs" umount --force "$store"
  check "the second mount stays" mountpoint -q "$mnt"
  check "umount of it" timeout 60 "$cffs" umount "$mnt"
  end_of $holder
  check "fsck of both" bash -c "'$cffs' fsck '$store' && '$cffs' fsck '$base/work/other'"

  # Several read-only mounts: each has a daemon; the store's --force ends them all.
  mkdir -p "$base/work/second" && "$cffs" mount -o ro "$store" "$mnt" && "$cffs" mount -o ro "$store" "$base/work/second" || return 1
  check "--force of a store with two read-only mounts" timeout 60 "$cffs" umount --force "$store"
  check "the first is gone" unmounted
  check "the second is gone" bash -c "! mountpoint -q '$base/work/second'"

  "$cffs" mount -o fsname=alias "$store" "$mnt" || return 1
  check "--force of the store unmounts a mount with another name" timeout 60 "$cffs" umount --force "$store"
  check "so that it is free" "$cffs" fsck "$store"
  check "and the mount gone" unmounted
}

# A store that another user owns and has prepared: root neither reads nor changes its own files through it.
case_foreign() {
  local secret=$base/secret user=nobody command options
  command -v setpriv >/dev/null || { echo "  no setpriv here: not tried"; return 0; }
  as_user() { setpriv --reuid="$user" --regid=nogroup --clear-groups "$@"; }
  fresh || return 1
  rm -rf "$store"; chmod 755 "$base"; mkdir "$store"; chown "$user" "$store"
  check "the user makes a store" as_user "$cffs" format --inline-max=512 "$store"
  mkdir "$base/work/src"; head -c 2000000 /dev/zero >"$base/work/src/victim"; head -c 2000000 /dev/zero >"$base/work/src/pipe"; chmod 755 "$base/work"
  cp /bin/true "$base/work/src/setuid"; chmod 6755 "$base/work/src/setuid"; mknod "$base/work/src/null" c 1 3
  "$cffs" import --foreign-owner "$base/work/src" "$store" >/dev/null && chown -R "$user" "$store"
  check "the user reads its own" as_user "$cffs" stat "$store"
  echo "root's own" >"$secret"; chmod 600 "$secret"
  number_of() { "$cffs" dump --foreign-owner "$store" | sed -n "/^  '$1'/{n;s/ *inode \([0-9]*\) .*/\1/p}"; }
  local inode; inode=$(number_of victim)
  local pipe; pipe=$(number_of pipe)
  check "the victim is a blob" test -f "$store/blobs/0/$inode"
  rm "$store/blobs/0/$inode" "$store/blobs/0/$pipe"
  as_user ln -s "$secret" "$store/blobs/0/$inode"; as_user mkfifo "$store/blobs/0/$pipe"
  untouched() { [ "$(cat "$secret")" = "root's own" ]; }

  check "mount refuses it" refused "store $store is not yours: $store belongs to user [0-9]+, .*--foreign-owner" "$cffs" mount "$store" "$mnt"
  for command in stat fsck "fsck --repair" dump compact "regroup --policy=none"; do
    # shellcheck disable=SC2086  # words
    check "$command refuses it" refused "is not yours.*--foreign-owner" "$cffs" $command "$store"
  done
  check "export refuses it" refused "is not yours" "$cffs" export "$store" "$base/work/out"
  check "import refuses it" refused "is not yours" "$cffs" import "$base/work/src" "$store"
  mkdir "$base/work/theirs"; chown "$user" "$base/work/theirs"
  check "format refuses another's directory" refused "is not yours" "$cffs" format "$base/work/theirs"

  for options in "--foreign-owner" "-o foreign_owner"; do
    # shellcheck disable=SC2086
    check "mount $options" "$cffs" mount $options "$store" "$mnt"
    check "nosuid, nodev" bash -c "findmnt -no OPTIONS '$mnt' | grep -q nosuid.*nodev"
    check "a link is not read" bash -c "! timeout 10 cat '$mnt/victim'"
    check "a link is not written to" bash -c "! timeout 10 dd if=/dev/zero of='$mnt/victim' bs=4k count=1 conv=notrunc status=none"
    (echo x >>"$mnt/victim") 2>/dev/null
    check "a FIFO makes nobody wait" bash -c "! timeout 10 cat '$mnt/pipe'; test \$? = 0"
    check "root's file is as it was" untouched
    check "the set-user-ID program runs as nobody else" bash -c "'$mnt/setuid'"
    check "a device is none" bash -c "! head -c1 '$mnt/null'"
    check "umount" timeout 60 "$cffs" umount "$mnt"
  done
  check "mount with suid, asked for" "$cffs" mount --foreign-owner -o suid "$store" "$mnt"
  check "suid, nodev" bash -c "findmnt -no OPTIONS '$mnt' | grep -v nosuid | grep -q nodev"
  check "umount" timeout 60 "$cffs" umount "$mnt"
  check "mount" "$cffs" mount --foreign-owner "$store" "$mnt"
  check "remount" "$cffs" mount -o remount,noatime "$store" "$mnt"
  check "a remount keeps nosuid, nodev" bash -c "findmnt -no OPTIONS '$mnt' | grep -q nosuid.*nodev"
  (echo x >"$mnt/victim") 2>/dev/null
  check "removing the link" rm -f "$mnt/victim"
  check "umount" timeout 60 "$cffs" umount "$mnt"
  check "root's file is as it was" untouched
  check "fsck ends" bash -c "timeout 60 '$cffs' fsck --foreign-owner '$store'; test \$? -lt 8"

  fresh -- || return 1
  check "root's own store: suid, dev" bash -c "! findmnt -no OPTIONS '$mnt' | grep -q 'nosuid\|nodev'"
  check "umount" timeout 60 "$cffs" umount "$mnt"
  chmod 777 "$store"
  check "mount of one that all can write to" "$cffs" mount "$store" "$mnt"
  check "nosuid, nodev there" bash -c "findmnt -no OPTIONS '$mnt' | grep -q nosuid.*nodev"
  check "umount" timeout 60 "$cffs" umount "$mnt"

  # A user's import of files that are root's: they are his, and he can write to them on his mount.
  mkdir "$base/work/theirs"; chmod 755 "$base/work"; chown "$user" "$base/work/theirs" "$mnt"
  mkdir -p "$base/work/roots/d"; echo of root >"$base/work/roots/d/file"; chmod 644 "$base/work/roots/d/file"
  install -m 6755 /bin/true "$base/work/roots/setuid"; head -c 2000000 /dev/zero >"$base/work/roots/large"
  store=$base/work/theirs
  check "the user makes a store" as_user "$cffs" format "$store"
  check "and imports" as_user "$cffs" import "$base/work/roots" "$store"
  check "all of it is his" test -z "$(as_user "$cffs" find "$store" ! -user "$user")"
  check "without set-id bits" test -z "$(as_user "$cffs" find "$store" -perm /6000)"
  check "again there is nothing to do" bash -c "setpriv --reuid=$user --regid=nogroup --clear-groups '$cffs' import --update '$base/work/roots' '$store' | grep -q '^imported 0 files'"
  check "nothing else differs" test -z "$(as_user "$cffs" diff --no-owner --no-mode "$store" "$base/work/roots")"
  # One that he may list and not enter.
  mkdir "$base/work/roots/closed"; chmod 744 "$base/work/roots/closed"; mkdir "$base/work/roots/zz"; echo z >"$base/work/roots/zz/file"
  check "a directory that may not be entered is named" refused "closed: Permission denied" bash -c "setpriv --reuid=$user --regid=nogroup --clear-groups '$cffs' import --update '$base/work/roots' '$store' 2>&1 >/dev/null"
  check "and what comes behind it is there" test "$(as_user "$cffs" cat "$store:zz/file")" = z
  mknod -m 666 "$base/work/fuse" c 10 229
  if unshare -m true 2>/dev/null; then
    in_own_space() {  # where everybody may open the device, as on most machines
      unshare -m bash -c "mount --bind '$base/work/fuse' /dev/fuse && exec setpriv --reuid=$user --regid=nogroup --clear-groups timeout 60 bash -c '$1'"
    }
    check "on his mount he writes" in_own_space "'$cffs' mount '$store' '$mnt' && echo more >>'$mnt/d/file' && rm '$mnt/large'; r=\$?; '$cffs' umount '$mnt' && exit \$r"
    grep -q '^user_allow_other' /etc/fuse.conf 2>/dev/null ||
      check "a mount for others says what that wants" in_own_space "'$cffs' mount -o allow_other '$store' '$mnt' 2>&1 | grep -q 'lacks the line user_allow_other'"
  fi
  store=$base/store
  rm -rf "$base/work/theirs"
}

# A mount right behind the end of the one before: the daemon that is leaving is waited for, one that stays is not.
# A program that waits until something is mounted, and then looks for its files: they are there at once. Before, the moment in which the
# kernel's root was replaced by the store's told it that there were none.
case_awaited() {
  fresh -- || return 1
  mkdir "$mnt/data" && echo whole >"$mnt/data/file" || return 1
  check "umount" "$cffs" umount "$mnt"
  local transport=device options  # over a ring nobody can be kept waiting (hidden_top.h)
  for options in rw ro; do
    check "what is there is seen with the mount ($options)" timeout 120 python3 - "$cffs" "$store" "$mnt" "$transport" "$options" <<'PY'
import os, subprocess, sys, threading
cffs, store, mnt, transport, options = sys.argv[1:]
below = os.stat(mnt).st_dev
wrong = []
def first(look, wanted):
    while os.stat(mnt).st_dev == below: pass
    try: seen = look()
    except OSError as e: seen = e
    if seen != wanted: wrong.append((wanted, seen))
def made():  # what holds the directory's lock while it looks
    os.close(os.open(mnt + '/data/file', os.O_CREAT | os.O_RDONLY, 0o600))
    os.close(os.open(mnt + '/data', os.O_RDONLY | os.O_DIRECTORY))
looks = [(lambda: open(mnt + '/data/file').read(), 'whole\n'), (lambda: os.listdir(mnt), ['data']), (lambda: os.path.exists(mnt + '/data'), True),
         (lambda: os.access(mnt + '/none', os.F_OK), False), (lambda: os.stat(mnt).st_ino, 1)]
if options == 'rw': looks.append((made, None))
for _ in range(3):
    for look, wanted in looks:
        daemon = subprocess.Popen([cffs, 'mount', '-f', '--transport=' + transport, '-o', options, store, mnt])
        others = [threading.Thread(target=first, args=l) for l in looks]
        for o in others: o.start()
        first(look, wanted)
        for o in others: o.join()
        subprocess.check_call([cffs, 'umount', mnt])
        daemon.wait()
sys.exit(str(wrong) if wrong else 0)
PY
  done
  # A signal that came while the store was opened.
  check "who ended it meanwhile gets no mount" refused "store $store: Interrupted system call" timeout -s KILL 30 python3 -c '
import os, signal, sys
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
os.kill(os.getpid(), signal.SIGTERM)
os.execv(sys.argv[1], sys.argv[1:])' "$cffs" mount -f "$store" "$mnt"
  check "nothing is mounted" bash -c "! mountpoint -q '$mnt'"

  # The same beside a hidden top that lasts (hidden_top.h).
  command -v strace >/dev/null || { echo "  no strace here: the rest is not tried"; return 0; }
  local traced
  shown() { grep -q " $mnt " /proc/self/mountinfo; }
  ended() { ! kill -0 "$traced" 2>/dev/null; }
  slowly() {  # options of strace
    strace -f -qq -o /dev/null -e trace=open_tree,read -e inject=open_tree:delay_enter=1500000 "$@" "$cffs" mount -f --transport=device "$store" "$mnt" 2>"$base/work/err" & traced=$!
    within 20 shown
  }
  ends() {
    check "$1" within 20 ended || kill_daemon
    wait "$traced"
    check "and nothing is mounted" bash -c "! mountpoint -q '$mnt'"
  }
  slowly -P "$mnt/store" -P /
  check "who asks for the time of birth waits, too" test "$(timeout 30 stat -c '%i %W' "$mnt" | cut -d ' ' -f 1)" = 1
  check "umount" timeout 60 "$cffs" umount "$mnt"
  ends "the daemon has ended"
  slowly -P "$mnt/store" -P /
  kill -TERM "$(daemon_pid)"
  ends "a signal ends what is being mounted"
  slowly -P "$mnt/store" -P / -P /dev/fuse -e inject=read:error=EIO:when=3+
  ends "an error of the device ends what is being mounted"
  check "which is told" grep -q 'Input/output error' "$base/work/err"
  check "fsck" "$cffs" fsck "$store"
}

# What a daemon has of whoever mounts: nothing of theirs stays in use, their closed descriptors and pipes do no harm, and what they see of
# others' names are lines.
case_inherited() {
  fresh || return 1
  local closed daemon inode
  exec 9>"$base/work/locked"
  flock 9
  check "mount beside a lock" "$cffs" mount "$store" "$mnt"
  exec 9>&-
  check "the lock is free when who took it lets go" flock --nonblock "$base/work/locked" true
  check "umount" timeout 60 "$cffs" umount "$mnt"
  for closed in '<&-' '>&-' '2>&-' '<&- >&-' '<&- 2>&-' '>&- 2>&-' '<&- >&- 2>&-'; do
    check "mount $closed" timeout 60 bash -c "'$cffs' mount '$store' '$mnt' $closed"
    check "what is written there is no log" bash -c "echo line >'$mnt/file' && grep -qx line '$mnt/file'"
    check "umount $closed" timeout 60 bash -c "'$cffs' umount '$mnt' $closed"
  done
  check "what cannot be said is an error still" bash -c "! '$cffs' stat '$store' >&- 2>'$base/work/err' && grep -q 'standard output: Bad file descriptor' '$base/work/err'"
  check "nor was anything written by it" "$cffs" fsck "$store"

  # A damaged file whose name would be lines of its own, on standard error; then with nobody who reads those.
  local name=$'large\ncffs: all is well\e[2K'
  "$cffs" mount "$store" "$mnt" || return 1
  head -c 3000000 /dev/urandom >"$mnt/$name"
  inode=$(stat -c %i "$mnt/$name")
  check "umount" timeout 60 "$cffs" umount "$mnt"
  truncate -s 1000 "$store/blobs/0/$inode"
  "$cffs" mount -f "$store" "$mnt" 2>"$base/work/said" & daemon=$!
  within 20 mountpoint -q "$mnt"
  check "a damaged file" bash -c '! cat "$1" >/dev/null 2>&1' - "$mnt/$name"
  check "is told of in a line" bash -c "grep -q 'large.x0acffs: all is well.x1b.2K' '$base/work/said' && ! grep -q '^cffs: all' '$base/work/said' && ! grep -q \$'\e' '$base/work/said'"
  check "umount" timeout 60 "$cffs" umount "$mnt"
  wait $daemon
  "$cffs" mount -f "$store" "$mnt" 2> >(exec true) & daemon=$!
  within 20 mountpoint -q "$mnt"
  check "the file, and nobody who reads the log" bash -c '! cat "$1" >/dev/null 2>&1' - "$mnt/$name"
  check "the mount goes on" bash -c "echo more >'$mnt/file' && grep -qx more '$mnt/file'"
  check "umount" timeout 60 "$cffs" umount "$mnt"
  wait $daemon
  check "and ends in order" test $? = 0
}

case_successors() {
  local round way holder
  fresh || return 1
  dirty() { head -c 3000000 /dev/urandom >"$mnt/blob.$1" && echo "$1" >"$mnt/small.$1"; }
  for way in cffs umount fusermount3 signal; do
    for round in $(seq 20); do
      "$cffs" mount --commit-interval=60 "$store" "$mnt" 2>"$base/work/err" || { cat "$base/work/err"; echo "  FAILED: mount after $way, round $round"; failures=$((failures + 1)); break; }
      dirty "$way.$round"
      case $way in
        cffs) timeout 60 "$cffs" umount "$mnt" ;;
        umount) umount -i "$mnt" ;;
        fusermount3) fusermount3 -u "$mnt" ;;
        signal) kill -TERM "$(daemon_pid)" && while mountpoint -q "$mnt"; do sleep 0.001; done ;;
      esac
    done
    mountpoint -q "$mnt" && timeout 60 "$cffs" umount "$mnt"
  done
  for round in $(seq 5); do
    check "after one with another name" "$cffs" mount -o fsname=alias "$store" "$mnt"
    dirty "alias.$round"
    check "its umount" timeout 60 "$cffs" umount "$mnt"
  done
  for round in $(seq 5); do
    check "read-only, at once" "$cffs" mount -o ro "$store" "$mnt"
    umount -i "$mnt"
    check "for writing, after one that was read-only" "$cffs" mount "$store" "$mnt"
    umount -i "$mnt"
  done
  check "all is there" bash -c "'$cffs' mount '$store' '$mnt' && test \$(ls '$mnt' | wc -l) = 170 && '$cffs' umount '$mnt'"

  # A daemon that was killed leaves its mount: one sentence with the cure. One that leaves takes it away a moment after it has gone.
  "$cffs" mount "$store" "$mnt" || return 1
  dirty killed  # so that the kernel knows nothing of the root by heart
  holder=$(daemon_pid)
  kill -KILL "$holder"
  tail --pid="$holder" -f /dev/null
  check "mount on a dead mount is refused" bash -c "! timeout 60 '$cffs' mount '$store' '$mnt' 2>'$base/work/err'"
  check "with its cure" grep -q "^cffs: mount point $mnt has a mount whose daemon is gone; cffs umount $mnt takes it away, then the same command mounts again$" "$base/work/err"
  ( sleep 0.5; umount -l "$mnt" ) &
  check "mount on one that goes" timeout 60 "$cffs" mount "$store" "$mnt"
  wait
  check "umount" "$cffs" umount "$mnt"

  # umount(8) looks at the mount first, which waits for the daemon.
  detach() { python3 -c 'import ctypes, os, sys; sys.exit(ctypes.CDLL(None).umount2(os.fsencode(sys.argv[1]), 0) != 0)' "$mnt"; }
  # Its daemon takes its time: who mounts says for whom he waits.
  "$cffs" mount --commit-interval=60 "$store" "$mnt" || return 1
  dirty slow
  holder=$(daemon_pid)
  kill -STOP "$holder"
  detach || { kill -KILL "$holder"; return 1; }
  ( sleep 5; kill -CONT "$holder" ) &
  check "mount behind a slow daemon" timeout 60 "$cffs" mount "$store" "$mnt"
  check "what it had is there" test -s "$mnt/blob.slow"
  wait
  check "umount" "$cffs" umount "$mnt"
  "$cffs" mount "$store" "$mnt" || return 1
  holder=$(daemon_pid)
  kill -STOP "$holder"
  detach || { kill -KILL "$holder"; return 1; }
  timeout --preserve-status -s INT 4 env --default-signal=INT "$cffs" mount "$store" "$mnt" 2>"$base/work/said"
  check "it says for whom it waits" grep -Eq "in use by pid $holder on .*, whose mount is gone; waiting until it has closed the store" "$base/work/said"
  kill -CONT "$holder"
  check "the store becomes free" timeout 30 flock "$lock" true
  sleep 0.5
  check "who gave up waiting has not mounted" bash -c "! mountpoint -q '$mnt'"
  check "and the store is free" "$cffs" fsck "$store"

  # In use is in use: no waiting, the present message. A bound is far above the time that a refusal takes.
  mkdir -p "$base/work/second"
  "$cffs" mount "$store" "$mnt" || return 1
  check "a store in use" refused "is in use by pid [0-9]+ on .*; unmount it, or wait for that command" timeout 10 "$cffs" mount "$store" "$base/work/second"
  if unshare -m true 2>/dev/null; then
    unshare -m --propagation private sleep 120 & holder=$!
    until grep -q "$mnt" "/proc/$holder/mountinfo" && grep -q sleep "/proc/$holder/comm"; do sleep 0.05; done
    umount -i "$mnt"
    check "a store in use in another namespace" refused "is in use by pid [0-9]+ on" timeout 10 "$cffs" mount "$store" "$base/work/second"
    kill $holder
    wait $holder 2>/dev/null
    check "and when that ends" "$cffs" mount "$store" "$mnt"
  fi
  exec 9<"$mnt/small.slow"
  umount -l -i "$mnt"
  check "a store with a file in use" refused "is in use by pid [0-9]+ on" timeout 10 "$cffs" mount "$store" "$mnt"
  exec 9<&-
  check "and when that is closed" "$cffs" mount "$store" "$mnt"
  check "umount" "$cffs" umount "$mnt"
  check "fsck" "$cffs" fsck "$store"
}

# A store on a block device: sync(2) and syncfs(2) reach it, where the kernel passes them on; nobody else has the device meanwhile,
# and when umount(8) returns it is free, with everything on it.
case_devices() {
  local passes_on=1 i holder
  printf '%s\n' 6.18 "$(uname -r)" | sort -VC || { passes_on=; echo "  this kernel does not pass on sync: only the rest is tried"; }
  CFFS_TEST_BACKEND=device backend=(--backend=region --force)
  fresh -- --commit-interval=3600 || return 1
  # Somebody has the device for himself alone, or not.
  taken() { ! python3 -c "import os; os.open('$store', os.O_RDWR | os.O_EXCL)" 2>"$base/work/said" && grep -q busy "$base/work/said"; }
  free() { ! taken; }
  # What the disk has, without what memory has.
  on_disk() { rm -f "$base/work/copy"; dd if="$store" iflag=direct bs=1M conv=sparse of="$base/work/copy" status=none && "$cffs" export "$base/work/copy" "$base/work/seen.tar" >/dev/null && tar -tf "$base/work/seen.tar"; rm -f "$base/work/seen.tar"; }
  has() { grep -qx "\(./\)\?$1" <<<"$(on_disk)" || { on_disk; return 1; }; }
  if [ $passes_on ]; then
    check "the kernel knows what it is" grep -q " $mnt .* fuseblk.cffs $store " /proc/self/mountinfo
    mkdir "$mnt/d"
    echo synced >"$mnt/d/one"
    sync
    check "sync" has d/one
    echo synced >"$mnt/d/two"
    sync -f "$mnt"
    check "syncfs" has d/two
    for i in $(seq 2000); do echo "$i" >"$mnt/d/many.$i"; done &
    for i in $(seq 20); do timeout 60 sync || { check "sync beside a writer" false; break; }; done
    wait $!
    sync
    check "all of it" test "$(on_disk | grep -c many)" = 2000
  else
    echo synced >"$mnt/one"
  fi
  check "nobody else has it" taken
  check "remount" mount -i -o remount,ro "$mnt"
  check "is read-only" refused "Read-only" touch "$mnt/no"
  check "remount" mount -i -o remount,rw "$mnt"
  echo last >"$mnt/last"
  check "umount(8)" timeout 60 umount "$mnt"
  if [ $passes_on ]; then check "then it is free at once" free; fi
  check "it was closed" timeout 30 flock "$lock" true
  check "and all of it is there" has last
  check "fsck" "$cffs" fsck "$store"

  # Ends that no unmount asks for.
  "$cffs" mount --commit-interval=3600 "$store" "$mnt" || return 1
  echo signalled >"$mnt/signalled"
  kill -TERM "$(daemon_pid)"
  check "SIGTERM: free" timeout 30 flock "$lock" true
  check "SIGTERM: durable" has signalled
  "$cffs" mount --commit-interval=3600 "$store" "$mnt" || return 1
  sleep 100 <"$mnt/last" & holder=$!
  echo forced >"$mnt/forced"
  check "umount --force" timeout 60 "$cffs" umount --force "$mnt"
  check "forced: durable" has forced
  kill $holder
  wait $holder 2>/dev/null
  "$cffs" mount "$store" "$mnt" || return 1
  echo killed >"$mnt/killed"
  kill_daemon
  check "after kill -9 it is mounted again" timeout 60 "$cffs" mount "$store" "$mnt"
  check "with what it had" grep -q killed "$mnt/killed"
  exec 9<"$mnt/killed"
  umount -l -i "$mnt"
  check "in use while a file is" taken
  exec 9<&-
  check "and then free" timeout 30 flock "$lock" true
  check "several may look" "$cffs" mount -o ro "$store" "$mnt"
  mkdir -p "$base/work/second"
  check "at once" "$cffs" mount -o ro "$store" "$base/work/second"
  check "umount" "$cffs" umount "$base/work/second"
  check "umount" "$cffs" umount "$mnt"
  check "fsck" "$cffs" fsck "$store"
}

# Beside the writer: one checkpoint after the other, whole; open files keep what they had.
case_follow() {
  fresh -- -o commit_interval=0.5,keep=20 || return 1
  local follower=$base/work/follower second=$base/work/second
  mkdir -p "$follower" "$second" "$mnt/site/d"
  end_followers() { for m in "$follower" "$second"; do mountpoint -q "$m" && { timeout 20 "$cffs" umount "$m" || umount -l "$m"; }; done; return 0; }
  caught_up() {  # what was written before is there after two commits
    for _ in {1..100}; do "$@" >/dev/null 2>&1 && return 0; sleep 0.1; done
    "$@"
  }
  number() { getfattr --only-values -n user.cffs.follow "$1" | python3 -c "import json,sys; print(json.load(sys.stdin)['checkpoint'])"; }

  cp -r "$source_tree/linux" "$mnt/site/linux" && echo one >"$mnt/site/page" && echo x >"$mnt/site/linked" && ln "$mnt/site/linked" "$mnt/site/other"
  head -c 5000000 /dev/urandom >"$mnt/site/large"
  sync "$mnt/site/page"
  check "follow" timeout 30 "$cffs" mount -o ro,follow=0.1 "$store" "$follower"
  check "it shows the tree" caught_up same "$mnt" "$follower"
  check "nobody writes there" bash -c "! touch '$follower/site/new' 2>'$base/work/err' && grep -q 'Read-only' '$base/work/err'"
  check "which checkpoint" test "$(number "$follower")" -gt 0
  check "names that are not there" bash -c "! ls '$follower/site/later' 2>/dev/null"

  exec 5<"$follower/site/page" 6<"$follower/site/large" 7<"$follower/site/linked"
  local before; before=$(md5sum <"$mnt/site/large")
  printf changed | dd of="$mnt/site/large" bs=1 seek=70000 conv=notrunc status=none
  echo later >"$mnt/site/later" && echo y >"$mnt/site/other" && mv "$mnt/site/linux" "$mnt/site/d/linux"
  echo two >"$mnt/site/page"  # last: what shows it shows the others, as soon as the kernel has been told of each
  check "a page that has changed" caught_up grep -q two "$follower/site/page"
  check "a name that came" caught_up grep -q later "$follower/site/later"
  check "a directory that was moved" caught_up bash -c "! ls '$follower/site/linux' 2>/dev/null && ls '$follower/site/d/linux' >/dev/null"
  check "both names of a file" caught_up bash -c "test \$(cat '$follower/site/linked' '$follower/site/other' | tr -d '\n') = yy"
  check "the whole tree" caught_up same "$mnt" "$follower"
  check "who has it open keeps a page" test "$(cat <&5)" = one
  check "and a large file" test "$(md5sum <&6)" = "$before"
  check "and one with two names" test "$(cat <&7)" = x
  exec 5<&- 6<&- 7<&-
  check "the inode number is the same" test "$(stat -c %i "$mnt/site/page")" = "$(stat -c %i "$follower/site/page")"

  check "another one" timeout 30 "$cffs" mount --follow "$store" "$second"
  rm -rf "$mnt/site/d" && cp -r "$source_tree/net" "$mnt/site/net" && rm "$mnt/site/large"
  check "both go on" caught_up same "$mnt" "$follower"
  check "both" caught_up same "$mnt" "$second"
  kill_daemon
  check "while nobody writes the last checkpoint is there" cat "$follower/site/page"
  check "the writer comes back" "$cffs" mount -o commit_interval=0.5,keep=20 "$store" "$mnt"
  echo three >"$mnt/site/page"
  check "and is followed" caught_up grep -q three "$follower/site/page"
  check "umount the writer" timeout 60 "$cffs" umount "$mnt"
  check "fsck beside those who follow" "$cffs" fsck "$store"
  check "the store at rest" caught_up grep -q three "$second/site/page"
  check "scrub is the writer's" bash -c "! '$cffs' scrub '$second' 2>'$base/work/err' && test \$(wc -l <'$base/work/err') = 1"
  check "stat" test "$(stat_number "$follower" files)" -gt 2
  end_followers
  check "and fsck" "$cffs" fsck "$store"
  check "at rest from the start" timeout 30 "$cffs" mount -o ro,follow=0.1 "$store" "$follower"
  check "shows it" grep -q three "$follower/site/page"
  check "until somebody writes" "$cffs" mount -o commit_interval=0.5 "$store" "$mnt"
  echo four >"$mnt/site/page"
  check "and then that" caught_up grep -q four "$follower/site/page"
  check "follow and standby" refused "either follows .* or stands by" "$cffs" mount -o follow,standby "$store" "$second"
  if [ -d "$store" ]; then
    mkdir "$base/work/shared" && mount --bind "$store" "$base/work/shared" && mount -o remount,bind,ro "$base/work/shared"
    check "from a read-only mount of the store" timeout 30 "$cffs" mount -o ro,follow=0.1 "$base/work/shared" "$second"
    check "shows it, too" caught_up same "$mnt" "$second"
    end_followers
    umount "$base/work/shared"
    check "what was kept has gone" caught_up bash -c "! ls '$store'/kept/* 2>/dev/null"
    rm "$store/checkpoint" && head -c 300 /dev/urandom >"$store/checkpoint"
    check "a checkpoint that is none" timeout 30 "$cffs" mount -o ro,follow=0.1 "$store" "$second"
    check "is written anew" caught_up same "$mnt" "$second"
    "$cffs" format --backend=region --size=256M "$base/work/image" >/dev/null
    check "an image" refused "cannot be followed: that is for stores in a directory or a pool" "$cffs" mount -o ro,follow "$base/work/image" "$follower"
  fi
  end_followers

  # The device fails while the kernel waits with what it is told for an answer that nobody gives any more.
  if command -v strace >/dev/null; then
    local tracer reader
    "$cffs" mount -f --transport=device -o ro,follow=0.1 "$store" "$follower" 2>"$base/work/err" & local daemon=$!
    check "follow in the foreground" within 20 mountpoint -q "$follower"
    check "it answers" ls "$follower/site"
    strace -f -qq -o /dev/null -p $daemon -e trace=read -P /dev/fuse -e inject=read:error=EIO:delay_enter=4000000 & tracer=$!
    sleep 1
    stat "$follower/site/nobody" >/dev/null 2>&1 & reader=$!
    sleep 0.3
    touch "$mnt/site/another" && sync "$mnt/site/page"
    over() { ! kill -0 $daemon 2>/dev/null; }
    check "an error of the device ends one who follows" within 20 over || kill -9 $daemon
    kill -9 $tracer 2>/dev/null
    wait $daemon $tracer $reader
    check "which is told" grep -q 'Input/output error' "$base/work/err"
    check "and nothing is mounted" bash -c "! mountpoint -q '$follower'"
  fi
  end_followers
  check "umount" timeout 60 "$cffs" umount "$mnt"
}
