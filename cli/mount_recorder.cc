#include "cli/mount_recorder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <syslog.h>

#include <algorithm>
#include <chrono>
#include <limits>

namespace cffs::cli {
namespace {

using What = ObservedRequest::What;
using replay::Call;

}  // namespace

Result<std::unique_ptr<RequestObserver>> MountRecorder::create(const std::string& path,
                                                               const std::string& mount_point) {
  CFFS_TRY(auto writer, replay::TraceWriter::create(path));
  return std::unique_ptr<RequestObserver>(new MountRecorder(std::move(writer), mount_point));
}

MountRecorder::MountRecorder(replay::TraceWriter writer, const std::string& mount_point)
    : writer_(std::move(writer)), builder_("/") {
  builder_.trace().about["format"] = "mount";
  builder_.trace().about["source"] = mount_point;
  thread_ = std::thread([this] { work(); });
}

MountRecorder::~MountRecorder() {
  {
    const std::lock_guard guard(mutex_);
    over_ = true;
  }
  wake_.notify_one();
  thread_.join();
  if (builder_.counts().surprises > 0)
    builder_.trace().about["surprises"] = std::to_string(builder_.counts().surprises);
  const replay::Trace trace = builder_.finish();
  if (const Status done = writer_.finish(trace); !done)
    ::syslog(LOG_ERR, "%s", done.error().message().c_str());
}

void MountRecorder::observe(const ObservedRequest& request) {
  Noted noted;
  static_cast<ObservedRequest&>(noted) = request;
  noted.name_text = request.name;
  noted.second_text = request.second_name;
  const std::lock_guard guard(mutex_);
  queue_.push_back(std::move(noted));
}

void MountRecorder::work() {
  std::vector<Noted> batch;
  for (bool last = false; !last;) {
    {
      std::unique_lock lock(mutex_);
      wake_.wait_for(lock, std::chrono::milliseconds(200), [this] { return over_; });
      batch.swap(queue_);
      last = over_;
    }
    for (const Noted& noted : batch) process(noted);
    batch.clear();
    if (const Status done = writer_.append(builder_.trace()); !done) {
      ::syslog(LOG_ERR, "%s; the recording ends here", done.error().message().c_str());
      return;
    }
  }
}

std::optional<std::string> MountRecorder::path_of(InodeId node) const {
  std::string path;
  for (int depth = 0; node != kRootInode; ++depth) {
    const auto it = places_.find(node);
    constexpr int kDeepest = 4096;
    if (it == places_.end() || depth > kDeepest) return {};
    path = path.empty() ? it->second.name : it->second.name + "/" + path;
    node = it->second.parent;
  }
  return "/" + path;
}

void MountRecorder::know(InodeId parent, const std::string& name, InodeId node) {
  places_[node] = {parent, name};
  nodes_[{parent, name}] = node;
}

void MountRecorder::forget(InodeId parent, const std::string& name) {
  const auto it = nodes_.find({parent, name});
  if (it == nodes_.end()) return;
  const auto place = places_.find(it->second);
  // Another name of the file may be known.
  if (place != places_.end() && place->second.parent == parent && place->second.name == name)
    places_.erase(place);
  nodes_.erase(it);
}

bool MountRecorder::on_node(const Noted& noted, replay::Operation& o) {
  const auto path = path_of(noted.node);
  if (!path) return false;  // its name is gone
  const auto place = builder_.place(*path);
  if (!place) return false;
  o.path = *place;
  return true;
}

bool MountRecorder::on_name(const Noted& noted, replay::Operation& o) {
  const auto directory = path_of(noted.parent);
  if (!directory) return false;
  const auto place = builder_.place(*directory + "/" + noted.name_text);
  if (!place) return false;
  o.path = *place;
  return true;
}

// What the request is in a trace. False: nothing.
bool MountRecorder::fill(const Noted& noted, replay::Operation& o) {
  const auto name_as_text = [&] { o.path2 = builder_.trace().intern(noted.name_text); };
  switch (noted.what) {
    case What::lookup:
      o.call = Call::stat;
      o.mode = noted.mode;
      o.length = noted.size;
      return on_name(noted, o);
    case What::mknod:
      o.call = S_ISREG(noted.mode) || noted.result < 0 ? Call::open : Call::mknod;
      o.flags = O_WRONLY | O_CREAT | O_EXCL;
      o.mode = noted.mode;
      return on_name(noted, o);
    case What::mkdir:
      o.call = Call::mkdir;
      o.mode = noted.mode & 07777;
      return on_name(noted, o);
    case What::symlink:
      o.call = Call::symlink;
      o.path2 = builder_.trace().intern(noted.second_text);
      return on_name(noted, o);
    case What::link: {
      o.call = Call::link;
      replay::Operation to;
      if (!on_node(noted, o) || !on_name(noted, to)) return false;
      o.path2 = to.path;
      return true;
    }
    case What::unlink:
    case What::rmdir:
      o.call = noted.what == What::unlink ? Call::unlink : Call::rmdir;
      return on_name(noted, o);
    case What::rename: {
      o.call = Call::rename;
      o.flags = noted.flags;
      Noted to = noted;
      to.parent = noted.second_parent;
      to.name_text = noted.second_text;
      replay::Operation target;
      if (!on_name(noted, o) || !on_name(to, target)) return false;
      o.path2 = target.path;
      return true;
    }
    case What::readlink:
      o.call = Call::readlink;
      return on_node(noted, o);
    case What::readdir:
      o.call = Call::readdir;
      return noted.offset == 0 && on_node(noted, o);
    case What::getattr:
      o.call = Call::stat;
      o.mode = noted.mode;
      o.length = noted.size;
      return on_node(noted, o);
    case What::chmod:
      o.call = Call::chmod;
      o.mode = noted.mode & 07777;
      return on_node(noted, o);
    case What::chown:
      o.call = Call::chown;
      return on_node(noted, o);
    case What::utimens:
      o.call = Call::utimens;
      return on_node(noted, o);
    case What::truncate:
      o.call = Call::truncate;
      o.length = noted.length;
      return on_node(noted, o);
    case What::getxattr:
    case What::setxattr:
    case What::removexattr:
      o.call = noted.what == What::getxattr   ? Call::getxattr
               : noted.what == What::setxattr ? Call::setxattr
                                              : Call::removexattr;
      o.length = noted.length;
      name_as_text();
      return on_node(noted, o);
    case What::listxattr:
      o.call = Call::listxattr;
      return on_node(noted, o);
    case What::read:
    case What::write:
      o.call = noted.what == What::read ? Call::read : Call::write;
      o.offset = noted.offset;
      o.length = noted.length;
      return on_node(noted, o);
    case What::fsync:
      o.call = Call::fsync;
      return on_node(noted, o);
    case What::entry:
      return false;
  }
  return false;
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
