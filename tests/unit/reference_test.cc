// What documents embed, where it is found, and which groups follow.
#include <catch2/catch.hpp>
#include <random>

#include "grouping/reference_policy.h"

namespace cffs::grouping::test {
namespace {

std::vector<std::string> targets(std::string_view name, std::string_view content) {
  std::vector<std::string> found;
  for (const Reference& r : extract(document_kind(name), content).references) {
    found.push_back(r.holder.empty() ? r.target : r.holder + " > " + r.target);
  }
  return found;
}
using Names = std::vector<std::string>;

// A tree given as path -> content; groups as lists of paths.
std::vector<Names> grouped(const std::vector<std::pair<std::string, std::string>>& tree,
                           ReferenceOptions options = {}) {
  std::vector<Candidate> candidates;
  for (const auto& [path, content] : tree) {
    const std::size_t slash = path.rfind('/');
    candidates.push_back({std::hash<std::string>()(slash == std::string::npos ? "" : path.substr(0, slash)),
                          content.size() + 1, path, 0});
  }
  const ReferencePolicy policy(options);
  std::vector<Names> found;
  std::size_t members = 0;
  for (const Group& group :
       policy.group(candidates, 4u << 20, [&](std::size_t i) { return std::optional(tree[i].second); })) {
    found.emplace_back();
    for (const std::size_t i : group) found.back().push_back(tree[i].first);
    members += group.size();
  }
  REQUIRE(members == tree.size());
  return found;
}

}  // namespace

TEST_CASE("HTML embeds images, styles, scripts, frames; links lead elsewhere") {
  constexpr const char* kPage =
      R"x(<!doctype html><head><link rel=stylesheet href="s.css"><link rel="shortcut icon" href=f.ico>
    <link rel=canonical href=no.html><style>@import "i.css"; b{background:url('u.png')}</style><script src=x.js></script>
    <script type=module>import a from "./m.js"; // import "./no.js"
    </script></head><body background=bg.gif><a href=no.html><img src="a b.png" srcset="l.png 2x, m.png 3x"></a>
    <picture><source srcset="p.webp"></picture><iframe src=fr.html></iframe><video src=v.mp4 poster=po.jpg></video>
    <object data=o.swf></object><embed src=e.swf><input type=image src=in.gif><p style="background: url(st.png)">
    <!-- <img src=no.png> --><svg><image xlink:href="svg.png"/><use href="#here"/></svg>)x";
  REQUIRE(targets("a.html", kPage) == Names{"s.css",  "f.ico",   "i.css",   "u.png",   "x.js",
                                            "./m.js", "bg.gif",  "a b.png", "l.png",   "m.png",
                                            "p.webp", "fr.html", "v.mp4",   "po.jpg",  "o.swf",
                                            "e.swf",  "in.gif",  "st.png",  "svg.png", "#here"});
  REQUIRE(targets("a.HTM", "<IMG SRC=/images/x.gif><FRAME SRC='menu.html'>").size() ==
          1);  // a frame outside of a frameset is none
  REQUIRE(targets("f.html", "<frameset><frame src='menu.html'></frameset>") == Names{"menu.html"});
}

TEST_CASE("HTML is read as browsers read it where that tells what is embedded") {
  // Elements that hold only text, to their own end tag.
  REQUIRE(targets("a.html",
                  "<title><img src=no.png></title><textarea><img src=no.png><b></textarea>"
                  "<iframe src=f.html><img src=no.png></iframe><xmp><img src=no.png></xmp><img src=a.png>") ==
          Names{"f.html", "a.png"});
  REQUIRE(targets("a.html",
                  "<script>var a = '<img src=no.png>'; // </b></script><style>b{}</style><img src=a.png>") ==
          Names{"a.png"});
  REQUIRE(targets("a.html", "<noscript><img src=a.png></noscript><template><img src=b.png></template>") ==
          Names{"a.png", "b.png"});
  // An image is an img, but for SVG's.
  REQUIRE(
      targets("a.html",
              "<image src=a.png href=no.png><svg><image src=no.png href=b.png /></svg><image src=c.png>") ==
      Names{"a.png", "b.png", "c.png"});
  REQUIRE(targets("a.svg",
                  "<?xml version='1.0'?><svg xmlns='http://www.w3.org/2000/svg'><style><![CDATA[@import "
                  "'a.css';]]></style>"
                  "<g><use xlink:href='b.svg#c'/></g></svg>") == Names{"a.css", "b.svg#c"});
  // Character references, names in any case, attributes without quotes, or twice, or with a zero in between.
  REQUIRE(targets("a.html", "<IMG ALT='>' sRc='a&amp;b.png' src=no.png><img src=c&#46;png/>") ==
          Names{"a&b.png", "c.png/"});
  REQUIRE(targets("a.html", std::string("<img src=a.png>\0<p\0><img src=b.png>", 34)) ==
          Names{"a.png", "b.png"});
  // Of attributes no more than anybody writes, wherever they are.
  std::string many = "<p ";
  for (int n = 0; n < 20'000; ++n) many += "a" + std::to_string(n) + "=1 ";
  REQUIRE(targets("a.html", many + "><img src=no.png>").empty());
  REQUIRE(targets("a.html", "<!-- " + many + "--><img src=a.png>") == Names{"a.png"});
  REQUIRE(targets("a.html", "<script>if (a <b" + many + ") {}</script><img src=a.png>") == Names{"a.png"});
  REQUIRE(targets("a.html", "<p title='" + many + "'><img src=a.png>") == Names{"a.png"});
}

TEST_CASE("a page of any length gives what it embeds, wherever its tags come to lie") {
  // The parser is given pieces: no tag, comment or script may be lost where they meet.
  const std::string ends =
      "<script>if (a < b) load();</script><script src=x.js></script><!-- <b --><img src=y.png>";
  for (std::size_t before = 3'900; before < 4'110; ++before) {
    INFO(before);
    REQUIRE(targets("a.html", std::string(before, 'x') + ends) == Names{"x.js", "y.png"});
    REQUIRE(targets("a.html", std::string(before, 'x') + "<style>@import 'a.css'; </style><b title='<'>" +
                                  ends) == Names{"a.css", "x.js", "y.png"});
  }
  // An index by LaTeX2HTML: terms without descriptions, which the parser leaves open, one in the other.
  std::string index = "<DL>", nested;
  Names images;
  for (int n = 0; n < 3'000; ++n) {
    images.push_back("i" + std::to_string(n) + ".png");
    index += "<DT><A HREF=\"node1.html#1\"><STRONG>term <IMG SRC=\"" + images.back() + "\"></STRONG></A>\n";
    nested += "<div class=\"one of many\"><img src=\"" + images.back() + "\"></p>\n";
  }
  REQUIRE(targets("index.html", index + "</DL>") == images);
  REQUIRE(targets("nested.html", nested) == images);
}

TEST_CASE("junk of any size gives references or none, never a crash") {
  std::string deep;
  for (int i = 0; i < 200'000; ++i) deep += "<div>";
  REQUIRE(targets("deep.html", deep + "<img src=a.png>").empty());
  const std::string line = "<img src=a.png>" + std::string(3u << 20, 'x') + "<img src=b.png>";
  REQUIRE(targets("long.html", line) == Names{"a.png", "b.png"});
  std::mt19937_64 random(5);
  const std::string alphabet =
      "<>\"'/*\\(){}[]:;=#%$\n\t !@import url include require from build add_executable \x80\xff";
  for (const char* name : {"a.html", "a.css", "a.js", "a.c", "a.d", "Makefile", "CMakeLists.txt", "a.ninja",
                           "a.py", "a.go", "a.md", "a.tex", "a.svg"}) {
    for (int round = 0; round < 200; ++round) {
      std::string junk;
      const std::size_t n = random() % 400;
      while (junk.size() < n) {
        const std::size_t at = random() % alphabet.size();
        junk += random() % 4 == 0 ? std::string(1, static_cast<char>(random()))
                                  : alphabet.substr(at, 1 + random() % 8);
      }
      (void)grouped({{name, junk}, {"x", "y"}});
    }
  }
}

TEST_CASE("styles, scripts, sources, rules, documents") {
  constexpr const char* kSheet =
      R"x(/* url(no.png) */ @import 'a.css'; @import url("b.css"); a{b:URL( c.png ) ; content:"url(no)"} @font-face{src:url(f\.woff)})x";
  REQUIRE(targets("a.css", kSheet) == Names{"a.css", "b.css", "c.png", "f.woff"});
  constexpr const char* kModule =
      R"x(import x, {y} from './x'; import "../y.js"; export * from './z'; const q = require("./r"); import('./dyn');
    const s = "import './no'"; const re = /import ".\/no"/; // require('./no')
    import react from 'react'; a.from("./no"); const t = `from './no'`;)x";
  REQUIRE(targets("a.ts", kModule) == Names{"./x", "../y.js", "./z", "./r", "./dyn"});
  REQUIRE(targets("a.cc",
                  "#include \"b.h\"\n#  include  \"c/d.h\" // x\n#include <no.h>\n/* \n#include "
                  "\"no2.h\"\n*/\n#import \"e.h\"\n") == Names{"b.h", "c/d.h", "e.h"});
  REQUIRE(targets("a.d", "a.o: a.c a.h \\\n  b\\ c.h\n\na.h:\n") == Names{"a.c > a.h", "a.c > b c.h"});
  REQUIRE(targets("Makefile",
                  "SRC = a.c b.c\nOBJ := $(SRC:.c=.o)\nprog: $(OBJ) # no\n\tcc -o $@ $^\n%.o: %.c\ninclude "
                  "conf.mk\n") == Names{"a.o > b.o", "conf.mk"});
  REQUIRE(targets("CMakeLists.txt",
                  "set(S a.cc\n b.cc) # x\nadd_library(l STATIC ${S} \"c.cc\")\nadd_executable(e "
                  "${CMAKE_CURRENT_SOURCE_DIR}/m.cc n.cc)") ==
          Names{"a.cc > b.cc", "a.cc > c.cc", "m.cc > n.cc"});
  REQUIRE(targets("build.ninja", "$x\n${y}\nbuild x: link a.o b.o\n") == Names{"a.o > b.o"});
  REQUIRE(targets("build.ninja",
                  "d = src\nbuild a.o: cc $d/a.c | h$ 1.h $\n  h2.h || gen\nbuild x: link a.o b.o\n") ==
          Names{"src/a.c > h 1.h", "src/a.c > h2.h", "a.o > b.o"});
  REQUIRE(
      targets(
          "a.py",
          "import os, a.b as c\nfrom .x import (y,\n  z)\nfrom .. import w\n\"\"\"\nimport no\n\"\"\"\n") ==
      Names{"os", "a.b", ".x", ".x.y", ".x.z", "..", "..w"});
  REQUIRE(
      targets("a.go",
              "package a\nimport (\n \"fmt\"\n x \"ex.com/m/p\"\n)\nimport \"q\"\nfunc f() { import }\n") ==
      Names{"fmt", "ex.com/m/p", "q"});
  REQUIRE(targets("a.md",
                  "![a](i.png \"t\") ![b][r] ![c]\n\n[r]: <j j.png>\n[c]: "
                  "k.png\n```\n![no](no.png)\n```\n<img src=\"h.png\">\n[l](no.md)") ==
          Names{"i.png", "j j.png", "k.png", "h.png"});
  REQUIRE(targets("a.tex",
                  "\\input{ch1} % \\input{no}\n\\includegraphics[width=1cm]{f} "
                  "\\bibliography{a,b}\\usepackage{own}") == Names{"ch1", "f", "a", "b", "own"});
}

TEST_CASE("URLs are resolved by RFC 3986, faults forgiven") {
  const auto path = [](const char* url, const char* base = "", const char* document = "d/e/page.html") {
    const auto found = resolve_url(document, base, url);
    return found ? (found->root_relative ? "/" : "") + found->path : std::string("none");
  };
  REQUIRE(path("x.png") == "d/e/x.png");
  REQUIRE(path("../x.png") == "d/x.png");
  REQUIRE(path("../../../../x.png") == "x.png");
  REQUIRE(path("./a/../b/./x.png?v=1#f") == "d/e/b/x.png");
  REQUIRE(path("/img/a%20b.png") == "/img/a b.png");
  REQUIRE(path("a b.png") == "d/e/a b.png");
  REQUIRE(path("a\\b.png") == "d/e/a/b.png");
  REQUIRE(path("100%.png") == "d/e/100%.png");
  REQUIRE(path("  x\n.png ") == "d/e/x.png");
  REQUIRE(path("http://elsewhere.org/i/x.png") == "/i/x.png");
  REQUIRE(path("//cdn/i/x.png") == "/i/x.png");
  REQUIRE(path("sub/") == "d/e/sub/index.html");
  REQUIRE(path("x.png", "../other/") == "d/other/x.png");
  REQUIRE(path("x.png", "/abs/") == "/abs/x.png");
  REQUIRE(path("x.png", "http://h/q/") == "/q/x.png");
  REQUIRE(path("data:image/png;base64,xx") == "none");
  REQUIRE(path("mailto:a@b") == "none");
  REQUIRE(path("#top") == "none");
  REQUIRE(path("") == "none");
  REQUIRE(path("g;x=1/../y") == "d/e/y");  // RFC 3986, 5.4.2
}

TEST_CASE("a document lies with what it embeds, wherever that is") {
  const std::string page =
      "<link rel=stylesheet href=/css/main.css><img src=/img/A.PNG><img src=../img/caf%e9.png>";
  REQUIRE(grouped({{"p/one.html", page},
                   {"img/a.png", ""},
                   {"img/caf\xc3\xa9.png", ""},
                   {"css/main.css", ""},
                   {"p/other.txt", ""}}) ==
          std::vector<Names>{{"p/one.html", "css/main.css", "img/a.png", "img/caf\xc3\xa9.png"},
                             {"p/other.txt"}});
  // Root-relative below a site of its own: found on the way down, or where --site-root says.
  REQUIRE(grouped({{"sites/x/p.html", "<img src=/i.png>"}, {"sites/x/i.png", ""}}) ==
          std::vector<Names>{{"sites/x/p.html", "sites/x/i.png"}});
  ReferenceOptions rooted;
  rooted.resolve.site_root = "sites/x";
  REQUIRE(grouped({{"sites/x/p.html", "<img src=/i.png>"}, {"i.png", ""}, {"sites/x/i.png", ""}},
                  rooted)[0] == Names{"sites/x/p.html", "sites/x/i.png"});
}

TEST_CASE("conflicts: HTML first, then who was first; shared files apart; depth; cycles") {
  // The style sheet comes first in the tree, the page still owns the image.
  REQUIRE(grouped({{"a.css", "b{c:url(i.png)}"},
                   {"i.png", ""},
                   {"p.html", "<img src=i.png>"},
                   {"q.html", "<img src=i.png>"}})[0] == Names{"p.html", "i.png"});
  std::vector<std::pair<std::string, std::string>> site{{"logo.png", ""}};
  for (int i = 0; i < 8; ++i)
    site.emplace_back("p" + std::to_string(i) + ".html",
                      "<img src=logo.png><img src=own" + std::to_string(i) + ".png>");
  for (int i = 0; i < 8; ++i) site.emplace_back("own" + std::to_string(i) + ".png", "");
  const auto groups = grouped(site);
  REQUIRE(groups[0] == Names{"p0.html", "own0.png"});
  REQUIRE(groups[1] == Names{"p1.html", "own1.png"});
  REQUIRE(groups[8] == Names{"logo.png"});  // shared, and the only one: by directory
  const std::vector<std::pair<std::string, std::string>> chain{
      {"x/p.html", "<link rel=stylesheet href=../y/s.css>"},
      {"y/s.css", "a{b:url(../z/i.png)}"},
      {"z/i.png", ""}};
  REQUIRE(grouped(chain) == std::vector<Names>{{"x/p.html", "y/s.css"}, {"z/i.png"}});
  ReferenceOptions deep;
  deep.depth = 2;
  REQUIRE(grouped(chain, deep) == std::vector<Names>{{"x/p.html", "y/s.css", "z/i.png"}});
  REQUIRE(grouped({{"a.h", "#include \"b.h\"\n"}, {"b.h", "#include \"a.h\"\n"}}) ==
          std::vector<Names>{{"a.h", "b.h"}});
  REQUIRE(grouped({{"self.css", "a{b:url(self.css)}"}}) == std::vector<Names>{{"self.css"}});
}

TEST_CASE("sources: includes from the directories above, objects from their sources, packages") {
  REQUIRE(grouped({{"db/impl.cc", "#include \"db/impl.h\"\n#include \"lib/x.h\"\n"},
                   {"db/impl.h", ""},
                   {"include/lib/x.h", ""}}) ==
          std::vector<Names>{{"db/impl.cc", "db/impl.h", "include/lib/x.h"}});
  REQUIRE(grouped({{"Makefile", "prog: a.o b.o\n"}, {"a.c", ""}, {"b.c", ""}})[0] == Names{"a.c", "b.c"});
  REQUIRE(grouped({{"m/main.py", "from .util import f\nimport pkg.deep\n"},
                   {"m/util.py", ""},
                   {"pkg/deep.py", ""}}) == std::vector<Names>{{"m/main.py", "m/util.py", "pkg/deep.py"}});
  REQUIRE(grouped({{"cmd/main.go", "import \"ex.com/mod/pkg/a\"\n"},
                   {"pkg/a/a.go", "package a"},
                   {"pkg/a/b.go", "package a"}})[0] == Names{"cmd/main.go", "pkg/a/a.go", "pkg/a/b.go"});
}

}  // namespace cffs::grouping::test
