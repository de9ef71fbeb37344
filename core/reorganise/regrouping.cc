#include "core/reorganise/regrouping.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "core/base/pace.h"
#include "core/fs/kept_in_table.h"
#include "core/object/object_store.h"
#include "core/reorganise/deduplication.h"
#include "core/reorganise/readable_rows.h"
#include "core/reorganise/reference_index.h"
#include "core/reorganise/repacking.h"
#include "core/reorganise/small_files.h"
#include "grouping/reference_policy.h"

namespace cffs {
namespace {

class Regrouping {
 public:
  Regrouping(Reorganiser& reorganiser, const grouping::Policy& policy, const RegroupOptions& options)
      : reorganiser_(reorganiser),
        fs_(reorganiser.fs()),
        options_(options),
        policy_(policy),
        table_bytes_(kept_in_table(policy, fs_.store_format())),
        filler_(fs_) {}

  Result<RegroupReport> run() {
    report_.policy = policy_.name();
    report_.dry_run = options_.dry_run;
    CFFS_TRY(report_.composites_before, composites());
    CFFS_TRY_VOID(find_guests());
    std::unordered_set<std::uint64_t> seen;
    const Status walked = visit_small_files(
        fs_,
        [&](SmallFile f) {
          if (!seen.insert(f.ino.value).second) return;  // renamed while we walk: met twice
          if (f.home == Home::composite && guests_.contains(f.ino.value)) return;
          if (f.home == Home::blob && !is_worth_a_member(f.ino, f.size)) return;
          if (!policy_.needs_paths()) f.path = {};
          files_.push_back(std::move(f));
          if (files_.size() % 256 == 0) progress({"looking", files_.size(), 0, "small files"});
        },
        options_.stop);
    if (!walked && !walked.error().is_damage()) return fail(walked.error());
    if (!walked) fs_.log("files stay where they are: " + walked.error().message());
    report_.files = files_.size();
    if (!stopped() && policy_.makes_composites()) CFFS_TRY_VOID(form_groups());
    if (!stopped()) CFFS_TRY_VOID(leave_composites());
    if (!options_.dry_run) {
      reorganiser_.exclusively([&] { filler_.begin_anew(); });
      progress({"making it durable"});
      CFFS_TRY_VOID(fs_.sync());
      reorganiser_.compact_noted();
      reorganiser_.leave_tail();
      CFFS_TRY_VOID(fs_.sync());
    }
    CFFS_TRY(report_.composites_after, composites());
    report_.stopped = stopped();
    return report_;
  }

 private:
  using Where = std::pair<CompositeId, std::uint64_t>;

  bool stopped() const { return options_.stop != nullptr && options_.stop->load(); }
  void progress(const WorkStep& step) const {
    if (options_.on_progress) options_.on_progress(step);
  }

  Result<std::uint64_t> composites() const {
    CFFS_TRY(const auto names, fs_.objects().list("composites"));
    return names.size();
  }

  // Files that share what another came with first stay there, unless nothing is to stay in composites: moved, they would share no more.
  Status find_guests() {
    if (fs_.table().sharing() == Sharing::never || !policy_.makes_composites()) return {};
    NamespaceVisitor visitor;
    visitor.member_files = [&](CompositeId, std::uint32_t, const MemberFiles& row) {
      for (std::size_t i = 1; i < row.files.size(); ++i) guests_.insert(row.files[i].ino.value);
      return !stopped();
    };
    return scan_readable(fs_.table(), visitor);
  }

  bool is_worth_a_member(InodeId ino, std::uint64_t bytes) const {
    const Compression how = options_.compression.value_or(fs_.composites().compression());
    return fs_.rehousing().is_worth_a_member(ino, bytes, how);
  }

  // The file as it is now; nullopt: it is gone, empty, or has grown.
  Result<std::optional<FileToMove>> find(const SmallFile& f) const {
    CFFS_TRY(auto file, fs_.rehousing().find({f.parent, f.name}, f.ino));
    const bool small = file && file->inode.size <= fs_.store_format().composite_file_max;
    if (!small) file.reset();
    return file;
  }

  std::optional<std::string> content(std::size_t i) const {
    if (stopped()) return {};  // what comes of it is not used any more
    if (files_[i].size > kLargestDocument) return {};
    auto file = find(files_[i]);
    if (!file || !*file) return {};
    const auto readable = fs_.rehousing().read(**file);
    if (!readable || !*readable) return {};
    return std::move((*file)->content);
  }

  // The policy's groups, as indices into files_.
  Result<std::vector<grouping::Group>> groups() {
    order_directories();
    std::vector<grouping::Candidate> candidates;
    candidates.reserve(files_.size());
    std::map<Where, std::uint64_t> places;
    for (SmallFile& f : files_) {
      std::uint64_t place = 0;
      if (f.home == Home::composite)
        place = places.try_emplace({f.composite, f.group_offset}, places.size() + 1).first->second;
      candidates.push_back({f.parent.value, f.size, std::move(f.path), f.ino.value, place});
    }
    if (const auto* references = policy_.references(); references != nullptr && !options_.dry_run) {
      return groups_remembered(candidates, *references);
    }
    return grouping::group_larger(policy_, candidates, table_bytes_, fs_.store_format().composite_max,
                                  [&](std::size_t i) { return content(i); });
  }

  // The files of a directory by name, as an import lays them. What is too large for one group comes as it lies, so that the policy
  // can cut it where it is cut now: place by place, in the order of the names of their first files. (Not in the composites' order, which
  // workers of an import finish in any.)
  void order_directories() {
    for (auto begin = files_.begin(); begin != files_.end();) {
      std::uint64_t bytes = 0;
      auto end = begin;
      std::map<Where, std::size_t> first;
      for (; end != files_.end() && end->parent == begin->parent; ++end) bytes += end->size;
      std::sort(begin, end, [](const SmallFile& a, const SmallFile& b) { return a.name < b.name; });
      for (auto file = begin; file != end; ++file) {
        if (file->home == Home::composite) first.try_emplace(where(*file), first.size());
      }
      const auto rank = [&](const SmallFile& f) {
        return f.home == Home::composite ? first.at(where(f)) : first.size();
      };
      const bool large = bytes > fs_.store_format().composite_max ||
                         static_cast<std::size_t>(end - begin) > grouping::kMostMembers;
      if (large)
        std::stable_sort(begin, end,
                         [&](const SmallFile& a, const SmallFile& b) { return rank(a) < rank(b); });
      begin = end;
    }
  }
  static Where where(const SmallFile& f) { return {f.composite, f.group_offset}; }

  // By references; what documents embed goes into the store's index, for files that change later. Passes that go on between
  // write there too: one at a time.
  Result<std::vector<grouping::Group>> groups_remembered(const std::vector<grouping::Candidate>& candidates,
                                                         const grouping::ReferenceOptions& references) {
    ReferenceIndex index(fs_.table(), references);
    CFFS_TRY_VOID(reorganiser_.exclusively([&] { return index.clear(); }));
    std::unordered_map<std::uint64_t, std::size_t> by_ino;
    for (std::size_t i = 0; i < files_.size(); ++i) by_ino.emplace(files_[i].ino.value, i);
    const auto name_of = [&](grouping::FileId file) -> std::optional<EntryName> {
      const auto it = by_ino.find(file);
      if (it == by_ino.end()) return {};
      return EntryName{files_[it->second].parent, files_[it->second].name};
    };
    std::set<grouping::FileId> touched;
    Status problem;
    std::size_t documents = 0;
    const auto remember = [&](std::size_t i, const grouping::DocumentLinks& links) {
      if (++documents % 16 == 0) progress({"reading", documents, 0, "documents"});
      if (!problem) return;
      touched.clear();
      const bool html = grouping::document_kind(files_[i].name) == grouping::DocumentKind::html;
      problem = reorganiser_.exclusively([&] {
        return index.replace(files_[i].ino.value, {files_[i].parent, files_[i].name}, html, links, name_of,
                             touched);
      });
    };
    const grouping::ReferencePolicy observed(references, remember);
    auto found = observed.group(candidates, fs_.store_format().composite_max,
                                [&](std::size_t i) { return content(i); });
    CFFS_TRY_VOID(problem);
    return found;
  }

  Status form_groups() {
    CFFS_TRY(auto groups, this->groups());
    // How many of the files that lie at a place this store still has there.
    std::map<Where, std::size_t> at_place;
    for (const SmallFile& f : files_) {
      const bool leaves = f.size <= table_bytes_;
      if (f.home == Home::composite && !leaves) ++at_place[{f.composite, f.group_offset}];
    }
    std::vector<grouping::Group> to_move;
    for (grouping::Group& group : groups) {
      std::set<Where> places;
      std::uint64_t elsewhere = 0, bytes = 0;
      for (const std::size_t i : group) {
        const SmallFile& f = files_[i];
        bytes += f.size;
        if (f.home == Home::composite)
          places.insert({f.composite, f.group_offset});
        else
          ++elsewhere;
      }
      const bool several = group.size() > 1;
      const bool in_place =
          elsewhere == 0 && places.size() == 1 && lies_in_place(group.size(), at_place[*places.begin()]);
      const bool alone_in_place = !several && elsewhere == 0;
      if (several) {
        ++report_.groups;
        report_.reads_before += places.size() + elsewhere;
        ++report_.reads_after;
        if (in_place) ++report_.groups_in_place;
      }
      if (in_place || alone_in_place) continue;
      report_.files_to_move += group.size();
      report_.bytes_to_move += bytes;
      to_move.push_back(std::move(group));
    }
    if (options_.dry_run) return {};
    return move(to_move);
  }

  Status move(const std::vector<grouping::Group>& groups) {
    pace_.emplace(options_.bytes_per_second);
    std::vector<CompositeFiller::Group> batch;
    std::uint64_t batch_bytes = 0;
    for (const grouping::Group& group : groups) {
      if (stopped()) break;
      CFFS_TRY(auto files, read(group));
      if (files.empty()) continue;
      std::uint64_t bytes = 0;
      for (const FileToMove& file : files) bytes += file.content.size();
      const std::uint64_t most = fs_.store_format().composite_max;
      if (bytes > most) {  // alone in a composite: those before and behind it go on sharing one
        std::vector<CompositeFiller::Group> alone;
        alone.push_back(std::move(files));
        CFFS_TRY_VOID(write(std::move(alone), bytes));
        continue;
      }
      if (batch_bytes > 0 && batch_bytes + bytes > most) {
        CFFS_TRY_VOID(write(std::exchange(batch, {}), std::exchange(batch_bytes, 0)));
      }
      batch_bytes += bytes;
      batch.push_back(std::move(files));
    }
    return batch.empty() ? Status() : write(std::move(batch), batch_bytes);
  }

  // The group's files with their contents, as far as they still are small files that can be read.
  Result<CompositeFiller::Group> read(const grouping::Group& group) const {
    CompositeFiller::Group files;
    for (const std::size_t i : group) {
      auto looked_up = find(files_[i]);
      if (!looked_up && looked_up.error().is_damage()) {
        fs_.log(described(files_[i]) + " stays where it is: " + looked_up.error().message());
        continue;
      }
      CFFS_TRY(auto file, std::move(looked_up));
      if (!file || file->inode.size == 0 || file->inode.home == Home::none) continue;
      const Inode& inode = file->inode;  // it may have grown, and memory may have become short
      if (inode.home == Home::blob && !is_worth_a_member(inode.ino, inode.size)) continue;
      auto readable = fs_.rehousing().read(*file);
      if (!readable && readable.error().is_damage()) {
        fs_.log(described(files_[i]) + " stays where it is: " + readable.error().message());
        continue;
      }
      if (!readable) return fail(readable.error());
      if (*readable) files.push_back(std::move(*file));
    }
    return files;
  }

  Status write(std::vector<CompositeFiller::Group> groups, std::uint64_t bytes) {
    CFFS_TRY(const auto filled, reorganiser_.exclusively([&] {
      return filler_.add(std::move(groups), policy_.id(), CompositeFiller::Purpose::grouping);
    }));
    report_.files_moved += filled.moved;
    bytes_behind_ += bytes;
    progress({"moving", bytes_behind_, report_.bytes_to_move, WorkStep::kBytes,
              std::to_string(report_.files_moved) + " files"});
    pace_->spent(bytes, [this] { return !stopped(); });
    return {};
  }

  static std::string described(const SmallFile& f) {
    return "inode " + std::to_string(f.ino.value) + " (" + f.name + ")";
  }

  // What belongs in the table goes there. With policy none, TableFS as published, nothing stays in composites.
  Status leave_composites() {
    const bool none_stays = !policy_.makes_composites();
    if (!pace_) pace_.emplace(options_.bytes_per_second);
    std::size_t looked = 0;
    for (const SmallFile& f : files_) {
      if (++looked % 64 == 0 && report_.files_moved > 0)
        progress({none_stays ? "moving" : "to the table", looked, files_.size(), "files"});
      const bool out_of_place = f.size <= table_bytes_
                                    ? f.home != Home::inline_
                                    : none_stays && (f.home == Home::composite || f.home == Home::inline_);
      if (!out_of_place) continue;
      ++report_.files_to_move;
      report_.bytes_to_move += f.size;
      if (options_.dry_run || stopped()) continue;
      const auto moved = reorganiser_.exclusively([&] { return leave_composite(f); });
      if (!moved && !moved.error().is_damage()) return fail(moved.error());
      if (!moved) fs_.log(described(f) + " stays where it is: " + moved.error().message());
      if (moved) report_.files_moved += *moved;
      pace_->spent(f.size, [this] { return !stopped(); });
    }
    return {};
  }

  // Into the table, or to a blob where it is too large.
  Result<std::size_t> leave_composite(const SmallFile& f) const {
    CFFS_TRY(auto file, find(f));
    if (!file) return std::size_t{0};
    if (file->inode.home == Home::blob && file->inode.size > fs_.store_format().inline_max)
      return std::size_t{0};
    CFFS_TRY(const bool readable, fs_.rehousing().read(*file));
    if (!readable) return std::size_t{0};
    return fs_.rehousing().into_table(std::span(&*file, 1));
  }

  Reorganiser& reorganiser_;
  FileSystem& fs_;
  const RegroupOptions& options_;
  const grouping::Policy& policy_;
  const std::uint64_t table_bytes_;  // files of at most so many belong in the table
  CompositeFiller filler_;
  std::unordered_set<std::uint64_t> guests_;
  std::vector<SmallFile> files_;
  RegroupReport report_;
  std::uint64_t bytes_behind_ = 0;  // of those to move; some were not to be moved any more
  std::optional<Pace> pace_;        // moving
};

// What is there becomes as the store wants it by now.
Status repack(Reorganiser& reorganiser, const RegroupOptions& options, RegroupReport& report) {
  reorganiser.leave_tail();
  CFFS_TRY_VOID(reorganiser.fs().sync());
  CFFS_TRY(const Repacking::Done done, Repacking(reorganiser, options).run());
  report.packed_anew = done.composites;
  report.stopped = done.stopped;
  return {};
}

Status deduplicate(Reorganiser& reorganiser, const RegroupOptions& options, RegroupReport& report) {
  CFFS_TRY(const Deduplication::Done done, Deduplication(reorganiser, options).run());
  report.files_shared = done.files;
  report.bytes_shared = done.bytes;
  report.stopped = done.stopped;
  reorganiser.compact_noted();
  (void)reorganiser.give_back(done.bytes);  // as far as it is worth writing a composite anew
  return {};
}

// From now on; before what is there follows.
Status adopt(FileSystem& fs, const RegroupOptions& options) {
  if (options.dedupe) CFFS_TRY_VOID(fs.dedupe(*options.dedupe));
  return options.compression ? fs.compress(*options.compression) : Status();
}

Status follow(Reorganiser& reorganiser, const RegroupOptions& options, RegroupReport& report) {
  if (options.dedupe.value_or(false) && !report.stopped)
    CFFS_TRY_VOID(deduplicate(reorganiser, options, report));
  if (options.compression && !report.stopped) CFFS_TRY_VOID(repack(reorganiser, options, report));
  return {};
}

}  // namespace

Result<RegroupReport> regroup(Reorganiser& reorganiser, const grouping::Policy& policy,
                              const RegroupOptions& options) {
  if (!options.dry_run) CFFS_TRY_VOID(adopt(reorganiser.fs(), options));
  CFFS_TRY(RegroupReport report, Regrouping(reorganiser, policy, options).run());
  if (!options.dry_run) CFFS_TRY_VOID(follow(reorganiser, options, report));
  return report;
}

Result<RegroupReport> change_storage(Reorganiser& reorganiser, const RegroupOptions& options) {
  RegroupReport report;
  report.policy = reorganiser.fs().policy()->name();
  report.dry_run = options.dry_run;
  if (options.dry_run) return report;
  CFFS_TRY_VOID(adopt(reorganiser.fs(), options));
  CFFS_TRY_VOID(follow(reorganiser, options, report));
  return report;
}

std::string regroup_json(const RegroupReport& r) {
  return nlohmann::ordered_json{{"policy", r.policy},
                                {"dry_run", r.dry_run},
                                {"stopped", r.stopped},
                                {"files", r.files},
                                {"groups", r.groups},
                                {"groups_in_place", r.groups_in_place},
                                {"files_to_move", r.files_to_move},
                                {"bytes_to_move", r.bytes_to_move},
                                {"files_moved", r.files_moved},
                                {"reads_before", r.reads_before},
                                {"reads_after", r.reads_after},
                                {"composites_before", r.composites_before},
                                {"composites_after", r.composites_after},
                                {"files_shared", r.files_shared},
                                {"bytes_shared", r.bytes_shared},
                                {"packed_anew", r.packed_anew}}
      .dump(2);
}

}  // namespace cffs
