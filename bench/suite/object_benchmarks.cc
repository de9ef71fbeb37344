// OBFS (Wang, Brandt, Miller, Long 2004), §6: objects of a storage server written, read, rewritten and deleted, each write
// on the disk before it counts, over how full the disk is. On the object-store interface where the target is a local file
// system, and on files.
#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <random>

#include "bench/suite/session.h"
#include "core/object/posix_store.h"

namespace cffs::bench {
namespace {

// A flat set of objects by number. Results as of a Target.
class Objects {
 public:
  virtual ~Objects() = default;
  virtual std::int64_t write(std::uint64_t id, std::span<const char> data, bool fresh) = 0;
  virtual std::int64_t read(std::uint64_t id, std::span<char> into) = 0;
  virtual std::int64_t remove(std::uint64_t id) = 0;
};

class ObjectsInStore final : public Objects {
 public:
  explicit ObjectsInStore(std::unique_ptr<PosixStore> store) : store_(std::move(store)) {}
  std::int64_t write(std::uint64_t id, std::span<const char> data, bool fresh) override {
    auto object =
        fresh ? store_->create(name_of(id), ObjectStore::Create::exclusive) : store_->open(name_of(id));
    if (!object) return -object.error().errno_value;
    if (const Status done = (*object)->write_at(0, std::as_bytes(data)); !done)
      return -done.error().errno_value;
    if (const Status done = (*object)->sync(); !done) return -done.error().errno_value;
    return static_cast<std::int64_t>(data.size());
  }
  std::int64_t read(std::uint64_t id, std::span<char> into) override {
    auto object = store_->open(name_of(id));
    if (!object) return -object.error().errno_value;
    const auto n = (*object)->read_at(0, std::as_writable_bytes(into));
    return n ? static_cast<std::int64_t>(*n) : -n.error().errno_value;
  }
  std::int64_t remove(std::uint64_t id) override {
    const Status done = store_->remove(name_of(id));
    return done ? 0 : -done.error().errno_value;
  }

 private:
  static std::string name_of(std::uint64_t id) { return "o" + std::to_string(id); }
  std::unique_ptr<PosixStore> store_;
};

class ObjectsInFiles final : public Objects {
 public:
  explicit ObjectsInFiles(replay::Target& target) : target_(target) {}
  std::int64_t write(std::uint64_t id, std::span<const char> data, bool fresh) override {
    const std::int64_t file = target_.open(name_of(id), fresh ? O_WRONLY | O_CREAT | O_EXCL : O_WRONLY, 0644);
    if (file < 0) return file;
    std::int64_t n = target_.write(file, 0, data);
    if (n >= 0) n = std::min<std::int64_t>(n, target_.fsync(file, false) < 0 ? -EIO : n);
    (void)target_.close(file);
    return n;
  }
  std::int64_t read(std::uint64_t id, std::span<char> into) override {
    const std::int64_t file = target_.open(name_of(id), O_RDONLY, 0);
    if (file < 0) return file;
    const std::int64_t n = target_.read(file, 0, into);
    (void)target_.close(file);
    return n;
  }
  std::int64_t remove(std::uint64_t id) override { return target_.unlink(name_of(id)); }

 private:
  static std::string name_of(std::uint64_t id) { return "objects/o" + std::to_string(id); }
  replay::Target& target_;
};

enum class Mix { mixed, large, small };

// The set of objects that a benchmark keeps, with their sizes.
class Population {
 public:
  Population(Session& session, Objects& objects, Mix mix)
      : objects_(objects),
        mix_(mix),
        random_(session.seed()),
        largest_(session.number("object")),
        buffer_(largest_, 'o') {}

  std::uint64_t bytes() const { return bytes_; }
  std::size_t count() const { return ids_.size(); }

  Status create(Lane* lane) {
    const std::uint64_t id = next_++;
    const std::uint64_t size = pick_size();
    CFFS_TRY_VOID(
        must(timed(lane, "write", [&] { return objects_.write(id, std::span(buffer_).first(size), true); }),
             "write"));
    ids_.push_back(id);
    sizes_[id] = size;
    bytes_ += size;
    return {};
  }
  Status read(Lane* lane) {
    const std::uint64_t id = pick();
    return must(timed(lane, "read", [&] { return objects_.read(id, std::span(buffer_).first(sizes_[id])); }),
                "read");
  }
  Status rewrite(Lane* lane) {
    const std::uint64_t id = pick();
    return must(
        timed(lane, "rewrite",
              [&] { return objects_.write(id, std::span<const char>(buffer_).first(sizes_[id]), false); }),
        "rewrite");
  }
  Status remove(Lane* lane) {
    const std::size_t index = random_() % ids_.size();
    const std::uint64_t id = ids_[index];
    ids_[index] = ids_.back();
    ids_.pop_back();
    bytes_ -= sizes_[id];
    sizes_.erase(id);
    return must(timed(lane, "delete", [&] { return objects_.remove(id); }), "delete");
  }
  std::uint64_t chance() { return random_(); }

 private:
  template <typename Action>
  static std::int64_t timed(Lane* lane, const char* call, const Action& action) {
    return lane == nullptr ? action() : lane->time(call, action);
  }
  std::uint64_t pick() { return ids_[random_() % ids_.size()]; }
  // Large objects are whole stripe units; small ones anything from 1 KB up; four of five are large in the mix (§6.1).
  std::uint64_t pick_size() {
    const bool large = mix_ == Mix::large || (mix_ == Mix::mixed && random_() % 5 != 0);
    return large ? largest_ : 1024 + random_() % std::max<std::uint64_t>(1, largest_ - 1024);
  }

  Objects& objects_;
  const Mix mix_;
  std::mt19937_64 random_;
  const std::uint64_t largest_;
  std::string buffer_;
  std::vector<std::uint64_t> ids_;
  std::map<std::uint64_t, std::uint64_t> sizes_;
  std::uint64_t bytes_ = 0, next_ = 0;
};

// Runs `work` on each interface that the target has: objects only where it is a local file system.
Status on_interfaces(Session& session, Rig& rig,
                     const std::function<Status(Objects&, const std::string& label)>& work) {
  const std::string wanted = session.text("interface");
  const std::string kind = rig.name().substr(0, rig.name().find('@'));
  const bool local = kind == "ext4" || kind == "xfs" || kind == "btrfs" || kind.starts_with("dir:");
  if (wanted != "files" && local) {
    const std::string directory = rig.directory() + "/store";
    CFFS_TRY_VOID(must(rig.target().mkdir("store", 0755), directory));
    auto store = PosixStore::open_directory(directory);
    if (!store) return fail(store.error());
    ObjectsInStore objects(std::move(*store));
    CFFS_TRY_VOID(work(objects, "objects"));
  }
  if (wanted == "objects") return {};
  if (const std::int64_t made = rig.target().mkdir("objects", 0755); made < 0 && made != -EEXIST)
    return fail(static_cast<int>(-made), "objects");
  ObjectsInFiles files(rig.target());
  return work(files, "files");
}

Status run_micro(Session& session, Rig& rig) {
  const std::uint64_t capacity = session.number("capacity"), requests = session.number("requests");
  return on_interfaces(session, rig, [&](Objects& objects, const std::string& label) -> Status {
    for (const auto& kind : {std::pair{"mixed", Mix::mixed}, {"large", Mix::large}, {"small", Mix::small}}) {
      const char* name = kind.first;
      const Mix mix = kind.second;
      Population population(session, objects, mix);
      for (const double full : session.reals("utilization")) {
        const auto wanted = static_cast<std::uint64_t>(full / 100 * static_cast<double>(capacity));
        while (population.bytes() < wanted) CFFS_TRY_VOID(population.create(nullptr));
        const auto phase_of = [&](const char* what) {
          return std::make_unique<Phase>(session, rig,
                                         fmt::format("{}: {} {} at {:g} %", label, name, what, full));
        };
        const std::uint64_t before = population.count();
        auto phase = phase_of("write");
        for (std::uint64_t i = 0; i < requests; ++i) CFFS_TRY_VOID(population.create(&phase->lane()));
        phase->finish();
        phase = phase_of("read");
        for (std::uint64_t i = 0; i < requests; ++i) CFFS_TRY_VOID(population.read(&phase->lane()));
        phase->finish();
        phase = phase_of("rewrite");
        for (std::uint64_t i = 0; i < requests; ++i) CFFS_TRY_VOID(population.rewrite(&phase->lane()));
        phase->finish();
        while (population.count() > before) CFFS_TRY_VOID(population.remove(nullptr));
      }
      while (population.count() > 0) CFFS_TRY_VOID(population.remove(nullptr));
    }
    return {};
  });
}

// Table 2's numbers of operations.
struct Counts {
  std::uint64_t reads, writes, rewrites, deletes;
};

Status run_macro(Session& session, Rig& rig, const Counts& published) {
  const double scale = session.real("scale");
  const auto scaled = [&](std::uint64_t n) {
    return static_cast<std::uint64_t>(static_cast<double>(n) * scale + 0.5);
  };
  return on_interfaces(session, rig, [&](Objects& objects, const std::string& label) -> Status {
    Population population(session, objects, Mix::mixed);
    const auto start =
        static_cast<std::uint64_t>(session.real("utilization") / 100 * session.real("capacity-bytes"));
    while (population.bytes() < start || population.count() < 2) CFFS_TRY_VOID(population.create(nullptr));
    CFFS_TRY_VOID(must(rig.target().sync(), "sync"));
    Counts left{scaled(published.reads), scaled(published.writes), scaled(published.rewrites),
                scaled(published.deletes)};
    Phase phase(session, rig, label);
    for (;;) {
      const std::uint64_t sum = left.reads + left.writes + left.rewrites + left.deletes;
      if (sum == 0) break;
      std::uint64_t at = population.chance() % sum;
      const auto take = [&](std::uint64_t& n) {
        if (at < n) {
          --n;
          at = ~std::uint64_t{0};
          return true;
        }
        at -= n;
        return false;
      };
      Lane& lane = phase.lane();
      if (take(left.reads)) {
        CFFS_TRY_VOID(population.read(&lane));
      } else if (take(left.writes)) {
        CFFS_TRY_VOID(population.create(&lane));
      } else if (take(left.rewrites)) {
        CFFS_TRY_VOID(population.rewrite(&lane));
      } else if (population.count() > 1) {
        --left.deletes;
        CFFS_TRY_VOID(population.remove(&lane));
      } else {
        CFFS_TRY_VOID(population.create(nullptr));
      }
    }
    phase.finish();
    while (population.count() > 0) CFFS_TRY_VOID(population.remove(nullptr));
    return {};
  });
}

Benchmark macro(const std::string& name, const std::string& figure, Counts counts) {
  Benchmark b;
  b.name = name;
  b.title = fmt::format("objects: {} reads, {} writes, {} rewrites, {} deletes at full size", counts.reads,
                        counts.writes, counts.rewrites, counts.deletes);
  b.source = "OBFS, " + figure + " and Table 2";
  b.parameters = {{"scale", "share of Table 2's numbers", "0.002", "0.02", "1"},
                  {"object", "bytes of a large object", "64K", "512K", "512K"},
                  {"utilization", "percent of the capacity filled before", "20", "50", "50"},
                  {"capacity-bytes", "what counts as full", "8000000", "256000000", "8000000000"},
                  {"interface", "objects, files or both", "both", "both", "both"}};
  b.targets = {"ext4", "xfs", "btrfs", "passthrough", "directory"};
  b.run = [counts](Session& session, Rig& rig) { return run_macro(session, rig, counts); };
  return b;
}

}  // namespace

std::vector<Benchmark> object_benchmarks() {
  Benchmark micro;
  micro.name = "obfs-micro";
  micro.title = "objects of mixed, large and small size: write, read, rewrite, over how full the disk is";
  micro.source = "OBFS, Fig. 4-6 (on aged disks: --aged=0.5)";
  micro.parameters = {{"requests", "of each kind", "5", "100", "10000"},
                      {"object", "bytes of a large object", "64K", "512K", "512K"},
                      {"capacity", "bytes that count as full", "8M", "256M", "8G"},
                      {"utilization", "percentages", "25", "25,75", "0,25,50,75,90"},
                      {"interface", "objects, files or both", "both", "both", "both"}};
  micro.targets = {"ext4", "xfs", "btrfs", "passthrough", "directory"};
  micro.run = run_micro;
  return {micro, macro("obfs-1", "Fig. 7 (Benchmark I)", {16854, 4577, 4214, 4356}),
          macro("obfs-2", "Fig. 8 (Benchmark II)", {4049, 8969, 8531, 8147})};
}

}  // namespace cffs::bench
