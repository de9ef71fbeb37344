// Not of zstd's stable interface, but exported since 1.3.8: the trainer that is fast enough to run for each composite, and tables
// as large as frames need.
#define ZDICT_STATIC_LINKING_ONLY
#define ZSTD_STATIC_LINKING_ONLY
#include "core/packed/dictionary.h"

#include <zdict.h>
#include <zstd.h>
#include <zstd_errors.h>

#include <utility>
#include <vector>

#include "core/packed/compression.h"
#include "core/packed/frame_codec.h"
#include "core/packed/packer.h"

namespace cffs {
namespace {

constexpr std::size_t kSamples = 256, kSampleBytes = 2048;
constexpr Compression kOfItself{Codec::zstd, 6};

// Of what zstd made nothing ready, which says the same where it has no memory. Only what begins as a dictionary has tables that may be
// bad; the rest is text.
bool is_malformed(std::string_view dictionary) {
  constexpr std::string_view kMagic = "\x37\xa4\x30\xec";
  if (!dictionary.starts_with(kMagic)) return false;
  const std::size_t tables = ZDICT_getDictHeaderSize(dictionary.data(), dictionary.size());
  return ZDICT_isError(tables) != 0 && ZSTD_getErrorCode(tables) != ZSTD_error_memory_allocation;
}

}  // namespace

std::optional<std::string> train_dictionary(std::string_view plain) {
  if (plain.size() < kSamples * kSampleBytes) return {};
  std::string samples;
  samples.reserve(kSamples * kSampleBytes);
  for (std::size_t i = 0; i < kSamples; ++i)
    samples += plain.substr(i * (plain.size() / kSamples), kSampleBytes);
  const std::vector<std::size_t> lengths(kSamples, kSampleBytes);
  // Of 8 MiB of documentation: as good to 0.4 % as 2 MiB of samples, and as what the slow trainer finds in thirty times the time.
  ZDICT_fastCover_params_t how{};
  how.k = 200;
  how.d = 8;
  how.f = 18;
  how.accel = 10;
  how.zParams.compressionLevel = kUsualZstdLevel;
  std::string dictionary(kDictionaryBytes, '\0');
  const std::size_t n = ZDICT_trainFromBuffer_fastCover(dictionary.data(), dictionary.size(), samples.data(),
                                                        lengths.data(), kSamples, how);
  if (ZDICT_isError(n) != 0) return {};
  dictionary.resize(n);
  return dictionary;
}

std::optional<StoredDictionary> store_dictionary(std::string_view dictionary) {
  auto stored = compress_frame(kOfItself, dictionary);
  if (!stored) return {};
  return StoredDictionary{static_cast<std::uint32_t>(dictionary.size()), std::move(*stored)};
}

std::shared_ptr<const DictionaryToCompress> DictionaryToCompress::of(std::string_view dictionary, int level) {
  const ZSTD_compressionParameters for_frames = ZSTD_getCParams(level, kFramePlain, dictionary.size());
  std::shared_ptr<ZSTD_CDict> ready(
      ZSTD_createCDict_advanced(dictionary.data(), dictionary.size(), ZSTD_dlm_byCopy, ZSTD_dct_auto,
                                for_frames, ZSTD_defaultCMem),
      &ZSTD_freeCDict);
  return ready ? std::make_shared<const DictionaryToCompress>(std::move(ready)) : nullptr;
}

Result<std::shared_ptr<const DictionaryToDecompress>> DictionaryToDecompress::of(
    const StoredDictionary& stored) {
  std::string dictionary(stored.plain_bytes, '\0');
  CFFS_TRY_VOID(decompress_frame(Codec::zstd, as_bytes(stored.stored), as_writable_bytes(dictionary)));
  std::shared_ptr<ZSTD_DDict> ready(ZSTD_createDDict(dictionary.data(), dictionary.size()), &ZSTD_freeDDict);
  if (ready) return std::make_shared<const DictionaryToDecompress>(std::move(ready));
  return fail(is_malformed(dictionary) ? Error::corruption({}) : Error::os(ENOMEM));
}

}  // namespace cffs
