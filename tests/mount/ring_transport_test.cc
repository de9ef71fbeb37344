// The ring's transport under a file system that does what cffs does not: it replies from other threads, or never. Needs a kernel that
// offers the ring (tests/mount/ring.sh sees to it).
#include <catch2/catch.hpp>

#define FUSE_USE_VERSION 314
#include <fcntl.h>
#include <fuse_lowlevel.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "fusefs/connection.h"
#include "fusefs/init_reply.h"
#include "fusefs/request_loop.h"
#include "fusefs/request_server.h"
#include "fusefs/ring_transport.h"

using namespace cffs;

namespace {

constexpr std::size_t kFileBytes = 3u << 20;
constexpr fuse_ino_t kFile = 2;

char byte_at(std::size_t offset) { return static_cast<char>(offset * 7 / 4096 + offset); }

struct stat attributes_of(fuse_ino_t node) {
  struct stat st {};
  st.st_ino = node;
  st.st_mode = node == kFile ? S_IFREG | 0644 : S_IFDIR | 0755;
  st.st_nlink = 1;
  st.st_size = node == kFile ? kFileBytes : 0;
  return st;
}

// A directory with one file, "file"; what asks for `none` is never answered.
struct Elsewhere {
  std::atomic<int> replied{0};
  Mutex mutex;
  std::vector<std::thread> threads;

  void reply(std::function<void()> how) {
    const MutexLock guard(mutex);
    threads.emplace_back([this, how = std::move(how)] {
      std::this_thread::yield();
      how();
      ++replied;
    });
  }
  void join() {
    const MutexLock guard(mutex);
    for (std::thread& thread : threads) thread.join();
    threads.clear();
  }
};
Elsewhere& elsewhere(fuse_req_t req) { return *static_cast<Elsewhere*>(fuse_req_userdata(req)); }

fuse_lowlevel_ops operations() {
  fuse_lowlevel_ops ops{};
  ops.init = [](void*, fuse_conn_info* conn) { configure_connection(conn); };
  ops.lookup = [](fuse_req_t req, fuse_ino_t, const char* name) {
    if (name == std::string("none")) return;
    if (name != std::string("file")) return (void)fuse_reply_err(req, ENOENT);
    elsewhere(req).reply([req] {
      fuse_entry_param entry{};
      entry.ino = kFile;
      entry.attr = attributes_of(kFile);
      (void)fuse_reply_entry(req, &entry);
    });
  };
  ops.getattr = [](fuse_req_t req, fuse_ino_t node, fuse_file_info*) {
    elsewhere(req).reply([req, node] {
      const struct stat st = attributes_of(node);
      (void)fuse_reply_attr(req, &st, 0);
    });
  };
  ops.read = [](fuse_req_t req, fuse_ino_t, std::size_t size, off_t offset, fuse_file_info*) {
    elsewhere(req).reply([req, size, offset] {
      const auto from = static_cast<std::size_t>(offset);
      std::string data(from >= kFileBytes ? 0 : std::min(size, kFileBytes - from), '\0');
      for (std::size_t i = 0; i < data.size(); ++i) data[i] = byte_at(from + i);
      (void)fuse_reply_buf(req, data.data(), data.size());
    });
  };
  return ops;
}

// A mounted session; the end of its life unmounts, and waits for whoever still replies.
struct Mounted {
  explicit Mounted(Elsewhere& served) : user(served) {
    std::string made =
        std::string(std::getenv("TMPDIR") != nullptr ? std::getenv("TMPDIR") : "/tmp") + "/cffs-ring.XXXXXX";
    REQUIRE(::mkdtemp(made.data()) != nullptr);
    path = made;
    const fuse_lowlevel_ops ops = operations();
    session = new_session({"ring_transport_tests"}, ops, &user);
    REQUIRE(session != nullptr);
    REQUIRE(fuse_session_mount(session, path.c_str()) == 0);
  }
  ~Mounted() {
    fuse_session_unmount(session);
    user.join();
    fuse_session_destroy(session);
    (void)::rmdir(path.c_str());
  }
  Elsewhere& user;
  std::string path;
  fuse_session* session = nullptr;
};

bool looks_right(const std::string& path, std::uint64_t size) {
  struct statx st {};
  return ::statx(AT_FDCWD, path.c_str(), AT_STATX_FORCE_SYNC, STATX_BASIC_STATS, &st) == 0 &&
         st.stx_size == size;
}

bool reads_right(const std::string& path) {
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::string data(kFileBytes + 1, '\0');
  std::size_t have = 0;
  for (ssize_t n = 1; n > 0; have += static_cast<std::size_t>(n)) {
    n = ::read(file.get(), data.data() + have, data.size() - have);
    if (n < 0) return false;
  }
  for (std::size_t i = 0; i < kFileBytes; ++i) {
    if (data[i] != byte_at(i)) return false;
  }
  return have == kFileBytes;
}

}  // namespace

TEST_CASE("a reply may come from another thread", "[ring]") {
  Elsewhere user;
  Mounted mount(user);
  std::atomic<bool> over_ring{false};
  RequestServer::Setup setup;
  setup.session = mount.session;
  setup.transport = Transport::ring;
  setup.on_agreed = [&](bool taken) { over_ring = taken; };
  RequestServer server(std::move(setup));
  REQUIRE(server.begin());
  std::thread serving([&] { (void)server.run(); });
  std::atomic<int> wrong{0};
  {
    std::vector<std::thread> clients;
    for (int i = 0; i < 4; ++i) {
      clients.emplace_back([&] {
        for (int round = 0; round < 100; ++round) {
          if (!looks_right(mount.path + "/file", kFileBytes)) ++wrong;
        }
        if (!reads_right(mount.path + "/file")) ++wrong;
      });
    }
    for (std::thread& client : clients) client.join();
  }
  server.stop();
  serving.join();
  CHECK(over_ring);
  CHECK(wrong == 0);
  CHECK(user.replied > 400);
}

TEST_CASE("a reply that never comes holds up neither others nor the end", "[ring]") {
  Elsewhere user;
  std::thread client;
  {
    Mounted mount(user);
    RequestServer::Setup setup;
    setup.session = mount.session;
    setup.transport = Transport::ring;
    RequestServer server(std::move(setup));
    REQUIRE(server.begin());
    std::thread serving([&] { (void)server.run(); });
    CHECK(looks_right(mount.path, 0));
    client = std::thread([path = mount.path + "/none"] { (void)looks_right(path, 0); });
    ::usleep(100'000);
    for (int i = 0; i < 20; ++i) CHECK(looks_right(mount.path, 0));
    server.stop();
    serving.join();
  }
  client.join();
}

TEST_CASE("where the kernel refuses the ring after it has agreed, requests come by the device", "[ring]") {
  Elsewhere user;
  Mounted mount(user);
  Status from_kernel;
  std::unique_ptr<RingTransport> ring;
  RequestLoop loop(mount.session, 4, [&](const fuse_buf& request) {
    if (!is_init(request)) return false;
    {
      const InitReply route(mount.session, request, {ring->addition()});
      fuse_session_process_buf(mount.session, &request);
    }
    ring->init_is_answered();
    return true;
  });
  RingTransport::Setup setup;
  setup.session = mount.session;
  setup.payload_bytes = 8192;  // its requests are larger
  setup.serve = [&](const fuse_buf& request) { fuse_session_process_buf(mount.session, &request); };
  setup.on_breakdown = [&] { loop.stop(); };
  setup.on_agreed = [&](const Status& status) { from_kernel = status; };
  REQUIRE(route_replies(mount.session));
  auto made = RingTransport::make(std::move(setup));
  REQUIRE(made);
  ring = std::move(*made);
  std::thread serving([&] { (void)loop.run(); });
  CHECK(looks_right(mount.path + "/file", kFileBytes));
  CHECK(reads_right(mount.path + "/file"));
  CHECK_FALSE(from_kernel);
  CHECK_FALSE(ring->is_active());
  loop.stop();
  serving.join();
  ring->end();
}
