#include "fusefs/metrics_address.h"

#include <arpa/inet.h>
#include <sys/un.h>

#include <charconv>
#include <string_view>

namespace cffs {
namespace {

constexpr std::string_view kUnix = "unix:";

tl::unexpected<Error> refused(const std::string& text, const std::string& why) {
  return fail(Error::command_line("--metrics=" + text + ": " + why +
                                  "; give 127.0.0.1:PORT, [::1]:PORT or unix:PATH"));
}

bool is_loopback(const std::string& host) {
  in_addr four{};
  if (::inet_pton(AF_INET, host.c_str(), &four) == 1) return (ntohl(four.s_addr) >> 24) == 127;
  in6_addr six{};
  return ::inet_pton(AF_INET6, host.c_str(), &six) == 1 && IN6_IS_ADDR_LOOPBACK(&six);
}

}  // namespace

Result<MetricsAddress> parse_metrics_address(const std::string& text) {
  MetricsAddress address;
  if (text.starts_with(kUnix)) {
    address.path = text.substr(kUnix.size());
    if (address.path.empty()) return refused(text, "the socket needs a path");
    return address;
  }
  const std::size_t colon = text.rfind(':');
  if (colon == std::string::npos) return refused(text, "there is no port");
  address.host = text.substr(0, colon);
  const std::string_view digits = std::string_view(text).substr(colon + 1);
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), address.port);
  if (error != std::errc() || end != digits.data() + digits.size() || address.port == 0)
    return refused(text, "a port is a number from 1 to 65535");
  if (address.host.starts_with('[') && address.host.ends_with(']'))
    address.host = address.host.substr(1, address.host.size() - 2);
  if (address.host == "localhost") address.host = "127.0.0.1";
  if (!is_loopback(address.host))
    return refused(text, "only this host may ask, and that is no loopback address");
  return address;
}

}  // namespace cffs
