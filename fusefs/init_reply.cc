#include "fusefs/init_reply.h"

#include <cstring>

namespace cffs {

bool is_init(const fuse_buf& request) {
  fuse_in_header header;
  return read_header(request, header) && header.opcode == FUSE_INIT;
}

InitReply::InitReply(fuse_session* session, const fuse_buf& request,
                     const std::vector<InitAddition>& additions)
    : session_(session), additions_(additions) {
  ReplyRoute::set_for_this_thread(this);
  fuse_in_header header;
  if (request.size < sizeof header + sizeof offered_ || !read_header(request, header)) return;
  unique_ = header.unique;
  std::memcpy(&offered_, static_cast<const char*>(request.mem) + sizeof header, sizeof offered_);
}

std::optional<ssize_t> InitReply::take(const iovec* pieces, int count) {
  fuse_out_header header;
  fuse_init_out answer;
  if (unique_ == 0 || count != 2 || unique_of_reply(pieces, count) != unique_ ||
      pieces[0].iov_len != sizeof header || pieces[1].iov_len < sizeof answer) {
    return {};
  }
  std::memcpy(&header, pieces[0].iov_base, sizeof header);
  if (header.error != 0) return {};
  std::memcpy(&answer, pieces[1].iov_base, sizeof answer);
  std::vector<const InitAddition*> added;
  for (const InitAddition& addition : additions_) {
    if (addition.add(offered_, answer)) added.push_back(&addition);
  }
  iovec changed[2] = {pieces[0], {&answer, sizeof answer}};
  const ssize_t written = ::writev(fuse_session_fd(session_), changed, 2);
  if (written < 0) return written;
  for (const InitAddition* addition : added) {
    if (addition->agreed) addition->agreed();
  }
  return written;
}

InitAddition clearing_privileges() {
  return {[](const fuse_init_in& offered, fuse_init_out& answer) {
    if ((offered.flags & FUSE_HANDLE_KILLPRIV_V2) == 0) return false;
    answer.flags |= FUSE_HANDLE_KILLPRIV_V2;
    return true;
  }};
}

}  // namespace cffs
