// Answers GET /metrics on a port of this host alone or on a socket in the file system: HTTP/1.1, one answer to a connection.
//
// One thread, which does nothing else, never waits for a client, and touches neither the mount nor its requests. Whoever connects is
// bounded: so many at a time (who comes then takes the place of who was there longest), so many bytes of request, so many seconds in all.
// What is told is made at most ten times a second, however often it is asked for.
//
// A socket in the file system is its owner's alone (mode 0600); who runs Prometheus as somebody else gives it to them. It is removed at the
// end. One that a dead mount left is replaced.
#pragma once

#include <chrono>
#include <functional>
#include <list>
#include <string>
#include <thread>

#include "core/base/error.h"
#include "core/object/file_descriptor.h"
#include "fusefs/metrics_address.h"

namespace cffs {

class MetricsServer {
 public:
  // `tell`: the text. Called by the server's thread.
  explicit MetricsServer(std::function<std::string()> tell) : tell_(std::move(tell)) {}
  ~MetricsServer();
  MetricsServer(const MetricsServer&) = delete;
  MetricsServer& operator=(const MetricsServer&) = delete;

  // `usage`: the place is taken, or is no socket. EAGAIN: no thread.
  Status begin(const MetricsAddress& address);

 private:
  using Steady = std::chrono::steady_clock;
  struct Connection {
    FileDescriptor socket;
    Steady::time_point until;
    std::string request, answer;
    std::size_t sent = 0;
    bool answering = false, draining = false;
  };
  static constexpr std::size_t kMostConnections = 32, kMostRequest = 8192;

  Status listen_at_path(const std::string& path);
  Status listen_at_port(const MetricsAddress& address);
  void run();
  void accept_all();
  // False: it is over.
  bool go_on(Connection& connection, short events);
  bool receive(Connection& connection);
  bool send(Connection& connection);
  void answer(Connection& connection);
  const std::string& text();

  const std::function<std::string()> tell_;
  FileDescriptor listener_, ending_;
  std::string path_;
  std::uint64_t device_ = 0, inode_ = 0;  // of the socket that is ours to remove
  std::thread thread_;
  // The thread's.
  std::list<Connection> connections_;
  Steady::time_point accept_not_before_, told_at_;
  std::string told_;
};

}  // namespace cffs
