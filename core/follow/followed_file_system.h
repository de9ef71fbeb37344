// A store that somebody else writes to, read: a FileSystem that is always at one checkpoint of it and moves on to the next
// (docs/FOLLOWING.md).
//
// Each checkpoint is an engine of its own, opened beside the one in use; then they are exchanged. What callers refer to is another node
// where its content has changed (core/follow/known_nodes.h).
//
// Thread safety: everything but close().
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "core/base/mutex.h"
#include "core/follow/followed_states.h"
#include "core/follow/known_nodes.h"
#include "core/follow/unchanging_file_system.h"

namespace cffs {

struct FollowOptions {
  std::int64_t poll_ms = 500;     // between two looks for a checkpoint
  std::function<bool()> awaited;  // asked while the first one is waited for; null: for ever
  std::function<void(const std::string&)> say;
};

class FollowedFileSystem final : public UnchangingFileSystem {
 public:
  // Takes no lock: waits for a checkpoint of the store's writer, or opens the store as it is where there is none. `usage`: it cannot
  // be followed, says why. EINTR: nobody waits any more. `store` must outlive the file system.
  static Result<std::unique_ptr<FollowedFileSystem>> open(ObjectStore& store, FileSystemOptions options,
                                                          FollowOptions follow);
  ~FollowedFileSystem() override;
  // Begins to look for checkpoints. `on_move` is called by a thread of its own after each move. EAGAIN: no thread.
  Status begin(std::function<void(const Moved&)> on_move);
  // Ends that; returns when the thread has ended.
  void end();
  // Looks for one now and moves there; false: there is none. By one thread at a time.
  Result<bool> move_on();
  Status close() override;

  // The checkpoint in use, held for as long as the result lives: for who uses the parts of a FileSystem that are not its operations.
  std::shared_ptr<FileSystem> state() const;
  // The same of the state that a read of this node would use now.
  std::shared_ptr<const void> hold(InodeId node) const;
  std::uint64_t sequence() const;
  std::int64_t checkpoint_at_ns() const;  // the writer's clock
  // Why it does not move on, as a sentence; empty where it does.
  std::string problem() const;

  // Its content stays what it is until closed() as often. ESTALE: there is another by now, look it up again.
  Status opened(InodeId node);
  void closed(InodeId node);

  Result<Attributes> lookup(InodeId parent, std::string_view name) override;
  void forget(InodeId node, std::uint64_t references) override;
  Result<std::string> readlink(InodeId node) override;
  Status readdir(InodeId directory, std::uint64_t cookie, bool refer,
                 const std::function<bool(const DirectoryEntry&)>& visit) override;
  Result<Attributes> getattr(InodeId node) override;
  Result<std::string> getxattr(InodeId node, std::string_view name) override;
  Result<std::vector<std::string>> listxattr(InodeId node) override;
  Result<std::size_t> read(InodeId node, std::uint64_t offset, Bytes out, ReaderId reader = 0) override;
  void on_likely_group(std::function<void(ReaderId, InodeId)> call) override;
  Result<std::size_t> hand_over_group(ReaderId reader, InodeId node,
                                      const std::function<Taken(InodeId, ConstBytes)>& take) override;
  Result<std::uint64_t> next_data(InodeId node, std::uint64_t offset) override;
  Result<std::uint64_t> next_hole(InodeId node, std::uint64_t offset) override;
  Result<SpaceInfo> statfs() override { return state()->statfs(); }
  std::optional<std::uint64_t> file_count() const override { return state()->file_count(); }
  std::size_t known_inodes() override;
  std::vector<InodeId> some_asleep(std::size_t most) override;
  ReadAheadCounters read_ahead() const override { return state()->read_ahead(); }
  FrameCounters frames() const override { return state()->frames(); }
  std::string table_log() override { return state()->table_log(); }
  LiveCounters live_counters() override { return state()->live_counters(); }
  std::optional<EntryName> last_place(InodeId node) override;
  std::optional<InodeId> last_directory(InodeId node) override;
  const StoreFormat& store_format() const override { return format_; }
  const NameHash& name_hash() const override { return *options_.name_hash; }
  InodeId next_inode() const override { return state()->next_inode(); }
  std::shared_ptr<const grouping::Policy> policy() const override { return state()->policy(); }
  void log(const std::string& line) const override;
  const Clock& clock() const override { return *options_.clock; }
  ObjectStore& objects() override { return store_; }

  // Parts of the first state, for whoever makes what needs them and does nothing with it: they move nothing.
  Rehousing& rehousing() override { return first_->fs->rehousing(); }
  StagedDirectories& staged_directories() override { return first_->fs->staged_directories(); }
  FreedComposites& freed_composites() override { return first_->fs->freed_composites(); }
  RenamedFiles& renamed_files() override { return first_->fs->renamed_files(); }
  Table& table() override { return first_->fs->table(); }
  CompositeStore& composites() override { return first_->fs->composites(); }

 private:
  using State = FollowedState;
  using StatePtr = FollowedStates::StatePtr;
  using LikelyGroup = std::function<void(ReaderId, InodeId)>;
  struct Found {
    StatePtr state;
    InodeId ino;  // the number in it
  };

  FollowedFileSystem(ObjectStore& store, FileSystemOptions options, StoreFormat format, FollowOptions follow)
      : store_(store),
        options_(std::move(options)),
        format_(std::move(format)),
        follow_(std::move(follow)),
        states_(store_, options_) {}
  Status find_first();
  Moved adopt(StatePtr next, const std::optional<StateChanges>& changes);
  void retire(const StatePtr& state, std::int64_t at) CFFS_REQUIRES(mutex_);
  void tell_likely_groups(State& state);
  void run();

  StatePtr current() const;
  Result<Found> find(InodeId node);
  Result<bool> refer(State& state, InodeId ino, const EntryName& place);
  Status refer_path(const StatePtr& state, InodeId ino);
  // Entries of one state. `moved`: it is not the current one any more, and entries that count references end there.
  Status list(const Found& found, std::uint64_t cookie, bool refer, bool& moved,
              const std::function<bool(const DirectoryEntry&)>& visit);
  // The caller has one more reference. False: the state is not the current one any more.
  bool note(const StatePtr& state, EntryName place, Attributes& attributes);
  template <typename Operation>
  auto at(InodeId node, const Operation& operation);

  ObjectStore& store_;
  const FileSystemOptions options_;
  const StoreFormat format_;
  const FollowOptions follow_;
  FollowedStates states_;
  StatePtr first_;  // see table()

  mutable Mutex mutex_;  // leaf but for a state's
  StatePtr current_ CFFS_GUARDED_BY(mutex_);
  KnownNodes known_ CFFS_GUARDED_BY(mutex_);
  std::vector<std::pair<std::int64_t, StatePtr>> retired_ CFFS_GUARDED_BY(mutex_);  // since when, steady ms

  std::shared_ptr<const LikelyGroup> likely_group_ CFFS_GUARDED_BY(mutex_);  // null: nobody asks
  std::function<void(const Moved&)> on_move_;
  std::string last_problem_ CFFS_GUARDED_BY(mutex_);
  bool half_moved_ = false;  // of who moves on
  Mutex thread_mutex_;  // leaf
  CondVar wake_;
  bool stopping_ CFFS_GUARDED_BY(thread_mutex_) = false;
  std::thread thread_ CFFS_GUARDED_BY(thread_mutex_);
};

}  // namespace cffs
