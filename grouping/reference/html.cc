// HTML and SVG, parsed by libgumbo as a browser would, faults included.
#include <gumbo.h>

#include <algorithm>
#include <array>
#include <csetjmp>
#include <cstddef>
#include <cstdlib>
#include <iterator>
#include <memory>
#include <unordered_map>
#include <vector>

#include "grouping/reference/extract.h"
#include "grouping/reference/text.h"

namespace cffs::grouping {
namespace {

// Browsers cut trees at this depth.
constexpr std::size_t kDeepest = 512;

// Elements that need no end tag do not nest.
bool never_nests(std::string_view name) {
  constexpr std::array<std::string_view, 33> kNames = {
      "area",   "base",    "basefont", "br",    "col",  "dd",      "dt",     "embed", "frame",
      "hr",     "img",     "input",    "li",    "link", "meta",    "option", "p",     "param",
      "source", "tbody",   "td",       "tfoot", "th",   "thead",   "tr",     "track", "wbr",
      "image",  "bgsound", "colgroup", "rp",    "rt",   "optgroup"};
  return std::find(kNames.begin(), kNames.end(), name) != kNames.end();
}

// The nesting that tags claim. An end tag closes what its own name opened, and none reaches out of a table or a cell, whose end
// closes all in it.
class ClaimedDepth {
 public:
  ClaimedDepth() : frames_(1) {}

  void open(const std::string& name) {
    const bool cell = is_cell(name);
    if (cell && frames_.back().is_cell) pop();
    if (cell || name == "table") {
      frames_.push_back({cell, 0, {}});
    } else if (!never_nests(name)) {
      ++frames_.back().count;
      ++frames_.back().open[name];
      ++depth_;
    }
    deepest_ = std::max(deepest_, depth_ + frames_.size());
  }
  void close(const std::string& name) {
    if (is_cell(name)) {
      if (frames_.back().is_cell) pop();
    } else if (name == "table") {
      if (frames_.back().is_cell) pop();
      if (frames_.size() > 1) pop();
    } else if (const auto it = frames_.back().open.find(name);
               it != frames_.back().open.end() && it->second > 0) {
      --it->second;
      --frames_.back().count;
      --depth_;
    }
  }
  std::size_t deepest() const { return deepest_; }

 private:
  struct Frame {  // a table, a cell, or the page
    bool is_cell = false;
    std::size_t count = 0;
    std::unordered_map<std::string, std::size_t> open;
  };
  static bool is_cell(std::string_view name) { return name == "td" || name == "th" || name == "caption"; }
  void pop() {
    depth_ -= frames_.back().count;
    frames_.pop_back();
  }

  std::vector<Frame> frames_;
  std::size_t depth_ = 0, deepest_ = 0;
};

std::size_t claimed_depth(std::string_view html) {
  ClaimedDepth depth;
  for (std::size_t at = html.find('<'); at != std::string_view::npos; at = html.find('<', at + 1)) {
    const bool closing = at + 1 < html.size() && html[at + 1] == '/';
    std::size_t end = at + 1 + (closing ? 1 : 0);
    const std::size_t from = end;
    while (end < html.size() && is_word(html[end]) && end - from < 16) ++end;
    if (end == from) continue;
    const std::string name = lowered(html.substr(from, end - from));
    closing ? depth.close(name) : depth.open(name);
  }
  return depth.deepest();
}

std::string_view attribute(const GumboElement& element, const char* name) {
  const GumboAttribute* found = gumbo_get_attribute(&element.attributes, name);
  return found == nullptr ? std::string_view() : std::string_view(found->value);
}

class Collector {
 public:
  Collector(Extracted& out, Effort& effort) : out_(out), effort_(effort) {}

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

  void element(const GumboNode& node) {
    const GumboElement& e = node.v.element;
    const std::string_view style = attribute(e, "style");
    if (!style.empty()) append(extract_css(style));
    switch (e.tag) {
      case GUMBO_TAG_BASE:
        if (out_.base.empty()) out_.base = trimmed(attribute(e, "href"));
        return;
      case GUMBO_TAG_LINK:
        link(e);
        return;
      case GUMBO_TAG_STYLE:
        append(extract_css(text_of(e)));
        return;
      case GUMBO_TAG_SCRIPT: {
        const std::string_view source = attribute(e, "src");
        if (!source.empty()) {
          url(source);
        } else if (attribute(e, "type") == "module") {
          append(extract_script(text_of(e)));
        }
        return;
      }
      case GUMBO_TAG_INPUT:
        if (same_ignoring_case(attribute(e, "type"), "image")) url(attribute(e, "src"));
        return;
      case GUMBO_TAG_OBJECT:
        url(attribute(e, "data"));
        return;
      case GUMBO_TAG_IMG:
      case GUMBO_TAG_SOURCE:
      case GUMBO_TAG_VIDEO:
      case GUMBO_TAG_AUDIO:
      case GUMBO_TAG_TRACK:
      case GUMBO_TAG_IFRAME:
      case GUMBO_TAG_FRAME:
      case GUMBO_TAG_EMBED:
      case GUMBO_TAG_BGSOUND:
        url(attribute(e, "src"));
        url(attribute(e, "data-src"));
        url(attribute(e, "poster"));
        srcset(attribute(e, "srcset"));
        srcset(attribute(e, "data-srcset"));
        return;
      default:
        break;
    }
    if (e.tag_namespace == GUMBO_NAMESPACE_SVG) {
      const std::string name = svg_name(e);
      if (name == "image" || name == "use" || name == "feimage" || name == "script") {
        url(attribute(e, "href"));
        url(attribute(e, "xlink:href"));
      }
      return;
    }
    url(attribute(e, "background"));  // body, table, td of older pages
  }

 private:
  void link(const GumboElement& e) {
    constexpr std::array<std::string_view, 9> kEmbedding = {
        "stylesheet", "icon",          "apple-touch-icon",
        "preload",    "modulepreload", "manifest",
        "mask-icon",  "import",        "apple-touch-icon-precomposed"};
    for (const std::string_view word : words_of(attribute(e, "rel"))) {
      for (const std::string_view known : kEmbedding) {
        if (!same_ignoring_case(word, known)) continue;
        url(attribute(e, "href"));
        srcset(attribute(e, "imagesrcset"));
        return;
      }
    }
  }
  static std::string text_of(const GumboElement& e) {
    std::string text;
    for (unsigned i = 0; i < e.children.length; ++i) {
      const auto* child = static_cast<const GumboNode*>(e.children.data[i]);
      if (child->type == GUMBO_NODE_TEXT || child->type == GUMBO_NODE_WHITESPACE ||
          child->type == GUMBO_NODE_CDATA) {
        text += child->v.text.text;
      }
    }
    return text;
  }
  static std::string svg_name(const GumboElement& e) {
    GumboStringPiece name = e.original_tag;
    if (name.data == nullptr) return {};
    gumbo_tag_from_original_text(&name);
    return lowered({name.data, name.length});
  }

  Extracted& out_;
  Effort& effort_;
};

// The parser's memory: in order, freed all at once. Where the text wants too much, parsing ends; formatting elements that are
// opened again in each paragraph make more of a page than it has bytes, without nesting deep. Freeing the tree by the
// parser's own function would also recurse as deep as the tree is.
class Arena {
 public:
  explicit Arena(Effort& effort) : effort_(effort) {}
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  // Null: too much. Parses within the arena, which must outlive the tree.
  const GumboOutput* parse(std::string_view text) {
    GumboOptions options = kGumboDefaultOptions;
    options.max_errors = 0;
    options.allocator = &Arena::allocate;
    options.deallocator = [](void*, void*) {};
    options.userdata = this;
    if (setjmp(too_much_) != 0) return nullptr;
    return gumbo_parse_with_options(&options, text.data(), text.size());
  }

 private:
  static constexpr std::size_t kBlock = 1u << 20;
  static constexpr std::size_t kMemoryPerEffort = 4;  // a node has some hundred bytes

  // The parser is C: nothing is left undone by leaving it.
  static void* allocate(void* self, std::size_t bytes) {
    auto& arena = *static_cast<Arena*>(self);
    bytes = (bytes + alignof(std::max_align_t) - 1) / alignof(std::max_align_t) * alignof(std::max_align_t);
    if (!arena.effort_.spend(bytes / kMemoryPerEffort)) std::longjmp(arena.too_much_, 1);
    if (arena.used_ + bytes > arena.size_) {
      arena.size_ = std::max(kBlock, bytes);
      arena.used_ = 0;
      void* block = std::malloc(arena.size_);
      if (block == nullptr) std::longjmp(arena.too_much_, 1);
      arena.blocks_.emplace_back(block);
    }
    void* place = static_cast<char*>(arena.blocks_.back().get()) + arena.used_;
    arena.used_ += bytes;
    return place;
  }

  struct Free {
    void operator()(void* block) const { std::free(block); }
  };
  Effort& effort_;
  std::vector<std::unique_ptr<void, Free>> blocks_;
  std::size_t size_ = 0, used_ = 0;  // of the last block
  std::jmp_buf too_much_;
};

}  // namespace

Extracted extract_html(std::string_view content, Effort& effort) {
  Extracted out;
  if (claimed_depth(content) > kDeepest) return out;
  Arena arena(effort);
  const GumboOutput* const output = arena.parse(content);
  if (output == nullptr) return out;
  Collector collector(out, effort);
  std::vector<const GumboNode*> stack{output->root};
  while (!stack.empty()) {
    const GumboNode* node = stack.back();
    stack.pop_back();
    if (node->type != GUMBO_NODE_ELEMENT && node->type != GUMBO_NODE_TEMPLATE) continue;
    collector.element(*node);
    const GumboVector& children = node->v.element.children;
    for (unsigned i = children.length; i > 0; --i)
      stack.push_back(static_cast<const GumboNode*>(children.data[i - 1]));
  }
  return out;
}

}  // namespace cffs::grouping
