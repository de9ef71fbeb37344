// Scripts, Python, Go, Markdown, LaTeX: each text is read as all of them.
#include "tests/fuzz/references.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using cffs::grouping::DocumentKind;
  for (const auto kind : {DocumentKind::script, DocumentKind::python, DocumentKind::go,
                          DocumentKind::markdown, DocumentKind::latex}) {
    cffs::fuzz::read_document(kind, cffs::fuzz::text_of(data, size));
  }
  return 0;
}
