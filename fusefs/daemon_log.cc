#include "fusefs/daemon_log.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <syslog.h>
#include <unistd.h>

#include <boost/endian/conversion.hpp>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "core/base/printable.h"

namespace cffs {
namespace {

constexpr std::size_t kMostLine = 32 * 1024;  // a datagram has to take it
constexpr std::array<std::string_view, 3> kLevels = {"error", "warning", "notice"};

// systemd names the device and inode of what it has connected standard error to.
bool is_of_journal(int fd) {
  const char* const told = std::getenv("JOURNAL_STREAM");
  struct stat st {};
  unsigned long long device = 0, inode = 0;
  return told != nullptr && std::sscanf(told, "%llu:%llu", &device, &inode) == 2 && ::fstat(fd, &st) == 0 &&
         st.st_dev == device && st.st_ino == inode;
}

FileDescriptor connect_to(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return {};
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  FileDescriptor socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!socket || ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    return {};
  return socket;
}

void append_field(std::string& datagram, std::string_view name, std::string_view value) {
  datagram.append(name);
  if (value.find('\n') == std::string_view::npos) {
    datagram.append("=").append(value).append("\n");
    return;
  }
  const std::uint64_t size = boost::endian::native_to_little(std::uint64_t{value.size()});
  datagram.append("\n").append(reinterpret_cast<const char*>(&size), sizeof size).append(value).append("\n");
}

}  // namespace

DaemonLog::DaemonLog(bool foreground, std::string mount_point, std::string store, const std::string& journal)
    : foreground_(foreground),
      to_service_(foreground && is_of_journal(STDERR_FILENO)),
      mount_point_(std::move(mount_point)),
      store_(std::move(store)) {
  if (!foreground_ || to_service_) journal_ = connect_to(journal);
}

bool DaemonLog::to_journal(Level level, const std::string& line) const {
  if (!journal_) return false;
  std::string datagram;
  append_field(datagram, "MESSAGE", std::string_view(line).substr(0, kMostLine));
  append_field(datagram, "PRIORITY", std::to_string(static_cast<int>(level)));
  append_field(datagram, "SYSLOG_IDENTIFIER", "cffs");
  append_field(datagram, "CFFS_MOUNT", mount_point_);
  append_field(datagram, "CFFS_STORE", store_);
  return ::send(journal_.get(), datagram.data(), datagram.size(), MSG_DONTWAIT | MSG_NOSIGNAL) ==
         static_cast<ssize_t>(datagram.size());
}

void DaemonLog::write(Level level, const std::string& line) {
  counts_[static_cast<std::size_t>(level) - static_cast<std::size_t>(Level::error)].fetch_add(
      1, std::memory_order_relaxed);
  if (to_journal(level, line)) return;
  const std::string shown =
      printable(line);  // names of files are in it, and whoever made them is not to write lines of his own
  if (!foreground_) {
    ::syslog(static_cast<int>(level), "%s", shown.c_str());
  } else if (to_service_) {
    std::fprintf(stderr, "<%d>%s: %s\n", static_cast<int>(level), printable(mount_point_).c_str(),
                 shown.c_str());
  } else {
    std::fprintf(stderr, "cffs: %s\n", shown.c_str());
  }
}

std::vector<std::pair<std::string_view, std::uint64_t>> DaemonLog::counts() const {
  std::vector<std::pair<std::string_view, std::uint64_t>> counts;
  for (std::size_t i = 0; i < kLevels.size(); ++i)
    counts.emplace_back(kLevels[i], counts_[i].load(std::memory_order_relaxed));
  return counts;
}

}  // namespace cffs
