#include "fusefs/ring_message.h"

#include <linux/fuse.h>
#include <sys/mman.h>

#include <cstring>
#include <utility>

namespace cffs {
namespace {

constexpr std::size_t kFront = 4096;
static_assert(sizeof(RingHeader) + sizeof(fuse_in_header) + kRingHeaderBytes <= kFront);

}  // namespace

Result<RingMessage> RingMessage::make(std::size_t payload_bytes) {
  void* memory =
      ::mmap(nullptr, kFront + payload_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return fail(errno, "memory for a request");
  return RingMessage(static_cast<std::byte*>(memory), payload_bytes);
}

RingMessage::RingMessage(std::byte* memory, std::size_t payload_bytes)
    : memory_(memory),
      payload_(memory + kFront),
      payload_bytes_(payload_bytes),
      buffers_{{memory, sizeof(RingHeader)}, {payload_, payload_bytes}} {}

RingMessage::RingMessage(RingMessage&& other) noexcept
    : memory_(std::exchange(other.memory_, nullptr)),
      payload_(other.payload_),
      payload_bytes_(other.payload_bytes_),
      buffers_{other.buffers_[0], other.buffers_[1]},
      unique_(other.unique_),
      request_bytes_(other.request_bytes_),
      reply_bytes_(other.reply_bytes_),
      aside_(std::move(other.aside_)) {}

RingMessage::~RingMessage() {
  if (memory_ != nullptr) (void)::munmap(memory_, kFront + payload_bytes_);
}

std::optional<fuse_buf> RingMessage::open() {
  fuse_in_header in;
  std::memcpy(&in, header().in_out, sizeof in);
  unique_ = in.unique;
  reply_bytes_ = 0;
  request_bytes_ = header().entry.payload_size;
  aside_.clear();
  if (request_bytes_ > payload_bytes_ || in.len < sizeof in + request_bytes_) return {};
  const std::size_t own_header = in.len - sizeof in - request_bytes_;
  if (own_header > kRingHeaderBytes) return {};
  std::byte* begin = payload_ - own_header - sizeof in;
  std::memcpy(begin, &in, sizeof in);
  std::memcpy(begin + sizeof in, header().op_in, own_header);
  fuse_buf request{};
  request.mem = begin;
  request.size = in.len;
  return request;
}

std::byte* RingMessage::room(std::size_t bytes) {
  return request_bytes_ == 0 && bytes <= payload_bytes_ ? payload_ : nullptr;
}

Status RingMessage::answer(const iovec* pieces, int count) {
  fuse_out_header out;
  if (count < 1 || pieces[0].iov_len < sizeof out) return fail(EINVAL, "a reply without its header");
  std::size_t bytes = 0;
  for (int i = 0; i < count; ++i) bytes += pieces[i].iov_len;
  bytes -= sizeof out;
  if (bytes > payload_bytes_) return fail(EMSGSIZE, "a reply");
  std::memcpy(&out, pieces[0].iov_base, sizeof out);
  std::memcpy(header().in_out, &out, sizeof out);
  std::byte* to = payload_;
  if (request_bytes_ > 0) {
    aside_.resize(bytes);
    to = aside_.data();
  }
  for (int i = 0; i < count; ++i) {
    const std::size_t skipped = i == 0 ? sizeof out : 0;
    const std::byte* from = static_cast<const std::byte*>(pieces[i].iov_base) + skipped;
    const std::size_t size = pieces[i].iov_len - skipped;
    if (size > 0 && from != to) std::memmove(to, from, size);  // else it was put into room()
    to += size;
  }
  reply_bytes_ = static_cast<std::uint32_t>(bytes);
  return {};
}

void RingMessage::answer_error(int error) {
  const fuse_out_header out{sizeof out, -error, unique_};
  std::memcpy(header().in_out, &out, sizeof out);
  reply_bytes_ = 0;
  aside_.clear();
}

void RingMessage::seal() {
  if (!aside_.empty()) std::memcpy(payload_, aside_.data(), reply_bytes_);
  header().entry.payload_size = reply_bytes_;
}

}  // namespace cffs
