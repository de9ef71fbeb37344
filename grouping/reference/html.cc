// HTML and SVG, read by libxml2's HTML parser as a stream of tags, faults included: no tree is built.
#include <libxml/HTMLparser.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "grouping/reference/extract.h"
#include "grouping/reference/text.h"

namespace cffs::grouping {
namespace {

// Browsers cut trees at this depth. The parser may look through all that is open at each tag, and leaves open what browsers
// close (a dt before a dt): where more is open, reading begins afresh at the next piece.
constexpr std::size_t kDeepest = 512;
constexpr std::size_t kPiece = 4u << 10;  // bytes: bounds how much deeper one piece may lead

const char* text_of(const xmlChar* text) { return reinterpret_cast<const char*>(text); }

// Elements in which browsers see no tags, and the parser does.
bool holds_only_text(std::string_view name) {
  constexpr std::array<std::string_view, 6> kNames = {"textarea", "title",   "xmp",
                                                      "iframe",   "noembed", "noframes"};
  return std::find(kNames.begin(), kNames.end(), name) != kNames.end();
}

// Whether a tag may have more attributes than any has: the parser compares each with all before it. What ends a name or a value
// counts as one; comments, scripts and styles are passed over.
bool has_endless_tag(std::string_view html) {
  constexpr std::size_t kMostAttributes = 4096;
  const auto behind = [&](std::string_view what, std::size_t from) {
    const std::size_t found = html.find(what, from);
    return found == std::string_view::npos ? html.size() : found + what.size();
  };
  for (std::size_t at = html.find('<'); at < html.size(); at = html.find('<', at)) {
    ++at;
    if (html.substr(at).starts_with("!--")) at = behind("-->", at);
    if (at >= html.size() || !is_word(html[at])) continue;
    const std::size_t name = at;
    std::size_t attributes = 0;
    char before = 0;  // blanks do not count
    for (; at < html.size() && html[at] != '>'; ++at) {
      const char c = html[at];
      if ((c == '"' || c == '\'') && before == '=') at = std::min(html.find(c, at + 1), html.size());
      if (c == '=' || c == '/' || c == '"' || c == '\'' || is_space(c)) ++attributes;
      if (!is_space(c)) before = c;
      if (attributes > 3 * kMostAttributes) return true;
    }
    for (const std::string_view raw : {"script", "style"}) {
      if (!same_ignoring_case(html.substr(name, raw.size()), raw)) continue;
      do at = html.find("</", std::min(at + 1, html.size()));
      while (at < html.size() && !same_ignoring_case(html.substr(at + 2, raw.size()), raw));
    }
  }
  return false;
}

// The attributes of one tag, name and value in turn, names in small letters.
class Attributes {
 public:
  explicit Attributes(const xmlChar** pairs) : pairs_(pairs) {}

  std::string_view operator[](std::string_view name) const {
    for (const xmlChar** pair = pairs_; pair != nullptr && *pair != nullptr; pair += 2) {
      if (text_of(pair[0]) == name) return pair[1] == nullptr ? std::string_view() : text_of(pair[1]);
    }
    return {};
  }
  std::size_t bytes() const {
    std::size_t sum = 0;
    for (const xmlChar** at = pairs_; at != nullptr && *at != nullptr; at += 2) {
      sum += std::string_view(text_of(at[0])).size();
      if (at[1] != nullptr) sum += std::string_view(text_of(at[1])).size();
    }
    return sum;
  }

 private:
  const xmlChar** pairs_;
};

class Collector {
 public:
  Collector(Extracted& out, Effort& effort) : out_(out), effort_(effort) {}

  // False: too much work; nothing of it counts.
  bool open(std::string_view name, const Attributes& attributes) {
    if (!effort_.spend(kTagEffort + ++depth_ + attributes.bytes())) return false;
    if (text_only_.empty()) {
      element(name, attributes);
      if (holds_only_text(name)) text_only_ = name;
    }
    if (name == "svg") ++svg_;
    if (name == "frameset") ++framesets_;
    return true;
  }
  void close(std::string_view name) {
    if (depth_ > 0) --depth_;
    if (name == "svg" && svg_ > 0) --svg_;
    if (name == "frameset" && framesets_ > 0) --framesets_;
    if (name == text_only_) text_only_.clear();
    if (name == "style" && kept_ == Kept::style) append(extract_css(text_));
    if (name == "script" && kept_ == Kept::module) append(extract_script(text_));
    kept_ = Kept::none;
    text_.clear();
  }
  bool text(std::string_view text) {
    if (kept_ != Kept::none) text_ += text;
    return effort_.spend(text.size());
  }
  std::size_t depth() const { return depth_; }

 private:
  enum class Kept { none, style, module };
  static constexpr std::size_t kTagEffort = 64;

  void url(std::string_view target) {
    target = trimmed(target);
    if (!target.empty() && effort_.spend(target.size()))
      out_.references.push_back({TargetForm::url, std::string(target), {}});
  }
  // "a.jpg 1x, b.jpg 2x"
  void srcset(std::string_view set) {
    while (!set.empty()) {
      set.remove_prefix(std::min(skip_space(set, 0), set.size()));
      while (set.starts_with(',')) set.remove_prefix(1);
      set.remove_prefix(std::min(skip_space(set, 0), set.size()));
      std::size_t end = 0;
      while (end < set.size() && !is_space(set[end])) ++end;
      std::string_view one = set.substr(0, end);
      const bool ended = one.ends_with(',');
      while (one.ends_with(',')) one.remove_suffix(1);
      url(one);
      set.remove_prefix(end);
      if (!ended) set.remove_prefix(std::min(set.find(','), set.size()));
    }
  }
  void append(std::vector<Reference> more) {
    out_.references.insert(out_.references.end(), std::make_move_iterator(more.begin()),
                           std::make_move_iterator(more.end()));
  }

  void keep(Kept what) {
    kept_ = what;
    text_.clear();
  }

  void element(std::string_view name, const Attributes& attributes) {
    constexpr std::array<std::string_view, 9> kWithSource = {"img",    "source", "video", "audio",  "track",
                                                             "iframe", "frame",  "embed", "bgsound"};
    const std::string_view style = attributes["style"];
    if (!style.empty()) append(extract_css(style));
    if (name == "frame" && framesets_ == 0) return;   // browsers show none
    const bool image = name == "image" && svg_ == 0;  // which browsers take for img
    if (image || std::find(kWithSource.begin(), kWithSource.end(), name) != kWithSource.end()) {
      url(attributes["src"]);
      url(attributes["data-src"]);
      url(attributes["poster"]);
      srcset(attributes["srcset"]);
      srcset(attributes["data-srcset"]);
    } else if (name == "base") {
      if (out_.base.empty()) out_.base = trimmed(attributes["href"]);
    } else if (name == "link") {
      link(attributes);
    } else if (name == "style") {
      keep(Kept::style);
    } else if (name == "script") {
      const std::string_view source = attributes["src"];
      if (!source.empty())
        url(source);
      else if (attributes["type"] == "module")
        keep(Kept::module);
    } else if (name == "input") {
      if (same_ignoring_case(attributes["type"], "image")) url(attributes["src"]);
    } else if (name == "object") {
      url(attributes["data"]);
    } else if (svg_ > 0) {
      if (name == "image" || name == "use" || name == "feimage") {
        url(attributes["href"]);
        url(attributes["xlink:href"]);
      }
    } else {
      url(attributes["background"]);  // body, table, td of older pages
    }
  }

  void link(const Attributes& attributes) {
    constexpr std::array<std::string_view, 9> kEmbedding = {
        "stylesheet", "icon",          "apple-touch-icon",
        "preload",    "modulepreload", "manifest",
        "mask-icon",  "import",        "apple-touch-icon-precomposed"};
    for (const std::string_view word : words_of(attributes["rel"])) {
      for (const std::string_view known : kEmbedding) {
        if (!same_ignoring_case(word, known)) continue;
        url(attributes["href"]);
        srcset(attributes["imagesrcset"]);
        return;
      }
    }
  }

  Extracted& out_;
  Effort& effort_;
  std::size_t depth_ = 0, svg_ = 0, framesets_ = 0;
  std::string text_only_;  // the element that is open and holds only text
  Kept kept_ = Kept::none;
  std::string text_;
};

// What the parser calls back. It is C: nothing may be thrown through it.
class Reading {
 public:
  explicit Reading(Collector& collector) : collector_(collector) {
    handler_.startElement = [](void* self, const xmlChar* name, const xmlChar** attributes) {
      auto& reading = *static_cast<Reading*>(self);
      reading.guarded([&] { return reading.collector_.open(text_of(name), Attributes(attributes)); });
    };
    handler_.endElement = [](void* self, const xmlChar* name) {
      auto& reading = *static_cast<Reading*>(self);
      reading.guarded([&] { return reading.collector_.close(text_of(name)), true; });
    };
    handler_.characters = &Reading::on_text;
    handler_.cdataBlock = &Reading::on_text;  // of script and style
  }

  // False: given up.
  bool read(std::string_view html) {
    static const bool initialised = (xmlInitParser(), true);
    (void)initialised;
    bool afresh = false;
    while (!html.empty() && !given_up_) {
      if (!context_ && !begin(afresh)) return false;
      const std::size_t n = piece_of(html);
      htmlParseChunk(context_.get(), html.data(), static_cast<int>(n), 0);
      html.remove_prefix(n);
      afresh = collector_.depth() > kDeepest;
      if (afresh) end();
    }
    end();
    return !given_up_;
  }

 private:
  // What goes to the parser at once ends before a tag: of an end tag cut in two the parser loses what follows.
  static std::size_t piece_of(std::string_view html) {
    if (html.size() <= kPiece) return html.size();
    std::size_t tag = html.rfind('<', kPiece);
    if (tag == 0 || tag == std::string_view::npos) tag = std::min(html.find('<', kPiece), html.size());
    return std::min(tag, std::size_t{1} << 30);
  }
  bool begin(bool amid_body) {
    context_.reset(htmlCreatePushParserCtxt(&handler_, this, nullptr, 0, nullptr, XML_CHAR_ENCODING_UTF8));
    if (!context_) return false;
    htmlCtxtUseOptions(context_.get(), HTML_PARSE_RECOVER | HTML_PARSE_NOERROR | HTML_PARSE_NOWARNING |
                                           HTML_PARSE_NONET | HTML_PARSE_IGNORE_ENC);
    // An end tag with nothing open would end the document.
    constexpr std::string_view kBody = "<html><body>";
    if (amid_body) htmlParseChunk(context_.get(), kBody.data(), static_cast<int>(kBody.size()), 0);
    return true;
  }
  // All that is open is closed.
  void end() {
    if (context_ && !given_up_) htmlParseChunk(context_.get(), "", 0, 1);
    context_.reset();
  }

  struct Free {
    void operator()(htmlParserCtxtPtr context) const { htmlFreeParserCtxt(context); }
  };

  template <typename Work>
  void guarded(const Work& work) noexcept {
    if (given_up_) return;
    try {
      given_up_ = !work();
    } catch (const std::exception&) {  // no memory
      given_up_ = true;
    }
    if (given_up_) xmlStopParser(context_.get());
  }
  static void on_text(void* self, const xmlChar* text, int bytes) {
    auto& reading = *static_cast<Reading*>(self);
    reading.guarded([&] {
      return reading.collector_.text({text_of(text), static_cast<std::size_t>(bytes)});
    });
  }

  Collector& collector_;
  htmlSAXHandler handler_ = {};
  std::unique_ptr<htmlParserCtxt, Free> context_;
  bool given_up_ = false;
};

}  // namespace

Extracted extract_html(std::string_view content, Effort& effort) {
  Extracted out;
  if (has_endless_tag(content)) return out;
  Collector collector(out, effort);
  // The parser takes a zero for the text's end.
  std::string without_zeros;
  if (content.find('\0') != std::string_view::npos) {
    without_zeros = content;
    std::replace(without_zeros.begin(), without_zeros.end(), '\0', ' ');
    content = without_zeros;
  }
  if (!Reading(collector).read(content)) return {};
  return out;
}

}  // namespace cffs::grouping
