// A node: the in-memory side of an inode that somebody refers to (the kernel's lookup count, or a library caller).
//
// While a node exists it is the truth about its inode; its row is at most `row_stale` behind. A node is made only under a
// (shared) lock of its inode row's stripe, and an inode row is written only under an exclusive one, so a node never starts
// from an old row.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>

#include "core/base/mutex.h"
#include "core/fs/entry_count.h"
#include "core/fs/nameless.h"
#include "core/object/object_store.h"
#include "core/table/inode.h"
#include "core/table/key.h"
#include "core/table/row_locks.h"

namespace cffs {

struct Node {
  Node(Inode attributes, Key key, std::shared_ptr<Node> in, std::string_view called, bool alone)
      : ino(attributes.ino),
        type(attributes.mode & S_IFMT),
        row_alone(alone),
        row_key(key),
        parent(std::move(in)),
        name(called),
        inode(std::move(attributes)) {}

  // EIO: there is no content that could be read.
  Status check_kept() const CFFS_REQUIRES_SHARED(mutex) {
    if (!orphan_lost) return {};
    return fail(Error::corruption("inode " + std::to_string(ino.value) +
                                  ": its data could not be read when its last name was removed"));
  }

  // The blob's bytes may be changed: no durable row claims to know them.
  bool open_to_change() const CFFS_REQUIRES_SHARED(mutex) {
    return !inode.sealed && seals_broken == seals_broken_durably;
  }

  // The content is elsewhere, or needed no more.
  void let_go_of_content() CFFS_REQUIRES(mutex) {
    orphan_bytes.reset();
    orphan_lost = false;
    pinned.reset();
    pinned_share.reset();
    pinned_record.reset();
  }

  const InodeId ino;
  const mode_t
      type;  // S_IFMT bits: the one part of the mode that never changes, so readable without the lock

  // Directories: held shared while an entry comes or goes, exclusively while the directory itself goes.
  SharedMutex entries;

  EntryCount entry_count;  // directories

  // No other entry shares the inode's row; the stripe is that row's.
  bool row_alone CFFS_GUARDED_BY(row_stripes);

  // Readers of file data hold it shared.
  mutable SharedMutex mutex;
  Key row_key CFFS_GUARDED_BY(mutex);  // where the inode is: its name row, or its null-name row
  std::shared_ptr<Node> parent
      CFFS_GUARDED_BY(mutex);                     // the directory last seen holding it; null for the root
  std::string name CFFS_GUARDED_BY(mutex);        // in `parent`
  Inode inode CFFS_GUARDED_BY(mutex);             // without its long parts (long_parts.h)
  bool row_stale CFFS_GUARDED_BY(mutex) = false;  // attributes changed since the row was written
  // No name and no row left; lives until the last reference goes. Of a directory it changes only while `entries` is held
  // exclusively too, so who holds those need not ask for the mutex.
  std::atomic<bool> unlinked{false};
  // Unlinked because it never had a name: link() may give it one.
  bool unnamed CFFS_GUARDED_BY(mutex) = false;
  // The data of an unlinked file, where it is held in memory.
  std::optional<HeldContent> orphan_bytes CFFS_GUARDED_BY(mutex);
  // Unlinked, and the table has something of it: attributes, or its content (Kind::nameless).
  bool nameless_row CFFS_GUARDED_BY(mutex) = false;
  bool orphan_lost CFFS_GUARDED_BY(mutex) = false;        // they could not be read when the name went
  std::shared_ptr<Object> pinned CFFS_GUARDED_BY(mutex);  // keeps an unlinked member's composite readable
  Share pinned_share CFFS_GUARDED_BY(mutex);
  RecordPins::Pin pinned_record CFFS_GUARDED_BY(mutex);
  // DirtyObjects::epoch() in which the blob was last noted.
  std::uint64_t dirty_epoch CFFS_GUARDED_BY(mutex) = ~std::uint64_t{0};
  // How often a seal of the blob was broken, and how many of these are known durable: where they differ, nobody may write yet.
  std::uint64_t seals_broken CFFS_GUARDED_BY(mutex) = 0;
  std::uint64_t seals_broken_durably CFFS_GUARDED_BY(mutex) = 0;
  std::atomic<std::uint64_t> verified{0};  // checksum of the extent that was checked; atomic: set by readers
  // The same of the extent that a cache above was given unasked. Who reads it all the same, for the cache has lost it, looks at it himself.
  std::atomic<std::uint64_t> handed{0};

  // Directories: consolidation looks at them once quiet. Atomic: touched by every write below the directory.
  std::atomic<std::int64_t> staged_at_ms{0};
  std::atomic<bool> staged{false};
};

using NodePtr = std::shared_ptr<Node>;

}  // namespace cffs
