#include "tests/crash/explorer.h"

#include <algorithm>
#include <stdexcept>

#include "core/inspect/consistency.h"
#include "core/reorganise/punching.h"
#include "core/reorganise/regrouping.h"
#include "core/reorganise/reorganiser.h"

namespace cffs::test {
namespace {

constexpr int kFillers = 15;  // of 4 KiB: with them the next row or two make LevelDB turn to another log

// So many more rows that LevelDB's memory is nearly full; a part of the tree, and durable.
void fill(Surface& tree, int files) {
  for (int i = 0; i < files; ++i) {
    const std::string path = "d/filler" + std::to_string(i);
    if (tree.create(path, 0600) != 0 || tree.write(path, 0, pattern(4'000, 100 + i)) != 0) {
      throw std::runtime_error("the table cannot be filled");
    }
  }
}

int errno_of(const Status& status) { return status ? 0 : status.error().errno_value; }

int regroup_by(FileSystem& fs, const char* policy) {
  fs.set_policy(grouping::make_policy(policy));
  Reorganiser reorganiser(fs);
  const auto done = regroup(reorganiser, *fs.policy(), {});
  return done ? 0 : done.error().errno_value;
}

int recompress_to(FileSystem& fs, const Compression& how) {
  Reorganiser reorganiser(fs);
  if (const Status done = reorganiser.consolidate_now(); !done) return done.error().errno_value;  // its tail
  RegroupOptions options;
  options.compression = how;
  const auto done = change_storage(reorganiser, options);
  return done ? 0 : done.error().errno_value;
}

// Whatever the medium has left, to the byte.
Status punch(FileSystem& fs) {
  Punching punching(fs, 1);
  CFFS_TRY(const auto freed, punching.find([] { return true; }));
  const auto bytes = punching.run(Punching::ids_of(freed));
  return bytes ? Status() : fail(bytes.error());
}

int fsync_path(FileSystem& fs, const std::string& path) {
  const auto file = fs.lookup(kRootInode, path);
  if (!file) return file.error().errno_value;
  const int problem = errno_of(fs.fsync(file->ino));
  fs.forget(file->ino, 1);
  return problem;
}

std::optional<std::string> differs(const Tree& expected, const State& found) {
  for (const auto& [path, v] : expected) {
    const auto it = found.find(path);
    if (it == found.end()) return path + " is missing";
    Visible want = v, have = it->second.what;
    want.mtime_ns = have.mtime_ns;  // the reference has no clock
    want.uid = have.uid;
    want.gid = have.gid;
    if (!(want == have)) return path + " differs from the reference";
  }
  if (found.size() != expected.size()) return std::string("a name too many");
  return {};
}

// A reference that looks as a tree does.
void rebuild(const State& state, Reference& reference) {
  std::map<std::uint64_t, std::string> first;
  for (const auto& [path, seen] : state) {
    const Visible& v = seen.what;
    const mode_t rights = v.mode & 07777;
    if (path.empty()) continue;
    if (S_ISDIR(v.mode)) {
      (void)reference.mkdir(path, rights);
    } else if (S_ISLNK(v.mode)) {
      (void)reference.symlink(v.content, path);
    } else if (const auto [known, fresh] = first.emplace(seen.ino, path); !fresh) {
      (void)reference.link(known->second, path);
      continue;
    } else {
      (void)reference.create(path, rights);
      (void)reference.write(path, 0, v.content);
    }
    for (const auto& [name, value] : v.xattrs) (void)reference.setxattr(path, name, value);
  }
}

// Everything that is there is used further: extended, removed, moved; then it must be as the reference says.
template <typename Session>
std::optional<std::string> go_on_with(Session& session, const State& found) {
  Reference reference;
  rebuild(found, reference);
  LibrarySurface& library = session.surface();
  int files = 0;
  std::vector<std::string> made;
  for (const auto& [path, seen] : found) {
    if (!S_ISREG(seen.what.mode) || path.starts_with("d/filler") || path.starts_with("dd/filler")) continue;
    const std::uint64_t size = seen.what.content.size();
    for (Surface* s : std::initializer_list<Surface*>{&library, &reference}) {
      int problem = 0;
      switch (files % 4) {
        case 0:
          problem = s->truncate(path, size + 3'000);
          break;
        case 1:
          problem = s->write(path, size + 600, pattern(700, files));
          break;
        case 2:
          problem = s->unlink(path);
          break;
        default:
          problem = s->rename(path, "moved" + std::to_string(files), 0);
      }
      if (problem != 0) return "afterwards: " + path + ": errno " + std::to_string(problem);
    }
    ++files;
  }
  for (Surface* s : std::initializer_list<Surface*>{&library, &reference}) {
    if (s->create("after", 0600) != 0 || s->write("after", 0, pattern(2'000, 77)) != 0) {
      return std::string("afterwards: nothing can be made");
    }
  }
  library.reorganise();
  for (const bool anew : {false, true}) {
    if (anew) {
      session.close();
      if (const Status opened = session.open(); !opened) return "afterwards: " + opened.error().message();
    }
    const auto now = observe(session.fs());
    if (!now) return "afterwards: " + now.error().message();
    if (auto problem = differs(reference.tree(), *now)) return "afterwards: " + *problem;
    const auto inconsistencies = find_inconsistencies(session.fs());
    if (!inconsistencies) return "afterwards: " + inconsistencies.error().message();
    if (!inconsistencies->empty()) return "afterwards, fsck: " + inconsistencies->front();
  }
  return {};
}

}  // namespace

std::uint64_t CrashState::workloads() {
  const std::uint64_t n = calls().size() + 1;  // or no call
  return Workload::kBeginnings * n * n * n;
}

CrashState CrashState::of(std::uint64_t number) {
  return {number / kVariants / kCuts / kFaults, number / kVariants / kCuts % kFaults,
          number / kVariants % kCuts, number % kVariants};
}

Workload::Workload(std::uint64_t number) {
  beginning = number % kBeginnings;
  number /= kBeginnings;
  const std::uint64_t n = calls().size() + 1;
  for (int i = 0; i < 3; ++i, number /= n) {
    if (const std::uint64_t which = number % n; which > 0) sequence.push_back(&calls()[which - 1]);
  }
}

std::uint64_t Workload::number_of(std::uint64_t beginning, const std::vector<std::string>& names) {
  const std::uint64_t n = calls().size() + 1;
  std::uint64_t number = 0;
  for (auto name = names.rbegin(); name != names.rend(); ++name) {
    const auto call =
        std::find_if(calls().begin(), calls().end(), [&](const Call& c) { return c.name == *name; });
    if (call == calls().end()) throw std::logic_error("there is no call '" + *name + "'");
    number = number * n + static_cast<std::uint64_t>(call - calls().begin()) + 1;
  }
  return number * kBeginnings + beginning;
}

std::string Workload::name() const {
  std::string text = "beginning " + std::to_string(beginning);
  for (const Call* call : sequence) text += ", " + call->name;
  return text;
}

template <typename Ground>
ExplorerOn<Ground>::ExplorerOn() {
  Ground store;
  {
    const Status made = FileSystem::format(store.objects(), small_format(), SystemClock());
    if (!made || !store.objects().sync_everything()) throw std::runtime_error("no store can be made");
  }
  Medium medium = store.medium();
  for (int files = 0; files < 3; ++files) {  // of the table: LevelDB merges the fourth with them
    {
      Session session(std::move(medium), 0);
      if (!session.open()) throw std::runtime_error("the store cannot be opened");
      if (files == 0) build(session.surface());
      if (files > 0 && session.surface().create("d/opened" + std::to_string(files), 0600) != 0) {
        throw std::runtime_error("the store cannot be used");
      }
      session.kill();  // or who opens it next replays the log into memory, not into a file
      medium = session.store().medium();
    }
    Session session(std::move(medium), 0);
    if (!session.open()) throw std::runtime_error("the store cannot be opened");
    session.close();
    medium = session.store().medium();
    medium.sync_everything();
    bases_.push_back(medium);
  }
}

// One run of a workload, beside the reference.
template <typename Ground>
class ExplorerOn<Ground>::Recorder {
 public:
  Recorder(const Workload& workload, std::uint64_t fault, Medium medium)
      : workload_(workload),
        fault_(fault),
        // A delay: the old log, which its rows' table has not replaced yet, and the new one are on the medium together.
        session_(std::move(medium), workload.beginning == 3 ? 2 : 0) {}

  Recording run() {
    if (begin()) {
      for (done_ = 0; done_ < workload_.sequence.size() && !recording_.problem; ++done_) one_call();
    }
    session_.completed(recording_.history.durable.size() - 1);
    session_.cut_now("the end");
    recording_.cuts = std::move(session_.cuts());
    if (fault_ > 0) recording_.cuts.erase(recording_.cuts.begin(), recording_.cuts.end() - 1);
    session_.kill();
    recording_.table_work = session_.table_work();
    return std::move(recording_);
  }

 private:
  struct Outcome {
    int got = 0, expected = 0;
    bool everything = false;  // is durable if it succeeded
  };

  bool begin() {
    const Status opened = session_.open();
    if (opened && workload_.beginning > 0) fill(session_.surface(), kFillers);
    if (!opened || !session_.fs().sync()) return complain("the store cannot be opened and synced");
    const auto first = observe(session_.fs());
    if (!first) return complain(first.error().message());
    rebuild(*first, reference_);
    recording_.history.states.push_back(*first);
    durable_.everything(*first, 0);
    recording_.history.durable.push_back(durable_);
    if (fault_ % 2 == 1) session_.store().fail_sync((fault_ + 1) / 2);
    if (fault_ > 0 && fault_ % 2 == 0) session_.store().tear_write(fault_ / 2);
    return true;
  }

  bool complain(const std::string& what) {
    if (!recording_.problem) recording_.problem = what;
    return false;
  }

  Outcome perform(const Call& call, const State& before) {
    FileSystem& fs = session_.fs();
    switch (call.kind) {
      case Call::Kind::change: {
        const int expected = call.change(reference_);
        return {call.change(session_.surface()), expected};
      }
      case Call::Kind::fsync:
        return {fsync_path(fs, call.file), before.contains(call.file) ? 0 : ENOENT};
      case Call::Kind::sync:
        return {errno_of(fs.sync()), 0, true};
      case Call::Kind::consolidate:
        return {errno_of(Reorganiser(fs).consolidate_now())};
      case Call::Kind::compact:
        return {errno_of(Reorganiser(fs).compact_now())};
      case Call::Kind::punch:
        return {errno_of(punch(fs))};
      case Call::Kind::regroup_none:
        return {regroup_by(fs, "none")};
      case Call::Kind::regroup_directory:
        return {regroup_by(fs, "directory")};
      case Call::Kind::pack:
        return {recompress_to(fs, {Codec::zstd, 1})};
      case Call::Kind::unpack:
        return {recompress_to(fs, {})};
      case Call::Kind::import:
        import_two(reference_);
        return {errno_of(import_two(fs))};
      case Call::Kind::close:
        session_.close();
        return {errno_of(session_.open()), 0, fault_ == 0};
      case Call::Kind::kill:
        session_.kill();
        return {errno_of(session_.open()), 0, fault_ == 0};
    }
    return {};
  }

  void one_call() {
    History& history = recording_.history;
    const Call& call = *workload_.sequence[done_];
    const bool is_sync = call.kind == Call::Kind::sync || call.kind == Call::Kind::fsync;
    if (stopped_ || (recording_.failure && !is_sync)) return;
    const std::size_t at = history.durable.size() - 1;  // calls that succeeded so far
    const State before = history.states[at];
    session_.completed(at);
    session_.keep(fault_ == 0);
    const Outcome outcome = perform(call, before);
    const bool ends = call.kind == Call::Kind::close || call.kind == Call::Kind::kill;
    if (ends && fault_ > 0) stopped_ = true;  // what the next user cannot know to be lost, it cannot tell of
    if (stopped_) return;
    session_.keep(false);
    if (outcome.got != outcome.expected) {
      std::string what = call.name + ": errno " + std::to_string(outcome.got) + " instead of " +
                         std::to_string(outcome.expected);
      if (fault_ == 0) {
        (void)complain(what);
      } else {
        failed(what, !is_sync, moves(call));
      }
      return;
    }
    const auto there = before.find(call.file);
    const bool of_file = !call.file.empty() && there != before.end();
    if (recording_.failure) {  // it said that what succeeded is durable
      if (outcome.everything) history.durable.back().everything(before, at);
      if (!outcome.everything && of_file) history.durable.back().names = at;
      if (!outcome.everything && of_file) history.durable.back().data[there->second.ino] = at;
      return;
    }
    succeeded(call, outcome, of_file ? there->second.ino : 0);
  }

  void succeeded(const Call& call, const Outcome& outcome, std::uint64_t file) {
    History& history = recording_.history;
    const auto now = observe(session_.fs());
    // What was written and refused cannot be read: a pool has it from nobody, and what it has there is older.
    if (!now && now.error().errno_value == EIO && fault_ > 0 && !Ground::kOutlivesTheProcess)
      return failed(call.name + ": what it wrote: " + now.error().message(), true, moves(call));
    if (!now) return (void)complain(now.error().message());
    if (auto problem = differs(reference_.tree(), *now)) return (void)complain(*problem);
    const std::size_t at = history.states.size();
    history.states.push_back(*now);
    if (outcome.everything) durable_.everything(*now, at);
    // Only over a name that was there: what is free takes a file as it is.
    const bool replaces = now->size() < history.states[at - 1].size();
    if (file > 0 && replaces && call.kind == Call::Kind::change) history.replaced_by[at - 1] = file;
    if (file > 0 && call.kind == Call::Kind::fsync) {
      durable_.names = at;
      durable_.data[file] = at;
    }
    history.durable.push_back(durable_);
  }

  static bool moves(const Call& call) {
    return call.name.starts_with("rename") || call.name.starts_with("exchange");
  }

  // What a call that failed was to do may be there, whole or, where files are written in place, in part.
  void failed(const std::string& what, bool changes, bool moved) {
    History& history = recording_.history;
    recording_.failure = what;
    history.torn = fault_ % 2 == 0;
    if (!changes) return;
    State may_be = history.states.back();
    const Tree tree = reference_.tree();
    std::erase_if(may_be, [&](const auto& entry) { return !tree.contains(entry.first); });
    for (const auto& [path, v] : tree) {
      Seen& seen = may_be[path];
      seen.what = v;
      seen.what.mtime_ns = -1;
      if (moved) seen.ino = 0;
      seen.in_place = S_ISREG(v.mode);  // a mover may have made it large
    }
    history.states.push_back(std::move(may_be));
  }

  const Workload& workload_;
  const std::uint64_t fault_;
  Session session_;
  Reference reference_;
  Recording recording_;
  History::Durable durable_;
  std::size_t done_ = 0;
  bool stopped_ = false;
};

template <typename Ground>
RecordingOn<Ground> ExplorerOn<Ground>::record(const Workload& workload, std::uint64_t fault) const {
  return Recorder(workload, fault, bases_[workload.beginning < 2 ? 0 : 2]).run();
}

template <typename Ground>
std::optional<std::string> ExplorerOn<Ground>::examine(Medium medium, const History& history,
                                                       std::size_t calls, bool killed, bool goes_on) {
  ++checked_;
  Session session(std::move(medium), 0);
  if (const Status opened = session.open(); !opened)
    return "it cannot be opened: " + opened.error().message();
  const auto found = observe(session.fs());
  if (!found) return "it cannot be read: " + found.error().message();
  if (auto loss = find_loss(history, calls, killed, *found)) return loss;
  const auto inconsistencies = find_inconsistencies(session.fs());
  if (!inconsistencies) return "fsck: " + inconsistencies.error().message();
  if (!inconsistencies->empty()) return "fsck: " + inconsistencies->front();
  return goes_on ? go_on_with(session, *found) : std::nullopt;
}

template <typename Ground>
std::optional<std::string> ExplorerOn<Ground>::find_problem(const Recording& recording, std::uint64_t cut,
                                                            std::uint64_t variant) {
  const typename Session::Cut& at = recording.cuts[cut];
  const bool killed = Ground::kOutlivesTheProcess && variant % 4 >= 2 && !recording.failure;
  const bool cut_again = variant % 2 == 1;
  const bool goes_on = variant / 4 % 4 == 0;
  const std::uint64_t seed = cut * 1'000 + variant;
  Medium medium = killed ? at.medium : at.medium.cut(seed);
  if (!cut_again) return examine(std::move(medium), recording.history, at.calls, killed, goes_on);
  // The next user is cut while it recovers, or just after.
  std::vector<typename Session::Cut> cuts;
  {
    Session session(std::move(medium), variant / 4 % 3);
    session.keep(true);
    if (const Status opened = session.open(); !opened) {
      return "it cannot be opened: " + opened.error().message();
    }
    session.cut_now("the end of recovery");
    session.keep(false);
    cuts = std::move(session.cuts());
    session.kill();
  }
  ++recoveries_cut_;
  const typename Session::Cut& again = cuts[(variant / 4 * 7 + cut) % cuts.size()];
  auto problem = examine(again.medium.cut(seed + 1), recording.history, at.calls, false, goes_on);
  if (problem) return "cut again before " + again.before + " in recovery: " + *problem;
  return {};
}

template class ExplorerOn<CrashStore>;
template class ExplorerOn<CrashRegions>;
#ifdef CFFS_WITH_RADOS
template class ExplorerOn<CrashPool>;
#endif

}  // namespace cffs::test
