// Blocks of table files, as LevelDB reads them one after the other: two bytes of length before each.
#include "core/object/table_file_check.h"

#include <algorithm>

#include "core/base/crc32c.h"
#include "tests/fuzz/fuzz_input.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace cffs;
  constexpr std::uint64_t kFile = 1u << 20;
  TableFileCheck check(kFile);
  ByteReader r(fuzz::text_of(data, size));
  for (std::uint64_t offset = 0; r.ok() && !r.at_end(); offset += 64) {
    std::size_t length = std::size_t{r.u8()} << 8;
    length = std::min(length | r.u8(), r.remaining());
    std::string read;
    for (std::size_t i = 0; i < length; ++i) read += static_cast<char>(r.u8());
    if (read.size() > 4) {  // a fuzzer does not guess a checksum
      read.resize(read.size() - 4);
      ByteWriter(read).u32(masked_crc32c(read));
    }
    (void)check.passes(offset, read);
  }
  return 0;
}
