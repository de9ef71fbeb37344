// How a thread of a play performs each kind of operation on the target.
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "replay/model/content.h"
#include "replay/play/make_tree.h"
#include "replay/play/player_thread.h"

namespace cffs::replay {
namespace {

constexpr std::size_t kChunk = 256 * 1024;
// What is in memory of one read or write: a mapping counts as one read of all of it, and may be of any length.
constexpr std::uint64_t kLargest = 64u << 20;

}  // namespace

std::int64_t Player::Thread::perform(const Step& step) {
  const Operation& o = operation(step);
  checking_ns_ = 0;
  segment_ = 0;
  content_is_right_ = true;
  facts_ = {0, step.expected.length};
  if (player_.target_ == nullptr) {
    const std::int64_t latency = timed(
        [&] { return step.expected.error != 0 ? -step.expected.error : std::int64_t(step.expected.length); });
    return latency;
  }
  if (o.call == Call::read) return perform_read(step, o);
  if (o.call == Call::write) return perform_write(step, o);
  if (o.call == Call::fetch) {
    const std::int64_t latency =
        timed([&] { return fetch(player_.trace_.path(o.path), 0, kToTheEnd, step); });
    if (result_ > 0) report.read_bytes += static_cast<std::uint64_t>(result_);
    return latency - checking_ns_;
  }
  if (o.call == Call::open) {
    const std::string& path = player_.trace_.path(o.path);
    const std::int64_t latency = timed([&] { return player_.target_->open(path, o.flags, o.mode); });
    if (result_ >= 0) {
      if (o.handle == kNoHandle) {
        (void)player_.target_->close(result_);
      } else {
        player_.handles_[o.handle] = result_;
      }
      result_ = 0;
    }
    return latency;
  }
  std::int64_t handle = -1;
  if (o.handle != kNoHandle) {
    handle = player_.handles_[o.handle];
    if (handle < 0) {  // its open failed here
      return timed([] { return std::int64_t{-EBADF}; });
    }
    if (o.call == Call::close) player_.handles_[o.handle] = -1;
  }
  return timed([&] { return call(o, handle); });
}

std::int64_t Player::Thread::perform_read(const Step& step, const Operation& o) {
  std::int64_t latency = 0;
  if (o.handle == kNoHandle) {
    latency = timed([&] { return fetch(player_.trace_.path(o.path), o.offset, o.length, step); });
  } else {
    const std::int64_t handle = player_.handles_[o.handle];
    std::uint64_t done = 0;
    do {
      const std::uint64_t at = o.offset + done;
      const std::span<char> into = buffer(std::min(o.length - done, kLargest));
      latency +=
          timed([&] { return handle < 0 ? std::int64_t{-EBADF} : player_.target_->read(handle, at, into); });
      if (result_ < 0) break;
      check_bytes(step, at, into.first(static_cast<std::size_t>(result_)));
      done += static_cast<std::uint64_t>(result_);
      if (static_cast<std::uint64_t>(result_) < into.size()) break;  // the end, or a fault that is seen
    } while (done < o.length);
    if (result_ >= 0) result_ = static_cast<std::int64_t>(done);
    report.checking_seconds += static_cast<double>(std::exchange(checking_ns_, 0)) / 1e9;  // it was not timed
  }
  if (result_ > 0) report.read_bytes += static_cast<std::uint64_t>(result_);
  return latency - checking_ns_;
}

std::int64_t Player::Thread::perform_write(const Step& step, const Operation& o) {
  const std::uint64_t bytes = o.result >= 0 ? static_cast<std::uint64_t>(o.result) : o.length;
  std::int64_t latency = timed([&]() -> std::int64_t {
    if (o.handle == kNoHandle) return player_.target_->open(player_.trace_.path(o.path), O_WRONLY, 0);
    return player_.handles_[o.handle] < 0 ? -EBADF : player_.handles_[o.handle];
  });
  const std::int64_t handle = result_;
  std::uint64_t done = 0;
  result_ = std::min<std::int64_t>(handle, 0);
  while (handle >= 0) {
    const std::uint64_t at = o.offset + done;
    const std::int64_t start = now_ns();
    const std::span<char> data = buffer(std::min(bytes - done, kLargest));
    fill_content(std::uint64_t{step.operation} + 1, at, data);
    report.checking_seconds += static_cast<double>(now_ns() - start) / 1e9;
    latency += timed([&] { return player_.target_->write(handle, at, data); });
    if (result_ < 0) break;
    done += static_cast<std::uint64_t>(result_);
    if (done == bytes || static_cast<std::uint64_t>(result_) < data.size()) {
      result_ = static_cast<std::int64_t>(done);
      break;
    }
  }
  if (o.handle == kNoHandle && handle >= 0) {
    const std::int64_t written = result_;
    latency += timed([&] { return player_.target_->close(handle); });
    result_ = written;
  }
  if (result_ > 0) report.written_bytes += static_cast<std::uint64_t>(result_);
  return latency;
}

// open, read `most` bytes from `from` or to the end, close.
std::int64_t Player::Thread::fetch(const std::string& path, std::uint64_t from, std::uint64_t most,
                                   const Step& step) {
  const std::int64_t handle = player_.target_->open(path, O_RDONLY, 0);
  if (handle < 0) return handle;
  std::uint64_t done = 0;
  std::int64_t problem = 0;
  while (done < most) {
    const std::span<char> into = buffer(std::min<std::uint64_t>(kChunk, most - done));
    const std::int64_t n = player_.target_->read(handle, from + done, into);
    if (n < 0) problem = n;
    if (n <= 0) break;
    check_bytes(step, from + done, into.first(static_cast<std::size_t>(n)));
    done += static_cast<std::uint64_t>(n);
    if (static_cast<std::size_t>(n) < into.size()) break;
  }
  (void)player_.target_->close(handle);
  return problem < 0 ? problem : static_cast<std::int64_t>(done);
}

std::int64_t Player::Thread::list(const std::string& path) {
  const std::int64_t handle = player_.target_->open(path, O_RDONLY | O_DIRECTORY, 0);
  if (handle < 0) return handle;
  const std::int64_t entries = player_.target_->list(handle, nullptr);
  (void)player_.target_->close(handle);
  return entries;
}

std::int64_t Player::Thread::sync_by_path(const std::string& path, bool data_only) {
  const std::int64_t handle = player_.target_->open(path, O_RDONLY, 0);
  if (handle < 0) return handle;
  const std::int64_t synced = player_.target_->fsync(handle, data_only);
  (void)player_.target_->close(handle);
  return synced;
}

std::int64_t Player::Thread::call(const Operation& o, std::int64_t handle) {
  Target& target = *player_.target_;
  static const std::string kNone;
  const std::string& path = o.path == kNoPath ? kNone : player_.trace_.path(o.path);
  const std::string& path2 = o.path2 == kNoPath ? kNone : player_.trace_.path(o.path2);
  std::string text;
  switch (o.call) {
    case Call::close:
      return target.close(handle);
    case Call::truncate:
      return handle >= 0 ? target.truncate(handle, o.length) : target.truncate(path, o.length);
    case Call::fsync:
    case Call::fdatasync:
      if (handle < 0) return sync_by_path(path, o.call == Call::fdatasync);
      return target.fsync(handle, o.call == Call::fdatasync);
    case Call::sync:
      return target.sync();
    case Call::stat:
      return handle >= 0 ? target.stat(handle, facts_) : target.stat(path, (o.flags & 1) != 0, facts_);
    case Call::access:
      return target.access(path);
    case Call::readlink:
      return target.readlink(path, text);
    case Call::readdir:
      return handle >= 0 ? target.list(handle, nullptr) : list(path);
    case Call::mkdir:
      return target.mkdir(path, o.mode);
    case Call::rmdir:
      return target.rmdir(path);
    case Call::unlink:
      return target.unlink(path);
    case Call::rename:
      return target.rename(path, path2, o.flags);
    case Call::link:
      return target.link(path, path2);
    case Call::symlink:
      return target.symlink(symlink_target(path2, path, player_.root_), path);
    case Call::mknod:
      // A named pipe is a file here, which keeps what its writers wrote until its readers come: nobody has to wait.
      return target.mknod(path, S_ISSOCK(o.mode) ? o.mode : S_IFREG | (o.mode & 07777));
    case Call::chmod:
      return handle >= 0 ? target.chmod(handle, o.mode) : target.chmod(path, o.mode);
    case Call::chown:
      return handle >= 0 ? target.chown(handle) : target.chown(path);
    case Call::utimens:
      return handle >= 0 ? target.utimens(handle) : target.utimens(path);
    case Call::getxattr:
      return handle >= 0 ? target.getxattr(handle, path2) : target.getxattr(path, path2);
    case Call::setxattr: {
      const std::string value(std::min<std::uint64_t>(o.length, 65536), 'x');
      return handle >= 0 ? target.setxattr(handle, path2, value) : target.setxattr(path, path2, value);
    }
    case Call::listxattr:
      return handle >= 0 ? target.listxattr(handle) : target.listxattr(path);
    case Call::removexattr:
      return handle >= 0 ? target.removexattr(handle, path2) : target.removexattr(path, path2);
    default:
      return -ENOSYS;
  }
}

}  // namespace cffs::replay
