#include "tests/pool/memory_pool.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>

namespace cffs::test {
namespace {

using Kind = PoolMedium::Step::Kind;

// Nothing new for so long, and what is on its way is acknowledged: so much of it is together on the way.
constexpr std::chrono::microseconds kQuiet{150};
constexpr std::size_t kMostOnTheWay = 64;

const char* word_of(const PoolMedium::Operation& operation) {
  switch (operation.empty() ? Kind::create : operation.front().kind) {
    case Kind::write:
      return "write";
    case Kind::remove:
      return "remove";
    case Kind::truncate:
      return "truncate";
    case Kind::zero:
      return "zero";
    case Kind::set_key:
      return "set key of";
    case Kind::erase_key:
      return "erase key of";
    case Kind::set_attribute:
      return "set attribute of";
    case Kind::erase_attribute:
      return "erase attribute of";
    default:
      return operation.size() > 1 ? "create and change" : "create";
  }
}

}  // namespace

std::shared_ptr<MemoryPool> MemoryPool::make(PoolMedium medium) {
  const std::shared_ptr<MemoryPool> pool(new MemoryPool(std::move(medium)));
  pool->finisher_ = std::thread([self = pool.get()] { self->finish(); });
  return pool;
}

MemoryPool::~MemoryPool() {
  {
    const MutexLock guard(mutex_);
    ends_ = true;
    work_.notify_all();
  }
  finisher_.join();
}

// Acknowledges what was started, once nothing more comes for a moment, so that there is something on its way to be lost.
void MemoryPool::finish() {
  MutexLock guard(mutex_);
  for (;;) {
    while (reads_.empty() && writes_.empty() && !ends_) work_.wait(mutex_);
    if (reads_.empty() && writes_.empty()) return;
    std::deque<std::function<void()>> now;
    if (reads_.empty()) {
      const std::uint64_t before = changes_;
      const auto due = std::chrono::steady_clock::now() + kQuiet;
      while (std::chrono::steady_clock::now() < due && reads_.empty()) (void)work_.wait_until(mutex_, due);
      if (!reads_.empty() || (changes_ != before && writes_.size() < kMostOnTheWay)) continue;
      medium_.acknowledge_all();
      now.swap(writes_);
    } else {
      now.swap(reads_);
    }
    guard.unlock();
    for (const auto& done : now) done();
    now.clear();
    guard.lock();
  }
}

void MemoryPool::on_change(std::function<void(const std::string&)> told) {
  const MutexLock guard(mutex_);
  told_ = std::move(told);
}

void MemoryPool::on_look(std::function<void(const std::string&)> told) {
  const MutexLock guard(mutex_);
  looked_ = std::move(told);
}

PoolMedium MemoryPool::medium() const {
  const MutexLock guard(mutex_);
  return medium_;
}

void MemoryPool::shut_out_all() {
  const MutexLock guard(mutex_);
  all_shut_out_ = true;
}

void MemoryPool::refuse_change(std::uint64_t n) {
  const MutexLock guard(mutex_);
  refused_ = n;
}

void MemoryPool::misanswer_change(std::uint64_t n) {
  const MutexLock guard(mutex_);
  misanswered_ = n;
}

void MemoryPool::set_capacity(std::uint64_t bytes) {
  const MutexLock guard(mutex_);
  capacity_ = bytes;
}

MemoryPool::ClientId MemoryPool::newest() const {
  const MutexLock guard(mutex_);
  return clients_;
}

void MemoryPool::pause(ClientId client) {
  const MutexLock guard(mutex_);
  paused_.insert(client);
}

void MemoryPool::only_readers() {
  const MutexLock guard(mutex_);
  readers_come_ = true;
}

bool MemoryPool::may_write(ClientId client) const {
  const MutexLock guard(mutex_);
  return !readers_.contains(client);
}

MemoryPool::ClientId MemoryPool::new_client() {
  const MutexLock guard(mutex_);
  if (readers_come_) readers_.insert(clients_ + 1);
  return ++clients_;
}

void MemoryPool::tell(const char* what, const std::string& object, const PoolMedium::Operation& operation) {
  std::function<void(const std::string&)> told;
  {
    const MutexLock guard(mutex_);
    if (all_shut_out_) return;
    told = told_;
  }
  if (told) told(what + std::string(word_of(operation)) + " " + object);
}

int MemoryPool::submit(ClientId client, const std::string& object, const PoolMedium::Operation& operation) {
  if (all_shut_out_ || shut_out_.contains(client)) return -ESHUTDOWN;
  if (readers_.contains(client)) return -EPERM;
  ++changes_;
  if (refused_ > 0 && --refused_ == 0) return -EIO;
  std::uint64_t more = 0;
  for (const auto& step : operation) more += step.kind == Kind::write ? step.data.size() : 0;
  if (more > 0 && medium_.bytes() + more > capacity_) return -ENOSPC;
  const int code = medium_.submit(object, operation);
  return misanswered_ > 0 && --misanswered_ == 0 ? -EIO : code;
}

int MemoryPool::change(ClientId client, const std::string& object, const PoolMedium::Operation& operation) {
  tell("", object, operation);
  const MutexLock guard(mutex_);
  const int code = submit(client, object, operation);
  // Those of the same object that were sent before have been done, too.
  if (code == 0) medium_.acknowledge(object);
  return code;
}

void MemoryPool::start_change(ClientId client, const std::string& object,
                              const PoolMedium::Operation& operation, Ending done) {
  tell("", object, operation);
  {
    const MutexLock guard(mutex_);
    const int code = submit(client, object, operation);
    writes_.push_back([done = std::move(done), code] { done(code); });
    work_.notify_all();
  }
  tell("the answer to ", object, operation);
}

void MemoryPool::later(std::function<void()> answer) {
  const MutexLock guard(mutex_);
  // Behind what was sent before it (LIBRADOS_OPERATION_ORDER_READS_WRITES).
  (writes_.empty() ? reads_ : writes_).push_back(std::move(answer));
  work_.notify_all();
}

std::pair<int, PoolMedium::ObjectPtr> MemoryPool::look(ClientId client, const std::string& object) const {
  MutexLock guard(mutex_);
  if (all_shut_out_ || shut_out_.contains(client)) return {-ESHUTDOWN, nullptr};
  const auto found = medium_.find(object);
  const auto told = looked_;
  guard.unlock();
  if (told) told(object);
  return {found ? 0 : -ENOENT, found};
}

// --- locks and watches

int MemoryPool::take_lock(ClientId client, const std::string& object, const std::string& name,
                          const std::string& cookie, const std::string& tag, bool exclusive, bool may_renew) {
  const MutexLock guard(mutex_);
  if (all_shut_out_ || shut_out_.contains(client)) return -ESHUTDOWN;
  Lock& lock = locks_[{object, name}];
  const bool is_ours = std::any_of(lock.holders.begin(), lock.holders.end(), [&](const Locker& holder) {
    return holder.client == client && holder.cookie == cookie;
  });
  if (is_ours) return may_renew ? 0 : -EEXIST;
  if (!lock.holders.empty() && (exclusive || lock.is_exclusive || lock.tag != tag)) return -EBUSY;
  lock.is_exclusive = exclusive;
  lock.tag = tag;
  lock.holders.push_back({client, cookie});
  return 0;
}

int MemoryPool::drop_lock(const std::string& object, const std::string& name, ClientId client,
                          const std::string& cookie) {
  const MutexLock guard(mutex_);
  auto& holders = locks_[{object, name}].holders;
  const auto gone = std::erase_if(
      holders, [&](const Locker& holder) { return holder.client == client && holder.cookie == cookie; });
  return gone > 0 ? 0 : -ENOENT;
}

MemoryPool::Lock MemoryPool::lock_of(const std::string& object, const std::string& name) const {
  const MutexLock guard(mutex_);
  const auto at = locks_.find({object, name});
  return at == locks_.end() ? Lock() : at->second;
}

std::uint64_t MemoryPool::watch(ClientId client, const std::string& object, rados_watchcb2_t told,
                                void* argument) {
  const MutexLock guard(mutex_);
  watches_.emplace(object, Watch{client, ++handles_, told, argument});
  return handles_;
}

void MemoryPool::unwatch(std::uint64_t handle) {
  const MutexLock nobody_is_told(notifying_);
  const MutexLock guard(mutex_);
  std::erase_if(watches_, [&](const auto& watch) { return watch.second.handle == handle; });
}

std::vector<std::string> MemoryPool::notify(const std::string& object) {
  const MutexLock one_at_a_time(notifying_);
  std::vector<Watch> told;
  std::uint64_t id = 0;
  {
    const MutexLock guard(mutex_);
    id = ++handles_;
    answers_[id];
    const auto [begin, end] = watches_.equal_range(object);
    for (auto at = begin; at != end; ++at)
      if (!paused_.contains(at->second.client)) told.push_back(at->second);
  }
  for (const Watch& watch : told) watch.told(watch.argument, id, watch.handle, 0, nullptr, 0);
  const MutexLock guard(mutex_);
  std::vector<std::string> answers = std::move(answers_[id]);
  answers_.erase(id);
  return answers;
}

void MemoryPool::answer(std::uint64_t notify_id, std::string text) {
  const MutexLock guard(mutex_);
  if (const auto at = answers_.find(notify_id); at != answers_.end()) at->second.push_back(std::move(text));
}

void MemoryPool::shut_out(ClientId client) {
  const MutexLock guard(mutex_);
  shut_out_.insert(client);
}

std::string MemoryPool::df() const {
  const MutexLock guard(mutex_);
  const std::uint64_t stored = medium_.bytes();
  return R"({"pools":[{"name":"cffs","stats":{"stored":)" + std::to_string(stored) + R"(,"max_avail":)" +
         std::to_string(capacity_ - std::min(capacity_, stored)) + "}}]}";
}

}  // namespace cffs::test
