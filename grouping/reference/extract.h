// What a document embeds, as its text says it: URLs of HTML and CSS, imports of programs, includes, prerequisites of
// build rules, images of Markdown and LaTeX. Links that lead elsewhere (<a href>) are not embedding.
//
// Extractors take any bytes: junk, truncated files and lines of megabytes give fewer references, never an error. All
// take work proportional to the input (effort.h); where that is used up, the rest is left out. Thread safety: everything.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "grouping/reference/effort.h"

namespace cffs::grouping {

// How a target is written, which decides where it is looked for (resolve.h).
enum class TargetForm {
  url,      // relative to the document, its base element or the site's root
  path,     // relative to the document's directory
  include,  // C: beside the including file, then from the directories above it
  module,   // JavaScript: as `url`, with the suffixes that module loaders try
  python,   // dotted, leading dots are parent packages
  go,       // a package: all Go files of a directory
  tex,      // as `path`, with LaTeX's suffixes
  object,   // a prerequisite of a build rule: itself, or the source that an object file is made from
};

struct Reference {
  TargetForm form = TargetForm::path;
  std::string target;
  // Build rules join files other than the document: the target belongs to this file. Empty: to the document.
  std::string holder;
};

enum class DocumentKind { none, html, css, script, c, rules, cmake, ninja, python, go, markdown, latex };

// By name alone.
DocumentKind document_kind(std::string_view path);

struct Extracted {
  std::vector<Reference> references;  // in order of appearance
  std::string base;                   // href of HTML's base element
  std::uint64_t work = 0;             // bytes made and looked at, at most Effort::most() of the text
};
Extracted extract(DocumentKind kind, std::string_view content);

// One for each family; extract() chooses. Those that look at each byte a few times, and copy it once at most, need no effort.
Extracted extract_html(std::string_view content, Effort& effort);  // SVG too
std::vector<Reference> extract_css(std::string_view content);
std::vector<Reference> extract_script(std::string_view content);
std::vector<Reference> extract_c(std::string_view content);
std::vector<Reference> extract_rules(std::string_view content,
                                     Effort& effort);  // Makefiles and compilers' .d files
std::vector<Reference> extract_cmake(std::string_view content, Effort& effort);
std::vector<Reference> extract_ninja(std::string_view content, Effort& effort);
std::vector<Reference> extract_python(std::string_view content, Effort& effort);
std::vector<Reference> extract_go(std::string_view content);
std::vector<Reference> extract_markdown(std::string_view content, Effort& effort);
std::vector<Reference> extract_latex(std::string_view content, Effort& effort);

}  // namespace cffs::grouping
