// One figure: gnuplot's script in, a picture out. For the files that draw (plots.cc, growth_plots.cc).
#pragma once

#include <string>

#include "bench/report/plots.h"

namespace cffs::bench {

// A name as file names can hold it.
std::string plain(const std::string& text);
// A word of gnuplot's that is this text and nothing more, whoever wrote it: gnuplot runs what stands in backticks between double
// quotes, and between single ones it expands nothing. What cannot be drawn is shown as \xNN; a line's end would end the command.
std::string in_quotes(const std::string& text);
// The same for labels of axes, which are formats.
std::string tic_label(const std::string& text);
// "title WORD": a target's name as it is. gnuplot would take "@" and "_" for marks of how to write what follows.
std::string line_title(const std::string& target);

class Drawing {
 public:
  Drawing(std::string name, std::string title) {
    plot_.name = std::move(name);
    plot_.title = std::move(title);
  }
  std::string script;
  int width = 560, height = 350;

  // NAME.svg and NAME.png go into `directory`, where one is given.
  Result<Plot> draw(const std::string& directory);

 private:
  Status run_gnuplot(const std::string& folder, const std::string& directory);
  void follow_text_colour();

  Plot plot_;
};

}  // namespace cffs::bench
