#include "fusefs/reply_route.h"

#include <linux/fuse.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <vector>

#include "core/base/mutex.h"
#include "fusefs/request_counts.h"

namespace cffs {
namespace {

// Thread-local and, for the rare look-up, of the process: libfuse's callback hands over nothing to find them by.
thread_local ReplyRoute* route_of_thread = nullptr;

struct KnownRoutes {
  std::atomic<int> count{0};  // a mount without a ring has none, and takes no lock
  Mutex mutex;
  std::vector<ReplyRoute*> all CFFS_GUARDED_BY(mutex);
};
KnownRoutes& known_routes() {
  static KnownRoutes routes;
  return routes;
}

std::optional<ssize_t> take_elsewhere(int device, const iovec* pieces, int count) {
  KnownRoutes& routes = known_routes();
  if (routes.count.load(std::memory_order_relaxed) == 0) return {};
  const MutexLock guard(routes.mutex);
  for (ReplyRoute* route : routes.all) {
    if (const auto taken = route->take_from_elsewhere(device, pieces, count)) return taken;
  }
  return {};
}

}  // namespace

void ReplyRoute::set_for_this_thread(ReplyRoute* route) { route_of_thread = route; }

KnownRoute::KnownRoute(ReplyRoute& route) : route_(route) {
  KnownRoutes& routes = known_routes();
  const MutexLock guard(routes.mutex);
  routes.all.push_back(&route);
  ++routes.count;
}

KnownRoute::~KnownRoute() {
  KnownRoutes& routes = known_routes();
  const MutexLock guard(routes.mutex);
  --routes.count;
  routes.all.erase(std::find(routes.all.begin(), routes.all.end(), &route_));
}

std::uint64_t unique_of_reply(const iovec* pieces, int count) {
  fuse_out_header header{};
  if (count > 0 && pieces[0].iov_len >= sizeof header)
    std::memcpy(&header, pieces[0].iov_base, sizeof header);
  return header.unique;
}

ssize_t write_reply(int device, const iovec* pieces, int count) {
  const CountedReply counted(pieces, count);
  if (route_of_thread != nullptr) {
    if (const auto taken = route_of_thread->take(pieces, count)) return *taken;
  }
  if (unique_of_reply(pieces, count) != 0) {
    if (const auto taken = take_elsewhere(device, pieces, count)) return *taken;
  }
  return ::writev(device, pieces, count);
}

std::byte* reply_room(std::size_t bytes) {
  return route_of_thread == nullptr ? nullptr : route_of_thread->room(bytes);
}

Status route_replies(fuse_session* session) {
  fuse_custom_io io{};
  io.writev = [](int device, iovec* pieces, int count, void*) { return write_reply(device, pieces, count); };
  io.read = [](int device, void* into, std::size_t size, void*) { return ::read(device, into, size); };
  const int done = fuse_session_custom_io(session, &io, fuse_session_fd(session));
  if (done != 0) return fail(-done, "/dev/fuse");
  return {};
}

}  // namespace cffs
