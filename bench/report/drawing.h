// One figure: gnuplot's script in, a picture out. For the files that draw (plots.cc, growth_plots.cc).
#pragma once

#include <string>

#include "bench/report/plots.h"

namespace cffs::bench {

// A name as file names and gnuplot's strings can hold it.
std::string plain(const std::string& text);
std::string in_quotes(const std::string& text);
// Labels of axes are formats.
std::string tic_label(const std::string& text);

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
