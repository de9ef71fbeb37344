// Memory runs out where a mount tells what it does: its requests are answered all the same. Of allocation_tests, which replaces operator new.
#include <linux/fuse.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <new>
#include <string>
#include <string_view>

#include "core/fs/file_system.h"
#include "core/object/memory_store.h"
#include "fusefs/load_windows.h"
#include "fusefs/metrics_server.h"
#include "fusefs/request_counts.h"
#include "tests/crash/each_allocation.h"
#include "tests/test_options.h"
#include "tests/unit/temporary_directory.h"

namespace cffs::test {

TEST_CASE("a reply goes out although there is no memory to tell who watches whose request it was",
          "[parts]") {
  MemoryStore objects;
  REQUIRE(FileSystem::format(objects, repeatable(), SystemClock()));
  const auto fs = FileSystem::open(objects, quiet());
  REQUIRE(fs);
  LoadWindows windows(**fs);
  REQUIRE(windows.take("viewer", 60'000, 100'000));
  RequestCounts counts(&windows);
  fuse_in_header asked{};
  asked.len = sizeof asked;
  asked.opcode = FUSE_MKDIR;
  asked.unique = 7;
  asked.nodeid = FUSE_ROOT_ID;
  asked.pid = static_cast<std::uint32_t>(::getpid());
  fuse_buf request{};
  request.mem = &asked;
  request.size = sizeof asked;
  fuse_out_header answer{sizeof answer, 0, asked.unique};
  const iovec piece{&answer, sizeof answer};
  bool thrown = false;
  with_each_allocation_failing(
      [&] {
        counts.begin(request);
        try {
          const CountedReply reply(&piece, 1);
        } catch (const std::bad_alloc&) {
          thrown = true;
        }
      },
      [&] { CHECK_FALSE(thrown); });
  CHECK(counts.numbers().kinds.count(FUSE_MKDIR) == 1);
}

TEST_CASE("a scrape for which there is no memory is not answered, the next one is", "[parts]") {
  const TemporaryDirectory directory;
  MetricsAddress address;
  address.path = directory.path + "/metrics";
  MetricsServer server([] { return std::string(5000, 'x'); });
  REQUIRE(server.begin(address));
  std::array<char, 8192> heard{};
  // Allocates nothing.
  const auto scrape = [&]() -> std::string_view {
    sockaddr_un where{};
    where.sun_family = AF_UNIX;
    address.path.copy(where.sun_path, sizeof where.sun_path - 1);
    const FileDescriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&where), sizeof where) != 0) return {};
    constexpr std::string_view kAsked = "GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n";
    (void)::send(socket.get(), kAsked.data(), kAsked.size(), MSG_NOSIGNAL);
    std::size_t n = 0;
    for (ssize_t more = 1; more > 0 && n < heard.size();
         n += static_cast<std::size_t>(std::max<ssize_t>(more, 0)))
      more = ::recv(socket.get(), heard.data() + n, heard.size() - n, 0);
    return {heard.data(), n};
  };
  with_each_allocation_failing([&] { (void)scrape(); },
                               [&] { CHECK(scrape().starts_with("HTTP/1.1 200 OK\r\n")); });
}

}  // namespace cffs::test
