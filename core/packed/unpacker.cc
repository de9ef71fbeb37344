#include "core/packed/unpacker.h"

#include <memory>

#include "core/base/checksum.h"
#include "core/packed/dictionary.h"
#include "core/packed/frame_codec.h"
#include "core/packed/frame_index.h"

namespace cffs {
namespace {

auto not_packed() { return fail(Error::corruption("a packed composite is malformed")); }

// What is malformed in it makes all of it so; a shortage says nothing about it.
auto not_unpacked(Error error) { return error.is_shortage() ? fail(std::move(error)) : not_packed(); }

}  // namespace

Status unpack(std::string_view packed, std::string& plain) {
  const std::string_view head = packed.substr(0, kPackedHeadBytes);
  if (!is_packed_head(head)) return not_packed();
  CFFS_TRY(const FrameIndex index,
           decode_frame_index(head, packed.substr(kPackedHeadBytes, index_bytes_of(head))));
  if (index.object_bytes() != packed.size() || index.plain_bytes() > kPackedMost) return not_packed();
  std::shared_ptr<const DictionaryToDecompress> dictionary;
  if (index.dictionary().plain_bytes > 0) {
    auto ready = DictionaryToDecompress::of(index.dictionary());
    if (!ready) return not_unpacked(std::move(ready).error());
    dictionary = std::move(*ready);
  }
  plain.resize(index.plain_bytes());
  for (const Frame& frame : index.frames()) {
    const std::string_view stored = packed.substr(frame.stored_at, frame.stored_bytes);
    const Bytes out = as_writable_bytes(plain).subspan(frame.plain_at, frame.plain_bytes);
    if (checksum(stored) != frame.checksum) return not_packed();
    if (Status done = decompress_frame(frame.codec, as_bytes(stored), out, dictionary.get()); !done)
      return not_unpacked(std::move(done).error());
  }
  return {};
}

}  // namespace cffs
