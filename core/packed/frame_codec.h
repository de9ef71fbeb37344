// One frame: bytes compressed by themselves, by zstd or LZ4; by zstd also with a dictionary, which both sides must have.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/base/bytes.h"
#include "core/base/error.h"
#include "core/packed/compression.h"
#include "core/packed/dictionary.h"

namespace cffs {

// nullopt: it would not shrink by a sixteenth, or the library has no memory for it.
std::optional<std::string> compress_frame(const Compression& how, std::string_view plain,
                                          const DictionaryToCompress* dictionary = nullptr);

// Fills `out`. `corruption`, without a word more: the bytes are malformed, or are of another length than `out`. ENOMEM: the library has no
// memory for it just now, which says nothing about them. Trusts nothing in `stored`, and writes nowhere but to `out`.
Status decompress_frame(Codec codec, ConstBytes stored, Bytes out,
                        const DictionaryToDecompress* dictionary = nullptr);

}  // namespace cffs
