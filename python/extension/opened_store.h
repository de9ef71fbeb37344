// A store in use by this process, alive as long as somebody holds it, and until close(): then every operation is EBADF.
//
// Operations run without the GIL, any number at a time; close() waits for those under way. A store does not survive fork(): its threads
// and locks are the parent's, so in a child every operation is ForkedStoreError, and nothing of it is freed there (its destructors would
// wait for threads that are not there).
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <vector>

#include "core/batch/placed_files.h"
#include "core/fs/file_system.h"
#include "core/object/object_store.h"
#include "python/extension/buffers.h"
#include "python/extension/errors.h"

namespace cffs {
class FollowedFileSystem;
class Reorganiser;
}  // namespace cffs

namespace cffs::python {

struct OpenOptions {
  bool write = false;
  bool foreign_owner = false;
  std::string policy = "directory";
  std::size_t cache_bytes = 32u << 20;
  std::int64_t commit_interval_ms = 5000;
  std::int64_t follow_wait_ms = 30'000;
};

class OpenedStore {
 public:
  static Result<std::shared_ptr<OpenedStore>> open(const std::string& path, const OpenOptions& options);
  ~OpenedStore();
  OpenedStore(const OpenedStore&) = delete;
  OpenedStore& operator=(const OpenedStore&) = delete;

  // Everything becomes durable. Again: nothing.
  Status close();
  bool is_closed() const { return closed_.load(std::memory_order_acquire); }
  bool is_forked() const { return forks_ != forks_so_far(); }
  bool writes() const { return options_.write; }
  const std::string& path() const { return path_; }
  // What the engine has said since it was asked last.
  std::vector<std::string> take_messages();

  // Runs `operation(FileSystem&)` without the GIL and gives its value; errors are raised with `path`.
  template <typename Operation>
  auto run(const std::string& path, const Operation& operation) {
    if (is_forked()) raise_forked();
    auto result = [&] {
      const pybind11::gil_scoped_release without_gil;
      return run_here(operation);
    }();
    return value_of(std::move(result), path);
  }
  // The same on a thread that has no GIL.
  template <typename Operation>
  auto run_here(const Operation& operation) -> decltype(operation(std::declval<FileSystem&>())) {
    const std::shared_lock in_use(use_);
    if (is_closed()) return fail(Error{ErrorKind::usage, EBADF, "the store " + path_ + " is closed"});
    return operation(*fs_);
  }
  // The state that batches are read in: tables and composites of one moment. Inside of run().
  std::shared_ptr<FileSystem> state() const;
  // Small files that were written come to lie in groups now, not when their directories have become quiet.
  Status consolidate();
  // Calls work(PlaceFinder&) with one that remembers what the calls before found, where nobody changes the store.
  template <typename Work>
  auto with_places(const Work& work) {
    const std::unique_lock alone(places_mutex_, std::try_to_lock);
    if (alone && places_) return work(*places_);
    const auto now = state();
    PlaceFinder finder(*now);
    return work(finder);
  }
  FollowedFileSystem* followed() const { return followed_; }
  Caller caller() const { return caller_; }
  BufferPool& buffers() { return *buffers_; }
  // One at a time appends: where the end of a file is must not change meanwhile.
  std::mutex& append_mutex() { return append_mutex_; }

 private:
  OpenedStore(std::string path, OpenOptions options);
  Status open_here();
  Status open_beside_writer(const Error& busy, FileSystemOptions engine);
  static unsigned forks_so_far();

  const std::string path_;
  const OpenOptions options_;
  const unsigned forks_;
  const Caller caller_;
  const std::shared_ptr<BufferPool> buffers_ = std::make_shared<BufferPool>();
  std::mutex messages_mutex_, append_mutex_;
  std::vector<std::string> messages_;
  std::shared_mutex use_;
  std::atomic<bool> closed_{false};
  std::unique_ptr<ObjectStore> objects_;
  std::shared_ptr<FileSystem> fs_;
  FollowedFileSystem* followed_ = nullptr;
  std::mutex places_mutex_;
  std::unique_ptr<PlaceFinder> places_;  // of a store at rest
  std::unique_ptr<Reorganiser> reorganiser_;
};

}  // namespace cffs::python
