#include "cli/mount_recorder.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <syslog.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <limits>

#include "core/base/thread.h"
#include "core/base/within_memory.h"

namespace cffs::cli {
namespace {

using What = ObservedRequest::What;
using replay::Call;

constexpr std::size_t kBuffer = 1u << 20;
constexpr std::size_t kRecordMax = 16u << 10;  // with its names, as the kernel sends them

// In the order of ObservedRequest::What.
Call call_of(What what) {
  constexpr std::array<Call, 23> kCalls = {
      Call::stat,      Call::stat,        Call::open,    Call::mkdir,    Call::symlink,  Call::link,
      Call::unlink,    Call::rmdir,       Call::rename,  Call::readlink, Call::readdir,  Call::stat,
      Call::chmod,     Call::chown,       Call::utimens, Call::truncate, Call::getxattr, Call::setxattr,
      Call::listxattr, Call::removexattr, Call::read,    Call::write,    Call::fsync};
  static_assert(kCalls.size() == static_cast<std::size_t>(What::fsync) + 1);
  return kCalls[static_cast<std::size_t>(what)];
}

// A request in the spool, which only this process reads; the names follow.
struct Record {
  std::uint32_t what, name_bytes, second_bytes, process;
  std::uint64_t node, parent, second_parent, offset, length, size;
  std::uint32_t mode, flags;
  std::int64_t result, start_ns, end_ns;
};

}  // namespace

Result<std::unique_ptr<RequestObserver>> MountRecorder::create(const std::string& path,
                                                               const std::string& mount_point) {
  CFFS_TRY(auto writer, replay::TraceWriter::create(path));
  const std::string folder = path.substr(0, path.rfind('/') + 1);
  FileDescriptor spool(::open(folder.empty() ? "." : folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (!spool) {  // not every file system knows unnamed files
    std::string name = path + ".spool.XXXXXX";
    spool = FileDescriptor(::mkostemp(name.data(), O_CLOEXEC));
    if (!spool) return fail(errno, name);
    (void)::unlink(name.c_str());
  }
  std::unique_ptr<MountRecorder> recorder(
      new MountRecorder(std::move(writer), std::move(spool), mount_point));
  CFFS_TRY(recorder->thread_,
           make_thread("the thread that records", [self = recorder.get()] { self->work(); }));
  return recorder;
}

MountRecorder::MountRecorder(replay::TraceWriter writer, FileDescriptor spool, const std::string& mount_point)
    : writer_(std::move(writer)), builder_("/"), spool_(std::move(spool)) {
  buffer_.reserve(kBuffer + kRecordMax);
  builder_.trace().about["format"] = "mount";
  builder_.trace().about["source"] = mount_point;
}

MountRecorder::~MountRecorder() { join(); }

void MountRecorder::join() {
  over_.store(true);
  if (thread_.joinable()) thread_.join();
}

Status MountRecorder::end(bool served) {
  join();
  if (!served) return {};
  int spool_errno = 0;
  {
    const MutexLock guard(mutex_);
    spill();
    spool_errno = spool_errno_;
  }
  while (convert_within_memory()) {
  }
  CFFS_TRY_VOID(within_memory([this] { return writer_.finish(builder_.finish()); }));
  // What came before is kept; that it is not all is said where the mount's end is looked at.
  if (spool_errno != 0 && !cut_) cut_ = Error::os(spool_errno, "its spool");
  if (cut_) return fail(Error::usage("the recording ends early: " + cut_->message()));
  return {};
}

// Who serves requests must not fail for a recording: nothing is allocated here.
void MountRecorder::observe(const ObservedRequest& request) {
  if (ended_.load(std::memory_order_relaxed)) return;
  Record record;
  record.what = static_cast<std::uint32_t>(request.what);
  record.name_bytes = static_cast<std::uint32_t>(request.name.size());
  record.second_bytes = static_cast<std::uint32_t>(request.second_name.size());
  record.process = static_cast<std::uint32_t>(request.process);
  record.node = request.node.value;
  record.parent = request.parent.value;
  record.second_parent = request.second_parent.value;
  record.offset = request.offset;
  record.length = request.length;
  record.size = request.size;
  record.mode = request.mode;
  record.flags = request.flags;
  record.result = request.result;
  record.start_ns = request.start_ns;
  record.end_ns = request.end_ns;
  const MutexLock guard(mutex_);
  const std::size_t bytes = sizeof record + request.name.size() + request.second_name.size();
  if (buffer_.size() + bytes > buffer_.capacity()) spill();
  if (bytes > buffer_.capacity()) return;
  buffer_.append(reinterpret_cast<const char*>(&record), sizeof record);
  buffer_.append(request.name).append(request.second_name);
  if (buffer_.size() >= kBuffer) spill();
}

// The buffer goes to the spool.
void MountRecorder::spill() {
  const auto at = static_cast<off_t>(spooled_.load());
  if (spool_errno_ == 0) {
    const ssize_t n = ::pwrite(spool_.get(), buffer_.data(), buffer_.size(), at);
    if (n != static_cast<ssize_t>(buffer_.size())) {
      spool_errno_ = n < 0 ? errno : ENOSPC;
      ::syslog(LOG_ERR, "the recording ends here: its spool cannot be written (%s)",
               std::strerror(spool_errno_));
    } else {
      spooled_.fetch_add(buffer_.size());
    }
  }
  buffer_.clear();
}

Result<bool> MountRecorder::convert() {
  const std::uint64_t end = spooled_.load();
  if (converted_ == end) return false;
  std::string bytes(std::min<std::uint64_t>(end - converted_, 4 * kBuffer), '\0');
  const ssize_t n = ::pread(spool_.get(), bytes.data(), bytes.size(), static_cast<off_t>(converted_));
  if (n <= 0) return fail(n < 0 ? errno : EIO, "its spool");
  bytes.resize(static_cast<std::size_t>(n));
  std::size_t at = 0;
  while (bytes.size() - at >= sizeof(Record)) {
    Record record;
    std::memcpy(&record, bytes.data() + at, sizeof record);
    const std::size_t whole = sizeof record + record.name_bytes + record.second_bytes;
    if (bytes.size() - at < whole) break;
    Noted noted;
    noted.what = static_cast<What>(record.what);
    noted.process = static_cast<pid_t>(record.process);
    noted.node = InodeId{record.node};
    noted.parent = InodeId{record.parent};
    noted.second_parent = InodeId{record.second_parent};
    noted.offset = record.offset;
    noted.length = record.length;
    noted.size = record.size;
    noted.mode = record.mode;
    noted.flags = record.flags;
    noted.result = record.result;
    noted.start_ns = record.start_ns;
    noted.end_ns = record.end_ns;
    noted.name_text.assign(bytes, at + sizeof record, record.name_bytes);
    noted.second_text.assign(bytes, at + sizeof record + record.name_bytes, record.second_bytes);
    process(noted);
    at += whole;
  }
  converted_ += at;
  CFFS_TRY_VOID(writer_.append(builder_.trace()));
  return at > 0;
}

// The daemon goes on where there is no memory for its recording.
bool MountRecorder::convert_within_memory() {
  if (ended_.load()) return false;
  auto more = within_memory([this] { return convert(); });
  if (more) return *more;
  ::syslog(LOG_ERR, "the recording ends here: %s", message_within_memory(more.error()).c_str());
  cut_ = std::move(more.error());
  ended_.store(true);
  return false;
}

void MountRecorder::work() {
  const sched_param none{};
  (void)::pthread_setschedparam(::pthread_self(), SCHED_IDLE, &none);
  while (!over_.load()) {
    if (!convert_within_memory()) std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
}

std::optional<std::string> MountRecorder::path_of(InodeId node) const {
  std::string path;
  for (int depth = 0; node != kRootInode; ++depth) {
    const auto it = entries_.find(node);
    constexpr int kDeepest = 4096;
    if (it == entries_.end() || depth > kDeepest) return {};
    path = path.empty() ? it->second.name : it->second.name + "/" + path;
    node = it->second.parent;
  }
  return "/" + path;
}

void MountRecorder::know(InodeId parent, const std::string& name, InodeId node) {
  entries_[node] = {parent, name};
  nodes_[{parent, name}] = node;
}

void MountRecorder::forget(InodeId parent, const std::string& name) {
  const auto it = nodes_.find({parent, name});
  if (it == nodes_.end()) return;
  const auto entry = entries_.find(it->second);
  // Another name of the file may be known.
  if (entry != entries_.end() && entry->second.parent == parent && entry->second.name == name)
    entries_.erase(entry);
  nodes_.erase(it);
}

bool MountRecorder::on_node(const Noted& noted, replay::Operation& o) {
  const auto path = path_of(noted.node);
  if (!path) return false;  // its name is gone
  const auto place = builder_.trace_path(*path);
  if (!place) return false;
  o.path = *place;
  return true;
}

bool MountRecorder::on_name(const Noted& noted, replay::Operation& o) {
  const auto directory = path_of(noted.parent);
  if (!directory) return false;
  const auto place = builder_.trace_path(*directory + "/" + noted.name_text);
  if (!place) return false;
  o.path = *place;
  return true;
}

// What the request is in a trace. False: nothing.
bool MountRecorder::fill(const Noted& noted, replay::Operation& o) {
  o.call = call_of(noted.what);
  switch (noted.what) {
    case What::entry:
      return false;
    case What::lookup:
    case What::getattr:
      o.mode = noted.mode;
      o.length = noted.size;
      return noted.what == What::lookup ? on_name(noted, o) : on_node(noted, o);
    case What::mknod:
      if (!S_ISREG(noted.mode) && noted.result >= 0) o.call = Call::mknod;
      o.flags = O_WRONLY | O_CREAT | O_EXCL;
      o.mode = noted.mode;
      return on_name(noted, o);
    case What::mkdir:
      o.mode = noted.mode & 07777;
      return on_name(noted, o);
    case What::symlink:
      o.path2 = builder_.trace().intern(noted.second_text);
      return on_name(noted, o);
    case What::unlink:
    case What::rmdir:
      return on_name(noted, o);
    case What::link:
    case What::rename: {
      Noted to = noted;
      if (noted.what == What::rename) {
        o.flags = noted.flags;
        to.parent = noted.second_parent;
        to.name_text = noted.second_text;
      }
      replay::Operation target;
      const bool from = noted.what == What::link ? on_node(noted, o) : on_name(noted, o);
      if (!from || !on_name(to, target)) return false;
      o.path2 = target.path;
      return true;
    }
    case What::readdir:
      return noted.offset == 0 && on_node(noted, o);  // one listing takes several requests
    case What::chmod:
      o.mode = noted.mode & 07777;
      return on_node(noted, o);
    case What::getxattr:
    case What::setxattr:
    case What::removexattr:
      o.path2 = builder_.trace().intern(noted.name_text);
      [[fallthrough]];
    default:
      o.offset = noted.offset;
      o.length = noted.length;
      return on_node(noted, o);
  }
}

void MountRecorder::process(const Noted& noted) {
  replay::Operation o;
  o.time_ns = noted.start_ns;
  o.duration_ns = static_cast<std::uint32_t>(
      std::clamp<std::int64_t>(noted.end_ns - noted.start_ns, 1, std::numeric_limits<std::uint32_t>::max()));
  o.result = noted.result;
  if (fill(noted, o)) {
    o.client = builder_.trace().client(std::to_string(noted.process));
    builder_.add(o);
  }
  if (noted.result < 0) return;
  switch (noted.what) {
    case What::lookup:
    case What::entry:
    case What::mknod:
    case What::mkdir:
    case What::symlink:
    case What::link:
      if (noted.name_text != "." && noted.name_text != "..") know(noted.parent, noted.name_text, noted.node);
      break;
    case What::unlink:
    case What::rmdir:
      forget(noted.parent, noted.name_text);
      break;
    case What::rename: {
      const auto find = [&](InodeId parent, const std::string& name) {
        const auto it = nodes_.find({parent, name});
        return it == nodes_.end() ? InodeId{} : it->second;
      };
      constexpr std::uint32_t kExchange = 2;
      const InodeId moved = find(noted.parent, noted.name_text);
      const InodeId there = find(noted.second_parent, noted.second_text);
      forget(noted.parent, noted.name_text);
      forget(noted.second_parent, noted.second_text);
      if (moved != InodeId{}) know(noted.second_parent, noted.second_text, moved);
      if ((noted.flags & kExchange) != 0 && there != InodeId{}) know(noted.parent, noted.name_text, there);
      break;
    }
    default:
      break;
  }
}

}  // namespace cffs::cli
