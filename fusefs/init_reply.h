// The reply to INIT on its way to the kernel, where what libfuse does not know is added to what it agreed on.
#pragma once

#include <functional>
#include <vector>

#include "fusefs/reply_route.h"
#include "fusefs/wire.h"

namespace cffs {

// One thing that is agreed on beside libfuse.
struct InitAddition {
  // Changes libfuse's answer where the kernel offers it. False: there is nothing to add.
  std::function<bool(const fuse_init_in& offered, fuse_init_out& answer)> add;
  // The kernel has what add() wrote. May be null.
  std::function<void()> agreed = nullptr;
};

// The route of this thread's replies while it lives; libfuse serves INIT meanwhile. Its replies come by write_reply().
class InitReply final : public ReplyRoute {
 public:
  InitReply(fuse_session* session, const fuse_buf& request, const std::vector<InitAddition>& additions);
  ~InitReply() override { ReplyRoute::set_for_this_thread(nullptr); }

  std::optional<ssize_t> take(const iovec* pieces, int count) override;
  std::optional<ssize_t> take_from_elsewhere(int, const iovec*, int) override { return {}; }
  std::byte* room(std::size_t) override { return nullptr; }

 private:
  fuse_session* const session_;
  const std::vector<InitAddition>& additions_;
  std::uint64_t unique_ = 0;  // 0: the kernel is older than what can be added
  fuse_init_in offered_{};
};

bool is_init(const fuse_buf& request);

// Set-id bits and capabilities go with a change of a file's content or owner, and the file system sees to it
// (FUSE_HANDLE_KILLPRIV_V2, Linux 5.12). The kernel then remembers that a file has none, and does not ask for its capabilities before
// each write (SB_NOSEC).
InitAddition clearing_privileges();

}  // namespace cffs
