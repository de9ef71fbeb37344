#include "python/extension/opened_store.h"

#include <pthread.h>
#include <unistd.h>

#include <chrono>
#include <fstream>

#include "core/backend/store_at.h"
#include "core/follow/followed_file_system.h"
#include "core/plan/policy_choice.h"
#include "core/reorganise/reorganiser.h"

namespace cffs::python {
namespace {

std::atomic<unsigned> forks{0};

// umask(2) cannot be read without being set, for all threads.
mode_t umask_of_process() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("Umask:")) return static_cast<mode_t>(std::stoul(line.substr(6), nullptr, 8));
  }
  return 022;
}

constexpr std::size_t kMostMessages = 1000;

}  // namespace

unsigned OpenedStore::forks_so_far() {
  static const int watched = ::pthread_atfork(nullptr, nullptr, [] { forks.fetch_add(1); });
  (void)watched;
  return forks.load(std::memory_order_relaxed);
}

OpenedStore::OpenedStore(std::string path, OpenOptions options)
    : path_(std::move(path)),
      options_(std::move(options)),
      forks_(forks_so_far()),
      caller_(Caller::privileged(::geteuid(), ::getegid()).with_umask(umask_of_process())) {}

Result<std::shared_ptr<OpenedStore>> OpenedStore::open(const std::string& path, const OpenOptions& options) {
  const std::shared_ptr<OpenedStore> store(new OpenedStore(path, options));
  CFFS_TRY_VOID(store->open_here());
  return store;
}

Status OpenedStore::open_here() {
  using Access = PosixStore::Access;
  using Owners = PosixStore::Owners;
  CFFS_TRY(objects_, open_store_at(path_, options_.write ? Access::read_write : Access::read_only,
                                   options_.foreign_owner ? Owners::anybody : Owners::own));
  FileSystemOptions engine;
  engine.cache_bytes = options_.cache_bytes;
  engine.commit_interval_ms = options_.commit_interval_ms;
  engine.read_only = !options_.write;
  engine.log = [this](const std::string& line) {
    const std::lock_guard guard(messages_mutex_);
    if (messages_.size() < kMostMessages) messages_.push_back(line);
  };
  if (!options_.write) {
    auto alone = FileSystem::open(*objects_, engine);
    if (!alone && alone.error().errno_value == EBUSY) return open_beside_writer(alone.error(), engine);
    CFFS_TRY(fs_, std::move(alone));
    places_ = std::make_unique<PlaceFinder>(*fs_);
    return {};
  }
  PolicyChoice choice;
  choice.name = options_.policy;
  CFFS_TRY_VOID(check_choice(choice));
  CFFS_TRY(fs_, FileSystem::open(*objects_, engine));
  CFFS_TRY(auto policy, choose_policy(*objects_, choice));
  fs_->set_policy(std::move(policy));
  reorganiser_ = std::make_unique<Reorganiser>(*fs_);
  return reorganiser_->start();
}

// As a mount with -o ro,follow shows it.
Status OpenedStore::open_beside_writer(const Error& busy, FileSystemOptions engine) {
  FollowOptions follow;
  const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(options_.follow_wait_ms);
  follow.awaited = [until] { return std::chrono::steady_clock::now() < until; };
  auto beside = FollowedFileSystem::open(*objects_, std::move(engine), follow);
  if (!beside && beside.error().errno_value == EINTR) {
    return fail(
        Error{ErrorKind::usage, EBUSY, busy.message() + ", who has published nothing to read beside it"});
  }
  if (!beside) return fail(Error{ErrorKind::usage, EBUSY, busy.message() + "; " + beside.error().message()});
  followed_ = beside->get();
  fs_ = std::move(*beside);
  return followed_->begin([](const Moved&) {});
}

OpenedStore::~OpenedStore() {
  if (!is_forked()) {
    (void)close();
    return;
  }
  (void)objects_.release();
  (void)places_.release();
  (void)reorganiser_.release();
  (void)new std::shared_ptr<FileSystem>(std::move(fs_));
}

Status OpenedStore::close() {
  const std::unique_lock alone(use_);
  if (closed_.exchange(true)) return {};
  places_.reset();
  reorganiser_.reset();
  Status done;
  if (fs_) {
    done = fs_->close();
    fs_.reset();
  }
  objects_.reset();
  return done;
}

Status OpenedStore::consolidate() {
  if (!reorganiser_) return fail(EROFS, path_);
  return reorganiser_->consolidate_now();
}

std::shared_ptr<FileSystem> OpenedStore::state() const {
  return followed_ != nullptr ? followed_->state() : fs_;
}

std::vector<std::string> OpenedStore::take_messages() {
  const std::lock_guard guard(messages_mutex_);
  return std::exchange(messages_, {});
}

}  // namespace cffs::python
