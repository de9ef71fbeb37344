#include "grouping/reference/resolve.h"

#include <uriparser/Uri.h>

#include <algorithm>
#include <array>
#include <memory>

#include "grouping/reference/text.h"

namespace cffs::grouping {
namespace {

std::string directory_of(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? std::string() : std::string(path.substr(0, slash));
}

std::string joined(const std::string& directory, std::string_view name) {
  return normalised(directory.empty() ? std::string(name) : directory + "/" + std::string(name));
}

int hex(char c) {
  if (is_digit(c)) return c - '0';
  c = lower(c);
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

// What no URL may hold is encoded, as browsers do; a percent sign that encodes nothing is one of those.
std::string legalised(std::string_view url, bool is_path) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string out;
  for (std::size_t i = 0; i < url.size(); ++i) {
    const char c = url[i];
    if (c == '\t' || c == '\n' || c == '\r') continue;
    const bool percent_good = i + 2 < url.size() && hex(url[i + 1]) >= 0 && hex(url[i + 2]) >= 0;
    const bool legal = is_letter(c) || is_digit(c) ||
                       std::string_view("-._~:/@!$&'()*+,;=").find(c) != std::string_view::npos ||
                       (!is_path && (c == '?' || c == '#')) || (c == '%' && !is_path && percent_good);
    if (c == '\\' && !is_path) {
      out += '/';
    } else if (legal) {
      out += c;
    } else {
      const auto byte = static_cast<unsigned char>(c);
      out += '%';
      out += kHex[byte >> 4];
      out += kHex[byte & 15];
    }
  }
  return out;
}

std::string latin1_to_utf8(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x80) {
      out += c;
    } else {
      out += static_cast<char>(0xc0 | byte >> 6);
      out += static_cast<char>(0x80 | (byte & 0x3f));
    }
  }
  return out;
}

// Empty where the text is no UTF-8 that Latin-1 could hold.
std::string utf8_to_latin1(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte < 0x80) {
      out += text[i];
    } else if ((byte == 0xc2 || byte == 0xc3) && i + 1 < text.size() &&
               (static_cast<unsigned char>(text[i + 1]) & 0xc0) == 0x80) {
      out += static_cast<char>((byte << 6 | (static_cast<unsigned char>(text[++i]) & 0x3f)) & 0xff);
    } else {
      return {};
    }
  }
  return out;
}

struct FreeUri {
  void operator()(UriUriA* uri) const {
    uriFreeUriMembersA(uri);
    delete uri;
  }
};
using Uri = std::unique_ptr<UriUriA, FreeUri>;

Uri parsed(const std::string& text) {
  Uri uri(new UriUriA());
  const char* where = nullptr;
  return uriParseSingleUriA(uri.get(), text.c_str(), &where) == URI_SUCCESS ? std::move(uri) : nullptr;
}

Uri against(const UriUriA& reference, const UriUriA& base) {
  Uri uri(new UriUriA());
  return uriAddBaseUriA(uri.get(), &reference, &base) == URI_SUCCESS ? std::move(uri) : nullptr;
}

std::string_view text_of(const UriTextRangeA& range) {
  return range.first == nullptr
             ? std::string_view()
             : std::string_view(range.first, static_cast<std::size_t>(range.afterLast - range.first));
}

// Directories from the root down to the document's, as far as anybody puts a tree's root.
std::vector<std::string> directories_to(const std::string& document) {
  constexpr std::size_t kMost = 128;
  std::vector<std::string> directories{""};
  for (std::size_t slash = document.find('/'); slash != std::string::npos && directories.size() < kMost;
       slash = document.find('/', slash + 1)) {
    directories.push_back(document.substr(0, slash));
  }
  return directories;
}

class Resolver {
 public:
  Resolver(const std::string& document, const ResolveOptions& options, FileLookup& lookup)
      : document_(document), options_(options), lookup_(lookup) {}

  std::vector<FileId> url(const std::string& base, const std::string& target, bool module) {
    const auto found = resolve_url(document_, base, target);
    if (!found) return {};
    std::vector<std::string> roots{""};
    if (found->root_relative) {
      roots = options_.site_root ? std::vector{*options_.site_root} : directories_to(document_);
    }
    for (const bool exact : {true, false}) {
      for (const std::string& root : roots) {
        for (const std::string& path : spellings(*found)) {
          if (const auto file = try_module(joined(root, path), module, exact)) return {*file};
        }
      }
    }
    return {};
  }

  // Beside the document first, then from each directory above it, nearest first, and in an include folder there.
  std::vector<FileId> include(const std::string& target) {
    std::vector<std::string> directories = directories_to(document_);
    std::reverse(directories.begin(), directories.end());
    for (const std::string& directory : directories) {
      for (const char* below : {"", "include/", "src/"}) {
        if (const auto file = lookup_.find(joined(directory, below + target))) return {*file};
      }
    }
    return {};
  }

  std::vector<FileId> first_of(const std::string& target, std::initializer_list<std::string_view> suffixes) {
    for (const std::string_view suffix : suffixes) {
      if (const auto file = lookup_.find(joined(directory_of(document_), target + std::string(suffix))))
        return {*file};
    }
    return {};
  }

  std::vector<FileId> object(const std::string& target) {
    if (auto found = first_of(target, {""}); !found.empty()) return found;
    if (!target.ends_with(".o") && !target.ends_with(".obj") && !target.ends_with(".lo")) return {};
    return first_of(target.substr(0, target.rfind('.')),
                    {".c", ".cc", ".cpp", ".cxx", ".m", ".S", ".s", ".f90", ".f"});
  }

  std::vector<FileId> python(std::string_view module) {
    std::size_t dots = 0;
    while (dots < module.size() && module[dots] == '.') ++dots;
    std::string path(module.substr(dots));
    std::replace(path.begin(), path.end(), '.', '/');
    std::vector<std::string> directories = directories_to(document_);
    std::reverse(directories.begin(), directories.end());
    if (dots > 0) {
      if (dots > directories.size()) return {};
      directories = {directories[dots - 1]};
    }
    for (const std::string& directory : directories) {
      if (!path.empty()) {
        if (const auto file = lookup_.find(joined(directory, path + ".py"))) return {*file};
      }
      if (const auto file =
              lookup_.find(joined(directory, path.empty() ? "__init__.py" : path + "/__init__.py")))
        return {*file};
    }
    return {};
  }

  // An import path ends in the package's directory below the module's root, which is above the document.
  std::vector<FileId> go(const std::string& package) {
    std::vector<std::string> directories = directories_to(document_);
    for (std::size_t from = 0; from != std::string::npos;) {
      const std::string suffix = package.substr(from);
      for (const std::string& directory : directories) {
        const std::string place = joined(directory, suffix);
        if (place == directory_of(document_)) continue;
        auto files = lookup_.list(place, ".go");
        if (!files.empty()) return files;
      }
      const std::size_t slash = package.find('/', from);
      from = slash == std::string::npos ? slash : slash + 1;
    }
    return {};
  }

 private:
  static std::vector<std::string> spellings(const UrlPath& found) {
    std::vector<std::string> all{found.path};
    const auto add = [&](std::string text) {
      text = normalised(text);
      if (!text.empty() && std::find(all.begin(), all.end(), text) == all.end())
        all.push_back(std::move(text));
    };
    add(found.raw);
    add(percent_decoded(found.path));  // encoded twice
    add(utf8_to_latin1(found.path));
    add(latin1_to_utf8(found.path));
    return all;
  }

  std::optional<FileId> try_module(const std::string& path, bool module, bool exact) {
    const auto look = [&](const std::string& p) {
      return exact ? lookup_.find(p) : lookup_.find_ignoring_case(p);
    };
    if (const auto file = look(path)) return file;
    if (!module) return {};
    for (const char* suffix : {".js", ".ts", ".tsx", ".jsx", ".mjs", ".cjs", ".json", ".d.ts", "/index.js",
                               "/index.ts", "/index.tsx"}) {
      if (const auto file = look(path + suffix)) return file;
    }
    // TypeScript sources import the names that compilation will give.
    if (path.ends_with(".js")) return look(path.substr(0, path.size() - 3) + ".ts");
    return {};
  }

  const std::string& document_;
  const ResolveOptions& options_;
  FileLookup& lookup_;
};

}  // namespace

std::string percent_decoded(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const int high = text[i] == '%' && i + 2 < text.size() ? hex(text[i + 1]) : -1;
    const int low = high >= 0 ? hex(text[i + 2]) : -1;
    const int byte = high * 16 + low;
    if (low < 0 || byte == 0 || byte == '/') {
      out += text[i];
    } else {
      out += static_cast<char>(byte);
      i += 2;
    }
  }
  return out;
}

bool leads_out(std::string_view path) {
  std::ptrdiff_t depth = 0;
  for (std::size_t from = 0; from <= path.size() && depth >= 0;) {
    const std::size_t slash = std::min(path.find('/', from), path.size());
    const std::string_view part = path.substr(from, slash - from);
    from = slash + 1;
    if (part == "..") {
      --depth;
    } else if (!part.empty() && part != ".") {
      ++depth;
    }
  }
  return depth < 0;
}

std::string normalised(std::string_view path) {
  std::vector<std::string_view> parts;
  for (std::size_t from = 0; from <= path.size();) {
    const std::size_t slash = std::min(path.find('/', from), path.size());
    const std::string_view part = path.substr(from, slash - from);
    from = slash + 1;
    if (part.empty() || part == ".") continue;
    if (part != "..") {
      parts.push_back(part);
    } else if (!parts.empty()) {
      parts.pop_back();
    }
  }
  std::string out;
  for (const std::string_view part : parts) {
    if (!out.empty()) out += '/';
    out += part;
  }
  return out;
}

std::optional<UrlPath> resolve_url(const std::string& document, const std::string& base,
                                   std::string_view url) {
  url = trimmed(url);
  if (url.empty() || url.starts_with('#') || url.size() > 8192) return {};
  const std::size_t colon = url.find_first_of(":/?#");
  if (colon != std::string_view::npos && url[colon] == ':') {
    const std::string scheme = lowered(url.substr(0, colon));
    if (scheme != "http" && scheme != "https") return {};
  }
  const std::string reference_text = legalised(url, false);
  const std::string document_text = "http://site/" + legalised(document, true);
  const std::string base_text = legalised(trimmed(base), false);
  const Uri reference = parsed(reference_text);
  Uri from = parsed(document_text);
  if (!reference || !from) return {};
  bool from_root = base_text.starts_with('/');
  if (!base_text.empty()) {
    const Uri element = parsed(base_text);
    Uri both = element ? against(*element, *from) : nullptr;
    from_root = from_root || (element && element->scheme.first != nullptr);
    if (both) from = std::move(both);
  }
  const Uri target = against(*reference, *from);
  if (!target) return {};
  UrlPath found;
  const bool own_path = reference->scheme.first != nullptr || reference->hostText.first != nullptr ||
                        reference_text.starts_with('/');
  found.root_relative = own_path || from_root;
  for (const UriPathSegmentA* segment = target->pathHead; segment != nullptr; segment = segment->next) {
    if (!found.raw.empty()) found.raw += '/';
    found.raw += text_of(segment->text);
  }
  const bool directory = found.raw.ends_with('/') || found.raw.empty();
  found.raw = normalised(found.raw);
  found.path = normalised(percent_decoded(found.raw));
  if (directory) {
    for (std::string* path : {&found.raw, &found.path})
      path->append(path->empty() ? "index.html" : "/index.html");
  }
  return found;
}

std::vector<FileId> resolve_holder(const std::string& document, const Reference& reference,
                                   FileLookup& lookup) {
  return Resolver(document, {}, lookup).object(reference.holder);
}

std::vector<FileId> resolve(const std::string& document, const Extracted& extracted,
                            const Reference& reference, const ResolveOptions& options, FileLookup& lookup) {
  if (reference.target.empty() || reference.target.find('\0') != std::string::npos ||
      reference.target.size() > 8192)
    return {};
  Resolver resolver(document, options, lookup);
  switch (reference.form) {
    case TargetForm::url:
      return resolver.url(extracted.base, reference.target, false);
    case TargetForm::module:
      return resolver.url(extracted.base, reference.target, true);
    case TargetForm::path:
      return resolver.first_of(reference.target, {""});
    case TargetForm::include:
      return resolver.include(reference.target);
    case TargetForm::python:
      return resolver.python(reference.target);
    case TargetForm::go:
      return resolver.go(reference.target);
    case TargetForm::tex:
      return resolver.first_of(reference.target,
                               {"", ".tex", ".pdf", ".png", ".jpg", ".eps", ".svg", ".bib", ".sty", ".cls"});
    case TargetForm::object:
      return resolver.object(reference.target);
  }
  return {};
}

}  // namespace cffs::grouping
