#include "bench/report/drawing.h"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "bench/rig/process.h"
#include "core/base/printable.h"
#include "core/base/readable_text.h"

namespace cffs::bench {

std::string plain(const std::string& text) {
  std::string out;
  for (const char c : text) {
    const bool good = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (good) {
      out += c;
    } else if (!out.empty() && out.back() != '-') {
      out += '-';
    }
  }
  while (out.ends_with('-')) out.pop_back();
  return out;
}
std::string in_quotes(const std::string& text) {
  // gnuplot takes '' for a quote, but not where a text begins with it, nor twice in a row: none is left to end the text early.
  std::string out = "'";
  for (const char c : printable(text)) out += c == '\'' ? std::string("\u2019") : std::string(1, c);
  return out + "'";
}

std::string tic_label(const std::string& text) {
  std::string out;
  for (const char c : text) out += c == '%' ? std::string("%%") : std::string(1, c);
  return in_quotes(out);
}

std::string line_title(const std::string& target) {
  return "title " + in_quotes(title_of(target)) + " noenhanced";
}

Result<Plot> Drawing::draw(const std::string& directory) {
  std::string folder = (std::filesystem::temp_directory_path() / "cffs-plot.XXXXXX").string();
  if (::mkdtemp(folder.data()) == nullptr) return fail(errno, folder);
  const Status drawn = run_gnuplot(folder, directory);
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
  if (!drawn) return fail(drawn.error());
  return std::move(plot_);
}

Status Drawing::run_gnuplot(const std::string& folder, const std::string& directory) {
  {
    std::ofstream out(folder + "/script");
    out << "set encoding utf8\nset border 3 linewidth 0.8\nset tics nomirror out scale 0.5\n"
           "set grid ytics linewidth 0.5 linecolor rgb '#999999' dashtype 3\nset key outside top "
           "horizontal left Left reverse samplen 1.5 width 1\n"
           "set lmargin 11\nset rmargin 3\n"
        << script
        << fmt::format("\nset terminal svg size {},{} dynamic font 'sans-serif,13' rounded\n", width, height)
        << "set output 'plot.svg'\nreplot\nset output\n";
    if (!directory.empty()) {
      out << fmt::format(
                 "set terminal pngcairo size {},{} background 'white' font 'sans,13' fontscale 1.3 "
                 "rounded\n",
                 width * 3 / 2, height * 3 / 2)
          << "set output 'plot.png'\nreplot\nset output\n";
    }
  }
  // It runs where it writes, so that no name of anybody's is in what it is told.
  CFFS_TRY_VOID(run({"gnuplot", "-e", "set terminal unknown", "script"}, folder));
  plot_.svg = readable_text(folder + "/plot.svg").value_or("");
  follow_text_colour();
  if (directory.empty()) return {};
  std::ofstream out(directory + "/" + plot_.name + ".svg");
  out << plot_.svg;
  out.close();
  if (!out) return fail(EIO, directory + "/" + plot_.name + ".svg");
  const std::string png = directory + "/" + plot_.name + ".png";
  std::error_code error;
  std::filesystem::copy_file(folder + "/plot.png", png, std::filesystem::copy_options::overwrite_existing,
                             error);
  if (error) return fail(error.value(), png);
  return {};
}
// Black becomes the colour of the surrounding text, so that the same figure serves light and dark pages.
void Drawing::follow_text_colour() {
  for (const std::string black : {"rgb(  0,   0,   0)", "rgb(0,0,0)", "\"black\"", "'black'"}) {
    const std::string with = black.front() == '"'    ? "\"currentColor\""
                             : black.front() == '\'' ? "'currentColor'"
                                                     : "currentColor";
    for (std::size_t at = plot_.svg.find(black); at != std::string::npos;
         at = plot_.svg.find(black, at + with.size()))
      plot_.svg.replace(at, black.size(), with);
  }
  // Only the picture itself is wanted inside a page, and ids must not clash between pictures.
  const std::size_t begin = plot_.svg.find("<svg");
  if (begin != std::string::npos) plot_.svg.erase(0, begin);
  for (const std::string mark : {"id=\"", "url(#", "xlink:href='#", "xlink:href=\"#", "id='"}) {
    for (std::size_t at = plot_.svg.find(mark); at != std::string::npos;
         at = plot_.svg.find(mark, at + mark.size()))
      plot_.svg.insert(at + mark.size(), plot_.name + "-");
  }
  if (const std::size_t style = plot_.svg.find("<svg"); style != std::string::npos)
    plot_.svg.insert(style + 4, " class=\"plot\" color=\"#222\"");
}

}  // namespace cffs::bench
