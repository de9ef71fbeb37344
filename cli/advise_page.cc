// The report of cffs advise as one HTML page, without anything from elsewhere; light or dark, as its reader has it.
#include <fmt/format.h>

#include <algorithm>

#include "cli/advise_report.h"
#include "cli/commands.h"
#include "core/base/printable.h"

namespace cffs::cli {
namespace {

constexpr const char* kPageStyle = R"(
:root{color-scheme:light dark;--ink:#1d2329;--soft:#5c6670;--line:#d9dee3;--ground:#fcfcfa;--files:#2a6fb0;--bytes:#d98a2b}
@media(prefers-color-scheme:dark){:root{--ink:#e4e8eb;--soft:#9aa5af;--line:#39424a;--ground:#16191c;--files:#6fb1ef;--bytes:#e7a653}}
body{margin:0;background:var(--ground);color:var(--ink);font:16px/1.5 system-ui,sans-serif}
main{max-width:62rem;margin:0 auto;padding:1.5rem 1rem 3rem}
h1{font-size:1.5rem;overflow-wrap:anywhere}h2{font-size:1.15rem;margin-top:2rem}
.soft{color:var(--soft)}.wide{overflow-x:auto}
table{border-collapse:collapse;font-variant-numeric:tabular-nums;white-space:nowrap}
th,td{padding:.25rem .45rem;text-align:right;border-bottom:1px solid var(--line)}
th:first-child,td:first-child{text-align:left}thead th{color:var(--soft);font-weight:600}
.figures{display:flex;flex-wrap:wrap;gap:1.5rem}figure{margin:0;flex:1 1 22rem}figcaption{font-weight:600}
svg{width:100%;max-width:30rem;height:auto}svg text{fill:var(--ink);font:11px system-ui,sans-serif}
.f{fill:var(--files)}.b{fill:var(--bytes)}.k{display:inline-block;width:.8em;height:.8em;border-radius:2px}
pre{padding:.8rem;border:1px solid var(--line);border-radius:6px;white-space:pre-wrap;overflow-wrap:anywhere}
.worth{font-size:1.1rem;font-weight:600}
)";

std::string html_text(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '&') {
      out += "&amp;";
    } else if (c == '<') {
      out += "&lt;";
    } else if (c == '>') {
      out += "&gt;";
    } else if (c == '"') {
      out += "&quot;";
    } else {
      out += c;
    }
  }
  return out;
}

// Two bars for each class: share of the files, share of the bytes.
template <typename Name>
std::string class_picture(const char* title, const auto& histogram, std::uint64_t files, std::uint64_t bytes,
                          Name name) {
  constexpr int kRow = 30, kLeft = 86, kBars = 220, kWidth = 440;
  const auto share = [](std::uint64_t part, std::uint64_t all) {
    return all > 0 ? static_cast<double>(part) / static_cast<double>(all) : 0.0;
  };
  std::size_t rows = 0;
  std::string drawn;
  for (std::size_t i = 0; i < histogram.classes.size(); ++i) {
    const Tally& t = histogram.classes[i];
    if (t.files == 0) continue;
    const int top = static_cast<int>(rows++) * kRow;
    drawn += fmt::format(
        "<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>"
        "<rect class=\"f\" x=\"{}\" y=\"{}\" width=\"{:.1f}\" height=\"9\" rx=\"1\"/>"
        "<rect class=\"b\" x=\"{}\" y=\"{}\" width=\"{:.1f}\" height=\"9\" rx=\"1\"/>"
        "<text x=\"{}\" y=\"{}\">{}, {}</text>\n",
        kLeft - 6, top + 17, name(i), kLeft, top + 4, std::max(0.5, kBars * share(t.files, files)), kLeft,
        top + 14, std::max(0.5, kBars * share(t.bytes, bytes)),
        kLeft + 5 + kBars * std::max(share(t.files, files), share(t.bytes, bytes)), top + 17, t.files,
        human_bytes(t.bytes));
  }
  return fmt::format(
      "<figure><figcaption>{}</figcaption><svg viewBox=\"0 0 {} {}\" role=\"img\" "
      "aria-label=\"{}\">\n{}</svg></figure>\n",
      title, kWidth, std::max<std::size_t>(1, rows) * kRow, title, drawn);
}

std::string stores_table(const Advice& a) {
  std::string table =
      "<div class=\"wide\"><table><thead><tr><th>store</th><th>bytes</th><th>of the "
      "tree</th><th>composites</th>"
      "<th>blobs</th><th>table</th><th>objects</th><th>inodes</th><th>import</th>"
      "<th title=\"the daemon's\">memory</th></tr></thead>"
      "<tbody>\n";
  table += fmt::format(
      "<tr><td>the directory</td><td>{}</td><td>1.00</td><td></td><td></td><td></td><td></td><td>{}</td>"
      "<td></td><td></td></tr>\n",
      human_bytes(a.survey.bytes), a.survey.inodes());
  for (const StorePrediction& s : a.prediction.stores) {
    table += fmt::format(
        "<tr><td>{}</td><td>{}</td><td>{:.2f}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</"
        "td><td>{}</td>"
        "<td>{}</td></tr>\n",
        s.name == "tablefs" ? "tablefs (policy none)" : s.name, human_bytes(s.object_bytes),
        static_cast<double>(s.object_bytes) / static_cast<double>(std::max<std::uint64_t>(1, a.survey.bytes)),
        s.outline.composites, s.outline.blobs, human_bytes(s.table_bytes), s.objects, s.inodes,
        seconds_text(s.import_s), human_bytes(s.daemon_bytes));
  }
  return table + "</tbody></table></div>\n";
}

std::string reads_table(const Advice& a) {
  std::string table = "<div class=\"wide\"><table><thead><tr><th>cold, one reader</th><th>directory</th>";
  for (const StorePrediction& s : a.prediction.stores) table += "<th>" + html_text(s.name) + "</th>";
  table += "</tr></thead><tbody>\n";
  for (const DiskPrediction& d : a.prediction.disks) {
    table +=
        fmt::format("<tr><td>{}: everything</td><td>{}</td>", d.disk.name, seconds_text(d.directory.sweep_s));
    for (const StorePrediction& s : a.prediction.stores)
      table += fmt::format("<td>× {:.2f}</td>", a.prediction.sweep_gain(d, s));
    table += fmt::format("</tr>\n<tr><td>{}: single files at random</td><td>{:.0f}/s</td>", d.disk.name,
                         d.directory.random_files_s);
    for (const StorePrediction& s : a.prediction.stores)
      table += fmt::format("<td>× {:.2f}</td>", a.prediction.random_gain(d, s));
    table += "</tr>\n";
  }
  return table + "</tbody></table></div>\n";
}

std::string remark_list(const char* title, const std::vector<Remark>& remarks) {
  if (remarks.empty()) return {};
  std::string list = fmt::format("<h2>{}</h2>\n<ul>\n", title);
  for (const Remark& remark : remarks) list += "<li>" + html_text(remark.text) + "</li>\n";
  return list + "</ul>\n";
}

}  // namespace

std::string advice_page(const Advice& a) {
  const TreeSurvey& s = a.survey;
  const Recommendation& r = a.recommendation;
  const std::string name = html_text(printable(a.directory));
  std::string page = fmt::format(
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
      "content=\"width=device-width, initial-scale=1\">\n<title>cffs advise: "
      "{}</title><style>{}</style></head>"
      "<body><main>\n<h1>{} as a store</h1>\n",
      name, kPageStyle, name);
  page += fmt::format("<p class=\"worth\">{}</p>\n",
                      r.worth == Worth::yes      ? "cffs is for this tree on this disk."
                      : r.worth == Worth::little ? "cffs gains little here."
                                                 : "cffs is not for this tree on this disk.");
  // Printable already, and what a shell reads: a backslash in it is one.
  page += "<pre>" + html_text(a.commands()) + "</pre>\n";
  page += fmt::format(
      "<p>{} files, {}, in {} directories; {} symlinks, {} special files; about {} of files that are there "
      "twice. "
      "<span class=\"soft\">Judged for {}: {:.2f} ms a place, {:.0f} MB/s.</span></p>\n",
      s.files, human_bytes(s.bytes), s.directories.size(), s.symlinks, s.specials,
      human_bytes(a.duplicates.bytes), a.on().disk.name, a.on().disk.seek_ms,
      a.on().disk.bytes_per_second / 1e6);
  page +=
      "<p><span class=\"k\" style=\"background:var(--files)\"></span> files "
      "<span class=\"k\" style=\"background:var(--bytes)\"></span> bytes, shares of all</p>\n<div "
      "class=\"figures\">\n";
  page += class_picture("Sizes", s.sizes, s.files, s.bytes, size_class);
  page += class_picture("Last changed", s.changed, s.files, s.bytes, age_class);
  page += class_picture("Last read", s.read, s.files, s.bytes, age_class);
  page += "</div>\n<h2>What a store of it would take</h2>\n" + stores_table(a);
  page += "<h2>Reading it, times as fast as the directory</h2>\n" + reads_table(a);
  page += remark_list("Who wins", r.wins) + remark_list("What gets slower", r.losses) +
          remark_list("What speaks against it", r.against);
  return page + "</main></body></html>\n";
}

}  // namespace cffs::cli
