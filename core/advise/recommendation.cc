#include "core/advise/recommendation.h"

#include <algorithm>
#include <cstdarg>
#include <cstdio>

namespace cffs {
namespace {

constexpr std::uint64_t kFewFiles = 1000;
constexpr double kMostlyBlobs = 0.7;  // of the bytes
constexpr std::uint64_t kLargeMean = 2u << 20;
constexpr double kWorthPacking = 0.8;               // share that is left
constexpr double kFaster = 1.1, kMuchFaster = 1.5;  // sweeps
constexpr double kOtherTree = 0.5;                  // of a log's files, missing
constexpr double kDocuments = 0.05;                 // of the files

Tally tally_of(const TreeSurvey& survey, std::initializer_list<const char*> extensions) {
  Tally sum;
  for (const char* extension : extensions) {
    const auto at = survey.extensions.find(std::string_view(extension));
    if (at == survey.extensions.end()) continue;
    sum.files += at->second.files;
    sum.bytes += at->second.bytes;
  }
  return sum;
}

// As printf.
[[gnu::format(printf, 1, 2)]] std::string remark_text(const char* format, ...) {
  char text[512];
  std::va_list arguments;
  va_start(arguments, format);
  const int n = std::vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  return {text, static_cast<std::size_t>(std::clamp(n, 0, static_cast<int>(sizeof text) - 1))};
}
// What printf takes for a number of any width.
unsigned long long wide(std::uint64_t n) { return n; }

double part_of(std::uint64_t part, std::uint64_t all) {
  return static_cast<double>(part) / static_cast<double>(std::max<std::uint64_t>(1, all));
}

class RecommendationRules {
 public:
  RecommendationRules(const TreeSurvey& survey, const Prediction& prediction, const Duplicates& duplicates,
                      const DiskPrediction& on, const LogFindings* log)
      : survey_(survey), prediction_(prediction), duplicates_(duplicates), on_(on), log_(log) {}

  Recommendation run() {
    choose_policy();
    choose_compression();
    gains();
    losses();
    objections();
    return std::move(r_);
  }

 private:
  static void add(std::vector<Remark>& to, const char* code, std::string text) {
    to.push_back({code, std::move(text)});
  }
  const StorePrediction& chosen() const { return r_.store(prediction_); }

  void choose_compression() {
    r_.compression = "none";
    if (r_.policy == "none") return;  // it has no composites
    for (const StorePrediction& store : prediction_.stores) {
      if (store.name.starts_with("zstd") && store.share <= kWorthPacking) r_.compression = store.name;
    }
  }

  void choose_policy() {
    r_.policy = "directory";
    const Tally documents = tally_of(survey_, {"html", "htm", "xhtml", "css"});
    const bool site = documents.files >= 50 && part_of(documents.files, survey_.files) >= kDocuments;
    add(r_.wins, "directory",
        "directory: whoever goes through directories: a backup, a search, a build, a scan");
    if (site)
      add(r_.wins, "reference",
          remark_text(
              "reference: whoever opens pages with what they embed: %llu of the files are HTML or CSS",
              wide(documents.files)));
    if (log_ == nullptr) {
      add(r_.wins, "frequency",
          "frequency: whoever asks for the same files together again and again; name an access log with "
          "--log "
          "to see what it would give");
    } else {
      if (log_->missing <= kOtherTree) r_.policy = log_->best_policy;
      if (log_->missing > 0.1)
        add(r_.against, "log_of_another_tree",
            remark_text(
                "%.0f %% of the files in the log are not in the tree%s", 100 * log_->missing,
                log_->missing > kOtherTree ? ": it does not decide here; is it this tree's log?" : ""));
      add(r_.wins, "frequency",
          remark_text(
              "by the log %s wins on this disk, with %.2f of policy none's latency; mined groups: %llu, "
              "%.0f %% of the accesses are to files in them",
              log_->best_policy.c_str(), log_->latency_of_none, wide(log_->groups), 100 * log_->covered));
    }
    add(r_.wins, "none",
        "none: whoever reads single files here and there on a fast disk, or rewrites small files all the "
        "time");
  }

  void gains() {
    const StorePrediction& store = chosen();
    if (store.inodes < survey_.inodes())
      add(r_.wins, "inodes",
          remark_text("%llu inodes of the file system below in place of %llu", wide(store.inodes),
                      wide(survey_.inodes())));
    const bool composites = r_.policy != "none";  // what is shared lies in them
    r_.dedupe = composites && duplicates_.shared_bytes > survey_.bytes / 50;
    if (duplicates_.bytes > survey_.bytes / 50) {
      const double again = 100 * part_of(duplicates_.bytes, survey_.bytes);
      const double shared = 100 * part_of(duplicates_.shared_bytes, survey_.bytes);
      add(r_.wins, "duplicates",
          remark_text("about %llu files are there again as others, %.0f %% of the bytes: --dedupe shares "
                      "%.0f %%%s",
                      wide(duplicates_.files), again, shared,
                      composites ? "" : ", but of composites, which policy none makes none of"));
    }
  }

  void losses() {
    const StorePrediction& store = chosen();
    const double random = prediction_.random_gain(on_, store), sweep = prediction_.sweep_gain(on_, store);
    if (random < 0.95)
      add(r_.losses, "random_reads",
          remark_text("single files at random, cold: %.2f times as fast as the directory", random));
    if (sweep < 0.95)
      add(r_.losses, "sweeps", remark_text("whole sweeps, cold: %.2f times as fast as the directory", sweep));
    if (on_.disk.is_fast())
      add(r_.losses, "stats",
          "names that the kernel does not know yet, cold or of a cache that is too small: about half as many "
          "a "
          "second");
    if (r_.compression != "none" && on_.disk.is_fast())
      add(r_.losses, "unpacking",
          "single files at random from compressed composites: a fifth slower than plain");
    if (r_.compression != "none" && store.outline.large_members > 0)
      add(r_.losses, "large_members",
          remark_text("%llu files of more than 1 MiB become members: what is read of one is decompressed, "
                      "and all of it comes back into a blob when it is written to",
                      wide(store.outline.large_members)));
    add(r_.losses, "daemon",
        "every file that the kernel has not cached is two requests to a daemon, 50 to 100 us of processor "
        "time");
  }

  void objections() {
    const StorePrediction& store = chosen();
    const double sweep = prediction_.sweep_gain(on_, store);
    const double blobs = part_of(store.outline.blob_bytes, survey_.bytes);
    const std::uint64_t mean = survey_.files > 0 ? survey_.bytes / survey_.files : 0;
    const double today = part_of(survey_.changed.classes[0].bytes, survey_.bytes);
    unsigned serious = 0;
    if (survey_.files < kFewFiles) {
      ++serious;
      add(r_.against, "few_files",
          remark_text("%llu files are too few to gain anything worth a daemon", wide(survey_.files)));
    }
    if (blobs > kMostlyBlobs || mean > kLargeMean) {
      ++serious;
      add(r_.against, "large_files",
          remark_text("%.0f %% of the bytes are in files that stay files of their own (blobs), the mean file "
                      "has %.1f MB: the disk reads them as before, and each byte goes through a daemon",
                      100 * blobs, static_cast<double>(mean) / 1e6));
    }
    if (sweep < kFaster)
      add(r_.against, "fast_disk",
          remark_text("on this disk (%s: %.2f ms a place) reading everything would be %.2f times as fast: "
                      "no gain; what is left is inodes and room",
                      on_.disk.name.c_str(), on_.disk.seek_ms, sweep));
    if (on_.disk.is_fast())
      add(r_.against, "in_memory",
          "where all of it stays in the page cache, cffs is no faster than the directory: warm reads cost "
          "the "
          "same");
    if (today > 0.3)
      add(r_.against, "rewritten",
          remark_text("%.0f %% of the bytes were changed within a day: files that are rewritten all the time "
                      "are moved again and again",
                      100 * today));
    const bool saves = store.share <= kWorthPacking || 10 * store.inodes < survey_.inodes();
    if (serious > 0) {
      r_.worth = sweep >= kMuchFaster && survey_.files >= kFewFiles ? Worth::little : Worth::no;
    } else if (sweep < kMuchFaster) {
      r_.worth = saves || sweep >= kFaster ? Worth::little : Worth::no;
    }
  }

  const TreeSurvey& survey_;
  const Prediction& prediction_;
  const Duplicates& duplicates_;
  const DiskPrediction& on_;
  const LogFindings* const log_;
  Recommendation r_;
};

}  // namespace

const StorePrediction& Recommendation::store(const Prediction& prediction) const {
  const StorePrediction* const made = prediction.store(policy == "none" ? "tablefs" : compression);
  return made != nullptr ? *made : *prediction.store("plain");
}

std::string name_of(Worth worth) {
  return worth == Worth::yes ? "yes" : worth == Worth::little ? "little" : "no";
}

Recommendation recommend(const TreeSurvey& survey, const Prediction& prediction, const Duplicates& duplicates,
                         const DiskPrediction& on, const LogFindings* log) {
  return RecommendationRules(survey, prediction, duplicates, on, log).run();
}

}  // namespace cffs
