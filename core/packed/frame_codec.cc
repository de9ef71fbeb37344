// For how a dictionary is used; what is not of the stable interface costs time where it is not known.
#define ZSTD_STATIC_LINKING_ONLY
#include "core/packed/frame_codec.h"

#include <lz4.h>
#include <zstd.h>
#include <zstd_errors.h>

#include <algorithm>
#include <memory>

namespace cffs {
namespace {

// Contexts are worth keeping: to make one costs as much as to compress some KiB. A thread has its own. Null: there is no memory for it;
// the next frame tries again, since the thread may live as long as the mount.
struct Free {
  void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
  void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
};

ZSTD_CCtx* to_compress() {
  thread_local std::unique_ptr<ZSTD_CCtx, Free> context;
  if (!context) context.reset(ZSTD_createCCtx());
  return context.get();
}

ZSTD_DCtx* to_decompress() {
  thread_local std::unique_ptr<ZSTD_DCtx, Free> context;
  if (!context) context.reset(ZSTD_createDCtx());
  return context.get();
}

Status malformed_unless(bool good) { return good ? Status() : fail(Error::corruption({})); }

// The dictionary's tables are looked into where they are: to copy them for each frame costs half as much as to compress it.
std::size_t by_dictionary(ZSTD_CCtx* context, std::string_view plain, const DictionaryToCompress& dictionary,
                          std::string& out) {
  ZSTD_CCtx_reset(context, ZSTD_reset_session_and_parameters);
  (void)ZSTD_CCtx_setParameter(context, ZSTD_c_forceAttachDict, ZSTD_dictForceAttach);
  if (ZSTD_isError(ZSTD_CCtx_refCDict(context, dictionary.ready())) != 0) return 0;
  return ZSTD_compress2(context, out.data(), out.size(), plain.data(), plain.size());
}

std::size_t by_zstd(int level, std::string_view plain, const DictionaryToCompress* dictionary,
                    std::string& out) {
  ZSTD_CCtx* const context = to_compress();
  if (context == nullptr) return 0;
  out.resize(ZSTD_compressBound(plain.size()));
  const std::size_t n = dictionary == nullptr ? ZSTD_compressCCtx(context, out.data(), out.size(),
                                                                  plain.data(), plain.size(), level)
                                              : by_dictionary(context, plain, *dictionary, out);
  return ZSTD_isError(n) != 0 ? 0 : n;
}

Status from_zstd(ConstBytes stored, Bytes out, const DictionaryToDecompress* dictionary) {
  ZSTD_DCtx* const context = to_decompress();
  if (context == nullptr) return fail(ENOMEM);
  const std::size_t n =
      dictionary == nullptr
          ? ZSTD_decompressDCtx(context, out.data(), out.size(), stored.data(), stored.size())
          : ZSTD_decompress_usingDDict(context, out.data(), out.size(), stored.data(), stored.size(),
                                       dictionary->ready());
  if (ZSTD_getErrorCode(n) == ZSTD_error_memory_allocation) return fail(ENOMEM);
  return malformed_unless(ZSTD_isError(n) == 0 && n == out.size());
}

std::size_t by_lz4(std::string_view plain, std::string& out) {
  out.resize(static_cast<std::size_t>(LZ4_compressBound(static_cast<int>(plain.size()))));
  const int n = LZ4_compress_default(plain.data(), out.data(), static_cast<int>(plain.size()),
                                     static_cast<int>(out.size()));
  return static_cast<std::size_t>(std::max(n, 0));
}

}  // namespace

std::optional<std::string> compress_frame(const Compression& how, std::string_view plain,
                                          const DictionaryToCompress* dictionary) {
  std::string out;
  std::size_t n = 0;
  if (how.codec == Codec::zstd) n = by_zstd(how.level, plain, dictionary, out);
  if (how.codec == Codec::lz4) n = by_lz4(plain, out);
  if (n == 0 || n > plain.size() - plain.size() / 16) return {};
  out.resize(n);
  return out;
}

Status decompress_frame(Codec codec, ConstBytes stored, Bytes out, const DictionaryToDecompress* dictionary) {
  switch (codec) {
    case Codec::stored:
      if (stored.size() != out.size()) break;
      std::copy(stored.begin(), stored.end(), out.begin());
      return {};
    case Codec::lz4: {
      const int n = LZ4_decompress_safe(reinterpret_cast<const char*>(stored.data()),
                                        reinterpret_cast<char*>(out.data()), static_cast<int>(stored.size()),
                                        static_cast<int>(out.size()));
      return malformed_unless(n >= 0 && static_cast<std::size_t>(n) == out.size());
    }
    case Codec::zstd:
      return from_zstd(stored, out, dictionary);
  }
  return malformed_unless(false);
}

}  // namespace cffs
