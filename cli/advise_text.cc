// The report of cffs advise for people.
#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "cli/advise_report.h"
#include "cli/commands.h"
#include "cli/counted.h"
#include "core/base/printable.h"

namespace cffs::cli {

std::string shell_word(const std::string& word) {
  const bool plain = !word.empty() && std::all_of(word.begin(), word.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("/._-+=:,@%").find(c) != std::string_view::npos;
  });
  if (plain) return word;
  const bool control = std::any_of(word.begin(), word.end(), [](char c) {
    return static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) >= 0x7f;
  });
  std::string quoted = control ? "$'" : "'";
  for (const char c : word) {
    const auto byte = static_cast<unsigned char>(c);
    if (control && (byte < 0x20 || byte >= 0x7f)) {
      quoted += fmt::format("\\x{:02x}", byte);
    } else if (control && (c == '\'' || c == '\\')) {
      quoted += '\\';
      quoted += c;
    } else if (c == '\'') {
      quoted += "'\\''";
    } else {
      quoted += c;
    }
  }
  return quoted + "'";
}

std::string Advice::commands() const {
  const std::string policy = recommendation.policy == "directory" || recommendation.policy == "frequency"
                                 ? ""
                                 : " --policy=" + recommendation.policy;
  const std::string compress =
      recommendation.compression == "none" ? "" : " --compress=" + recommendation.compression;
  const std::string word = shell_word(directory);
  const std::string dedupe = recommendation.dedupe ? " --dedupe" : "";
  std::string lines =
      "cffs format" + compress + dedupe + " STORE && cffs import" + policy + " " + word + " STORE";
  if (recommendation.policy == "frequency")
    lines += " && cffs analyze LOG -o PLAN.db && cffs regroup --policy=frequency --plan=PLAN.db STORE";
  return lines;
}

std::string size_class(std::size_t i) {
  static const char* const kNames[] = {"empty",     "to 1 KiB",   "to 4 KiB", "to 16 KiB",
                                       "to 64 KiB", "to 256 KiB", "to 1 MiB", "to 4 MiB",
                                       "to 16 MiB", "to 64 MiB",  "above"};
  return kNames[i];
}

std::string age_class(std::size_t i) {
  static const char* const kNames[] = {"to a day",    "to a week", "to a month",
                                       "to 3 months", "to a year", "older"};
  return kNames[i];
}

std::string seconds_text(double s) {
  if (s < 10) return fmt::format("{:.1f} s", s);
  if (s < 180) return fmt::format("{:.0f} s", s);
  if (s < 3 * 3600) return fmt::format("{:.0f} min", s / 60);
  return fmt::format("{:.1f} h", s / 3600);
}

namespace {

std::string bar(std::uint64_t part, std::uint64_t all) {
  constexpr std::uint64_t kWidth = 24;
  return std::string(all > 0 ? (part * kWidth + all / 2) / all : 0, '#');
}

template <typename Name>
void add_classes(std::string& text, const auto& histogram, std::uint64_t files, std::uint64_t bytes,
                 Name name) {
  for (std::size_t i = 0; i < histogram.classes.size(); ++i) {
    const Tally& t = histogram.classes[i];
    if (t.files == 0) continue;
    text += fmt::format("  {:<12} {:>10} {:<5} {:>10}   files {:<24}  bytes {}\n", name(i), t.files,
                        noun(t.files, "file", "files"), human_bytes(t.bytes), bar(t.files, files),
                        bar(t.bytes, bytes));
  }
}

void add_tree(std::string& text, const Advice& a) {
  const TreeSurvey& s = a.survey;
  text += fmt::format(
      "{}: {}, {}, in {}; {}, {}\n", printable(a.directory), counted(s.files, "file", "files"),
      human_bytes(s.bytes), counted(s.directories.size(), "directory", "directories"),
      counted(s.symlinks, "symlink", "symlinks"), counted(s.specials, "special file", "special files"));
  text += fmt::format("  {}, {} on the disk; the largest directory has {}; {} of files with several\n",
                      counted(s.inodes(), "inode", "inodes"), human_bytes(s.allocated_bytes),
                      counted(s.largest_directory, "entry", "entries"),
                      counted(s.further_names, "more name", "more names"));
  text += fmt::format("  looked at in {}", seconds_text(s.seconds));
  if (s.failed > 0) text += fmt::format("; {} could not be read", s.failed);
  if (s.vanished > 0) text += fmt::format("; {} vanished meanwhile", s.vanished);
  if (s.on_other_devices > 0)
    text += fmt::format("; on other devices, and left out: {} (--other-devices)",
                        counted(s.on_other_devices, "directory", "directories"));
  text += "\nsizes\n";
  add_classes(text, s.sizes, s.files, s.bytes, size_class);
  text += "last changed\n";
  add_classes(text, s.changed, s.files, s.bytes, age_class);
  text += "last read, as far as access times are kept\n";
  add_classes(text, s.read, s.files, s.bytes, age_class);
  std::vector<std::pair<std::string, Tally>> kinds(s.extensions.begin(), s.extensions.end());
  std::sort(kinds.begin(), kinds.end(),
            [](const auto& x, const auto& y) { return x.second.bytes > y.second.bytes; });
  if (kinds.size() > 6) kinds.resize(6);
  text += "most bytes in\n";
  for (const auto& [extension, tally] : kinds)
    text += fmt::format("  {:<12} {:>10} {:<5} {:>10}\n",
                        extension.empty() ? "(no suffix)" : "." + printable(extension), tally.files,
                        noun(tally.files, "file", "files"), human_bytes(tally.bytes));
  const Duplicates& d = a.duplicates;
  text += fmt::format(
      "whole files twice: about {}, {} ({})\n", counted(d.files, "file", "files"), human_bytes(d.bytes),
      d.whole ? fmt::format("all {} of equal size were compared", d.candidates)
              : fmt::format("estimated from {} of {} of equal size", d.compared, d.candidates));
}

void add_stores(std::string& text, const Advice& a) {
  const ContentSample& c = a.sample;
  text += fmt::format("\nA store of it{}\n",
                      c.whole ? fmt::format(": all {} composites were packed in memory", c.composites)
                              : fmt::format(": {} of {} composites were packed in memory, {}", c.composites,
                                            c.of, human_bytes(c.bytes)));
  text += fmt::format("  {:<10} {:>10} {:>8} {:>10} {:>7} {:>9} {:>9} {:>8} {:>9} {:>8}\n", "", "bytes",
                      "of tree", "composites", "blobs", "table", "objects", "inodes", "import", "memory");
  for (const StorePrediction& s : a.prediction.stores) {
    const double of_tree =
        static_cast<double>(s.object_bytes) / static_cast<double>(std::max<std::uint64_t>(1, a.survey.bytes));
    text += fmt::format("  {:<10} {:>10} {:>8.2f} {:>10} {:>7} {:>9} {:>9} {:>8} {:>9} {:>8}\n", s.name,
                        human_bytes(s.object_bytes), of_tree, s.outline.composites, s.outline.blobs,
                        human_bytes(s.table_bytes), s.objects, s.inodes, seconds_text(s.import_s),
                        human_bytes(s.daemon_bytes));
  }
  text += fmt::format(
      "  tablefs: policy none. Beside it {} that a store reserves. Import: of what is in memory, {}.\n",
      human_bytes(a.prediction.stores.front().reserve_bytes),
      a.tried_imports ? "as fast as a trial was just now" : "by constants measured elsewhere");
  std::string decompression, deduped;
  for (const StorePrediction& s : a.prediction.stores) {
    if (s.unpack_s > 0)
      decompression +=
          fmt::format("{} {} {}", decompression.empty() ? "" : ",", s.name, seconds_text(s.unpack_s));
    if (a.duplicates.shared_bytes > 0 && s.outline.composites > 0)
      deduped += fmt::format("{} {} {}", deduped.empty() ? "" : ",", s.name,
                             human_bytes(s.bytes_deduped(a.duplicates)));
  }
  if (!decompression.empty())
    text += fmt::format("  To decompress all of it once, one processor:{}\n", decompression);
  if (!deduped.empty()) text += fmt::format("  Bytes with --dedupe:{}\n", deduped);
  for (const StorePrediction& s : a.prediction.stores) {
    if (s.uncertainty > 0.02 * s.share)
      text += fmt::format("  {}: composites shrink to {:.3f}, give or take {:.3f}\n", s.name, s.share,
                          2 * s.uncertainty);
  }
}

void add_reads(std::string& text, const Advice& a) {
  text += "\nCold reads by one reader, times the directory's (above 1: faster)\n";
  text += fmt::format("  {:<22} {:>18}", "", "directory");
  for (const StorePrediction& s : a.prediction.stores) text += fmt::format(" {:>8}", s.name);
  text += "\n";
  for (const DiskPrediction& d : a.prediction.disks) {
    text += fmt::format("  {:<22} {:>18}", d.disk.name + ": everything", seconds_text(d.directory.sweep_s));
    for (const StorePrediction& s : a.prediction.stores)
      text += fmt::format(" {:>8.2f}", a.prediction.sweep_gain(d, s));
    text += fmt::format("\n  {:<22} {:>18}", d.disk.name + ": at random",
                        fmt::format("{:.0f} files/s", d.directory.random_files_s));
    for (const StorePrediction& s : a.prediction.stores)
      text += fmt::format(" {:>8.2f}", a.prediction.random_gain(d, s));
    text += "\n";
  }
  const Disk& disk = a.on().disk;
  text += fmt::format("  judged for {}: {:.2f} ms a place, {:.0f} MB/s{}\n", disk.name, disk.seek_ms,
                      disk.bytes_per_second / 1e6, a.remark ? "; " + *a.remark : "");
}

void add_remarks(std::string& text, const char* title, const std::vector<Remark>& remarks) {
  if (remarks.empty()) return;
  text += fmt::format("\n{}\n", title);
  for (const Remark& remark : remarks) text += "  " + remark.text + "\n";
}

}  // namespace

std::string advice_text(const Advice& a) {
  std::string text;
  add_tree(text, a);
  if (a.survey.files == 0) return text + "\nThere is no file in it: nothing to advise on.\n";
  add_stores(text, a);
  add_reads(text, a);
  const Recommendation& r = a.recommendation;
  add_remarks(text, "Who wins", r.wins);
  add_remarks(text, "What gets slower", r.losses);
  add_remarks(text, "What speaks against it", r.against);
  text += r.worth == Worth::yes      ? "\ncffs is for this tree on this disk.\n"
          : r.worth == Worth::little ? "\ncffs gains little here; try it where inodes or room are scarce.\n"
                                     : "\ncffs is not for this tree on this disk: leave it as it is.\n";
  text += fmt::format("{}{}\n",
                      r.worth == Worth::yes ? "What to do: " : "To try it all the same: ", a.commands());
  return text;
}

}  // namespace cffs::cli
