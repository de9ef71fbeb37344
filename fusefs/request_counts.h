// Counts every request of a mount: by kind, with its latency, bytes and error. Always on.
//
// begin() is called where a request reaches the daemon, whichever way it came; the reply is seen where all replies are written
// (reply_route.h). Between the two the request is the thread's. One that is answered later, perhaps by another thread
// (parked_requests.h), is taken from its thread by leave() and given to the one that goes on with it. So a latency is all the time that
// the daemon had the request; what it waited in the kernel before is not in it. FORGET and INTERRUPT have no answer: of the first the
// inodes are counted.
//
// What a request pays: two looks at the clock and three additions in a stripe that is mostly the thread's own; never a lock, but while
// somebody watches with `cffs top` (load_windows.h). It allocates nothing after the first request of a thread.
#pragma once

#define FUSE_USE_VERSION 314
#include <fuse_lowlevel.h>
#include <sys/types.h>
#include <sys/uio.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <string_view>

#include "core/base/ids.h"
#include "core/live/latency_buckets.h"

namespace cffs {

class LoadWindows;
class RequestCounts;

// A request that is being served.
struct ServedRequest {
  RequestCounts* of = nullptr;                    // null: none
  std::uint64_t unique = 0, node = 0, bytes = 0;  // `bytes`: that it brings
  std::uint32_t opcode = 0;
  pid_t thread = 0;  // of the caller; 0: the kernel's own, or of another namespace
  std::int64_t start_ns = 0;
};

// By one moment. Of requests that are counted while it is taken some numbers may be one ahead of others.
struct RequestNumbers {
  struct Kind {
    LatencyCounts latencies;
    std::uint64_t bytes = 0;              // read or written
    std::map<int, std::uint64_t> errors;  // by errno
  };
  std::map<std::uint32_t, Kind> kinds;  // by opcode; those that came
  std::uint64_t forgotten = 0;          // inodes
};

// "lookup", "read", ...; empty: no kind that is counted by itself.
std::string_view request_name(std::uint32_t opcode);
// "ENOENT"; "errno_200" where the C library has no name.
std::string error_name(int error);

class RequestCounts {
 public:
  // `windows`: who is told of each request while somebody watches; null: nobody.
  explicit RequestCounts(LoadWindows* windows = nullptr) : windows_(windows) {}
  ~RequestCounts();
  RequestCounts(const RequestCounts&) = delete;
  RequestCounts& operator=(const RequestCounts&) = delete;

  void begin(const fuse_buf& request);
  // The thread's request is answered later; go_on_with() it then.
  static ServedRequest leave();
  static void go_on_with(const ServedRequest& request);

  RequestNumbers numbers() const;

 private:
  friend class CountedReply;
  static constexpr std::size_t kOpcodes = 64, kErrors = 134, kStripes = 8;
  // Words, all changed by atomic additions alone. Made of pages that nobody touched: what never came takes no memory.
  struct Kind {
    std::array<std::uint64_t, kLatencyBuckets> buckets;
    std::uint64_t sum_ns, bytes;
    std::array<std::uint64_t, kErrors> errors;
  };
  struct Stripe {
    std::array<Kind, kOpcodes> kinds;
  };
  Stripe* stripe_of_thread();
  void note(const ServedRequest& request, std::int64_t end_ns, int error, std::uint64_t bytes);

  LoadWindows* const windows_;
  std::array<std::atomic<Stripe*>, kStripes> stripes_{};
  std::atomic<std::uint64_t> forgotten_{0};
};

// Around the writing of one message to the kernel: where it answers the thread's request, that is counted at the end.
class CountedReply {
 public:
  CountedReply(const iovec* pieces, int count);
  ~CountedReply();
  CountedReply(const CountedReply&) = delete;
  CountedReply& operator=(const CountedReply&) = delete;

 private:
  ServedRequest request_;
  bool watched_ = false;
  InodeId directory_;
  int error_ = 0;
  std::uint64_t bytes_ = 0;
};

}  // namespace cffs
