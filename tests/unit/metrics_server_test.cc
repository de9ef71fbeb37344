// What tells numbers to others: fusefs/metrics_server.h, metrics_address.h, daemon_log.h.
#include "fusefs/metrics_server.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstring>
#include <fstream>
#include <memory>
#include <vector>

#include "core/object/file_descriptor.h"
#include "fusefs/daemon_log.h"
#include "tests/unit/temporary_directory.h"

using namespace cffs;
using cffs::test::TemporaryDirectory;

namespace {

FileDescriptor connected(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  FileDescriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  REQUIRE(::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
  return socket;
}

void say(const FileDescriptor& socket, const std::string& text) {
  (void)::send(socket.get(), text.data(), text.size(), MSG_NOSIGNAL);
}

// All that comes until the end; "(nothing)" where it does not end within `seconds`.
std::string heard(const FileDescriptor& socket, int seconds = 20) {
  std::string text;
  char bytes[4096];
  for (;;) {
    pollfd waiting{socket.get(), POLLIN, 0};
    if (::poll(&waiting, 1, seconds * 1000) != 1) return "(nothing)";
    const ssize_t n = ::recv(socket.get(), bytes, sizeof bytes, 0);
    if (n <= 0) return text;
    text.append(bytes, static_cast<std::size_t>(n));
  }
}

std::string asked(const std::string& path, const std::string& request) {
  const FileDescriptor socket = connected(path);
  say(socket, request);
  return heard(socket);
}

}  // namespace

TEST_CASE("only addresses of this host alone are taken for metrics") {
  const auto four = parse_metrics_address("127.0.0.1:9436");
  REQUIRE(four);
  REQUIRE(four->host == "127.0.0.1");
  REQUIRE(four->port == 9436);
  REQUIRE(parse_metrics_address("localhost:1")->host == "127.0.0.1");
  REQUIRE(parse_metrics_address("127.9.8.7:65535"));
  REQUIRE(parse_metrics_address("[::1]:80")->is_ipv6());
  REQUIRE(parse_metrics_address("unix:/run/x")->path == "/run/x");
  for (const char* wrong : {"0.0.0.0:9436", "192.168.1.1:9436", "[::]:9436", "[2001:db8::1]:9436",
                            "[::ffff:10.0.0.1]:1", "example.com:80", "127.0.0.1", "127.0.0.1:", "127.0.0.1:0",
                            "127.0.0.1:65536", "127.0.0.1:9436x", ":9436", "unix:", "", "128.0.0.1:80"}) {
    INFO(wrong);
    const auto address = parse_metrics_address(wrong);
    REQUIRE(!address);
    REQUIRE(address.error().message().find("unix:PATH") != std::string::npos);
  }
}

TEST_CASE("the metrics server answers GET and HEAD of /metrics and nothing else") {
  const TemporaryDirectory directory;
  const std::string path = directory.path + "/socket";
  MetricsServer server([] { return std::string("cffs_test 1\n"); });
  REQUIRE(server.begin({path, "", 0}));
  struct stat st {};
  REQUIRE(::stat(path.c_str(), &st) == 0);
  REQUIRE((st.st_mode & 0777) == 0600);

  const std::string got = asked(path, "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
  REQUIRE(got.starts_with("HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n"));
  REQUIRE(got.find("Content-Length: 12\r\n") != std::string::npos);
  REQUIRE(got.ends_with("\r\n\r\ncffs_test 1\n"));
  REQUIRE(asked(path, "GET /metrics?x=y HTTP/1.0\n\n").ends_with("cffs_test 1\n"));
  const std::string head = asked(path, "HEAD /metrics HTTP/1.1\r\n\r\n");
  REQUIRE(head.starts_with("HTTP/1.1 200"));
  REQUIRE(head.ends_with("\r\n\r\n"));
  REQUIRE(asked(path, "GET / HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 404"));
  REQUIRE(
      asked(path, "POST /metrics HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello").starts_with("HTTP/1.1 405"));
  for (const char* strange :
       {"\r\n\r\n", "GET\r\n\r\n", "GET /metrics\r\n\r\n", "\x16\x03\x01\n\n", " \n\n"}) {
    INFO(strange);
    REQUIRE(asked(path, strange).starts_with("HTTP/1.1 400"));
  }
  REQUIRE(
      asked(path, "GET /metrics HTTP/1.1\r\nX: " + std::string(1'000'000, 'x')).starts_with("HTTP/1.1 431"));
}

TEST_CASE("clients of the metrics server that are slow, gone, half closed or many hold up nobody") {
  const TemporaryDirectory directory;
  const std::string path = directory.path + "/socket";
  const std::string big(5'000'000, 'x');  // more than a socket takes at once
  auto server = std::make_unique<MetricsServer>([&] { return big; });
  REQUIRE(server->begin({path, "", 0}));
  const std::string request = "GET /metrics HTTP/1.1\r\n\r\n";

  std::vector<FileDescriptor> held;
  for (int i = 0; i < 20; ++i) {  // says nothing, or half of it, or never reads
    held.push_back(connected(path));
    if (i % 3 == 1) say(held.back(), "GET /met");
    if (i % 3 == 2) say(held.back(), request);
  }
  {
    const FileDescriptor gone = connected(path);
    say(gone, request);
  }
  REQUIRE(asked(path, request).size() > big.size());

  const FileDescriptor half_closed = connected(path);
  say(half_closed, request);
  REQUIRE(::shutdown(half_closed.get(), SHUT_WR) == 0);
  REQUIRE(heard(half_closed).size() > big.size());
  const FileDescriptor too_early = connected(path);
  say(too_early, "GET /met");
  REQUIRE(::shutdown(too_early.get(), SHUT_WR) == 0);
  REQUIRE(heard(too_early).empty());

  for (int i = 0; i < 200; ++i) held.push_back(connected(path));  // far more than are served at a time
  REQUIRE(asked(path, request).size() > big.size());
  REQUIRE(heard(held[0]).empty());  // who came first made way

  // In pieces, as a slow network has it.
  const FileDescriptor slow = connected(path);
  for (const char c : request) say(slow, std::string(1, c));
  REQUIRE(heard(slow).size() > big.size());
  server.reset();  // with all of them there
  REQUIRE(::access(path.c_str(), F_OK) != 0);
}

TEST_CASE("one who says nothing to the metrics server is let go of") {
  const TemporaryDirectory directory;
  const std::string path = directory.path + "/socket";
  MetricsServer server([] { return std::string("x\n"); });
  REQUIRE(server.begin({path, "", 0}));
  const FileDescriptor silent = connected(path);
  REQUIRE(heard(silent, 30).empty());
}

TEST_CASE("the numbers are made at most ten times a second, whoever asks") {
  const TemporaryDirectory directory;
  const std::string path = directory.path + "/socket";
  std::atomic<int> made{0};
  MetricsServer server([&] { return std::to_string(++made) + "\n"; });
  REQUIRE(server.begin({path, "", 0}));
  const auto began = std::chrono::steady_clock::now();
  for (int i = 0; i < 100; ++i) (void)asked(path, "GET /metrics HTTP/1.1\r\n\r\n");
  const auto took = std::chrono::steady_clock::now() - began;
  REQUIRE(made <= 1 + took / std::chrono::milliseconds(100));
}

TEST_CASE("a socket that a dead mount left is replaced; what is in use or is no socket is not") {
  const TemporaryDirectory directory;
  const std::string path = directory.path + "/socket";
  const MetricsAddress address{path, "", 0};
  const auto tell = [] { return std::string("x\n"); };
  {
    sockaddr_un dead{};
    dead.sun_family = AF_UNIX;
    std::memcpy(dead.sun_path, path.c_str(), path.size() + 1);
    const FileDescriptor left(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    REQUIRE(::bind(left.get(), reinterpret_cast<const sockaddr*>(&dead), sizeof dead) == 0);
  }
  MetricsServer server(tell), second(tell);
  REQUIRE(server.begin(address));
  const Status taken = second.begin(address);
  REQUIRE(!taken);
  REQUIRE(taken.error().message().find("somebody listens at") != std::string::npos);
  REQUIRE(asked(path, "GET /metrics HTTP/1.1\r\n\r\n").ends_with("x\n"));

  const std::string file = directory.path + "/file";
  std::ofstream(file) << "precious";
  MetricsServer third(tell);
  const Status refused = third.begin({file, "", 0});
  REQUIRE(!refused);
  REQUIRE(refused.error().message().find("is no socket") != std::string::npos);
  REQUIRE(std::ifstream(file).good());
  MetricsServer fourth(tell);
  REQUIRE(!fourth.begin({directory.path + "/" + std::string(200, 'x'), "", 0}));
}

TEST_CASE("lines go to the journal with their level and whose they are") {
  const TemporaryDirectory directory;
  const std::string path = directory.path + "/journal";
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  const FileDescriptor journal(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  REQUIRE(::bind(journal.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
  DaemonLog log(false, "/mnt", "/srv/store", path);
  const auto next = [&] {
    char bytes[65536];
    const ssize_t n = ::recv(journal.get(), bytes, sizeof bytes, MSG_DONTWAIT);
    return n < 0 ? std::string("(nothing)") : std::string(bytes, static_cast<std::size_t>(n));
  };
  log.write(DaemonLog::Level::warning, "a line");
  REQUIRE(next() ==
          "MESSAGE=a line\nPRIORITY=4\nSYSLOG_IDENTIFIER=cffs\nCFFS_MOUNT=/mnt\nCFFS_STORE=/srv/store\n");
  log.write(DaemonLog::Level::error, "two\nPRIORITY=0");  // no field of its own can be slipped in
  REQUIRE(next().starts_with(std::string("MESSAGE\n\x0e\0\0\0\0\0\0\0two\nPRIORITY=0\nPRIORITY=3\n", 42)));
  REQUIRE(log.counts() == std::vector<std::pair<std::string_view, std::uint64_t>>{
                              {"error", 1}, {"warning", 1}, {"notice", 0}});
  // Nobody reads: whoever writes does not wait.
  for (int i = 0; i < 40; ++i) log.write(DaemonLog::Level::notice, "again");
  REQUIRE(log.counts().back().second == 40);
}

TEST_CASE("on standard error a line of the log is one line, whatever files are called") {
  const TemporaryDirectory directory;
  const std::string path = directory.path + "/said";
  const FileDescriptor own(::dup(STDERR_FILENO));
  const FileDescriptor said(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  REQUIRE(::dup2(said.get(), STDERR_FILENO) == STDERR_FILENO);
  DaemonLog log(true, "/mnt", "/srv/store", directory.path + "/none");
  log.write(DaemonLog::Level::warning, "inode 7 (a\ncffs: all is well\x1b[2K\xff, \xc3\xa4): damaged");
  REQUIRE(::dup2(own.get(), STDERR_FILENO) == STDERR_FILENO);
  std::ifstream in(path);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  CHECK(text == "cffs: inode 7 (a\\x0acffs: all is well\\x1b[2K\\xff, \xc3\xa4): damaged\n");
}
