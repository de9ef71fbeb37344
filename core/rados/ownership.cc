#include "core/rados/ownership.h"

#include <algorithm>
#include <chrono>
#include <random>
#include <vector>

#include "core/base/thread.h"
#include "core/object/blocking_section.h"

namespace cffs::rados {
namespace {

constexpr const char* kLock = "cffs";
constexpr const char* kReadersTag = "looks";   // the tag that shared holders have in common
constexpr std::uint32_t kWatchSeconds = 5;  // without a sign of life, and the cluster ends a watch
constexpr std::uint64_t kAnswerMs = 2000;   // for a holder to answer whoever asks
constexpr std::chrono::milliseconds kBetweenLooks{400};
constexpr int kMostLooks = 40;
// A watch that broke off is begun anew within moments by whoever lives: only who is missed so often in a row is gone.
constexpr unsigned kMissed = 4;
constexpr unsigned kSecondsBetweenLooks = 5;  // at the lock itself
// Long enough for any pause: whoever wakes up later has been without a sign of life for a month.
constexpr std::uint32_t kShutOutSeconds = 30 * 24 * 3600;

struct Locker {
  std::string client, cookie, address;
};

std::vector<std::string> strings_of(const std::string& bytes, std::size_t length, std::size_t count) {
  std::vector<std::string> strings;
  for (std::size_t at = 0; at < length && strings.size() < count;) {
    strings.emplace_back(bytes.c_str() + at);
    at += strings.back().size() + 1;
  }
  strings.resize(count);
  return strings;
}

struct Lockers {
  bool is_alone = false;
  std::vector<Locker> all;
};

Result<Lockers> lockers_of(const Pool& pool, const std::string& head) {
  for (std::size_t room = 4096;; room *= 4) {
    std::string tag(256, '\0'), clients(room, '\0'), cookies(room, '\0'), addresses(room, '\0');
    std::size_t tag_length = tag.size(), clients_length = room, cookies_length = room,
                addresses_length = room;
    int exclusive = 0;
    const ssize_t n = librados().list_lockers(pool.io(), head.c_str(), kLock, &exclusive, tag.data(),
                                              &tag_length, clients.data(), &clients_length, cookies.data(),
                                              &cookies_length, addresses.data(), &addresses_length);
    if (n == -ERANGE && room < (1u << 24)) continue;
    if (n == -ENOENT) return Lockers{};
    if (n < 0) return fail(pool.error(static_cast<int>(n), head));
    const auto count = static_cast<std::size_t>(n);
    const auto client = strings_of(clients, clients_length, count),
               cookie = strings_of(cookies, cookies_length, count),
               address = strings_of(addresses, addresses_length, count);
    Lockers lockers;
    lockers.is_alone = exclusive != 0;
    for (std::size_t i = 0; i < count; ++i) lockers.all.push_back({client[i], cookie[i], address[i]});
    return lockers;
  }
}

// Who answered, by cookie, and whether somebody did not who may yet.
struct Answers {
  std::vector<std::string> cookies;
  std::vector<std::string> silent;  // "client.4123"
  bool is_known = false;            // else nobody is taken for gone
};

Result<Answers> ask(const Pool& pool, const std::string& head) {
  char* reply = nullptr;
  std::size_t length = 0;
  const std::string question = "who?";
  const int code = librados().notify2(pool.io(), head.c_str(), question.data(),
                                      static_cast<int>(question.size()), kAnswerMs, &reply, &length);
  if (code < 0 && code != -ETIMEDOUT) {
    if (reply != nullptr) librados().buffer_free(reply);
    return fail(pool.error(code, head));
  }
  Answers answers;
  notify_ack_t* acks = nullptr;
  notify_timeout_t* timeouts = nullptr;
  std::size_t ack_count = 0, timeout_count = 0;
  if (reply != nullptr &&
      librados().decode_notify_response(reply, length, &acks, &ack_count, &timeouts, &timeout_count) == 0) {
    answers.is_known = true;
    for (std::size_t i = 0; i < ack_count; ++i)
      answers.cookies.emplace_back(acks[i].payload, acks[i].payload_len);
    for (std::size_t i = 0; i < timeout_count; ++i)
      answers.silent.push_back("client." + std::to_string(timeouts[i].notifier_id));
    librados().free_notify_response(acks, ack_count, timeouts);
  }
  if (reply != nullptr) librados().buffer_free(reply);
  return answers;
}

}  // namespace

Ownership::Ownership(std::shared_ptr<Pool> pool, std::string head, Kind kind)
    : pool_(std::move(pool)), head_(std::move(head)), kind_(kind), cookie_(random_text()) {}

// Also before it has the lock: whoever asks compares with those who hold it.
void Ownership::on_notify(void* self, std::uint64_t notify_id, std::uint64_t handle, std::uint64_t, void*,
                          std::size_t) {
  const auto& owner = *static_cast<Ownership*>(self);
  const std::string& answer = owner.cookie_;
  (void)librados().notify_ack(owner.pool_->io(), owner.head_.c_str(), notify_id, handle, answer.data(),
                              static_cast<int>(answer.size()));
}

void Ownership::on_error(void* self, std::uint64_t, int code) {
  auto& owner = *static_cast<Ownership*>(self);
  if (code == -ESHUTDOWN) owner.pool_->shut_out();
  owner.lost_.store(true);
  const MutexLock guard(owner.mutex_);
  owner.wake_.notify_all();
}

Status Ownership::watch() {
  std::uint64_t handle = 0;
  const int code =
      librados().watch3(pool_->io(), head_.c_str(), &handle, on_notify, on_error, kWatchSeconds, this);
  if (code == -EPERM || code == -EACCES) {
    const std::string pool = "pool=" + pool_->address().pool + "'";
    Error error =
        Error::usage(pool_->address().text() +
                     ": this user may hold no lock in the pool, not even to look: it needs osd 'allow rwx " +
                     pool + ", or 'allow rx " + pool + " for -o ro,follow");
    error.errno_value = EPERM;
    return fail(std::move(error));
  }
  if (code < 0) return fail(pool_->error(code, head_));
  handle_ = handle;
  lost_.store(false);
  return {};
}

Result<bool> Ownership::try_lock(std::string_view owner) {
  const std::string text(owner);
  const int code = kind_ == Kind::alone
                       ? librados().lock_exclusive(pool_->io(), head_.c_str(), kLock, cookie_.c_str(),
                                                   text.c_str(), nullptr, 0)
                       : librados().lock_shared(pool_->io(), head_.c_str(), kLock, cookie_.c_str(), kReadersTag,
                                                text.c_str(), nullptr, 0);
  if (code == -EBUSY) return false;
  if (code < 0) return fail(pool_->error(code, head_));
  held_.store(true);
  return true;
}

Status Ownership::shut_out(const std::string& client, const std::string& cookie, const std::string& address) {
  std::string where = address;
  const int code = librados().blocklist_add(pool_->cluster(), where.data(), kShutOutSeconds);
  if (code == -EACCES || code == -EPERM)
    return fail(Error::usage(
        pool_->address().text() + ": " + client + " at " + address +
        " had the store and is gone, and this user may not shut it out: it needs mon 'profile rbd'"));
  if (code < 0) return fail(pool_->error(code, "shutting out " + client));
  // From here on each OSD that takes an operation of ours knows of it before.
  if (const int known = librados().wait_for_latest_osdmap(pool_->cluster()); known < 0)
    return fail(pool_->error(known, "shutting out " + client));
  const int broken = librados().break_lock(pool_->io(), head_.c_str(), kLock, client.c_str(), cookie.c_str());
  if (broken < 0 && broken != -ENOENT) return fail(pool_->error(broken, head_));
  return {};
}

Result<Ownership::Obstacle> Ownership::look() {
  Obstacle obstacle;
  CFFS_TRY(const Lockers lockers, lockers_of(*pool_, head_));
  if (lockers.all.empty()) return obstacle;
  obstacle.is_alone = lockers.is_alone;
  CFFS_TRY(const Answers answers, ask(*pool_, head_));
  const auto is_in = [](const std::vector<std::string>& all, const std::string& one) {
    return std::find(all.begin(), all.end(), one) != all.end();
  };
  for (const Locker& locker : lockers.all) {
    if (is_in(answers.cookies, locker.cookie)) obstacle.what = Obstacle::What::alive;
  }
  if (obstacle.what == Obstacle::What::alive) return obstacle;
  for (const Locker& locker : lockers.all) {
    const bool is_missed = answers.is_known && !is_in(answers.silent, locker.client);
    unsigned& missed = missed_[locker.client + locker.cookie];
    missed = is_missed ? missed + 1 : 0;
    if (missed < kMissed) {
      obstacle.what = Obstacle::What::silent;
    } else {
      CFFS_TRY_VOID(shut_out(locker.client, locker.cookie, locker.address));
    }
  }
  return obstacle;
}

std::string Ownership::owner_text(const Pool& pool, const std::string& head) {
  const auto stat = pool.stat(head);
  return stat ? stat->attribute("owner") : std::string();
}

// The lock is taken before the turn is written, so it is looked at last: who has it and has not said so yet is seen.
Result<Ownership::Writer> Ownership::writer(const Pool& pool, const std::string& head) {
  CFFS_TRY(const Pool::Stat stat, pool.stat(head));
  CFFS_TRY(const Lockers lockers, lockers_of(pool, head));
  Writer writer{"", stat.attribute("turn")};
  if (lockers.all.empty() || !lockers.is_alone) return writer;
  writer.owner = stat.attribute("owner");
  if (writer.owner.empty()) writer.owner = "somebody";
  return writer;
}

Result<std::unique_ptr<Ownership>> Ownership::take(std::shared_ptr<Pool> pool, std::string head,
                                                   std::string_view owner, Kind kind,
                                                   std::string_view readers_text) {
  std::unique_ptr<Ownership> own(new Ownership(std::move(pool), std::move(head), kind));
  CFFS_TRY_VOID(own->watch());
  announce_blocking();
  for (int looks = 0;; ++looks) {
    CFFS_TRY(const bool locked, own->try_lock(owner));
    if (locked) break;
    CFFS_TRY(const Obstacle obstacle, own->look());
    const bool silent = obstacle.what == Obstacle::What::silent;
    if (obstacle.what == Obstacle::What::alive || looks == kMostLooks) {
      std::string holder =
          obstacle.is_alone ? owner_text(*own->pool_, own->head_) : std::string(readers_text);
      if (silent) holder += ", which does not answer";
      return fail(EBUSY, holder);
    }
    if (silent) std::this_thread::sleep_for(kBetweenLooks);
  }
  if (kind == Kind::alone) {
    WriteOperation operation;
    operation.set_attribute("owner", owner);
    operation.set_attribute("turn", random_text());
    CFFS_TRY_VOID(own->pool_->run(operation, own->head_));
  }
  Ownership* const self = own.get();
  CFFS_TRY(own->watcher_, make_thread("the watch of the store's lock", [self] { self->keep_watching(); }));
  return own;
}

bool Ownership::still_ours() {
  const auto lockers = lockers_of(*pool_, head_);
  if (!lockers) return lockers.error().errno_value != ESHUTDOWN;  // not known: the cluster tells later
  return std::any_of(lockers->all.begin(), lockers->all.end(),
                     [this](const Locker& locker) { return locker.cookie == cookie_; });
}

// A watch that broke off, because the cluster was away for a while, is begun anew if nobody took the store meanwhile.
void Ownership::keep_watching() {
  for (unsigned seconds = 0;;) {
    {
      const MutexLock guard(mutex_);
      if (!ending_ && !lost_.load())
        (void)wake_.wait_until(mutex_, std::chrono::steady_clock::now() + std::chrono::seconds(1));
      if (ending_) return;
    }
    if (pool_->is_shut_out()) return;
    // A watch says nothing of the lock, which somebody may have broken by hand.
    const bool looks = ++seconds % kSecondsBetweenLooks == 0;
    const bool watched = handle_ != 0 && !lost_.load() && librados().watch_check(pool_->io(), handle_) >= 0;
    if (watched && !looks) continue;
    if (!still_ours()) return pool_->shut_out();
    if (watched) continue;
    // The handle is librados's memory: gone with the watch.
    if (handle_ != 0) (void)librados().unwatch2(pool_->io(), std::exchange(handle_, 0));
    if (!watch()) std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
}

Ownership::~Ownership() {
  {
    const MutexLock guard(mutex_);
    ending_ = true;
    wake_.notify_all();
  }
  if (watcher_.joinable()) watcher_.join();
  if (held_.load() && !pool_->is_shut_out())
    (void)librados().unlock(pool_->io(), head_.c_str(), kLock, cookie_.c_str());
  held_.store(false);
  if (handle_ != 0) (void)librados().unwatch2(pool_->io(), handle_);
  (void)librados().watch_flush(pool_->cluster());
}

}  // namespace cffs::rados
