#!/usr/bin/env bash
# Would the tests notice? Takes each sync, each barrier and each stop after an error out of core/, one at a time, and runs the crash tests: one of
# them must fail, or the table below says why none can.
#   scripts/blind_tests.sh            all of them: about two minutes each
#   scripts/blind_tests.sh --only N   one, or several: --only 3 --only 7
#   scripts/blind_tests.sh --list     the table
#   scripts/blind_tests.sh --check    only that each line of the table is still in the sources, exactly once
# Everything happens in a copy of the tree below ${TMPDIR:-/tmp}, which goes afterwards; what is not committed is copied, too.
set -euo pipefail
cd "$(dirname "$0")/.."

# A change: what it takes away; then where, lines with "-" as they are, lines with "+" in their place, and "=" why no test can see it.
table() {
  cat <<'TABLE'
a table file's rows may be durable before the blobs that they name
@ core/object/leveldb_writable.cc
-if (const auto done = env_.before_table_sync_(); !done) return failed(done.error());
+
= the log may reach the medium before the blobs by the kernel's writeback as well, and recovery gives rows the size that their blobs have

LevelDB's files are never synced by themselves
@ core/object/leveldb_writable.cc
-if (const auto done = object_->sync(); !done) return failed(done.error());
+

the log is never synced
@ core/object/leveldb_env.cc
-CFFS_TRY_VOID(log.object->sync());
+

CURRENT may name a manifest whose name is not durable
@ core/object/leveldb_env.cc
-const auto synced = store_.sync_names();
+const Status synced;

a file of the table goes on after a write that failed
@ core/object/leveldb_writable.cc
-return result_ = to_leveldb(error);
+return to_leveldb(error);

the mark of a store that is changed is not durable before the change
@ core/table/table.cc
-  CFFS_TRY_VOID(put_through(*first_->batch_, *first_, 0));
-  CFFS_TRY_VOID(sync());
+  CFFS_TRY_VOID(put_through(*first_->batch_, *first_, 0));

what a killed user left with the kernel is not made durable
@ core/fs/recovery.cc
-if (!looks_only) CFFS_TRY_VOID(store_.sync_everything());
+

recovery removes objects before its rows are durable
@ core/fs/recovery.cc
-  CFFS_TRY_VOID(table_.sync());
-  if (followed) CFFS_TRY_VOID(want_what_waits(found.wanted));
+  if (followed) CFFS_TRY_VOID(want_what_waits(found.wanted));
= the next recovery finds the same again; what is removed no durable row names

recovery leaves a removal in place that a row contradicts
@ core/fs/recovery.cc
-CFFS_TRY_VOID(drop_removals_of(found));
+
= no crash leaves both, damage in the log does

recovery does not shorten rows to what their blobs have
@ core/fs/recovery.cc
-if (size < inode.size) {
+if (false) {

recovery does not remove what no row names
@ core/fs/recovery.cc
-  return clear_away(found.wanted);
+  return {};

a store is closed before removals are durable
@ core/fs/engine.cc
-CFFS_TRY_VOID(store_.sync_names());
+

the mark of a closed store is not synced
@ core/table/table.cc
-  CFFS_TRY_VOID(sync());
-  note_ends();
+  note_ends();
= a mark that is still there costs the next user a scan, nothing else

the barrier before a table file does nothing
@ core/fs/engine.cc
-return dirty->sync_all();
+return dirty == nullptr ? dirty->sync_all() : Status();
= the log may reach the medium before the blobs by the kernel's writeback as well, and recovery gives rows the size that their blobs have

a composite that could not be synced is no reason to stop
@ core/fs/engine.cc
-composites_.on_failed_sync([this] { table_->poison(); });
+
= rows are switched only behind a sync that succeeded; the stop keeps a failing device from being asked again

a new store's table is not synced
@ core/fs/new_store.cc
-CFFS_TRY_VOID(table->sync());
+

an fsync does not sync the blob
@ core/fs/durability.cc
-    Status done = blob->sync();
+    Status done;

after an fsync that failed things go on
@ core/fs/durability.cc
-dirty_objects_->sync_of(ino, blob.get());
-    if (!done) {
-      table_->poison();
+dirty_objects_->sync_of(ino, blob.get());
+    if (!done) {

an fsync does not sync the log
@ core/fs/durability.cc
-  if (stale) CFFS_TRY_VOID(rows_.flush(*found));
-  return sync_table();
+  if (stale) CFFS_TRY_VOID(rows_.flush(*found));
+  return {};

an fsync leaves the file's row as it was
@ core/fs/durability.cc
-if (stale) CFFS_TRY_VOID(rows_.flush(*found));
+(void)stale;

a commit does not sync blobs
@ core/fs/durability.cc
-CFFS_TRY_VOID(homes_.sync_dirty());
+

after a commit whose blobs failed things go on
@ core/fs/homes.h
-    if (!done) table_.poison();
-    return done;
+    return done;

values beside the table are not synced before its log
@ core/object/leveldb_env.cc
-  if (before_log_sync_ && !due.empty()) CFFS_TRY_VOID(before_log_sync_());
+

values beside the table are not synced before its files
@ core/table/table.cc
-    Status done = self->values_ ? self->values_->sync() : Status();
+    Status done;

a log is replayed although the values that it names are not there
@ core/table/replay_check.cc
-if (values_apart) CFFS_TRY_VOID(end_before_lost_values(store, keep_what_is_whole, logs));
+(void)values_apart; (void)&end_before_lost_values;

an object of the value log goes before the log says that it may
@ core/table/table_values.cc
-  if (dead.empty() || failed() || !begin_changes() || !note_before_values_go()) return;
+  if (dead.empty() || failed() || !begin_changes()) return;

a commit does not sync the log
@ core/fs/durability.cc
-  CFFS_TRY_VOID(sync_table());
-  table_->drop_values(dead_values);
+  (void)dead_values;

which numbers may be durable is not noted with a sync
@ core/fs/durability.cc
-  homes_.note_durable_below(counter_.peek());
-  return table_->sync();
+  return table_->sync();

which numbers may be durable is not noted when a store is opened
@ core/fs/engine.cc
-  homes_.note_durable_below(counter_.peek());
-  CFFS_TRY_VOID(load_root());
+  CFFS_TRY_VOID(load_root());

objects are removed before the rows that named them are durably gone
@ core/fs/removals.cc
-  CFFS_TRY_VOID(table_.sync());
-  Batch batch;
+  Batch batch;

a new blob is not synced where it replaces a durable copy
@ core/fs/homes.cc
-Status done = blob.sync();
+Status done;

a new blob whose sync failed is no reason to stop
@ core/fs/homes.cc
-if (!done) table_.poison();
+
= the row still names the old copy, and the next try writes all of it anew

a new blob has no note that it may have to go
@ core/fs/homes.cc
-CFFS_TRY_VOID(table_.write(intent));
+

a new blob is not synced by the commit
@ core/fs/homes.cc
-dirty_.note(inode.ino, blob);
+

an early sync of blobs that failed is no reason to stop
@ core/fs/homes.h
-if (!dirty_.limit()) table_.poison();
+(void)dirty_.limit();

blobs that were written to are not synced by the commit
@ core/fs/write.cc
-dirty_objects_->note(node.ino, object);
+

what lies behind a blob's end is not cut before a write behind it
@ core/fs/write.cc
-if (offset > node.inode.size) CFFS_TRY_VOID(cut_tail(*object, node.inode.size));
+

a blob that was cut is not synced by the commit
@ core/fs/truncate.cc
-  dirty_objects_->note(node.inode.ino, *object);
+
= what lies behind the end that the row says is cut before the file grows

a blob that was extended is not synced by the commit
@ core/fs/truncate.cc
-      dirty_objects_->note(inode.ino, object);
+

what lies behind a blob's end is not cut before it is extended
@ core/fs/truncate.cc
-CFFS_TRY_VOID(cut_tail(*object, inode.size));
+

a blob with a hole is not synced by the commit
@ core/fs/allocate.cc
-  dirty_objects_->note(inode.ino, object);
+

a rename over a name does not sync the source
@ core/fs/rename.cc
-Status done = (*object)->sync();
+Status done;

after a rename whose source could not be synced things go on
@ core/fs/rename.cc
-e_.table_->poison();  // as after an fsync that failed: what the medium holds is no longer known
+

a composite is not synced before its rows
@ core/composite/composite_store.cc
-  Status done = object->sync();
+  Status done;

after a write of the table that failed things go on
@ core/table/table.cc
-if (!only_refused(error, *env_)) poison();
+

after a sync of the table that failed things go on
@ core/table/table.cc
-      poison();
-      return done;
-    }
-    synced_writes_
+      return done;
+    }
+    synced_writes_

after a barrier that failed things go on
@ core/table/table.cc
-if (!done) self->poison();
+(void)self;

what is durable is not noted
@ core/table/table.cc
-    note_what_is_durable();
-    guard.lock();
+    guard.lock();

a note of what is durable that failed is no reason to stop
@ core/table/table.cc
-if (!status.ok() && !only_refused(to_error(status), *env_)) poison();  // the next sync is noted
+

inode numbers are used before it is durable that they are taken
@ core/table/inode_counter.cc
-  CFFS_TRY_VOID(table_.write(batch));
-  return table_.sync();
+  return table_.write(batch);

a failed sync of blobs is forgotten
@ core/fs/dirty_objects.h
-        result_ = std::move(done);
+        (void)done;

a superblock is not synced
@ core/fs/store_format.cc
-return object->sync();
+return {};

a log's name may be lost though a manifest names it
@ core/object/leveldb_env.cc
-if (const auto done = (*object)->sync(); !done) return to_leveldb(done.error());
+

a sealed blob is changed before its seal is durably broken
@ core/fs/write.cc
-  announce_blocking();
-  CFFS_TRY_VOID(sync_table());
-  const WriteLock guard(node.mutex);
+  const WriteLock guard(node.mutex);
= sealing_test.cc, which is one of unit_tests, fails: "a torn overwrite is never taken for rot"

a catalogue is renamed before it is durable
@ core/table/catalogue.cc
-return to_.sync();
+return {};

a plan is renamed before it is durable
@ core/reorganise/plan_object.cc
-CFFS_TRY_VOID(object->sync());
+

a plan's name is not durable
@ core/reorganise/plan_object.cc
-return store.sync_names();
+return {};

a regrouping is not durable before it compacts
@ core/reorganise/regrouping.cc
-      CFFS_TRY_VOID(fs_.sync());
-      reorganiser_.compact_noted();
+      reorganiser_.compact_noted();
= every object is removed behind a sync of its own; this one gives back what was emptied before the rest is copied

a seal is not durably broken before the first change
@ core/fs/write.cc
-CFFS_TRY_VOID(sync_table());
+

a blob is not durable before it is sealed
@ core/fs/rehousing.cc
-if (homes_.is_dirty(inode.ino)) CFFS_TRY_VOID(homes_.sync_dirty());
+

objects of the directory store are not synced
@ core/object/posix_object.cc
-if (::fdatasync(fd_.get()) != 0) {
+if (false) {
= the crash tests have their own store; a kernel's is needed

a sync by another handle than the one that made an object leaves its name
@ core/object/posix_store.cc
-durable_names_.newest_beside(name));
+0);
= the crash tests have their own store; posix_sync_test.cc sees it

what is said when a writeback begins is forgotten
@ core/object/posix_object.cc
-if (lost && sync_failed_ == 0) sync_failed_ = errno;
+(void)lost;
= the crash tests have their own store; posix_sync_test.cc sees it

a backup takes its place before it is durable
@ core/backup/backup.cc
-CFFS_TRY_VOID(fresh.sync_everything());
+

the names that a backup has exchanged are not durable
@ core/backup/directory_place.cc
-if (::fsync(folder_fd_.get()) != 0) return fail(errno, folder_);  // names
+
= the crash tests have their own places; and where the exchange is lost, the backup before is there, whole

a copy gets its superblock before what an earlier one had is gone durably
@ core/backup/store_copy.cc
-    // Names of each folder are durable by themselves: none of what was here comes back beside the superblock.
-    CFFS_TRY_VOID(to_.sync_names());
+

a packed composite takes the other's place before it is on the medium
@ core/composite/packing.cc
-return copy->sync();
+return Status();

members are punched before their removal is durable
@ core/reorganise/punching.cc
-CFFS_TRY_VOID(fs_.sync());
+

an onode of a region store may name blocks whose bytes are not durable
@ core/region/region_commits.cc
-if (!ranges.empty()) CFFS_TRY_VOID(flush(shared, ranges));
+

onodes are written and never flushed
@ core/region/region_commits.cc
-  if (!sectors.empty()) CFFS_TRY_VOID(flush(shared, sectors));
-  begun.end();
+  begun.end();

blocks of a removed object are given away before its removal is durable
@ core/region/region_commits.cc
-    if (!sectors.empty()) CFFS_TRY_VOID(flush(shared, sectors));
+

blocks that an object lost are given away before it is durable without them
@ core/region/body_onode.cc
-auto& to = may_be_durable_ ? freed_ : given_up_;
+auto& to = given_up_;

a name may be durable for its new object while the old one's rename is not
@ core/region/region_store.cc
-if (was_given_away(to)) return fail(EAGAIN);
+

what is written behind a cut is written into the block that the durable object has
@ core/region/body.cc
-CFFS_TRY_VOID(cut_block(size));
+

what a killed user of a region store left is used before it is durable
@ core/region/region_store.cc
-CFFS_TRY_VOID(settle_recovered());
+

a region's head is not durable before an onode that needs it
@ core/region/region_commits.cc
-heads = shared.allocation.undurable_heads();
+

what an earlier object left in an onode may come back
@ core/region/body_onode.cc
-CFFS_TRY_VOID(begin_change());
-  const std::string before = std::exchange(name_, name);
+const std::string before = std::exchange(name_, name);
= the tombstone that is there says the same; its block is written whole so that nothing has to be read

a read that goes on believes that its member is where it was
@ core/composite/composite_store.cc
-left && left->is_for(extent.composite, extent.offset))
+left)

what does not come is looked for for ever
@ fusefs/parked_requests.cc
-!crowded && now - one.front().since < kLongest
+!crowded

a rename between two folders of a pool takes the old name before the new one is durable
@ core/rados/name_table.cc
-if (const int code = change->wait(); code != 0) return fail(pool_->error(-code, to_object));
+

pieces of an object in a pool go before it is durable that nobody names it
@ core/rados/rados_removal.cc
-if (!names_.wait()) continue;
+

an object in a pool is cut over several pieces, and that is not written down before
@ core/rados/body_end.cc
-CFFS_TRY_VOID(shared_->pool->run(begin, piece_name(0)));
+

a piece of an object in a pool is written before the object's name is durable
@ core/rados/body.cc
-  CFFS_TRY_VOID(settle());
-  const std::uint64_t piece_bytes
+  const std::uint64_t piece_bytes

a piece of an object in a pool is written before it is written down where to look for it
@ core/rados/body.cc
-  CFFS_TRY_VOID(shared_->pool->run(operation, piece_name(0)));
-  has_first_piece_ = true;
-  durable_written_
+  has_first_piece_ = true;
+  durable_written_

a sync of an object in a pool waits for nothing
@ core/rados/body.cc
-return first_error(flights_.wait());
+return {};

a sync of the names of a pool waits for nothing
@ core/rados/rados_store.cc
-  announce_blocking();
-  return names_.wait();
+  return {};

what a pool refused to take is read as what was there before
@ core/rados/body.cc
-if (!has_lost_.load(std::memory_order_acquire)) return {};
+return {};

users get room of a quota while the table has not what it needs
@ core/fs/space_guard.cc
-  if (is_limited_.load(std::memory_order_relaxed) && held_ < whole(space)) return refuse(EDQUOT);
+

a quota that was met is not remembered
@ core/fs/space_guard.cc
-  if (reason == EDQUOT) is_limited_.store(true, std::memory_order_relaxed);
+

the reserve keeps all that it took of a quota
@ core/fs/space_guard.cc
-is_limited_ ? std::max(before, std::min(held_, whole(space))) : held_;
+held_;

the reserve never gives up what the table does not need any more
@ core/fs/space_guard.cc
-  if (held_ >= wanted + piece(space) && object_->truncate(wanted)) held_ = wanted;
+

a reserve that cannot be cut stays
@ core/fs/space_guard.cc
-} else if (!let_all_go()) {
+} else {

movers are not asked where what was removed is too little
@ core/fs/engine.h
-    return found_none(done) && space_.ask_movers(0) ? once() : done;
+    return done;
TABLE
}

titles=() files=() olds=() news=() reasons=()
read_table() {
  local line n=-1 fresh=1
  while IFS= read -r line; do
    if [ -z "$line" ]; then fresh=1; continue; fi
    if [ $fresh = 1 ]; then
      fresh=0 n=$((n + 1))
      titles[n]=$line files[n]='' olds[n]='' news[n]='' reasons[n]=''
      continue
    fi
    case $line in
      '@ '*) files[n]=${line#@ } ;;
      -*) olds[n]+=${olds[n]:+$'\n'}${line#-} ;;
      +*) news[n]+=${news[n]:+$'\n'}${line#+} ;;
      '= '*) reasons[n]=${line#= } ;;
      *) echo "blind_tests: the table has a line that means nothing: $line" >&2; exit 2 ;;
    esac
  done < <(table)
}

# How often the change's lines are in its file, in this tree.
occurrences() {
  local text rest
  text=$(<"$1/${files[$2]}") || return
  rest=${text//"${olds[$2]}"/}
  echo $(((${#text} - ${#rest}) / ${#olds[$2]}))
}

check() {
  local i n stale=0
  for i in "${!titles[@]}"; do
    n=$(occurrences . "$i") || n=0
    [ "$n" = 1 ] && continue
    echo "blind_tests: ${files[i]} has $n times what number $((i + 1)), '${titles[i]}', takes away; mend the table in scripts/blind_tests.sh" >&2
    stale=1
  done
  return $stale
}

apply() {  # the change to the copy
  local text
  text=$(<"$2/${files[$1]}")
  printf '%s\n' "${text/"${olds[$1]}"/"${news[$1]}"}" >"$2/${files[$1]}"
}

only=() mode=run
while [ $# -gt 0 ]; do
  case $1 in
    --list) mode=list ;;
    --check) mode=check ;;
    --only)
      [[ ${2:-} =~ ^[1-9][0-9]*$ ]] || { echo "blind_tests: --only wants a number of --list" >&2; exit 2; }
      only+=("$2")
      shift
      ;;
    *) echo "blind_tests: '$1' is no option; there are --list, --check and --only N" >&2; exit 2 ;;
  esac
  shift
done
read_table
if [ $mode = list ]; then
  for i in "${!titles[@]}"; do
    printf '%3d  %s (%s)%s\n' $((i + 1)) "${titles[i]}" "${files[i]}" "${reasons[i]:+; no test can see it: ${reasons[i]}}"
  done
  exit
fi
check
[ $mode = run ] || { echo "blind_tests: all ${#titles[@]} changes can be made"; exit; }
for n in "${only[@]}"; do
  [ "$n" -le ${#titles[@]} ] || { echo "blind_tests: there are ${#titles[@]} changes, no number $n" >&2; exit 2; }
done

copy=$(mktemp -d "${TMPDIR:-/tmp}/cffs-blind.XXXXXX")
trap 'rm -rf "$copy"' EXIT
tree=$copy/tree
mkdir "$tree"
git ls-files -z --cached --others --exclude-standard | xargs -0 cp --parents -t "$tree"
launcher=()
if command -v ccache >/dev/null; then launcher=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache); fi
log=$copy/log
build() { nice -n 10 cmake --build "$copy/build" --target crash_tests -j "${BLIND_JOBS:-$(nproc)}" >"$log" 2>&1; }
# What fails is not what they find out: a time that is over, a process that was killed and a full disk say nothing about the change.
tests_pass() { env -u CFFS_CRASH_WORKLOADS -u CFFS_CRASH_STATE timeout 900 "$copy/build/crash_tests" --abort >"$log" 2>&1; }
found_out() {
  grep -q 'FAILED:' "$log" && ! grep -q 'SIGTERM' "$log" && [ "$(df --output=avail -k "${TMPDIR:-/tmp}" | tail -n 1)" -gt 65536 ]
}

echo "blind_tests: building the crash tests as they are"
nice -n 10 cmake -S "$tree" -B "$copy/build" -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS_DEBUG=-O1 "${launcher[@]}" >"$log" 2>&1 && build ||
  { tail -20 "$log" >&2; echo "blind_tests: the tree does not build" >&2; exit 1; }
echo "blind_tests: they must pass as they are"
tests_pass || { tail -20 "$log" >&2; echo "blind_tests: the crash tests fail without any change" >&2; exit 1; }
blind=() done=0 started=$SECONDS
for i in "${!titles[@]}"; do
  number=$((i + 1))
  if [ ${#only[@]} -gt 0 ] && [[ " ${only[*]} " != *" $number "* ]]; then continue; fi
  printf '%3d of %d  %s: ' $number ${#titles[@]} "${titles[i]}"
  apply "$i" "$tree"
  began=$SECONDS
  if ! build; then
    echo "does not build"
    grep -m 3 'error' "$log" >&2 || true
    blind+=("$number, which does not build")
  elif tests_pass; then
    if [ -n "${reasons[i]}" ]; then
      echo "not seen, as expected: ${reasons[i]}"
    else
      echo "NOT SEEN"
      blind+=("$number, ${titles[i]}")
    fi
  elif ! found_out; then
    echo "could not be tried"
    tail -5 "$log" >&2
    blind+=("$number, which could not be tried: ${titles[i]}")
  else
    seen=$(grep -m 1 -A 1 -- '^-----' "$log" | tail -1)
    echo "seen after $((SECONDS - began)) s${seen:+ by \"$seen\"}"
  fi
  done=$((done + 1))
  cp "${files[i]}" "$tree/${files[i]}"
done
echo "blind_tests: $done changes in $(((SECONDS - started) / 60)) min"
[ ${#blind[@]} = 0 ] || { printf 'blind_tests: no test sees: %s\n' "${blind[@]}" >&2; exit 1; }
