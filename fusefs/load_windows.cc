#include "fusefs/load_windows.h"

#include <fcntl.h>
#include <linux/fuse.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <new>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "core/base/thread.h"
#include "core/base/within_memory.h"
#include "core/object/file_descriptor.h"
#include "fusefs/reply.h"

namespace cffs {
namespace {

constexpr std::uint32_t kOpTmpfile = 51, kOpStatx = 52;
constexpr std::chrono::milliseconds kBetweenLooks{10}, kNameIsOld{100};

// The line of /proc/N/status that begins so, without that.
std::string_view field(std::string_view status, std::string_view name) {
  const std::size_t at = status.find(name);
  if (at == std::string_view::npos) return {};
  status.remove_prefix(at + name.size());
  return status.substr(0, status.find('\n'));
}

// The process that a thread belongs to, and its name; 0: it is gone, or of another namespace.
std::pair<pid_t, std::string> process_of(pid_t thread) {
  const std::string path = "/proc/" + std::to_string(thread) + "/status";
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::array<char, 1024> bytes;  // both are among the first lines
  const ssize_t n = file ? ::read(file.get(), bytes.data(), bytes.size()) : -1;
  if (n <= 0) return {0, {}};
  const std::string_view status(bytes.data(), static_cast<std::size_t>(n));
  const std::string_view number = field(status, "\nTgid:\t");
  pid_t pid = 0;
  (void)std::from_chars(number.data(), number.data() + number.size(), pid);
  return {pid, std::string(field(status, "Name:\t"))};
}

void add(Load& load, std::uint32_t opcode, std::uint64_t ns, bool failed, std::uint64_t bytes) {
  load.ns += ns;
  load.errors += failed ? 1 : 0;
  switch (opcode) {
    case FUSE_LOOKUP:
      ++load.lookups;
      break;
    case FUSE_OPENDIR:
    case FUSE_READDIR:
    case FUSE_READDIRPLUS:
      ++load.listings;
      break;
    case FUSE_READ:
      ++load.reads;
      load.read_bytes += bytes;
      break;
    case FUSE_WRITE:
      ++load.writes;
      load.written_bytes += bytes;
      break;
    case FUSE_MKNOD:
    case FUSE_MKDIR:
    case FUSE_SYMLINK:
    case FUSE_LINK:
    case FUSE_UNLINK:
    case FUSE_RMDIR:
    case FUSE_RENAME:
    case FUSE_RENAME2:
    case FUSE_CREATE:
    case kOpTmpfile:
      ++load.changes;
      break;
    case FUSE_GETATTR:
    case FUSE_SETATTR:
    case FUSE_GETXATTR:
    case FUSE_SETXATTR:
    case FUSE_LISTXATTR:
    case FUSE_REMOVEXATTR:
    case kOpStatx:
      ++load.attributes;
      break;
    default:
      break;
  }
}

// Its node is the directory itself.
bool is_of_directory(std::uint32_t opcode) {
  switch (opcode) {
    case FUSE_LOOKUP:
    case FUSE_OPENDIR:
    case FUSE_READDIR:
    case FUSE_READDIRPLUS:
    case FUSE_RELEASEDIR:
    case FUSE_FSYNCDIR:
    case FUSE_MKNOD:
    case FUSE_MKDIR:
    case FUSE_SYMLINK:
    case FUSE_LINK:
    case FUSE_UNLINK:
    case FUSE_RMDIR:
    case FUSE_RENAME:
    case FUSE_RENAME2:
    case FUSE_CREATE:
    case FUSE_STATFS:
    case kOpTmpfile:
      return true;
    default:
      return false;
  }
}

nlohmann::ordered_json json_of(const Load& load, std::uint64_t requests, std::uint64_t over) {
  return {{"requests", requests},
          {"over", over},
          {"seconds", static_cast<double>(load.ns) / 1e9},
          {"errors", load.errors},
          {"lookups", load.lookups},
          {"listings", load.listings},
          {"reads", load.reads},
          {"writes", load.writes},
          {"changes", load.changes},
          {"attributes", load.attributes},
          {"read_bytes", load.read_bytes},
          {"written_bytes", load.written_bytes}};
}

std::string dumped(const nlohmann::ordered_json& json) {
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace

void LoadWindows::end() {
  std::thread thread;
  {
    const MutexLock windows(windows_mutex_);
    windows_.clear();
    const MutexLock guard(mutex_);
    open_ = false;
    ending_ = true;
    thread = std::move(thread_);
  }
  wake_.notify_all();
  if (thread.joinable()) thread.join();
}

// libfuse's frames are between here and whoever replies, to a change that was made.
InodeId LoadWindows::meet(const ServedRequest& request) noexcept {
  try {
    return recognised(request);
  } catch (const std::bad_alloc&) {
    return InodeId{kInodeLimit};
  }
}

InodeId LoadWindows::recognised(const ServedRequest& request) {
  const auto now = Steady::now();
  const pid_t thread = request.thread;
  const InodeId directory = directory_of(request);
  {
    const MutexLock guard(mutex_);
    const auto there = processes_.find(thread);
    if (there != processes_.end() && now - there->second.seen < kNameIsOld) return directory;
  }
  auto [pid, name] = thread == 0 ? std::pair<pid_t, std::string>() : process_of(thread);
  const MutexLock guard(mutex_);
  if (processes_.size() >= kMostProcesses) processes_.clear();
  processes_[thread] = {pid, std::move(name), now};
  return directory;
}

void LoadWindows::note(const ServedRequest& request, InodeId directory, std::uint64_t ns, bool failed,
                       std::uint64_t bytes) {
  const MutexLock guard(mutex_);
  if (ring_.size() >= ring_.capacity()) {
    ++missed_;
    return;
  }
  const auto there = processes_.find(request.thread);
  ring_.push_back({request, directory, ns, bytes, there != processes_.end() ? there->second.pid : 0, failed});
}

void LoadWindows::set_open(bool open) {
  const MutexLock guard(mutex_);
  open_ = open;
}

void LoadWindows::run() {
  for (;;) {
    {
      MutexLock guard(mutex_);
      while (!ending_ && !open()) wake_.wait(mutex_);
      if (!ending_) (void)wake_.wait_until(mutex_, Steady::now() + kBetweenLooks);
      if (ending_) return;
    }
    // What memory ran out for is counted for nobody.
    (void)within_memory([this]() -> Status {
      drain();
      return {};
    });
  }
}

void LoadWindows::drain() {
  const MutexLock one_at_a_time(drain_mutex_);
  drained_.clear();
  drained_.reserve(kRing);
  std::uint64_t missed = 0;
  {
    const MutexLock guard(mutex_);
    drained_.swap(ring_);
    missed = std::exchange(missed_, 0);
  }
  count(drained_, missed);
}

void LoadWindows::forget_old() {
  const auto now = Steady::now();
  std::erase_if(windows_, [&](const auto& window) { return window.second.until < now; });
  if (windows_.empty()) set_open(false);
}

void LoadWindows::count(const std::vector<Sample>& samples, std::uint64_t missed) {
  std::vector<InodeId> directories;
  directories.reserve(samples.size());
  for (const Sample& sample : samples) {
    const bool known = sample.directory.value != kInodeLimit;
    directories.push_back(known ? sample.directory : directory_of(sample.request));
  }
  const MutexLock windows(windows_mutex_);
  forget_old();
  for (auto& [id, window] : windows_) {
    window.requests += samples.size();
    window.missed += missed;
    for (std::size_t i = 0; i < samples.size(); ++i) {
      const Sample& sample = samples[i];
      bool is_new = false;
      auto& process = window.processes.add(sample.pid, is_new);
      add(process.detail.load, sample.request.opcode, sample.ns, sample.failed, sample.bytes);
      if (sample.pid != 0) {
        const MutexLock guard(mutex_);
        const auto known = processes_.find(sample.request.thread);
        if (known != processes_.end() && known->second.pid == sample.pid &&
            (sample.request.thread == sample.pid || process.detail.name.empty()))
          process.detail.name = known->second.name;
      }
      auto& directory = window.directories.add(directories[i], is_new);
      add(directory.detail.load, sample.request.opcode, sample.ns, sample.failed, sample.bytes);
      if (is_new) directory.detail.path = path_of(directories[i]);
    }
  }
}

// kInodeLimit: nobody knows.
InodeId LoadWindows::directory_of(const ServedRequest& request) const {
  const InodeId node = fuse::inode_of(request.node);
  if (node == kRootInode || is_of_directory(request.opcode)) return node;
  const auto directory = fs_.last_directory(node);
  return directory ? *directory : InodeId{kInodeLimit};
}

// "/a/b", as the root of the store sees it. Of one that is gone, or moves meanwhile, what is known.
std::string LoadWindows::path_of(InodeId directory) const {
  constexpr int kMostClimbed = 64;
  constexpr std::size_t kLongest = 400;
  if (directory.value == kInodeLimit) return "(files that are gone)";
  std::string path;
  InodeId at = directory;
  for (int depth = 0; at != kRootInode; ++depth) {
    const auto place = fs_.last_place(at);
    if (!place || depth >= kMostClimbed || path.size() > kLongest) {
      path.insert(0, depth == 0 ? "(inode " + std::to_string(directory.value) + ", gone)" : "...");
      return path;
    }
    path.insert(0, "/" + place->name);
    at = place->parent;
  }
  return path.empty() ? "/" : path;
}

Result<std::string> LoadWindows::take(const std::string& id, std::int64_t keep_ms, std::size_t most) {
  drain();
  const MutexLock windows(windows_mutex_);
  forget_old();
  auto there = windows_.find(id);
  if (keep_ms == 0) {
    if (there != windows_.end()) windows_.erase(there);
    if (windows_.empty()) set_open(false);
    return std::string("{}");
  }
  const auto now = Steady::now();
  Window window;
  window.began = now;
  window.until = now + std::chrono::milliseconds(std::min(keep_ms, kLongestMs));
  if (there == windows_.end()) {
    if (windows_.size() >= kMostWindows) return fail(EBUSY, "as many as can are watching the mount");
    {
      const MutexLock guard(mutex_);
      if (ending_) return fail(ESHUTDOWN);
    }
    if (!thread_.joinable()) {
      CFFS_TRY(thread_, make_thread("the thread that counts who asks for what", [this] { run(); }));
    }
    there = windows_.emplace(id, Window()).first;
    there->second.began = now;
    set_open(true);
    wake_.notify_all();
  }
  std::swap(there->second, window);
  const double seconds = std::chrono::duration<double>(now - window.began).count();
  nlohmann::ordered_json json = {{"seconds", seconds},
                                 {"requests", window.requests},
                                 {"missed", window.missed},
                                 {"processes", nlohmann::ordered_json::array()},
                                 {"directories", nlohmann::ordered_json::array()}};
  std::size_t bytes = dumped(json).size();
  const auto tell = [&](const char* list, nlohmann::ordered_json entry) {
    const std::size_t more = dumped(entry).size() + 1;
    if (bytes + more > most) return;
    bytes += more;
    json[list].push_back(std::move(entry));
  };
  const auto processes = window.processes.top(kMostTold);
  const auto directories = window.directories.top(kMostTold);
  for (std::size_t i = 0; i < std::max(processes.size(), directories.size()); ++i) {
    if (i < processes.size()) {
      const auto& [pid, entry] = processes[i];
      nlohmann::ordered_json one = {{"pid", pid},
                                    {"name", pid == 0 ? "(kernel, or gone)" : entry->detail.name}};
      one.update(json_of(entry->detail.load, entry->count, entry->over));
      tell("processes", std::move(one));
    }
    if (i < directories.size()) {
      const auto& [ino, entry] = directories[i];
      nlohmann::ordered_json one = {{"path", entry->detail.path}};
      one.update(json_of(entry->detail.load, entry->count, entry->over));
      tell("directories", std::move(one));
    }
  }
  return dumped(json);
}

}  // namespace cffs
