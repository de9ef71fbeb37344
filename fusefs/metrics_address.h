// Where a mount tells its numbers to Prometheus: a port of this host alone, or a socket in the file system.
#pragma once

#include <cstdint>
#include <string>

#include "core/base/error.h"

namespace cffs {

struct MetricsAddress {
  std::string path;  // of a socket; empty: host and port
  std::string host;  // a numeric loopback address
  std::uint16_t port = 0;
  bool is_ipv6() const { return host.find(':') != std::string::npos; }
};

// "127.0.0.1:9436", "[::1]:9436", "localhost:9436", "unix:PATH". `usage`: anything else, and addresses that others can reach.
Result<MetricsAddress> parse_metrics_address(const std::string& text);

}  // namespace cffs
