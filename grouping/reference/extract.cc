#include "grouping/reference/extract.h"

#include <algorithm>
#include <array>

#include "grouping/reference/text.h"

namespace cffs::grouping {
namespace {

struct Suffix {
  std::string_view text;
  DocumentKind kind;
};
constexpr std::array kSuffixes = {
    Suffix{"html", DocumentKind::html},
    Suffix{"htm", DocumentKind::html},
    Suffix{"xhtml", DocumentKind::html},
    Suffix{"shtml", DocumentKind::html},
    Suffix{"svg", DocumentKind::html},
    Suffix{"css", DocumentKind::css},
    Suffix{"js", DocumentKind::script},
    Suffix{"mjs", DocumentKind::script},
    Suffix{"cjs", DocumentKind::script},
    Suffix{"jsx", DocumentKind::script},
    Suffix{"ts", DocumentKind::script},
    Suffix{"tsx", DocumentKind::script},
    Suffix{"mts", DocumentKind::script},
    Suffix{"cts", DocumentKind::script},
    Suffix{"c", DocumentKind::c},
    Suffix{"h", DocumentKind::c},
    Suffix{"cc", DocumentKind::c},
    Suffix{"hh", DocumentKind::c},
    Suffix{"cpp", DocumentKind::c},
    Suffix{"hpp", DocumentKind::c},
    Suffix{"cxx", DocumentKind::c},
    Suffix{"hxx", DocumentKind::c},
    Suffix{"inl", DocumentKind::c},
    Suffix{"ipp", DocumentKind::c},
    Suffix{"m", DocumentKind::c},
    Suffix{"mm", DocumentKind::c},
    Suffix{"d", DocumentKind::rules},
    Suffix{"mk", DocumentKind::rules},
    Suffix{"mak", DocumentKind::rules},
    Suffix{"make", DocumentKind::rules},
    Suffix{"cmake", DocumentKind::cmake},
    Suffix{"ninja", DocumentKind::ninja},
    Suffix{"py", DocumentKind::python},
    Suffix{"pyi", DocumentKind::python},
    Suffix{"go", DocumentKind::go},
    Suffix{"md", DocumentKind::markdown},
    Suffix{"markdown", DocumentKind::markdown},
    Suffix{"tex", DocumentKind::latex},
    Suffix{"ltx", DocumentKind::latex},
};

}  // namespace

DocumentKind document_kind(std::string_view path) {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  if (name == "Makefile" || name == "makefile" || name == "GNUmakefile") return DocumentKind::rules;
  if (name == "CMakeLists.txt") return DocumentKind::cmake;
  const std::size_t dot = name.rfind('.');
  if (dot == std::string_view::npos || name.size() - dot > 10) return DocumentKind::none;
  const std::string suffix = lowered(name.substr(dot + 1));
  for (const Suffix& known : kSuffixes) {
    if (known.text == suffix) return known.kind;
  }
  return DocumentKind::none;
}

namespace {

Extracted by_kind(DocumentKind kind, std::string_view content, Effort& effort) {
  switch (kind) {
    case DocumentKind::none:
      return {};
    case DocumentKind::html:
      return extract_html(content, effort);
    case DocumentKind::css:
      return {extract_css(content), {}, 0};
    case DocumentKind::script:
      return {extract_script(content), {}, 0};
    case DocumentKind::c:
      return {extract_c(content), {}, 0};
    case DocumentKind::rules:
      return {extract_rules(content, effort), {}, 0};
    case DocumentKind::cmake:
      return {extract_cmake(content, effort), {}, 0};
    case DocumentKind::ninja:
      return {extract_ninja(content, effort), {}, 0};
    case DocumentKind::python:
      return {extract_python(content, effort), {}, 0};
    case DocumentKind::go:
      return {extract_go(content), {}, 0};
    case DocumentKind::markdown:
      return {extract_markdown(content, effort), {}, 0};
    case DocumentKind::latex:
      return {extract_latex(content, effort), {}, 0};
  }
  return {};
}

}  // namespace

Extracted extract(DocumentKind kind, std::string_view content) {
  Effort effort(content.size());
  (void)effort.spend(content.size());
  Extracted found = by_kind(kind, content, effort);
  constexpr std::size_t kLongestBase = 8192;  // of a URL; it is looked at for each reference
  if (found.base.size() > kLongestBase) found.base.clear();
  for (std::size_t i = 0; i < found.references.size(); ++i) {
    const Reference& reference = found.references[i];
    if (effort.spend(reference.target.size() + reference.holder.size())) continue;
    found.references.resize(i);
  }
  found.work = effort.spent();
  return found;
}

}  // namespace cffs::grouping
