// leveldb::Env on an ObjectStore: LevelDB's own files are objects too.
//
// Beyond the mapping it answers one question that LevelDB's API cannot: make the write-ahead log durable
// without entering LevelDB's writer queue. sync_logs() syncs every log object that holds unsynced records,
// also the one that was rotated out while its table is still being written; writers go on meanwhile (TableFS
// §3.6).
#pragma once

#include <leveldb/env.h>

#include <atomic>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include "core/base/mutex.h"
#include "core/object/object_store.h"

namespace cffs {

struct BlockReads;
class RecentLines;

class LevelDbEnv final : public leveldb::EnvWrapper {
 public:
  explicit LevelDbEnv(ObjectStore& store);
  ~LevelDbEnv() override;

  // Who runs a piece of background work, later and one at a time, on a thread of its own; for tests that choose when. What
  // is run when this is gone does nothing.
  using RunLater = std::function<void(std::function<void()> piece)>;
  // Makes the thread of background work, where nobody else runs it; before the database is opened. LevelDB's own would be made by
  // the first who needs it, and throws through LevelDB where the system has none.
  Status begin(RunLater run_later = nullptr);

  Status sync_logs();
  // How far the newest of the logs that sync_logs() synced is durable, once for each advance.
  struct SyncedLog {
    std::string name;
    std::uint64_t bytes = 0;
  };
  std::optional<SyncedLog> take_synced();
  // The newest log of which anything is durable, and how far; nullopt: none is.
  std::optional<SyncedLog> synced_end() const;
  // Of all logs whose rows are in no table file.
  std::uint64_t log_bytes() const;
  // Those logs, each with the bytes that it has so far; the last record may not be whole.
  std::vector<std::pair<std::string, std::uint64_t>> log_ends() const;
  Result<SpaceInfo> space() const { return store_.space(); }
  // Since it was made. Blocks and indexes of table files that were not in LevelDB's cache; what was written of table files, by flushes
  // and compactions, and of logs.
  struct Traffic {
    std::uint64_t block_reads = 0, block_read_bytes = 0, table_bytes_written = 0, log_bytes_written = 0;
  };
  Traffic traffic() const;
  // What LevelDB wrote to its log lately (recent_lines.h).
  std::string own_log() const;
  // Whether a write or sync of any file has failed.
  bool write_failed() const { return write_failed_.load(std::memory_order_acquire); }
  // Whoever reads this object in order gets these bytes in its place.
  void show_instead(std::string name, std::string bytes) { instead_[std::move(name)] = std::move(bytes); }
  // For whoever reads this object in order, or appends to it, it ends here.
  void show_until(std::string name, std::uint64_t bytes) { ends_[std::move(name)] = bytes; }
  // Background work (compaction) waits until it is released; LevelDB waits for it when it is closed. For a store whose
  // changes stay in memory: compaction would bring the whole table there.
  void hold_background_work();
  void release_background_work();
  // What waits for whoever runs it is done by the caller: before the database is closed, which would wait for it.
  void do_what_waits();

  void Schedule(void (*run)(void*), void* argument) override;

  // Called before a table file is made durable: rows in it may name data that must be durable first.
  void set_before_table_sync(std::function<Status()> barrier) { before_table_sync_ = std::move(barrier); }
  // The same before the logs are, once it is known how far they will be.
  void set_before_log_sync(std::function<Status()> barrier) { before_log_sync_ = std::move(barrier); }

  // Called where a write meets ENOSPC: true where it has made room, and the write is tried again.
  void set_when_full(std::function<bool()> make_room) { make_room_ = std::move(make_room); }
  // Called where a file has gone, perhaps with LevelDB's own locks.
  void set_when_removed(std::function<void()> removed) { removed_ = std::move(removed); }
  // A file that LevelDB removes stays while this says so of its name: somebody reads it. LevelDB asks again when it next tidies up.
  void set_keeps(std::function<bool(const std::string& name)> keeps) { keeps_ = std::move(keeps); }

  leveldb::Status NewSequentialFile(const std::string& name, leveldb::SequentialFile** result) override;
  leveldb::Status NewRandomAccessFile(const std::string& name, leveldb::RandomAccessFile** result) override;
  leveldb::Status NewWritableFile(const std::string& name, leveldb::WritableFile** result) override;
  leveldb::Status NewAppendableFile(const std::string& name, leveldb::WritableFile** result) override;
  bool FileExists(const std::string& name) override;
  leveldb::Status GetChildren(const std::string& folder, std::vector<std::string>* result) override;
  leveldb::Status RemoveFile(const std::string& name) override;
  leveldb::Status DeleteFile(const std::string& name) override { return RemoveFile(name); }
  leveldb::Status CreateDir(const std::string&) override { return leveldb::Status::OK(); }
  leveldb::Status RemoveDir(const std::string&) override { return leveldb::Status::OK(); }
  leveldb::Status DeleteDir(const std::string&) override { return leveldb::Status::OK(); }
  leveldb::Status GetFileSize(const std::string& name, std::uint64_t* size) override;
  leveldb::Status RenameFile(const std::string& from, const std::string& to) override;
  leveldb::Status LockFile(const std::string& name, leveldb::FileLock** lock) override;
  leveldb::Status UnlockFile(leveldb::FileLock* lock) override;
  leveldb::Status NewLogger(const std::string& name, leveldb::Logger** result) override;
  leveldb::Status GetTestDirectory(std::string* path) override;

 private:
  class Writable;  // leveldb_writable.cc
  struct Later;
  struct LogState {
    std::shared_ptr<Object> object;
    std::uint64_t written = 0;  // bytes handed to the object
    std::uint64_t synced = 0;   // bytes known durable
    bool is_synced_often = false;
  };
  static bool is_log(const std::string& name) { return name.ends_with(".log"); }
  // LevelDB deletes it.
  leveldb::WritableFile* writable(const std::string& name, std::shared_ptr<Object> object, std::uint64_t at);
  // Whether it is synced so often that room for its records should be there before they are.
  bool note_log_bytes(const std::string& name, std::uint64_t bytes);
  bool made_room(const Error& error) const;
  // Background work that gets no descriptor waits for one: its failure would end all writing, until the table is opened again.
  static bool waited_for_descriptor(const Error& error, int tries);
  Result<std::shared_ptr<Object>> open(const std::string& name);
  Result<std::shared_ptr<Object>> create(const std::string& name, ObjectStore::Create how);
  void work();
  bool work_once();  // false: there was nothing to do

  ObjectStore& store_;
  std::map<std::string, std::string> instead_;  // filled before the database is opened
  std::map<std::string, std::uint64_t> ends_;   // the same
  std::function<Status()> before_table_sync_, before_log_sync_;
  std::function<bool()> make_room_;
  std::function<void()> removed_;
  std::function<bool(const std::string&)> keeps_;
  // CURRENT was switched, and may or may not be what the medium has: LevelDB takes it for not switched, and removes the new manifest.
  std::atomic<bool> either_manifest_{false};
  std::atomic<bool> write_failed_{false};
  std::atomic<std::uint64_t> table_bytes_written_{0}, log_bytes_written_{0};
  const std::shared_ptr<BlockReads> block_reads_;
  const std::shared_ptr<RecentLines> own_log_;
  mutable Mutex mutex_;  // leaf
  bool holds_work_ CFFS_GUARDED_BY(mutex_) = false;
  std::deque<std::pair<void (*)(void*), void*>> work_ CFFS_GUARDED_BY(mutex_);
  CondVar work_comes_;
  bool ending_ CFFS_GUARDED_BY(mutex_) = false;
  std::map<std::string, LogState> logs_ CFFS_GUARDED_BY(mutex_);
  std::optional<SyncedLog> synced_ CFFS_GUARDED_BY(mutex_);
  RunLater run_later_;  // null: worker_ does it
  const std::shared_ptr<Later> later_;
  std::thread worker_;
};

}  // namespace cffs
