// C includes.
#include "tests/fuzz/references.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  cffs::fuzz::read_document(cffs::grouping::DocumentKind::c, cffs::fuzz::text_of(data, size));
  return 0;
}
