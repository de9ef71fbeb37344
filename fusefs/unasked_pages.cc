#include "fusefs/unasked_pages.h"

#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>

#include "fusefs/wire.h"

namespace cffs {
namespace {

constexpr unsigned kMostPassed = 64;

}  // namespace

UnaskedPages::~UnaskedPages() {
  if (begun_) fs_.on_likely_group({});
  end();
}

void UnaskedPages::begin() {
  begun_ = true;
  fs_.on_likely_group([this](ReaderId reader, InodeId file) { groups_.want({reader, file}); });
}

void UnaskedPages::end() {
  over_ = true;
  groups_.stop();
}

void UnaskedPages::fill(const Group& group) {
  if (passed_ < pass_) {
    ++passed_;
    return;
  }
  passed_ = 0;
  const auto files = fs_.hand_over_group(
      group.reader, group.of, [this](InodeId file, ConstBytes content) { return put(file, content); });
  const bool in_vain = !files || *files == 0;
  pass_ = in_vain ? std::min(kMostPassed, 2 * pass_ + 1) : 0;
}

// A file that the kernel has just forgotten (ENOENT) is none of its business.
Taken UnaskedPages::put(InodeId file, ConstBytes content) const {
  fuse_notify_store_out store{};
  store.nodeid = file.value;
  store.size = static_cast<std::uint32_t>(content.size());
  // A notification is a reply to no request.
  fuse_out_header header{static_cast<std::uint32_t>(sizeof header + sizeof store + content.size()),
                         FUSE_NOTIFY_STORE, 0};
  const iovec pieces[] = {{&header, sizeof header},
                          {&store, sizeof store},
                          {const_cast<std::byte*>(content.data()), content.size()}};
  const ssize_t written = ::writev(fuse_session_fd(session_), pieces, std::size(pieces));
  if (over_ || (written < 0 && errno != ENOENT)) return Taken::no_more;
  return written >= 0 ? Taken::yes : Taken::no;
}

}  // namespace cffs
