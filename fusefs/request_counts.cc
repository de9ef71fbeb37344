#include "fusefs/request_counts.h"

#include <linux/fuse.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <string>

#include "fusefs/load_windows.h"
#include "fusefs/wire.h"

namespace cffs {
namespace {

// Of this thread, as the route of its replies is (reply_route.cc): libfuse's callback hands over nothing to find it by.
thread_local ServedRequest of_thread;

std::int64_t now_ns() {
  timespec t;
  ::clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<std::int64_t>(t.tv_sec) * 1'000'000'000 + t.tv_nsec;
}

void add(std::uint64_t& word, std::uint64_t more) {
  std::atomic_ref<std::uint64_t>(word).fetch_add(more, std::memory_order_relaxed);
}
std::uint64_t value(std::uint64_t& word) {
  return std::atomic_ref<std::uint64_t>(word).load(std::memory_order_relaxed);
}

// The rest of the request begins with this.
template <typename In>
In body_of(const fuse_buf& request) {
  In in{};
  if (request.size >= sizeof(fuse_in_header) + sizeof in)
    std::memcpy(&in, static_cast<const char*>(request.mem) + sizeof(fuse_in_header), sizeof in);
  return in;
}

constexpr std::uint32_t kOpTmpfile = 51, kOpStatx = 52;  // older headers lack them

}  // namespace

std::string_view request_name(std::uint32_t opcode) {
  switch (opcode) {
    case FUSE_LOOKUP:
      return "lookup";
    case FUSE_GETATTR:
      return "getattr";
    case FUSE_SETATTR:
      return "setattr";
    case FUSE_READLINK:
      return "readlink";
    case FUSE_SYMLINK:
      return "symlink";
    case FUSE_MKNOD:
      return "mknod";
    case FUSE_MKDIR:
      return "mkdir";
    case FUSE_UNLINK:
      return "unlink";
    case FUSE_RMDIR:
      return "rmdir";
    case FUSE_RENAME:
      return "rename";
    case FUSE_RENAME2:
      return "rename2";
    case FUSE_LINK:
      return "link";
    case FUSE_OPEN:
      return "open";
    case FUSE_READ:
      return "read";
    case FUSE_WRITE:
      return "write";
    case FUSE_STATFS:
      return "statfs";
    case FUSE_RELEASE:
      return "release";
    case FUSE_FSYNC:
      return "fsync";
    case FUSE_SETXATTR:
      return "setxattr";
    case FUSE_GETXATTR:
      return "getxattr";
    case FUSE_LISTXATTR:
      return "listxattr";
    case FUSE_REMOVEXATTR:
      return "removexattr";
    case FUSE_FLUSH:
      return "flush";
    case FUSE_OPENDIR:
      return "opendir";
    case FUSE_READDIR:
      return "readdir";
    case FUSE_READDIRPLUS:
      return "readdirplus";
    case FUSE_RELEASEDIR:
      return "releasedir";
    case FUSE_FSYNCDIR:
      return "fsyncdir";
    case FUSE_GETLK:
      return "getlk";
    case FUSE_SETLK:
      return "setlk";
    case FUSE_SETLKW:
      return "setlkw";
    case FUSE_ACCESS:
      return "access";
    case FUSE_CREATE:
      return "create";
    case FUSE_BMAP:
      return "bmap";
    case FUSE_IOCTL:
      return "ioctl";
    case FUSE_POLL:
      return "poll";
    case FUSE_FALLOCATE:
      return "fallocate";
    case FUSE_LSEEK:
      return "lseek";
    case FUSE_COPY_FILE_RANGE:
      return "copy_file_range";
    case FUSE_SYNCFS:
      return "syncfs";
    case kOpTmpfile:
      return "tmpfile";
    case kOpStatx:
      return "statx";
    default:
      return {};
  }
}

std::string error_name(int error) {
#if defined(__GLIBC__)
  if (const char* const name = ::strerrorname_np(error); name != nullptr) return name;
#endif
  return "errno_" + std::to_string(error);
}

RequestCounts::~RequestCounts() {
  for (const auto& stripe : stripes_) std::free(stripe.load());  // NOLINT: made by calloc
}

RequestCounts::Stripe* RequestCounts::stripe_of_thread() {
  static std::atomic<std::size_t> threads{0};
  thread_local const std::size_t mine = threads.fetch_add(1, std::memory_order_relaxed) % kStripes;
  std::atomic<Stripe*>& place = stripes_[mine];
  Stripe* stripe = place.load(std::memory_order_acquire);
  if (stripe != nullptr) return stripe;
  Stripe* const made = static_cast<Stripe*>(std::calloc(1, sizeof(Stripe)));  // NOLINT: untouched pages
  if (made == nullptr || place.compare_exchange_strong(stripe, made, std::memory_order_acq_rel)) return made;
  std::free(made);  // NOLINT
  return stripe;
}

void RequestCounts::begin(const fuse_buf& request) {
  fuse_in_header header;
  of_thread.of = nullptr;
  if (!read_header(request, header)) return;
  if (header.opcode == FUSE_FORGET) {
    forgotten_.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  if (header.opcode == FUSE_BATCH_FORGET) {
    forgotten_.fetch_add(body_of<fuse_batch_forget_in>(request).count, std::memory_order_relaxed);
    return;
  }
  if (header.opcode == FUSE_INTERRUPT || header.opcode == FUSE_DESTROY || header.opcode >= kOpcodes) return;
  of_thread.unique = header.unique;
  of_thread.node = header.nodeid;
  of_thread.opcode = header.opcode;
  of_thread.thread = static_cast<pid_t>(header.pid);
  of_thread.bytes = header.opcode == FUSE_WRITE ? body_of<fuse_write_in>(request).size : 0;
  of_thread.start_ns = now_ns();
  of_thread.of = this;
}

ServedRequest RequestCounts::leave() {
  const ServedRequest left = of_thread;
  of_thread.of = nullptr;
  return left;
}

void RequestCounts::go_on_with(const ServedRequest& request) { of_thread = request; }

void RequestCounts::note(const ServedRequest& request, std::int64_t end_ns, int error, std::uint64_t bytes) {
  Stripe* const stripe = stripe_of_thread();
  if (stripe == nullptr) return;  // no memory: it is not counted
  const auto ns = static_cast<std::uint64_t>(std::max<std::int64_t>(0, end_ns - request.start_ns));
  Kind& kind = stripe->kinds[request.opcode];
  add(kind.buckets[latency_bucket(ns)], 1);
  add(kind.sum_ns, ns);
  if (bytes > 0) add(kind.bytes, bytes);
  if (error > 0) add(kind.errors[std::min<std::size_t>(static_cast<std::size_t>(error), kErrors - 1)], 1);
}

RequestNumbers RequestCounts::numbers() const {
  RequestNumbers all;
  for (const auto& place : stripes_) {
    Stripe* const stripe = place.load(std::memory_order_acquire);
    if (stripe == nullptr) continue;
    for (std::uint32_t opcode = 0; opcode < kOpcodes; ++opcode) {
      Kind& kind = stripe->kinds[opcode];
      if (request_name(opcode).empty() || value(kind.sum_ns) == 0) continue;
      RequestNumbers::Kind& sum = all.kinds[opcode];
      for (std::size_t i = 0; i < kLatencyBuckets; ++i) sum.latencies.buckets[i] += value(kind.buckets[i]);
      sum.latencies.sum_ns += value(kind.sum_ns);
      sum.bytes += value(kind.bytes);
      for (std::size_t e = 1; e < kErrors; ++e) {
        if (const std::uint64_t n = value(kind.errors[e]); n > 0) sum.errors[static_cast<int>(e)] += n;
      }
    }
  }
  all.forgotten = forgotten_.load(std::memory_order_relaxed);
  return all;
}

CountedReply::CountedReply(const iovec* pieces, int count) {
  if (of_thread.of == nullptr || count <= 0 || pieces[0].iov_len < sizeof(fuse_out_header)) return;
  fuse_out_header header;
  std::memcpy(&header, pieces[0].iov_base, sizeof header);
  if (header.unique != of_thread.unique) return;
  request_ = of_thread;
  of_thread.of = nullptr;
  error_ = -header.error;
  if (error_ == 0) {
    bytes_ = request_.bytes;
    if (request_.opcode == FUSE_READ) {
      for (int i = 0; i < count; ++i) bytes_ += pieces[i].iov_len;
      bytes_ -= sizeof header;
    }
  }
  // While its process waits for the answer and is there to be asked its name, and its file has a directory.
  LoadWindows* const windows = request_.of->windows_;
  watched_ = windows != nullptr && windows->open();
  if (watched_) directory_ = windows->meet(request_);
}

CountedReply::~CountedReply() {
  if (request_.of == nullptr) return;
  const std::int64_t end_ns = now_ns();
  request_.of->note(request_, end_ns, error_, bytes_);
  const std::uint64_t ns = static_cast<std::uint64_t>(end_ns - request_.start_ns);
  if (watched_) request_.of->windows_->note(request_, directory_, ns, error_ != 0, bytes_);
}

}  // namespace cffs
