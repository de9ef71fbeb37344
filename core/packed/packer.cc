#include "core/packed/packer.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "core/base/control_groups.h"
#include "core/packed/dictionary.h"
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

// A dictionary that pays.
struct Teacher {
  std::shared_ptr<const DictionaryToCompress> ready;
  StoredDictionary stored;
};

constexpr std::uint64_t kTaughtFrom = 2u << 20;  // plain bytes: of fewer, what it saves is less than it takes
constexpr std::size_t kTriedOneOf = 16;          // frames

// It is there twice. What it saves of some frames says what it saves of all.
bool saves(const std::vector<std::string_view>& pieces, const Compression& how, const Teacher& teacher) {
  std::uint64_t before = 0, after = 0, tried = 0;
  const auto length = [](const std::optional<std::string>& packed, std::string_view plain) {
    return packed ? packed->size() : plain.size();
  };
  for (std::size_t i = kTriedOneOf / 2; i < pieces.size(); i += kTriedOneOf, ++tried) {
    before += length(compress_frame(how, pieces[i]), pieces[i]);
    after += length(compress_frame(how, pieces[i], teacher.ready.get()), pieces[i]);
  }
  return tried > 0 && before > after &&
         (before - after) * pieces.size() / tried > 2 * teacher.stored.stored.size();
}

std::optional<Teacher> teacher_of(std::string_view plain, const std::vector<std::string_view>& pieces,
                                  const Compression& how) {
  if (how.codec != Codec::zstd || plain.size() < kTaughtFrom) return {};
  const auto dictionary = train_dictionary(plain);
  if (!dictionary) return {};
  Teacher teacher{DictionaryToCompress::of(*dictionary, how.level), {}};
  auto stored = store_dictionary(*dictionary);
  if (!teacher.ready || !stored) return {};
  teacher.stored = std::move(*stored);
  if (!saves(pieces, how, teacher)) return {};
  return teacher;
}

}  // namespace

std::optional<std::string> pack(std::string_view plain, std::span<const std::uint64_t> ends,
                                const Compression& how) {
  if (how.codec == Codec::stored || plain.empty() || plain.size() > kPackedMost) return {};
  const std::vector<std::string_view> pieces = cut(plain, ends);
  auto teacher = teacher_of(plain, pieces, how);
  const DictionaryToCompress* const dictionary = teacher ? teacher->ready.get() : nullptr;
  std::vector<std::optional<std::string>> packed(pieces.size());
  std::transform(pieces.begin(), pieces.end(), packed.begin(),
                 [&](std::string_view piece) { return compress_frame(how, piece, dictionary); });
  FrameIndex index(how, teacher ? std::move(teacher->stored) : StoredDictionary{});
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

bool is_worth_packing(const Compression& how, std::uint64_t bytes, const ReadSample& read) {
  constexpr std::uint64_t kSamples = 16;
  constexpr std::uint64_t kMemoryEach =
      5;  // of its bytes: as a file, in its composite, packed; and some for others
  if (how.codec == Codec::stored || bytes == 0) return false;
  const auto memory = available_memory();
  if (memory && *memory / kMemoryEach < bytes) return false;
  const Compression quick{how.codec, std::min(how.level, kUsualZstdLevel)};
  std::string sample(kFramePlain, '\0');
  std::uint64_t plain = 0, packed = 0;
  for (std::uint64_t i = 0; i < kSamples; ++i) {
    const auto n = read(bytes / kSamples * i, as_writable_bytes(sample));
    if (!n) return false;
    const std::string_view piece = std::string_view(sample).substr(0, *n);
    const auto frame = piece.empty() ? std::nullopt : compress_frame(quick, piece);
    plain += piece.size();
    packed += frame ? frame->size() : piece.size();
  }
  return packed < plain - plain / 4;
}

}  // namespace cffs
