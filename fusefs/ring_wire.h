// The kernel's own format of requests that come over io_uring (linux/fuse.h of Linux 6.14; older headers lack it). The
// kernel's names are beside ours. Numbers are the machine's own, as in all of FUSE.
#pragma once

#include <cstddef>
#include <cstdint>

namespace cffs {

// INIT's flag FUSE_OVER_IO_URING (bit 41), as it stands in flags2, which is there where flags has FUSE_INIT_EXT.
inline constexpr std::uint32_t kOverIoUringInFlags2 = 1u << (41 - 32);

// What a command asks for: cmd_op of the submission (enum fuse_uring_cmd).
enum class RingCommandKind : std::uint32_t {
  register_entry = 1,    // FUSE_IO_URING_CMD_REGISTER: an entry may get its first request
  commit_and_fetch = 2,  // FUSE_IO_URING_CMD_COMMIT_AND_FETCH: an entry has a reply, and may get the next
};

// The submission's command area (struct fuse_uring_cmd_req).
struct RingCommand {
  std::uint64_t flags;
  std::uint64_t commit_id;  // that of the request; 0 where an entry is registered
  std::uint16_t queue;      // qid
  std::uint8_t padding[6];
};

// What an entry's two buffers have to say of each other (struct fuse_uring_ent_in_out).
struct RingEntryState {
  std::uint64_t flags;
  std::uint64_t commit_id;
  std::uint32_t payload_size;  // of a request, as the kernel wrote it; of a reply, as we do
  std::uint32_t padding;
  std::uint64_t reserved;
};

inline constexpr std::size_t kRingHeaderBytes = 128;  // FUSE_URING_IN_OUT_HEADER_SZ, FUSE_URING_OP_IN_OUT_SZ

// The first of an entry's buffers (struct fuse_uring_req_header); the other is the payload.
struct RingHeader {
  std::byte in_out[kRingHeaderBytes];  // fuse_in_header of a request, then fuse_out_header of its reply
  std::byte op_in[kRingHeaderBytes];   // the operation's own header: its first argument
  RingEntryState entry;
};
static_assert(sizeof(RingCommand) == 24 && sizeof(RingEntryState) == 32 && sizeof(RingHeader) == 288);

// The kernel takes no entry with a smaller payload (FUSE_MIN_READ_BUFFER).
inline constexpr std::size_t kLeastRingPayload = 8192;

}  // namespace cffs
