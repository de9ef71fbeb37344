#include "core/rados/following.h"

#include <sys/time.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>

#include "core/base/thread.h"

namespace cffs::rados {
namespace {

constexpr const char* kFollowersLock = "followers";
constexpr const char* kFollowersTag = "cffs";
constexpr std::chrono::seconds kRenewal{5};
constexpr std::uint8_t kMayRenew = 1;  // LIBRADOS_LOCK_FLAG_MAY_RENEW

std::string new_cookie() {
  static std::atomic<unsigned> number{0};
  return std::to_string(::getpid()) + "." + std::to_string(++number);
}

}  // namespace

Following::Following(std::shared_ptr<Pool> pool, std::string head)
    : pool_(std::move(pool)), head_(std::move(head)), cookie_(new_cookie()) {}

Result<std::unique_ptr<StoreLock>> Following::begin(std::shared_ptr<Pool> pool, std::string head) {
  std::unique_ptr<Following> following(new Following(std::move(pool), std::move(head)));
  if (const int code = following->renew(); code < 0) {
    const RadosAddress& address = following->pool_->address();
    if (code == -EPERM || code == -EACCES)
      return fail(Error::usage(
          address.text() +
          ": this user may not follow the store: it needs osd 'allow rx pool=" + address.pool + "'"));
    return fail(following->pool_->error(code, following->head_));
  }
  CFFS_TRY(following->thread_, make_thread("the thread that says to the cluster that we follow",
                                           [self = following.get()] { self->keep_renewing(); }));
  return std::unique_ptr<StoreLock>(std::move(following));
}

Following::~Following() {
  {
    const MutexLock guard(mutex_);
    ending_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
  (void)librados().unlock(pool_->io(), head_.c_str(), kFollowersLock, cookie_.c_str());
}

int Following::renew() const {
  timeval lease{kLeaseSeconds, 0};
  return librados().lock_shared(pool_->io(), head_.c_str(), kFollowersLock, cookie_.c_str(), kFollowersTag,
                                "", &lease, kMayRenew);
}

// One that failed is tried again: the lease is longer than several tries.
void Following::keep_renewing() {
  MutexLock guard(mutex_);
  while (!ending_) {
    const auto due = std::chrono::steady_clock::now() + kRenewal;
    while (!ending_ && wake_.wait_until(mutex_, due)) {
    }
    if (ending_) return;
    guard.unlock();
    (void)renew();
    guard.lock();
  }
}

bool Following::is_followed(const Pool& pool, const std::string& head) {
  std::array<char, 4096> tag{}, clients{}, cookies{}, addresses{};
  std::size_t tag_length = tag.size(), clients_length = clients.size(), cookies_length = cookies.size(),
              addresses_length = addresses.size();
  int exclusive = 0;
  const ssize_t n = librados().list_lockers(pool.io(), head.c_str(), kFollowersLock, &exclusive, tag.data(),
                                            &tag_length, clients.data(), &clients_length, cookies.data(),
                                            &cookies_length, addresses.data(), &addresses_length);
  return n != 0 && n != -ENOENT;
}

}  // namespace cffs::rados
