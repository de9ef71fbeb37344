// A connection to a Ceph cluster, and a namespace of one of its pools there. Operations are librados's; here is what all of them
// share: how a connection begins and ends, and what errors mean.
//
// Thread safety: all calls, from any thread. Callbacks of operations that were started run on a thread of librados's and must not
// wait for other operations.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/error.h"
#include "core/base/mutex.h"
#include "core/rados/address.h"
#include "core/rados/librados.h"

namespace cffs::rados {

// As many digits as `digits`, more where the number has more.
std::string hexadecimal(std::uint64_t number, unsigned digits);
// 32 digits that nobody else has.
std::string random_text();

// A write operation of several parts, all or nothing, on one RADOS object. Empty when it was started.
class WriteOperation {
 public:
  WriteOperation() : op_(librados().create_write_op()) {}
  ~WriteOperation() { librados().release_write_op(op_); }
  WriteOperation(const WriteOperation&) = delete;
  WriteOperation& operator=(const WriteOperation&) = delete;

  rados_write_op_t get() const { return op_; }
  void create(bool exclusive) {
    librados().write_op_create(op_, exclusive ? LIBRADOS_CREATE_EXCLUSIVE : LIBRADOS_CREATE_IDEMPOTENT,
                               nullptr);
  }
  // librados copies keys and values of the map at once; bytes and attributes, too.
  void write(std::uint64_t offset, std::string_view bytes) {
    librados().write_op_write(op_, bytes.data(), bytes.size(), offset);
  }
  void set_attribute(const char* name, std::string_view value) {
    librados().write_op_setxattr(op_, name, value.data(), value.size());
  }
  void remove_attribute(const char* name) { librados().write_op_rmxattr(op_, name); }
  void truncate(std::uint64_t size) { librados().write_op_truncate(op_, size); }
  void zero(std::uint64_t offset, std::uint64_t length) { librados().write_op_zero(op_, offset, length); }
  void set_key(std::string_view key, std::string_view value);
  void remove_key(std::string_view key);

 private:
  const rados_write_op_t op_;
};

class Pool {
 public:
  // `usage`: what is wrong in one sentence that says what helps (no configuration, no monitor, no such user or pool, a wrong key).
  static Result<std::shared_ptr<Pool>> connect(const RadosAddress& address);
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  const RadosAddress& address() const { return address_; }
  rados_ioctx_t io() const { return io_; }
  rados_t cluster() const { return cluster_; }

  // Runs it and waits. The errors are those of RADOS (ENOENT, EEXIST, ...).
  Status run(const WriteOperation& operation, const std::string& object) const;
  // Starts it; `done` gets 0 or an errno.
  using Done = std::function<void(int)>;
  void start(const WriteOperation& operation, const std::string& object, Done done) const;
  void start_write(const std::string& object, std::uint64_t offset, std::string_view bytes, Done done) const;
  void start_remove(const std::string& object, Done done) const;
  // `done` gets the bytes, fewer than `length` only at the object's end; none where there is no object.
  using Read = std::function<void(Result<std::string>)>;
  void start_read(const std::string& object, std::uint64_t offset, std::uint64_t length, Read done) const;

  // Size and attributes; ENOENT.
  struct Stat {
    std::uint64_t size = 0;
    std::vector<std::pair<std::string, std::string>> attributes;
    std::string attribute(std::string_view name) const;
  };
  Result<Stat> stat(const std::string& object) const;
  // Pairs of the object's map whose keys begin with `prefix`; none where there is no object.
  Result<std::vector<std::pair<std::string, std::string>>> map(const std::string& object,
                                                               const std::string& prefix) const;
  // What monitors answer to a command in JSON.
  Result<std::string> ask_monitors(const std::string& command) const;

  // From the moment on at which this client was shut out, everything fails with ESHUTDOWN.
  void shut_out() const { shut_out_.store(true, std::memory_order_release); }
  bool is_shut_out() const { return shut_out_.load(std::memory_order_acquire); }
  // Waits until no callback runs any more, so that the last one to let go of something is not a thread of librados's.
  void wait_for_callbacks() const;
  void begin_callback() const { callbacks_.fetch_add(1); }
  void end_callback() const { callbacks_.fetch_sub(1); }
  // An error of an operation on `what`, by librados's return value (negative).
  Error error(int code, const std::string& what) const;

 private:
  explicit Pool(RadosAddress address) : address_(std::move(address)) {}
  Status begin();

  const RadosAddress address_;
  rados_t cluster_ = nullptr;
  bool connected_ = false;
  rados_ioctx_t io_ = nullptr;
  mutable std::atomic<bool> shut_out_{false};
  mutable std::atomic<unsigned> callbacks_{0};
};

// Waits for operations that were started, also before it goes: they tell it.
class Together {
 public:
  Together() = default;
  ~Together() { (void)wait(); }
  Together(const Together&) = delete;
  Together& operator=(const Together&) = delete;

  // What is to be told of one that is started now. Where it goes without having been told, since memory ran out before anything was
  // started, it has ended like that, too: with `unstarted`.
  Pool::Done one(int unstarted = ENOMEM) {
    auto running = std::make_shared<Running>();
    running->unstarted = unstarted;
    begin(*running);
    return [running = std::move(running)](int code) { running->end(code); };
  }
  // Until all that were started before have ended; what is started meanwhile is not waited for. 0, or the first error of all.
  int wait() {
    const MutexLock guard(mutex_);
    const std::uint64_t last = started_;
    while (!running_.empty() && *running_.begin() <= last) done_.wait(mutex_);
    return first_error_;
  }

 private:
  struct Running {
    Together* all = nullptr;  // null: it has ended
    std::uint64_t number = 0;
    int unstarted = 0;

    Running() = default;
    ~Running() { end(unstarted); }
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;
    void end(int code) {
      if (Together* const told = std::exchange(all, nullptr)) told->end(number, code);
    }
  };
  void begin(Running& running) {
    const MutexLock guard(mutex_);
    running.number = started_ + 1;
    running_.insert(running.number);
    ++started_;
    running.all = this;
  }
  void end(std::uint64_t number, int code) {
    const MutexLock guard(mutex_);
    if (code != 0 && first_error_ == 0) first_error_ = code;
    running_.erase(number);
    done_.notify_all();
  }

  Mutex mutex_;
  CondVar done_;
  std::uint64_t started_ CFFS_GUARDED_BY(mutex_) = 0;
  std::set<std::uint64_t> running_ CFFS_GUARDED_BY(mutex_);
  int first_error_ CFFS_GUARDED_BY(mutex_) = 0;
};

}  // namespace cffs::rados
