// Texts of strangers: whatever they ask for, the work that they make is bounded by their size. Work is counted, not timed.
#include <catch2/catch.hpp>
#include <functional>
#include <set>

#include "core/fs/new_file.h"
#include "core/object/memory_store.h"
#include "core/reorganise/reference_index.h"
#include "core/reorganise/reorganiser.h"
#include "grouping/policy.h"
#include "grouping/reference/graph.h"
#include "tests/test_callers.h"
#include "tests/test_options.h"

namespace cffs::test {
namespace {

using namespace cffs::grouping;

std::string repeated(std::string_view text, std::size_t times) {
  std::string out;
  for (std::size_t i = 0; i < times; ++i) out += text;
  return out;
}
std::string numbered(std::size_t n, const std::function<std::string(const std::string&)>& line) {
  std::string out;
  for (std::size_t i = 0; i < n; ++i) out += line(std::to_string(i));
  return out;
}
// Each variable is the one before it, `width` times: width^levels words.
std::string doubling(std::size_t levels,
                     const std::function<std::string(const std::string&, const std::string&)>& line) {
  std::string out;
  for (std::size_t i = 1; i <= levels; ++i) out += line("v" + std::to_string(i), "v" + std::to_string(i - 1));
  return out;
}

std::string makefile() {
  return "v0 = x.c y.c\n" +
         doubling(16, [](const auto& to,
                         const auto& from) { return to + " = " + repeated("$(" + from + ")", 8) + "\n"; }) +
         numbered(20, [](const auto& i) { return "all" + i + ": $(v16) $(v16:.c=.o)\n"; });
}

struct Text {
  const char* what;
  DocumentKind kind;
  std::string content;
  bool uses_up = true;  // else its work is little by itself
};

std::vector<Text> texts() {
  using Kind = DocumentKind;
  const std::string quarter(250'000, 'a');
  return {
      {"variables that double", Kind::rules, makefile()},
      {"a holder of many bytes", Kind::rules, "all: " + quarter + ".c" + repeated(" x", 100'000) + "\n"},
      {"a variable that feeds on itself", Kind::rules, "a = $(a)$(a)$(a)\nb: $(a)\n", false},
      {"brackets that close far away", Kind::rules, "a: " + repeated("$(", 200'000) + ")\n", false},
      {"a substitution that makes more", Kind::rules,
       "a = " + repeated("x.c ", 50'000) + "\n" +
           repeated("b: $(a:.c=" + std::string(1000, 'o') + ")\n", 50)},
      {"ninja's variables", Kind::ninja,
       "v0 = xxxxxxxx\n" +
           doubling(16, [](const auto& to,
                           const auto& from) { return to + " = " + repeated("${" + from + "}", 8) + "\n"; }) +
           repeated("build o: cc " + repeated("${v16}", 100) + "\n", 100)},
      {"a first input of many bytes", Kind::ninja, "build o: cc " + quarter + repeated(" x", 100'000) + "\n"},
      {"cmake's lists", Kind::cmake,
       "set(v0 " + std::string(10'000, 'x') + ".c)\n" +
           doubling(16,
                    [](const auto& to, const auto& from) {
                      return "set(" + to + repeated(" ${" + from + "}", 8) + ")\n";
                    }) +
           repeated("add_library(a ${v16})\n", 100)},
      {"a package of many bytes", Kind::python,
       "from " + quarter + " import " + repeated("a,", 100'000) + "b\n"},
      {"lines that go on", Kind::python, repeated("import a (\n" + repeated("\n", 70'000), 4)},
      {"figures in many places", Kind::latex,
       "\\graphicspath{" + repeated("{directory/}", 20'000) + "}\n" +
           repeated("\\includegraphics{f}\n", 20'000)},
      {"braces that never close", Kind::latex, repeated("\\input{", 100'000), false},
      {"commas", Kind::latex, "\\usepackage{" + repeated("a,", 100'000) + "}"},
      {"labels of many bytes", Kind::markdown, "[l]: " + quarter + "\n" + repeated("![l]\n", 100'000)},
      {"brackets that never close", Kind::markdown, repeated("![[", 100'000) + "]", true},
      {"formatting that is opened again", Kind::html,
       numbered(500, [](const auto& i) { return "<b a=" + i + ">"; }) + repeated("<p>x", 100'000)},
      {"formatting that closing tags hide", Kind::html,
       numbered(30'000, [](const auto& i) { return "<b a=" + i + "></x>"; }) + repeated("<p>x", 10'000),
       false},
      {"cells that hide it", Kind::html,
       numbered(20'000, [](const auto& i) { return "<b a=" + i + "><table><td></b></td></table>"; }), false},
      {"tags without end", Kind::html, repeated("<", 300'000), false},
      {"quotes and comments without end", Kind::css, repeated("url(\"/*", 100'000), false},
      {"addresses without end", Kind::css, repeated("url(", 100'000), false},
      {"strings without end", Kind::script, repeated("import '/*`", 100'000), false},
      {"comments without end", Kind::c, repeated("/*\n#include \"a\n", 100'000), false},
      {"lists without end", Kind::go, "import (\n" + repeated("\"a\n", 100'000), false},
  };
}

}  // namespace

TEST_CASE("the work that a document makes is bounded by its size") {
  for (const Text& text : texts()) {
    INFO(text.what);
    const Extracted found = extract(text.kind, text.content);
    std::uint64_t bytes = 0;
    for (const Reference& reference : found.references)
      bytes += reference.target.size() + reference.holder.size();
    CHECK(found.work <= Effort::most(text.content.size()));
    CHECK(bytes <= Effort::most(text.content.size()));
    // The test's text is one that would make more, where there were no bound.
    if (text.uses_up) CHECK(found.work > Effort::most(text.content.size()) / 16);
  }
}

TEST_CASE("what real documents ask for is far from the bound") {
  const std::string rules =
      "OBJ = a.o b.o c.o\nSRC = $(OBJ:.o=.c)\nall: $(OBJ) $(SRC)\n\tcc\n" +
      numbered(300, [](const auto& i) { return "f" + i + ".o: f" + i + ".c f" + i + ".h\n"; });
  const Extracted found = extract(DocumentKind::rules, rules);
  REQUIRE(found.references.size() == 5 + 300);
  REQUIRE(found.work < 10 * rules.size());
  const std::string page =
      numbered(500, [](const auto& i) { return "<p><b>n</b> <a href=x><img src=i" + i + ".png></a>\n"; });
  const Extracted of_page = extract(DocumentKind::html, page);
  REQUIRE(of_page.references.size() == 500);
  REQUIRE(of_page.work < Effort::most(page.size()) / 2);
}

TEST_CASE("references that lead nowhere are looked for so often, no more") {
  struct Nowhere final : FileLookup {
    std::optional<FileId> find(const std::string& path) override { return count(path), std::nullopt; }
    std::optional<FileId> find_ignoring_case(const std::string& path) override {
      return count(path), std::nullopt;
    }
    std::vector<FileId> list(const std::string& directory, std::string_view) override {
      return count(directory), std::vector<FileId>();
    }
    void count(const std::string& path) {
      ++calls;
      bytes += path.size();
    }
    std::uint64_t calls = 0, bytes = 0;
  };
  const std::string deep = repeated("d/", 1000) + "page";
  const std::pair<DocumentKind, std::string> documents[] = {
      {DocumentKind::c, numbered(50'000, [](const auto& i) { return "#include \"f" + i + ".h\"\n"; })},
      {DocumentKind::c,
       numbered(200, [](const auto& i) { return "#include \"b" + i + repeated("/a", 2000) + ".h\"\n"; })},
      {DocumentKind::css, numbered(50'000, [](const auto& i) { return "url(/%41%20f" + i + ")"; })},
      {DocumentKind::script, numbered(5'000, [](const auto& i) { return "import '/f" + i + "';"; })},
      {DocumentKind::python, numbered(50'000, [](const auto& i) { return "import f" + i + "\n"; })},
      {DocumentKind::go, "import (\n" + numbered(2'000, [](const auto& i) {
                           return "\"" + repeated("a/", 500) + i + "\"\n";
                         })}};
  for (const auto& [kind, text] : documents) {
    INFO(text.substr(0, 40));
    Nowhere lookup;
    const DocumentLinks links = links_of(1, deep, extract(kind, text), {}, lookup);
    CHECK(links.edges.empty());
    CHECK(lookup.calls <= kMostLookups);
    CHECK(lookup.bytes <= 257 * kMostLookups);  // long paths count as several
    CHECK(links.lookups == kMostLookups);
  }
}

TEST_CASE("owners in a long row are followed so far, no further") {
  MemoryReferenceGraph graph;
  for (FileId file = 1; file < 20'000; ++file) graph.add({file, file + 1});
  struct Counted final : ReferenceGraph {
    explicit Counted(ReferenceGraph& of) : graph(of) {}
    std::optional<Owner> owner(FileId target) override { return ++calls, graph.owner(target); }
    std::vector<FileId> targets(FileId holder) override { return graph.targets(holder); }
    bool is_html(FileId file) override { return graph.is_html(file); }
    ReferenceGraph& graph;
    std::uint64_t calls = 0;
  } counted(graph);
  REQUIRE(!placement_of(20'000, counted, {}));
  REQUIRE(counted.calls < 1000);
}

TEST_CASE("what many documents say of one holder is looked at so far, no further") {
  constexpr FileId kHolder = 5, kDocument = 10, kTarget = 100'000;
  constexpr std::size_t kDocuments = 40, kEach = 4000;
  MemoryStore store;
  REQUIRE(FileSystem::format(store, {}, SystemClock()));
  const auto fs = std::move(*FileSystem::open(store, quiet()));
  const ReferenceOptions options;
  ReferenceIndex index(fs->table(), options);
  std::set<FileId> touched;
  const auto name_of = [](FileId file) {
    return std::optional(EntryName{kRootInode, "f" + std::to_string(file)});
  };
  // Each says it of the same files but for the last, which is its own.
  const auto say = [&](std::size_t document, std::size_t files) {
    DocumentLinks links;
    for (std::size_t i = 0; i + 1 < files; ++i) links.edges.push_back({kHolder, kTarget + i});
    links.edges.push_back({kHolder, 2 * kTarget + document});
    return index.replace(kDocument + document, {kRootInode, "Makefile"}, false, links, name_of, touched);
  };
  REQUIRE(say(0, 3));
  REQUIRE(say(1, 4));
  REQUIRE(index.targets(kHolder).size() == 3 + 4);
  REQUIRE(index.forget(kDocument + 1, touched));
  CHECK(touched.contains(kTarget + 2));
  CHECK(index.targets(kHolder) == std::vector<FileId>{kTarget, kTarget + 1, 2 * kTarget});
  CHECK(index.owner(kTarget));
  CHECK(index.name_of(kTarget) == name_of(kTarget));
  CHECK_FALSE(index.owner(kTarget + 2));
  CHECK_FALSE(index.owner(2 * kTarget + 1));
  for (std::size_t document = 0; document < kDocuments; ++document) REQUIRE(say(document, kEach));
  CHECK(index.targets(kHolder).size() <= 2 * kEach);
  CHECK(index.name_of(kTarget));
  REQUIRE(index.forget(kDocument, touched));
  CHECK(index.owner(kTarget));
}

TEST_CASE("a pass over strangers' documents ends when it is asked to") {
  MemoryStore store;
  REQUIRE(FileSystem::format(store, {}, SystemClock()));
  const auto fs = std::move(*FileSystem::open(store, quiet()));
  fs->set_policy(make_policy("reference"));
  for (int i = 0; i < 50; ++i) {
    const InodeId directory = fs->mkdir(kRootInode, "d" + std::to_string(i), 0755, kRoot)->ino;
    const InodeId file = fs->mknod(directory, "Makefile", S_IFREG | 0644, 0, kRoot)->ino;
    REQUIRE(fs->write(file, 0, as_bytes(makefile()), kRoot));
  }
  Reorganiser reorganiser(*fs);
  reorganiser.stop();  // as a mount that ends, while a pass is under way
  const Status ended = reorganiser.consolidate_now();
  REQUIRE(!ended);
  REQUIRE(ended.error().errno_value == EINTR);
  REQUIRE(Reorganiser(*fs).consolidate_now());  // the next mount's
}

}  // namespace cffs::test
