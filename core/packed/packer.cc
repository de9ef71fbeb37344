#include "core/packed/packer.h"

#include <algorithm>
#include <vector>

#include "core/packed/frame_codec.h"
#include "core/packed/frame_index.h"

namespace cffs {
namespace {

std::vector<std::string_view> cut(std::string_view plain, std::span<const std::uint64_t> ends) {
  std::vector<std::string_view> pieces;
  for (std::uint64_t at = 0; at < plain.size();) {
    std::uint64_t end = std::min<std::uint64_t>(at + kFramePlain, plain.size());
    if (end < plain.size()) {
      const auto behind = std::upper_bound(ends.begin(), ends.end(), end);
      if (behind != ends.begin() && *std::prev(behind) >= at + kFramePlain / 2) end = *std::prev(behind);
    }
    pieces.push_back(plain.substr(at, end - at));
    at = end;
  }
  return pieces;
}

}  // namespace

std::optional<std::string> pack(std::string_view plain, std::span<const std::uint64_t> ends,
                                const Compression& how) {
  if (how.codec == Codec::stored || plain.empty() || plain.size() > kPackedMost) return {};
  const std::vector<std::string_view> pieces = cut(plain, ends);
  std::vector<std::optional<std::string>> packed(pieces.size());
  std::transform(pieces.begin(), pieces.end(), packed.begin(),
                 [&](std::string_view piece) { return compress_frame(how, piece); });
  FrameIndex index(how);
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    index.add(packed[i] ? how.codec : Codec::stored, pieces[i].size(), packed[i] ? *packed[i] : pieces[i]);
  }
  std::string out = index.encode_front();
  if (index.object_bytes() > plain.size() - plain.size() / 16) return {};
  out.reserve(index.object_bytes());
  for (std::size_t i = 0; i < pieces.size(); ++i) out += packed[i] ? std::string_view(*packed[i]) : pieces[i];
  out += index.encode_back();
  return out;
}

}  // namespace cffs
