#include "core/object/leveldb_env.h"

#include <algorithm>
#include <chrono>

#include "core/base/no_room.h"
#include "core/base/thread.h"
#include "core/object/blocking_section.h"
#include "core/object/leveldb_reads.h"
#include "core/object/recent_lines.h"

namespace cffs {
namespace {

thread_local bool works_in_background = false;

void run_in_background(void (*run)(void*), void* argument) {
  works_in_background = true;
  run(argument);
  works_in_background = false;
}

constexpr std::uint64_t kUsualFile = 4u << 20;  // bytes of a log or a table file

// Of logs: numbers have six digits or more.
bool is_older(const std::string& a, const std::string& b) {
  return a.size() != b.size() ? a.size() < b.size() : a < b;
}

class NoLock final : public leveldb::FileLock {};

}  // namespace

// What pieces that somebody runs later find of the environment: closing the database may have done their work, and not waited for them.
struct LevelDbEnv::Later {
  explicit Later(LevelDbEnv& whose) : env(&whose) {}
  Mutex mutex;  // held while one runs; before mutex_
  LevelDbEnv* env CFFS_GUARDED_BY(mutex);
};

LevelDbEnv::LevelDbEnv(ObjectStore& store)
    : EnvWrapper(leveldb::Env::Default()),
      store_(store),
      block_reads_(std::make_shared<BlockReads>()),
      own_log_(std::make_shared<RecentLines>()),
      later_(std::make_shared<Later>(*this)) {}
LevelDbEnv::~LevelDbEnv() {
  {
    const MutexLock guard(later_->mutex);
    later_->env = nullptr;
  }
  {
    const MutexLock guard(mutex_);
    ending_ = true;
  }
  work_comes_.notify_all();
  if (worker_.joinable()) worker_.join();
}

Status LevelDbEnv::begin(RunLater run_later) {
  run_later_ = std::move(run_later);
  if (run_later_) return {};
  CFFS_TRY(worker_, make_thread("the table's thread", [this] { work(); }));
  return {};
}

void LevelDbEnv::work() {
  MutexLock guard(mutex_);
  for (;;) {
    while (!ending_ && (holds_work_ || work_.empty())) work_comes_.wait(mutex_);
    if (work_.empty() || holds_work_) return;
    const auto [run, argument] = work_.front();
    work_.pop_front();
    guard.unlock();
    run_in_background(run, argument);
    guard.lock();
  }
}

bool LevelDbEnv::work_once() {
  MutexLock guard(mutex_);
  if (work_.empty()) return false;
  const auto [run, argument] = work_.front();
  work_.pop_front();
  guard.unlock();
  run_in_background(run, argument);
  return true;
}

void LevelDbEnv::do_what_waits() {
  while (run_later_ && work_once()) {
  }
}

void LevelDbEnv::hold_background_work() {
  const MutexLock guard(mutex_);
  holds_work_ = true;
}

void LevelDbEnv::release_background_work() {
  const MutexLock guard(mutex_);
  holds_work_ = false;
  work_comes_.notify_all();
}

void LevelDbEnv::Schedule(void (*run)(void*), void* argument) {
  {
    const MutexLock guard(mutex_);
    work_.emplace_back(run, argument);
  }
  if (run_later_) {
    return run_later_([later = later_] {
      const MutexLock guard(later->mutex);
      if (later->env != nullptr) (void)later->env->work_once();
    });
  }
  work_comes_.notify_all();
}

bool LevelDbEnv::made_room(const Error& error) const {
  return is_no_room(error.errno_value) && make_room_ && make_room_();
}

bool LevelDbEnv::waited_for_descriptor(const Error& error, int tries) {
  constexpr int kMost = 2000;  // ten seconds
  const bool short_of = error.errno_value == EMFILE || error.errno_value == ENFILE;
  if (!short_of || !works_in_background || tries >= kMost) return false;
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  return true;
}

Result<std::shared_ptr<Object>> LevelDbEnv::create(const std::string& name, ObjectStore::Create how) {
  auto object = store_.create(name, how);
  for (int tries = 0; !object && (made_room(object.error()) || waited_for_descriptor(object.error(), tries));
       ++tries) {
    object = store_.create(name, how);
  }
  return object;
}

Result<std::shared_ptr<Object>> LevelDbEnv::open(const std::string& name) {
  auto object = store_.open(name);
  for (int tries = 0; !object && waited_for_descriptor(object.error(), tries); ++tries)
    object = store_.open(name);
  return object;
}

bool LevelDbEnv::note_log_bytes(const std::string& name, std::uint64_t bytes) {
  const MutexLock guard(mutex_);
  const auto it = logs_.find(name);
  if (it == logs_.end()) return false;
  it->second.written = bytes;
  return it->second.is_synced_often;
}

Status LevelDbEnv::sync_logs() {
  constexpr std::uint64_t kOften = 32 * 1024;  // bytes between two syncs
  struct Due {
    std::string name;
    std::shared_ptr<Object> object;
    std::uint64_t written;
  };
  std::vector<Due> due;
  {
    const MutexLock guard(mutex_);
    for (const auto& [name, log] : logs_) {
      if (log.written > log.synced) due.push_back({name, log.object, log.written});
    }
  }
  if (before_log_sync_ && !due.empty()) CFFS_TRY_VOID(before_log_sync_());
  for (const Due& log : due) {
    CFFS_TRY_VOID(log.object->sync());
    const MutexLock guard(mutex_);
    const auto it = logs_.find(log.name);
    if (it != logs_.end()) {
      LogState& state = it->second;
      state.is_synced_often = log.written < state.synced + kOften;
      state.synced = std::max(state.synced, log.written);
    }
    // Of two who sync at the same time the earlier may end last.
    if (!synced_ || is_older(synced_->name, log.name) ||
        (synced_->name == log.name && synced_->bytes < log.written)) {
      synced_ = SyncedLog{log.name, log.written};
    }
  }
  return {};
}

LevelDbEnv::Traffic LevelDbEnv::traffic() const {
  return {block_reads_->reads.load(std::memory_order_relaxed),
          block_reads_->bytes.load(std::memory_order_relaxed),
          table_bytes_written_.load(std::memory_order_relaxed),
          log_bytes_written_.load(std::memory_order_relaxed)};
}

std::string LevelDbEnv::own_log() const { return own_log_->text(); }

std::uint64_t LevelDbEnv::log_bytes() const {
  const MutexLock guard(mutex_);
  std::uint64_t bytes = 0;
  for (const auto& [name, log] : logs_) bytes += log.written;
  return bytes;
}

std::vector<std::pair<std::string, std::uint64_t>> LevelDbEnv::log_ends() const {
  const MutexLock guard(mutex_);
  std::vector<std::pair<std::string, std::uint64_t>> ends;
  for (const auto& [name, log] : logs_) ends.emplace_back(name, log.written);
  return ends;
}

std::optional<LevelDbEnv::SyncedLog> LevelDbEnv::synced_end() const {
  const MutexLock guard(mutex_);
  std::optional<SyncedLog> end;
  for (const auto& [name, log] : logs_) {
    if (log.synced > 0 && (!end || is_older(end->name, name))) end = SyncedLog{name, log.synced};
  }
  return end;
}

std::optional<LevelDbEnv::SyncedLog> LevelDbEnv::take_synced() {
  const MutexLock guard(mutex_);
  return std::exchange(synced_, std::nullopt);
}

leveldb::Status LevelDbEnv::NewSequentialFile(const std::string& name, leveldb::SequentialFile** result) {
  if (const auto shown = instead_.find(name); shown != instead_.end()) {
    *result = new Shown(shown->second);
    return leveldb::Status::OK();
  }
  auto object = open(name);
  if (!object) return to_leveldb(object.error());
  const auto end = ends_.find(name);
  *result = new Sequential(std::move(*object),
                           end != ends_.end() ? end->second : ~std::uint64_t{0});  // LevelDB deletes it
  return leveldb::Status::OK();
}

leveldb::Status LevelDbEnv::NewRandomAccessFile(const std::string& name, leveldb::RandomAccessFile** result) {
  auto object = open(name);
  if (!object) return read_to_leveldb(object.error());
  const auto info = (*object)->info();
  if (!info) return read_to_leveldb(info.error());
  *result = new RandomAccess(name, std::move(*object), info->size, block_reads_);
  return leveldb::Status::OK();
}

leveldb::Status LevelDbEnv::NewWritableFile(const std::string& name, leveldb::WritableFile** result) {
  auto object = create(name, ObjectStore::Create::truncate);
  if (!object) return to_leveldb(object.error());
  if (is_log(name) || name.ends_with(".ldb")) (*object)->expect(kUsualFile);
  if (is_log(name)) {
    // Its name is durable before a manifest names it: one that is missing then is lost, not late.
    if (const auto done = (*object)->sync(); !done) return to_leveldb(done.error());
    // Where the end of the process loses what was written, a later log must not outlast the end of an earlier one.
    if (!store_.outlives_the_process()) {
      if (const auto done = sync_logs(); !done) return to_leveldb(done.error());
    }
    const MutexLock guard(mutex_);
    logs_[name] = LogState{*object, 0, 0, false};
  }
  *result = writable(name, std::move(*object), 0);
  return leveldb::Status::OK();
}

leveldb::Status LevelDbEnv::NewAppendableFile(const std::string& name, leveldb::WritableFile** result) {
  auto object = create(name, ObjectStore::Create::keep);
  if (!object) return to_leveldb(object.error());
  std::uint64_t at = 0;
  if (auto s = GetFileSize(name, &at); !s.ok()) return s;
  if (is_log(name)) {
    const MutexLock guard(mutex_);
    logs_[name] = LogState{*object, at, 0, false};
  }
  *result = writable(name, std::move(*object), at);
  return leveldb::Status::OK();
}

bool LevelDbEnv::FileExists(const std::string& name) {
  const auto there = store_.exists(name);
  return there && *there;
}

leveldb::Status LevelDbEnv::GetChildren(const std::string& folder, std::vector<std::string>* result) {
  const auto names = store_.list(folder);
  if (!names) return to_leveldb(names.error());
  result->clear();
  for (const std::string& name : *names) result->push_back(name.substr(folder.size() + 1));
  return leveldb::Status::OK();
}

leveldb::Status LevelDbEnv::RemoveFile(const std::string& name) {
  LogState gone;  // its handle goes when the lock has been let go
  {
    const MutexLock guard(mutex_);
    if (const auto at = logs_.find(name); at != logs_.end()) {
      gone = std::move(at->second);
      logs_.erase(at);
    }
  }
  if (keeps_ && keeps_(name)) return leveldb::Status::OK();
  if (either_manifest_ && name.find("/MANIFEST-") != std::string::npos) return leveldb::Status::OK();
  if (const auto done = store_.remove(name); !done) return to_leveldb(done.error());
  if (removed_) removed_();
  return leveldb::Status::OK();
}

leveldb::Status LevelDbEnv::GetFileSize(const std::string& name, std::uint64_t* size) {
  if (const auto end = ends_.find(name); end != ends_.end()) {
    *size = end->second;
    return leveldb::Status::OK();
  }
  const auto object = open(name);
  if (!object) return read_to_leveldb(object.error());
  const auto info = (*object)->info();
  if (!info) return read_to_leveldb(info.error());
  *size = info->size;
  return leveldb::Status::OK();
}

leveldb::Status LevelDbEnv::RenameFile(const std::string& from, const std::string& to) {
  if (const auto done = store_.rename(from, to); !done) return to_leveldb(done.error());
  // CURRENT is switched by a rename that must be durable before the old manifest goes.
  const auto synced = store_.sync_names();
  if (to.ends_with("/CURRENT")) either_manifest_ = !synced;
  return synced ? leveldb::Status::OK() : to_leveldb(synced.error());
}

leveldb::Status LevelDbEnv::LockFile(const std::string&, leveldb::FileLock** lock) {
  *lock = new NoLock;  // the store's own lock already guards the table
  return leveldb::Status::OK();
}

leveldb::Status LevelDbEnv::UnlockFile(leveldb::FileLock* lock) {
  delete lock;
  return leveldb::Status::OK();
}

leveldb::Status LevelDbEnv::NewLogger(const std::string&, leveldb::Logger** result) {
  *result = new RecentLinesLogger(own_log_);
  return leveldb::Status::OK();
}

leveldb::Status LevelDbEnv::GetTestDirectory(std::string* path) {
  *path = "test";
  return leveldb::Status::OK();
}

}  // namespace cffs
