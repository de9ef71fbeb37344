#include "fusefs/metrics_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <vector>

#include "core/base/thread.h"
#include "core/base/within_memory.h"
#include "core/live/exposition.h"

namespace cffs {
namespace {

constexpr std::chrono::seconds kWhole{5}, kDrain{1};
constexpr std::chrono::milliseconds kFresh{100}, kNoDescriptor{100};

std::string response(std::string_view status, std::string_view type, std::string_view body, bool with_body,
                     std::string_view more = {}) {
  std::string text = "HTTP/1.1 ";
  text.append(status).append("\r\nContent-Type: ").append(type);
  text.append("\r\nContent-Length: ").append(std::to_string(body.size())).append("\r\n").append(more);
  text.append("Connection: close\r\n\r\n");
  if (with_body) text.append(body);
  return text;
}

bool is_whole(const std::string& request) {
  return request.find("\r\n\r\n") != std::string::npos || request.find("\n\n") != std::string::npos;
}

Error taken(const std::string& what) { return Error::usage("--metrics: " + what); }

}  // namespace

MetricsServer::~MetricsServer() {
  if (thread_.joinable()) {
    const std::uint64_t one = 1;
    (void)!::write(ending_.get(), &one, sizeof one);
    thread_.join();
  }
  struct stat st {};
  if (!path_.empty() && ::lstat(path_.c_str(), &st) == 0 && st.st_dev == device_ && st.st_ino == inode_)
    (void)::unlink(path_.c_str());
}

Status MetricsServer::listen_at_path(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path)
    return fail(taken("the path of a socket has at most " + std::to_string(sizeof address.sun_path - 1) +
                      " bytes: " + path));
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  const auto* const generic = reinterpret_cast<const sockaddr*>(&address);
  struct stat st {};
  if (::lstat(path.c_str(), &st) == 0) {
    if (!S_ISSOCK(st.st_mode)) return fail(taken(path + " is there and is no socket; name another path"));
    const FileDescriptor trial(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!trial) return fail(errno, path);
    if (::connect(trial.get(), generic, sizeof address) == 0 || errno != ECONNREFUSED)
      return fail(taken("somebody listens at " + path + "; name another path"));
    (void)::unlink(path.c_str());
  }
  listener_ = FileDescriptor(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!listener_ || ::fchmod(listener_.get(), 0600) != 0 ||
      ::bind(listener_.get(), generic, sizeof address) != 0 ||
      ::listen(listener_.get(), static_cast<int>(kMostConnections)) != 0)
    return fail(errno, "--metrics=unix:" + path);
  if (::lstat(path.c_str(), &st) == 0) {
    path_ = path;
    device_ = st.st_dev;
    inode_ = st.st_ino;
  }
  return {};
}

Status MetricsServer::listen_at_port(const MetricsAddress& address) {
  sockaddr_in four{};
  sockaddr_in6 six{};
  four.sin_family = AF_INET;
  six.sin6_family = AF_INET6;
  four.sin_port = six.sin6_port = htons(address.port);
  const bool is_six = address.is_ipv6();
  (void)::inet_pton(is_six ? AF_INET6 : AF_INET, address.host.c_str(),
                    is_six ? static_cast<void*>(&six.sin6_addr) : static_cast<void*>(&four.sin_addr));
  const auto* const generic =
      is_six ? reinterpret_cast<const sockaddr*>(&six) : reinterpret_cast<const sockaddr*>(&four);
  const socklen_t size = is_six ? sizeof six : sizeof four;
  listener_ =
      FileDescriptor(::socket(is_six ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const int on = 1;
  if (!listener_ || ::setsockopt(listener_.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
      ::bind(listener_.get(), generic, size) != 0 ||
      ::listen(listener_.get(), static_cast<int>(kMostConnections)) != 0) {
    const std::string place = address.host + " port " + std::to_string(address.port);
    if (errno == EADDRINUSE) return fail(taken("somebody listens at " + place + "; name another port"));
    return fail(errno, "--metrics at " + place);
  }
  return {};
}

Status MetricsServer::begin(const MetricsAddress& address) {
  CFFS_TRY_VOID(address.path.empty() ? listen_at_port(address) : listen_at_path(address.path));
  ending_ = FileDescriptor(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!ending_) return fail(errno, "--metrics");
  CFFS_TRY(thread_, make_thread("the thread that tells numbers", [this] { run(); }));
  return {};
}

void MetricsServer::run() {
  std::array<pollfd, 2 + kMostConnections> waiting;
  for (;;) {
    const auto now = Steady::now();
    connections_.remove_if([now](const Connection& c) { return c.until <= now; });
    auto next = now + std::chrono::hours(1);
    std::size_t polled = 0;
    waiting[polled++] = {ending_.get(), POLLIN, 0};
    waiting[polled++] = {accept_not_before_ <= now ? listener_.get() : -1, POLLIN, 0};
    if (accept_not_before_ > now) next = accept_not_before_;
    for (const Connection& c : connections_) {
      waiting.at(polled++) = {c.socket.get(),
                              static_cast<short>(c.answering && !c.draining ? POLLOUT : POLLIN), 0};
      next = std::min(next, c.until);
    }
    const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(next - now).count() + 1;
    if (::poll(waiting.data(), polled,
               connections_.empty() && accept_not_before_ <= now ? -1 : static_cast<int>(ms)) < 0 &&
        errno != EINTR)
      return;
    if (waiting[0].revents != 0) return;
    std::size_t i = 2;
    for (auto at = connections_.begin(); at != connections_.end(); ++i) {
      const short events = waiting[i].revents;
      // For whom there is no memory has his connection closed.
      const auto goes_on = within_memory([&]() -> Result<bool> { return events == 0 || go_on(*at, events); });
      at = goes_on.value_or(false) ? std::next(at) : connections_.erase(at);
    }
    if (waiting[1].revents != 0) {
      (void)within_memory([this]() -> Status {
        accept_all();
        return {};
      });
    }
  }
}

void MetricsServer::accept_all() {
  for (std::size_t n = 0; n < kMostConnections; ++n) {  // others have their turn
    FileDescriptor socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket) {
      if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED)
        accept_not_before_ = Steady::now() + kNoDescriptor;
      return;
    }
    if (connections_.size() >= kMostConnections) connections_.pop_front();
    connections_.emplace_back();
    connections_.back().socket = std::move(socket);
    connections_.back().until = Steady::now() + kWhole;
  }
}

bool MetricsServer::go_on(Connection& connection, short events) {
  if (!connection.answering && !receive(connection)) return false;
  if (connection.answering && !connection.draining) return send(connection);
  if (!connection.draining) return true;
  // What comes behind the request is thrown away: a socket that is closed with something unread takes the answer back.
  std::array<char, 4096> rest;
  const ssize_t n = ::recv(connection.socket.get(), rest.data(), rest.size(), 0);
  return n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR) && (events & (POLLERR | POLLHUP)) == 0);
}

bool MetricsServer::receive(Connection& connection) {
  std::array<char, 4096> bytes;
  const ssize_t n = ::recv(connection.socket.get(), bytes.data(), bytes.size(), 0);
  if (n < 0) return errno == EAGAIN || errno == EINTR;
  if (n == 0) return false;
  connection.request.append(bytes.data(), static_cast<std::size_t>(n));
  if (is_whole(connection.request) || connection.request.size() > kMostRequest) {
    answer(connection);
    connection.answering = true;
    connection.request = {};
  }
  return true;
}

bool MetricsServer::send(Connection& connection) {
  const std::string_view left = std::string_view(connection.answer).substr(connection.sent);
  const ssize_t n = ::send(connection.socket.get(), left.data(), left.size(), MSG_NOSIGNAL);
  if (n < 0) return errno == EAGAIN || errno == EINTR;
  connection.sent += static_cast<std::size_t>(n);
  if (connection.sent < connection.answer.size()) return true;
  connection.draining = true;
  connection.answer = {};
  connection.until = std::min(connection.until, Steady::now() + kDrain);
  return ::shutdown(connection.socket.get(), SHUT_WR) == 0;
}

void MetricsServer::answer(Connection& connection) {
  constexpr std::string_view kText = "text/plain; charset=utf-8";
  const std::string& request = connection.request;
  if (!is_whole(request)) {
    connection.answer =
        response("431 Request Header Fields Too Large", kText, "the request is too long\n", true);
    return;
  }
  const std::string_view line = std::string_view(request).substr(0, request.find_first_of("\r\n"));
  const std::size_t first = line.find(' '), second = line.find(' ', first + 1);
  if (first == std::string_view::npos || second == std::string_view::npos ||
      !line.substr(second + 1).starts_with("HTTP/1.")) {
    connection.answer = response("400 Bad Request", kText, "this is no HTTP/1 request\n", true);
    return;
  }
  const std::string_view method = line.substr(0, first);
  std::string_view target = line.substr(first + 1, second - first - 1);
  target = target.substr(0, target.find('?'));
  const bool with_body = method != "HEAD";
  if (method != "GET" && method != "HEAD") {
    connection.answer =
        response("405 Method Not Allowed", kText, "only GET and HEAD\n", true, "Allow: GET, HEAD\r\n");
  } else if (target != "/metrics") {
    connection.answer = response("404 Not Found", kText, "there is /metrics\n", with_body);
  } else {
    connection.answer = response("200 OK", Exposition::kContentType, text(), with_body);
  }
}

const std::string& MetricsServer::text() {
  const auto now = Steady::now();
  if (told_.empty() || now - told_at_ >= kFresh) {
    told_ = tell_();
    told_at_ = now;
  }
  return told_;
}

}  // namespace cffs
