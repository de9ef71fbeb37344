#include "fusefs/unasked_pages.h"

#include <algorithm>
#include <cerrno>

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
  const ConstBytes pieces[] = {{reinterpret_cast<const std::byte*>(&store), sizeof store}, content};
  const bool taken = notify_raw(session_, FUSE_NOTIFY_STORE, pieces);
  if (over_ || (!taken && errno != ENOENT)) return Taken::no_more;
  return taken ? Taken::yes : Taken::no;
}

}  // namespace cffs
