#include "core/rados/local_cache.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <new>

#include "core/base/no_room.h"
#include "core/base/thread.h"

namespace cffs::rados {
namespace {

constexpr unsigned kReaders = 2;
constexpr std::uint64_t kMostWaiting = std::uint64_t{32} << 20;  // bytes that are to be written
constexpr std::int64_t kUseNotedS = 60;  // a file's time lags behind its use by so much

std::string digits_of(std::uint64_t value, int digits) {
  std::array<char, 24> text;
  const int n =
      std::snprintf(text.data(), text.size(), "%0*llx", digits, static_cast<unsigned long long>(value));
  return {text.data(), static_cast<std::size_t>(n)};
}

std::string folder_of(std::uint64_t object) { return digits_of(object & 0xff, 2); }

std::string file_name(std::uint64_t object, std::uint64_t number) {
  return digits_of(object, 16) + "-" + digits_of(number, 1);
}

// The two numbers of a file's name; none: it is not ours.
std::optional<std::pair<std::uint64_t, std::uint64_t>> numbers_of(std::string_view name) {
  constexpr std::size_t kDigits = 16;
  if (name.size() < kDigits + 2 || name[kDigits] != '-') return {};
  std::uint64_t object = 0, number = 0;
  const char* const end = name.data() + name.size();
  const auto first = std::from_chars(name.data(), name.data() + kDigits, object, 16);
  const auto second = std::from_chars(name.data() + kDigits + 1, end, number, 16);
  if (first.ec != std::errc() || second.ec != std::errc() || second.ptr != end) return {};
  if (file_name(object, number) != name) return {};
  return std::pair(object, number);
}

// Some file systems say only later what they have allocated.
std::uint64_t taken_by(const struct stat& st, const LocalFile::Here& here) {
  return std::max<std::uint64_t>(static_cast<std::uint64_t>(st.st_blocks) * 512,
                                 LocalFile::kHeadBytes + here.count() * kPageBytes);
}

// How many bytes of each page [first, first + pages) lie below `end`.
std::vector<std::uint32_t> lengths_of(std::uint64_t first, std::uint64_t pages, std::uint64_t end) {
  std::vector<std::uint32_t> lengths;
  for (std::uint64_t page = first; page < first + pages; ++page) {
    const std::uint64_t begin = page * kPageBytes;
    lengths.push_back(static_cast<std::uint32_t>(std::min(kPageBytes, end - std::min(end, begin))));
  }
  return lengths;
}

// One that is the caller's own, and that nobody else may write to.
Status make_own_folder(const std::string& path) {
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) return fail(errno, "local cache " + path);
  struct stat st;
  if (::lstat(path.c_str(), &st) != 0) return fail(errno, "local cache " + path);
  if (!S_ISDIR(st.st_mode)) return fail(Error::usage("local cache " + path + " is no directory"));
  if (st.st_uid != ::geteuid() || (st.st_mode & 022) != 0) {
    return fail(Error::usage(
        "local cache " + path +
        " may be written to by others, who could put anything into it; give one that is yours alone"));
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<LocalCache>> LocalCache::open(const Place& place, const std::string& store) {
  const std::string folder = place.directory + "/" + store;
  CFFS_TRY_VOID(make_own_folder(place.directory));
  CFFS_TRY_VOID(make_own_folder(folder));
  FileDescriptor lock(::open((folder + "/lock").c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!lock) return fail(errno, "local cache " + folder);
  std::unique_ptr<LocalCache> cache(new LocalCache(folder, place, std::move(lock)));
  LocalCache* const self = cache.get();
  for (unsigned i = 0; i < kReaders; ++i) {
    CFFS_TRY(auto reader, make_thread("a reader of the local cache", [self] { self->answer(); }));
    cache->threads_.push_back(std::move(reader));
  }
  CFFS_TRY(auto writer, make_thread("the writer of the local cache", [self] { self->write(); }));
  cache->threads_.push_back(std::move(writer));
  return cache;
}

std::string LocalCache::path_of(const Key& key) const {
  return folder_ + "/" + folder_of(key.object) + "/" + file_name(key.object, key.number);
}

// Another mount of the store may have it, which is leaving maybe.
void LocalCache::become_owner() {
  constexpr std::chrono::milliseconds kTry{200};
  while (::flock(lock_.get(), LOCK_EX | LOCK_NB) != 0) {
    const MutexLock guard(mutex_);
    if (!over_) (void)to_write_.wait_until(mutex_, std::chrono::steady_clock::now() + kTry);
    if (over_) return;
  }
  look_around();
  make_room(0);
  const MutexLock guard(mutex_);
  state_.is_ours = true;
}

// What an earlier mount left.
void LocalCache::look_around() {
  struct Found {
    std::int64_t used_s;
    std::uint64_t bytes;
    Key key;
  };
  std::vector<Found> found;
  for (unsigned low = 0; low < 256; ++low) {
    const std::string folder = folder_ + "/" + folder_of(low);
    DIR* const listing = ::opendir(folder.c_str());
    if (listing == nullptr) continue;
    while (const dirent* entry = ::readdir(listing)) {
      const auto numbers = numbers_of(entry->d_name);
      struct stat st;
      if (!numbers || ::fstatat(::dirfd(listing), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0) continue;
      if (S_ISREG(st.st_mode))
        found.push_back({st.st_mtim.tv_sec, taken_by(st, {}), {numbers->first, numbers->second}});
    }
    (void)::closedir(listing);
  }
  std::ranges::sort(found, {}, [](const Found& f) { return f.used_s; });
  const MutexLock guard(mutex_);
  for (const Found& f : found) {
    files_.emplace(f.key, Known{ages_.insert(ages_.end(), f.key), std::nullopt, f.bytes, f.used_s});
    state_.bytes += f.bytes;
  }
}

// --- reading

bool LocalCache::may_have(const Question& question) const {
  const std::uint64_t last = question.first + question.pages - 1;
  for (std::uint64_t number = question.first / LocalFile::kPages; number <= last / LocalFile::kPages;
       ++number) {
    const auto file = files_.find({question.object, number});
    if (file == files_.end()) return false;
    if (!file->second.here) continue;
    const std::uint64_t begin = number * LocalFile::kPages;
    for (std::uint64_t page = std::max(question.first, begin);
         page <= std::min(last, begin + LocalFile::kPages - 1); ++page) {
      if (!(*file->second.here)[page - begin]) return false;
    }
  }
  return true;
}

void LocalCache::read(ObjectNumber object, std::uint64_t first, std::uint64_t pages, std::uint64_t end,
                      std::function<void(std::optional<std::string>)> done) {
  Question question{object, first, pages, end, std::move(done)};
  {
    const MutexLock guard(mutex_);
    if (!over_ && state_.is_ours && may_have(question)) {
      questions_.push_back(std::move(question));
      asked_.notify_one();
      return;
    }
    state_.missed += pages;
  }
  question.done({});
}

void LocalCache::answer() {
  for (;;) {
    Question question;
    {
      const MutexLock guard(mutex_);
      while (questions_.empty() && !over_) asked_.wait(mutex_);
      if (questions_.empty()) return;
      question = std::move(questions_.front());
      questions_.pop_front();
    }
    std::optional<std::string> bytes;
    try {
      bytes = find(question);
    } catch (const std::bad_alloc&) {  // the pool is asked, and who asked it says so
    }
    {
      const MutexLock guard(mutex_);
      (bytes ? state_.found : state_.missed) += question.pages;
    }
    question.done(std::move(bytes));
  }
}

std::optional<std::string> LocalCache::find(const Question& question) {
  std::string bytes;
  const std::uint64_t after = question.first + question.pages;
  for (std::uint64_t page = question.first; page < after;) {
    const Key key{question.object, page / LocalFile::kPages};
    const std::uint64_t within = page % LocalFile::kPages;
    const std::uint64_t pages = std::min(after - page, LocalFile::kPages - within);
    const auto file = LocalFile::open(path_of(key), key.object, key.number);
    const auto lengths = lengths_of(page, pages, question.end);
    using Found = LocalFile::Found;
    const auto read = file ? file->read(within, lengths, bytes) : Result<Found>(Found::absent);
    const auto here = file ? file->here() : Result<LocalFile::Here>(LocalFile::Here());
    {
      const MutexLock guard(mutex_);
      if (read && *read == Found::damaged) ++state_.damaged;
      const bool is_here = read && *read == Found::here;
      const auto known = files_.find(key);
      if (known != files_.end() && here && (!is_here || !known->second.here)) known->second.here = *here;
      if (!is_here) return {};
    }
    note_use(key);
    page += pages;
  }
  return bytes;
}

// The file's time tells the next mount.
void LocalCache::note_use(const Key& key) {
  const std::int64_t now = ::time(nullptr);
  {
    const MutexLock guard(mutex_);
    const auto known = files_.find(key);
    if (known == files_.end()) return;
    ages_.splice(ages_.end(), ages_, known->second.age);
    if (now - known->second.used_s < kUseNotedS) return;
    known->second.used_s = now;
  }
  (void)::utimensat(AT_FDCWD, path_of(key).c_str(), nullptr, AT_SYMLINK_NOFOLLOW);
}

// --- keeping

void LocalCache::keep(ObjectNumber object, std::uint64_t first, std::uint64_t end, std::string_view bytes) {
  const std::uint64_t offset = first * kPageBytes;
  if (end <= offset) return;
  // What is there in part, but for the object's last page, was not read to its end.
  std::uint64_t length = std::min<std::uint64_t>(bytes.size(), end - offset);
  if (offset + length < end) length -= length % kPageBytes;
  if (length == 0) return;
  const MutexLock guard(mutex_);
  if (over_ || !state_.is_ours || waiting_bytes_ + length > kMostWaiting) return;
  keepings_.push_back({object, first, end, std::string(bytes.substr(0, length))});
  waiting_bytes_ += length;
  to_write_.notify_one();
}

void LocalCache::write() {
  become_owner();
  for (;;) {
    Keeping keeping;
    {
      const MutexLock guard(mutex_);
      being_written_.reset();
      written_.notify_all();
      while (keepings_.empty() && !over_) to_write_.wait(mutex_);
      if (keepings_.empty()) return;
      keeping = std::move(keepings_.front());
      keepings_.pop_front();
      waiting_bytes_ -= keeping.bytes.size();
      being_written_ = keeping.object;
    }
    try {
      put(keeping);
    } catch (const std::bad_alloc&) {  // it is not kept
    }
  }
}

void LocalCache::put(const Keeping& keeping) {
  const std::uint64_t after = keeping.first + (keeping.bytes.size() + kPageBytes - 1) / kPageBytes;
  for (std::uint64_t page = keeping.first; page < after;) {
    const std::uint64_t within = page % LocalFile::kPages;
    const std::uint64_t pages = std::min(after - page, LocalFile::kPages - within);
    const std::string_view bytes =
        std::string_view(keeping.bytes).substr((page - keeping.first) * kPageBytes, pages * kPageBytes);
    put_in_file({keeping.object, page / LocalFile::kPages}, within, lengths_of(page, pages, keeping.end),
                bytes);
    page += pages;
  }
}

// What cannot be written is not there: pages without their entries, or a file that is begun and of no use. A full disk allows less
// for a while.
void LocalCache::put_in_file(const Key& key, std::uint64_t first, std::span<const std::uint32_t> lengths,
                             std::string_view bytes) {
  make_room(bytes.size() + LocalFile::kHeadBytes);
  const std::string path = path_of(key);
  auto file = LocalFile::open(path, key.object, key.number);
  const bool was_there = file.has_value();
  const int problem = file ? 0 : file.error().errno_value;
  if (problem == EMFILE || problem == ENFILE || problem == ENOMEM) return;
  if (!file) {
    (void)::mkdir(place_.directory.c_str(), 0700);
    (void)::mkdir(folder_.c_str(), 0700);
    (void)::mkdir((folder_ + "/" + folder_of(key.object)).c_str(), 0700);
    file = LocalFile::make(path, key.object, key.number);
  }
  Status done = file ? file->write(first, lengths, bytes) : Status(fail(file.error()));
  struct stat st;
  if (done && ::lstat(path.c_str(), &st) != 0) done = fail(errno, path);
  if (!done) {
    if (!was_there) drop(key);
    const int code = done.error().errno_value;
    if (is_no_room(code)) allow_less();
    return;
  }
  const auto here = file->here();
  const MutexLock guard(mutex_);
  const auto [at, is_new] = files_.try_emplace(key);
  Known& known = at->second;
  if (is_new) known.age = ages_.insert(ages_.end(), key);
  ages_.splice(ages_.end(), ages_, known.age);
  const std::uint64_t bytes_now = taken_by(st, here.value_or(LocalFile::Here()));
  state_.bytes += bytes_now - known.bytes;
  known.bytes = bytes_now;
  known.used_s = st.st_mtim.tv_sec;
  if (here) known.here = *here;
  // It may have more room by now.
  allowed_bytes_ = std::min(place_.most_bytes, allowed_bytes_ + bytes.size() / 8);
}

void LocalCache::allow_less() {
  {
    const MutexLock guard(mutex_);
    allowed_bytes_ = state_.bytes - state_.bytes / 16;
  }
  make_room(0);
}

void LocalCache::make_room(std::uint64_t bytes) {
  for (;;) {
    Key oldest;
    {
      const MutexLock guard(mutex_);
      if (ages_.empty() || state_.bytes + bytes <= allowed_bytes_) return;
      oldest = ages_.front();
    }
    drop(oldest);
  }
}

void LocalCache::drop(const Key& key) {
  {
    const MutexLock guard(mutex_);
    if (const auto known = files_.find(key); known != files_.end()) {
      state_.bytes -= known->second.bytes;
      ages_.erase(known->second.age);
      files_.erase(known);
    }
  }
  (void)::unlink(path_of(key).c_str());
}

void LocalCache::forget(ObjectNumber object) {
  std::vector<Key> gone;
  {
    const MutexLock guard(mutex_);
    for (auto keeping = keepings_.begin(); keeping != keepings_.end();) {
      const bool of_it = keeping->object == object;
      if (of_it) waiting_bytes_ -= keeping->bytes.size();
      keeping = of_it ? keepings_.erase(keeping) : keeping + 1;
    }
    while (being_written_ == object) written_.wait(mutex_);
    for (auto file = files_.lower_bound({object, 0}); file != files_.end() && file->first.object == object;
         ++file)
      gone.push_back(file->first);
  }
  for (const Key& key : gone) drop(key);
}

void LocalCache::stop() {
  {
    const MutexLock guard(mutex_);
    over_ = true;
    asked_.notify_all();
    to_write_.notify_all();
  }
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

NearCopies LocalCache::state() const {
  const MutexLock guard(mutex_);
  return state_;
}

}  // namespace cffs::rados
