#include "core/fs/regroup.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <thread>
#include <unordered_set>

#include "core/fs/consolidator.h"
#include "core/fs/plan_object.h"
#include "core/fs/relocation.h"
#include "grouping/frequency_policy.h"
#include "grouping/packing.h"
#include "grouping/reference_policy.h"

namespace cffs {

class Regrouping {
 public:
  Regrouping(FileSystem& fs, const RegroupOptions& options)
      : fs_(fs), options_(options), policy_(fs.policy()), relocation_(fs) {
    relocation_.use_policy(policy_);
  }

  static Status visit(FileSystem& fs, const std::function<void(SmallFile)>& visit,
                      const std::atomic<bool>* stop);

  Result<RegroupReport> run() {
    report_.policy = policy_->name();
    report_.dry_run = options_.dry_run;
    CFFS_TRY(report_.composites_before, composites());
    std::unordered_set<std::uint64_t> seen;
    CFFS_TRY_VOID(visit_small_files(
        fs_,
        [&](SmallFile f) {
          if (!seen.insert(f.ino.value).second) return;  // renamed while we walk: met twice
          if (!policy_->needs_paths()) f.path = {};
          files_.push_back(std::move(f));
          if (files_.size() % 4096 == 0)
            progress("looking: " + std::to_string(files_.size()) + " small files");
        },
        options_.stop));
    report_.files = files_.size();
    if (!stopped()) CFFS_TRY_VOID(policy_->makes_composites() ? form_groups() : dissolve());
    if (!options_.dry_run) {
      progress("making it durable");
      CFFS_TRY_VOID(fs_.sync());
      fs_.consolidator_->compact_wasteful();
      CFFS_TRY_VOID(fs_.sync());
    }
    CFFS_TRY(report_.composites_after, composites());
    report_.stopped = stopped();
    return report_;
  }

 private:
  using Where = std::pair<CompositeId, std::uint64_t>;

  bool stopped() const { return options_.stop != nullptr && options_.stop->load(); }
  void progress(const std::string& text) const {
    if (options_.on_progress) options_.on_progress(text);
  }

  Result<std::uint64_t> composites() const {
    CFFS_TRY(const auto names, fs_.store_.list("composites"));
    return names.size();
  }

  std::optional<std::string> content(std::size_t i) {
    auto member = relocation_.locate({files_[i].parent, files_[i].name}, files_[i].ino.value);
    if (!member || !*member) return {};
    const auto readable = relocation_.read_content(**member);
    if (!readable || !*readable) return {};
    return std::move((*member)->content);
  }

  // The policy's groups, as indices into files_. Reference and frequency remember what they find out.
  Result<std::vector<grouping::Group>> groups() {
    std::vector<grouping::Candidate> candidates;
    candidates.reserve(files_.size());
    for (std::size_t i = 0; i < files_.size(); ++i) {
      candidates.push_back(
          {files_[i].parent.value, files_[i].size, std::move(files_[i].path), files_[i].ino.value});
    }
    const grouping::ReadContent read = [&](std::size_t i) { return content(i); };
    const std::uint64_t most = fs_.format_.composite_max;
    if (const auto* frequency = dynamic_cast<const grouping::FrequencyPolicy*>(policy_.get());
        frequency != nullptr && frequency->plan()) {
      if (!options_.dry_run) CFFS_TRY_VOID(bind(*frequency->plan(), candidates));
      return policy_->group(candidates, most, read);
    }
    const auto* reference = dynamic_cast<const grouping::ReferencePolicy*>(policy_.get());
    if (reference == nullptr) return policy_->group(candidates, most, read);
    ReferenceIndex index(*fs_.table_, reference->options());
    if (!options_.dry_run) CFFS_TRY_VOID(index.clear());
    std::unordered_map<std::uint64_t, std::size_t> by_ino;
    for (std::size_t i = 0; i < files_.size(); ++i) by_ino.emplace(files_[i].ino.value, i);
    std::set<grouping::FileId> touched;
    Status problem;
    std::size_t documents = 0;
    const grouping::ReferencePolicy observed(
        reference->options(), [&](std::size_t i, const grouping::DocumentLinks& links) {
          if (++documents % 64 == 0) progress("reading: " + std::to_string(documents) + " documents");
          if (options_.dry_run || !problem.has_value()) return;
          touched.clear();
          problem = index.replace(
              files_[i].ino.value, {files_[i].parent, files_[i].name},
              grouping::document_kind(files_[i].name) == grouping::DocumentKind::html, links,
              [&](grouping::FileId file) -> std::optional<StoreTree::Place> {
                const auto it = by_ino.find(file);
                if (it == by_ino.end()) return {};
                return StoreTree::Place{files_[it->second].parent, files_[it->second].name};
              },
              touched);
        });
    auto found = observed.group(candidates, most, read);
    CFFS_TRY_VOID(problem);
    return found;
  }

  // Files found at their paths are known by their inodes from now on.
  Status bind(const grouping::PlanGroups& plan, const std::vector<grouping::Candidate>& candidates) {
    grouping::PlanGroups bound = plan;
    for (const grouping::Candidate& c : candidates) {
      const auto place = plan.find(c.file, c.path);
      if (place && plan.members(place->group)[place->position].path == c.path) bound.bind(*place, c.file);
    }
    auto shared = std::make_shared<const grouping::PlanGroups>(std::move(bound));
    fs_.set_policy(std::make_shared<grouping::FrequencyPolicy>(shared));
    return write_plan_object(fs_.store_, *shared);
  }

  Status form_groups() {
    CFFS_TRY(auto groups, this->groups());
    // How many of the files that lie at a place this store still has there.
    std::map<Where, std::size_t> at_place;
    for (const SmallFile& f : files_) {
      if (f.home == Home::composite) ++at_place[{f.composite, f.group_offset}];
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
      // A quarter of strangers is no reason to copy.
      const bool in_place =
          elsewhere == 0 && places.size() == 1 && at_place[*places.begin()] * 3 <= group.size() * 4;
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
    std::vector<Relocation::Group> batch;
    std::uint64_t bytes = 0, done = 0;
    std::size_t moved = 0;
    const auto started = std::chrono::steady_clock::now();
    const auto write = [&]() -> Status {
      if (batch.empty()) return {};
      CFFS_TRY_VOID(fs_.consolidator_->exclusively(
          [&] { return relocation_.write_composite(std::exchange(batch, {}), moved); }));
      done += std::exchange(bytes, 0);
      report_.files_moved = moved;
      progress("moving: " + std::to_string(moved) + " of " + std::to_string(report_.files_to_move) +
               " files");
      while (options_.bytes_per_second > 0 && !stopped()) {
        const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - started;
        if (elapsed.count() * static_cast<double>(options_.bytes_per_second) >= static_cast<double>(done))
          break;
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
      }
      return {};
    };
    for (const grouping::Group& group : groups) {
      if (stopped()) break;
      Relocation::Group members;
      for (const std::size_t i : group) {
        CFFS_TRY(auto member, relocation_.locate({files_[i].parent, files_[i].name}, files_[i].ino.value));
        if (!member || member->inode.size == 0 || member->inode.home == Home::none) continue;
        auto readable = relocation_.read_content(*member);
        if (!readable && readable.error().kind == ErrorKind::corruption) {
          fs_.log(described(files_[i]) + " stays where it is: " + readable.error().message());
          continue;
        }
        if (!readable) return fail(readable.error());
        if (!*readable) continue;
        members.push_back(std::move(*member));
      }
      std::uint64_t group_bytes = 0;
      for (const auto& m : members) group_bytes += m.content.size();
      if (bytes > 0 && bytes + group_bytes > fs_.format_.composite_max) CFFS_TRY_VOID(write());
      bytes += group_bytes;
      if (!members.empty()) batch.push_back(std::move(members));
    }
    return write();
  }

  static std::string described(const SmallFile& f) {
    return "inode " + std::to_string(f.ino.value) + " (" + f.name + ")";
  }

  // Policy none: TableFS as published has no composites.
  Status dissolve() {
    std::size_t moved = 0;
    for (const SmallFile& f : files_) {
      const bool out_of_place = f.home == Home::composite ||
                                (f.home == Home::inline_ && f.size > fs_.format_.inline_max) ||
                                (f.home == Home::blob && f.size <= fs_.format_.inline_max);
      if (!out_of_place) continue;
      ++report_.files_to_move;
      report_.bytes_to_move += f.size;
      if (options_.dry_run || stopped()) continue;
      CFFS_TRY(auto member, relocation_.locate({f.parent, f.name}, f.ino.value));
      if (!member) continue;
      const Status left = fs_.consolidator_->exclusively(
          [&] { return relocation_.leave_composite(std::move(*member), moved); });
      if (!left && left.error().kind != ErrorKind::corruption) return left;
      if (!left) fs_.log(described(f) + " stays where it is: " + left.error().message());
      report_.files_moved = moved;
      if (moved % 256 == 0) progress("moving: " + std::to_string(moved) + " files");
    }
    return {};
  }

  FileSystem& fs_;
  const RegroupOptions& options_;
  const std::shared_ptr<const grouping::Policy> policy_;
  Relocation relocation_;
  std::vector<SmallFile> files_;
  RegroupReport report_;
};

// A directory's own files, then its directories'. Iterative: a tree may be deep.
Status Regrouping::visit(FileSystem& fs, const std::function<void(SmallFile)>& visit,
                         const std::atomic<bool>* stop) {
  std::vector<std::pair<InodeId, std::string>> directories{{kRootInode, ""}};
  std::unordered_set<std::uint64_t> linked;
  while (!directories.empty() && (stop == nullptr || !stop->load())) {
    const InodeId directory = directories.back().first;
    const std::string path = std::move(directories.back().second);
    directories.pop_back();
    std::vector<std::pair<InodeId, std::string>> below;
    std::vector<std::pair<std::string, InodeId>> links;
    const auto below_here = [&](const std::string& name) { return path.empty() ? name : path + "/" + name; };
    const auto add = [&](const std::string& name, const Inode& inode) {
      const bool small = inode.is_regular() && inode.size > 0 && inode.size <= fs.format_.composite_file_max;
      if (!small || inode.home == Home::none) return;
      visit({directory, inode.ino, name, below_here(name), inode.size, inode.home, inode.extent.composite,
             inode.extent.group_offset});
    };
    CFFS_TRY_VOID(fs.table_->scan(Key::entry(directory, 0), Key::entry(directory, ~std::uint64_t{0}),
                                  [&](Key, std::string_view value) {
                                    const auto row = decode_row(value);
                                    if (!row) return true;  // rot, which its reader will report
                                    for (const Entry& e : row->entries) {
                                      if (e.name.empty()) continue;
                                      if (S_ISDIR(e.type)) below.emplace_back(e.ino, below_here(e.name));
                                      if (S_ISREG(e.type) && e.inode) add(e.name, *e.inode);
                                      if (S_ISREG(e.type) && !e.inode) links.emplace_back(e.name, e.ino);
                                    }
                                    return true;
                                  }));
    for (const auto& [name, ino] : links) {
      if (!linked.insert(ino.value).second) continue;
      if (const auto inode = fs.linked_inode(ino)) add(name, *inode);
    }
    directories.insert(directories.end(), std::make_move_iterator(below.rbegin()),
                       std::make_move_iterator(below.rend()));
  }
  return {};
}

Status visit_small_files(FileSystem& fs, const std::function<void(SmallFile)>& visit,
                         const std::atomic<bool>* stop) {
  return Regrouping::visit(fs, visit, stop);
}

Result<RegroupReport> regroup(FileSystem& fs, const RegroupOptions& options) {
  return Regrouping(fs, options).run();
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
                                {"composites_after", r.composites_after}}
      .dump(2);
}

}  // namespace cffs
