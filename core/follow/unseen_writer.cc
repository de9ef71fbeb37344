#include "core/follow/unseen_writer.h"

namespace cffs {
namespace {

constexpr std::int64_t kBetweenLooksMs = 2'000;
// A writer that sees a follower publishes within a second, and a commit.
constexpr std::int64_t kUnseenMs = 10'000;

// What cannot be looked at is being changed.
std::uint64_t sign_of(ObjectStore& store) { return table_sign(store).value_or(0); }

}  // namespace

void UnseenWriter::begin(ObjectStore& store) {
  *this = UnseenWriter();
  sign_ = sign_of(store);
}

bool UnseenWriter::look(ObjectStore& store, const Checkpoint& checkpoint, std::int64_t now_ms) {
  if (checkpoint.kept) {
    sign_.reset();
    first_change_ms_.reset();
    is_there_ = false;
    return false;
  }
  if (now_ms - looked_ms_ < kBetweenLooksMs) return is_there_;
  looked_ms_ = now_ms;
  const std::uint64_t sign = sign_of(store);
  if (sign_ && *sign_ != sign) {
    if (!first_change_ms_) first_change_ms_ = now_ms;
    is_there_ = is_there_ || now_ms - *first_change_ms_ >= kUnseenMs;
  }
  sign_ = sign;
  return is_there_;
}

}  // namespace cffs
