// A region store whose power is cut before any write or flush of its device, or whose process ends there: what it holds then, sector
// by sector, against what was promised.

#include <array>
#include <catch2/catch.hpp>
#include <cstring>
#include <map>
#include <optional>
#include <random>
#include <set>

#include "tests/crash/small_region_store.h"
#include "tests/test_seeds.h"

namespace cffs::test {
namespace {

constexpr std::uint64_t kWord = 8, kSectorBytes = 512;

// Each word of an object says whose it is and which write made it: owner << 32 | write.
std::string words_of(std::uint32_t owner, std::uint32_t write, std::size_t words) {
  std::string bytes;
  const std::uint64_t word = std::uint64_t{owner} << 32 | write;
  for (std::size_t i = 0; i < words; ++i) bytes.append(reinterpret_cast<const char*>(&word), kWord);
  return bytes;
}
std::uint64_t word_at(std::string_view bytes, std::size_t at) {
  std::uint64_t word = 0;
  std::memcpy(&word, bytes.data() + at, kWord);
  return word;
}

// What the test knows of an object.
struct Known {
  std::uint32_t owner = 0;
  std::string live;
  bool durable = false;  // its name has been, under `durable_name`
  std::string durable_name;
  std::string durable_bytes;        // as of the last sync
  std::set<std::uint64_t> sizes;    // since then
  std::set<std::uint64_t> touched;  // sectors written, cut or punched since then
  std::set<std::string> names;      // it has had since its name was durable
};
using KnownPtr = std::shared_ptr<Known>;

struct Model {
  std::map<std::string, KnownPtr> names;
  std::set<std::uint32_t> gone_for_good;  // removals that were made durable
  std::vector<KnownPtr> removed;          // not yet
  std::map<std::uint32_t, KnownPtr> all;
};

class Worker {
 public:
  Worker(RegionStore& store, Model& model, std::uint64_t seed)
      : store_(store), model_(model), random_(seed) {}

  // False: the device is dead.
  bool step() {
    const auto kind = random_() % 21;
    const std::string name = "f" + std::to_string(random_() % 3) + "/" + std::to_string(random_() % 4);
    const auto it = model_.names.find(name);
    if (it == model_.names.end()) return create(name);
    const KnownPtr known = it->second;
    const auto object = store_.open(name);
    if (!object) return false;
    if (kind < 8) return write(**object, *known);
    if (kind < 10) return resize(**object, *known);
    if (kind < 11) return punch(**object, *known);
    if (kind < 15) return sync(**object, known);
    if (kind < 16) return rename(name, known);
    if (kind < 18) return remove(name, known);
    if (kind < 19) return sync_names();
    if (kind < 20) return scatter(**object, *known);
    return reserve(**object);
  }

 private:
  template <typename T>
  bool went(const Result<T>& done) {
    if (!done) UNSCOPED_INFO(done.error().message());
    return done.has_value();
  }
  bool create(const std::string& name) {
    if (!went(store_.create(name, Create::exclusive))) return false;
    auto known = std::make_shared<Known>();
    known->owner = static_cast<std::uint32_t>(model_.all.size()) + 1;
    known->names.insert(name);
    known->sizes.insert(0);
    model_.names[name] = known;
    model_.all[known->owner] = known;
    return true;
  }
  void touch(Known& known, std::uint64_t from, std::uint64_t to) {
    for (std::uint64_t sector = from / kSectorBytes; sector * kSectorBytes < to; ++sector)
      known.touched.insert(sector);
    known.sizes.insert(known.live.size());
  }
  bool write(Object& object, Known& known) {
    const std::size_t words = 1 + random_() % (random_() % 4 == 0 ? 20000 : 300);
    std::uint64_t at =
        random_() % 2 == 0 ? known.live.size() : random_() % (known.live.size() + 40000) / kWord * kWord;
    if (at > 300000) at = 0;
    const std::string bytes = words_of(known.owner, ++writes_, words);
    const std::uint64_t from = std::min<std::uint64_t>(at, known.live.size());
    if (known.live.size() < at + bytes.size()) known.live.resize(at + bytes.size(), '\0');
    known.live.replace(at, bytes.size(), bytes);
    touch(known, from, at + bytes.size());
    return went(object.write_at(at, as_bytes(bytes)));
  }
  // More extents than an onode has room for.
  bool scatter(Object& object, Known& known) {
    const std::string bytes = words_of(known.owner, ++writes_, 3);
    const std::uint64_t begin = random_() % 4 * 4096;
    for (std::uint64_t at = begin; at < begin + 60 * 8192; at += 8192) {
      const std::uint64_t from = std::min<std::uint64_t>(at, known.live.size());
      if (known.live.size() < at + bytes.size()) known.live.resize(at + bytes.size(), '\0');
      known.live.replace(at, bytes.size(), bytes);
      touch(known, from, at + bytes.size());
      if (!went(object.write_at(at, as_bytes(bytes)))) return false;
    }
    return true;
  }
  bool resize(Object& object, Known& known) {
    const std::uint64_t size = random_() % (known.live.size() + 5000) / kWord * kWord;
    const std::uint64_t before = known.live.size();
    known.live.resize(size, '\0');
    touch(known, std::min(before, size), std::max(before, size));
    return went(object.truncate(size));
  }
  bool punch(Object& object, Known& known) {
    if (known.live.empty()) return true;
    const std::uint64_t at = random_() % known.live.size() / kWord * kWord;
    const std::uint64_t length =
        std::min<std::uint64_t>(random_() % 30000 / kWord * kWord, known.live.size() - at);
    known.live.replace(at, length, std::string(length, '\0'));
    touch(known, at, at + length);
    return went(object.punch_hole(at, length));
  }
  bool reserve(Object& object) {
    return object.allocate(random_() % 50000, 1 + random_() % 50000).has_value();
  }
  bool sync(Object& object, const KnownPtr& known) {
    if (!went(object.sync())) return false;
    note_durable(*known);
    return true;
  }
  void note_durable(Known& known) {
    known.durable = true;
    known.durable_bytes = known.live;
    known.sizes = {known.live.size()};
    known.touched.clear();
    const auto it = std::find_if(model_.names.begin(), model_.names.end(),
                                 [&](const auto& entry) { return entry.second.get() == &known; });
    if (it == model_.names.end()) return;
    known.durable_name = it->first;
    known.names = {it->first};
  }
  bool rename(const std::string& from, const KnownPtr& known) {
    const std::string to = "f" + std::to_string(random_() % 3) + "/" + std::to_string(random_() % 4);
    if (to == from) return true;
    if (const auto it = model_.names.find(to); it != model_.names.end()) model_.removed.push_back(it->second);
    model_.names.erase(from);
    model_.names[to] = known;
    known->names.insert(to);
    return went(store_.rename(from, to));
  }
  bool remove(const std::string& name, const KnownPtr& known) {
    model_.removed.push_back(known);
    model_.names.erase(name);
    return went(store_.remove(name));
  }
  bool sync_names() {
    if (!went(store_.sync_names())) return false;
    for (const KnownPtr& known : model_.removed) model_.gone_for_good.insert(known->owner);
    model_.removed.clear();
    return true;
  }

  RegionStore& store_;
  Model& model_;
  std::mt19937_64 random_;
  std::uint32_t writes_ = 0;
};

std::uint32_t owner_in(const std::string& bytes) {
  for (std::size_t at = 0; at + kWord <= bytes.size(); at += kWord)
    if (const std::uint64_t word = word_at(bytes, at); word != 0)
      return static_cast<std::uint32_t>(word >> 32);
  return 0;
}

// What a power cut may leave.
void check_survivors(RegionStore& store, const Model& model) {
  const auto layout = store.layout();
  REQUIRE(layout);
  INFO((layout->damaged.empty() ? "" : layout->damaged.front()));
  REQUIRE(layout->damaged.empty());
  std::map<std::uint32_t, std::string> found;  // name by owner
  std::set<std::string> empty_names;
  const auto names = store.list("");
  for (const std::string& name : *names) {
    INFO(name);
    const auto object = *store.open(name);
    const std::string bytes = contents(*object);
    const std::uint32_t owner = owner_in(bytes);
    if (owner == 0) {
      empty_names.insert(name);
      continue;
    }
    for (std::size_t at = 0; at < bytes.size(); at += kWord) {
      const std::uint64_t word = word_at(bytes, at);
      if (word != 0 && word >> 32 != owner)
        FAIL("at " << at << " lies what is object " << (word >> 32) << "'s, not " << owner << "'s");
    }
    REQUIRE(model.all.contains(owner));
    const Known& known = *model.all.at(owner);
    REQUIRE(!model.gone_for_good.contains(owner));
    std::string sizes;
    for (const std::uint64_t size : known.sizes) sizes += " " + std::to_string(size);
    INFO("object " << owner << ", " << bytes.size() << " bytes of" << sizes << "; durable " << known.durable
                   << " " << known.durable_bytes.size());
    REQUIRE(known.names.contains(name));
    REQUIRE(known.sizes.contains(bytes.size()));
    for (std::uint64_t sector = 0; sector * kSectorBytes < bytes.size(); ++sector) {
      if (known.touched.contains(sector)) continue;
      const std::uint64_t from = sector * kSectorBytes;
      const std::string_view now = std::string_view(bytes).substr(from, kSectorBytes);
      const std::string_view was = from < known.durable_bytes.size()
                                       ? std::string_view(known.durable_bytes).substr(from, now.size())
                                       : std::string_view();
      if (now.substr(0, was.size()) != was)
        FAIL("sector " << sector << " was synced, and is not what it was");
    }
    REQUIRE(found.emplace(owner, name).second);
  }
  // What was durable and not removed is there.
  std::set<std::uint32_t> removed;
  for (const KnownPtr& known : model.removed) removed.insert(known->owner);
  for (const auto& [owner, known] : model.all) {
    if (!known->durable || removed.contains(owner) || model.gone_for_good.contains(owner)) continue;
    if (owner_in(known->durable_bytes) == 0) continue;
    bool may_be_empty = known->sizes.contains(0) || !known->touched.empty();
    INFO("object " << owner << ", " << known->durable_name);
    if (!found.contains(owner)) {
      bool under_a_name = false;
      for (const std::string& name : known->names) under_a_name = under_a_name || empty_names.contains(name);
      REQUIRE((may_be_empty && under_a_name));
    }
  }
}

// All that the last program has seen.
void check_same(RegionStore& store, const Model& model) {
  REQUIRE(store.layout()->damaged.empty());
  std::vector<std::string> wanted;
  for (const auto& [name, known] : model.names) wanted.push_back(name);
  REQUIRE(*store.list("") == wanted);
  for (const auto& [name, known] : model.names) {
    INFO(name);
    REQUIRE(contents(**store.open(name)) == known->live);
  }
}

}  // namespace

TEST_CASE(
    "a region store whose power is cut keeps what was synced, and shows nobody's bytes in another's place",
    "[region]") {
  std::uint64_t cuts = 0, checked = 0;
  for (const std::uint64_t seed : seeds(60)) {
    INFO("seed " << seed);
    std::mt19937_64 random(seed);
    auto state = formatted();
    Model model;
    for (int life = 0; life < 3; ++life) {
      INFO("life " << life);
      std::unique_ptr<RegionStore> store = opened(state);
      Worker worker(*store, model, seed * 7 + static_cast<std::uint64_t>(life));
      // Media as they are before a change, and what was promised by then.
      struct Cut {
        SectorMedium medium;
        Model model;
      };
      std::vector<Cut> kept;
      const auto copy = [](const Model& from) {
        Model to;
        std::map<const Known*, KnownPtr> copies;
        for (const auto& [owner, known] : from.all)
          copies[known.get()] = to.all[owner] = std::make_shared<Known>(*known);
        for (const auto& [name, known] : from.names) to.names[name] = copies[known.get()];
        for (const KnownPtr& known : from.removed) to.removed.push_back(copies[known.get()]);
        to.gone_for_good = from.gone_for_good;
        return to;
      };
      std::uint64_t changes = 0;
      const std::uint64_t every = 20 + random() % 40;
      state->told = [&](const std::string&) {
        if (++changes % every != 0 || kept.size() > 6) return;
        const MutexLock guard(state->mutex);
        kept.push_back({state->medium, copy(model)});
      };
      for (int i = 0; i < 120; ++i) REQUIRE(worker.step());
      state->told = nullptr;
      for (const Cut& cut : kept) {
        ++cuts;
        for (const std::uint64_t way : {std::uint64_t{0}, std::uint64_t{1}, random() | 2}) {
          INFO("way " << way);
          auto after = std::make_shared<CrashDevice::State>(cut.medium.cut(way));
          {
            const auto survivor = opened(after);
            const auto lock = survivor->lock("after");
            REQUIRE(lock);
            check_survivors(*survivor, cut.model);
            ++checked;
          }
          // Again after a clean end, by the checkpoint; and nothing of the room is lost.
          const auto again = opened(after);
          const auto lock = again->lock("again");
          REQUIRE(!again->was_scanned());
          check_survivors(*again, cut.model);
          check_room(*again);
        }
      }
      // The next life begins after an end of the process.
      store->abandon();
      store = opened(state);
      const auto lock = store->lock("next");
      check_same(*store, model);
      // Opening made durable what was there.
      for (const auto& [name, known] : model.names) {
        known->durable = true;
        known->durable_name = name;
        known->durable_bytes = known->live;
        known->sizes = {known->live.size()};
        known->touched.clear();
        known->names = {name};
      }
      for (const KnownPtr& known : model.removed) model.gone_for_good.insert(known->owner);
      model.removed.clear();
    }
  }
  CHECK(checked > 1000);
}

namespace {

// A store whose device begins to fail while it is used.
struct StoreAtWork {
  std::shared_ptr<CrashDevice::State> state = formatted();
  Model model;
  std::unique_ptr<RegionStore> store = opened(state);
  Worker worker;

  explicit StoreAtWork(std::uint64_t seed) : worker(*store, model, seed) {
    for (int i = 0; i < 40; ++i) REQUIRE(worker.step());
  }
  // Goes on until somebody was told; false: nobody was.
  bool fails() {
    for (int i = 0; i < 60; ++i) {
      if (!worker.step()) return true;
    }
    return false;
  }
  // The process ends; what its device has then.
  SectorMedium end() {
    const auto medium = [this] {
      const MutexLock guard(state->mutex);
      return state->medium;
    }();
    store->abandon();
    return medium;
  }
};

}  // namespace

TEST_CASE("a region store whose device fails once keeps what was synced before, and says so from then on",
          "[region]") {
  std::uint64_t failed = 0;
  for (const std::uint64_t seed : seeds(300)) {
    INFO("seed " << seed);
    std::mt19937_64 random(seed);
    StoreAtWork at_work(seed);
    const std::shared_ptr<CrashDevice::State>& state = at_work.state;
    const Model& model = at_work.model;
    const bool flushes = seed % 2 == 0;
    {
      const MutexLock guard(state->mutex);
      (flushes ? state->flushes_to_failure : state->writes_to_failure) = 1 + random() % (flushes ? 6 : 60);
    }
    if (!at_work.fails()) continue;
    ++failed;
    if (flushes) {
      // Whoever was not told the first time is told now.
      const auto names = at_work.store->list("");
      if (!names->empty()) REQUIRE(!(*at_work.store->open(names->front()))->sync());
    }
    SectorMedium medium = at_work.end();
    for (const std::uint64_t way : {std::uint64_t{0}, std::uint64_t{1}, random() | 2}) {
      INFO("way " << way);
      const auto survivor = opened(std::make_shared<CrashDevice::State>(medium.cut(way)));
      const auto lock = survivor->lock("after");
      REQUIRE(lock);
      check_survivors(*survivor, model);
      check_room(*survivor);
    }
  }
  CHECK(failed >= 100);
}

// The kernel takes what it could not write for written: it shows it until it needs the memory, and then what the medium has.
TEST_CASE("after a flush that failed a region store is read as after a power cut, though the machine runs on",
          "[region]") {
  std::uint64_t failed = 0, lost = 0;
  for (const std::uint64_t seed : seeds(300)) {
    INFO("seed " << seed);
    std::mt19937_64 random(seed);
    StoreAtWork at_work(seed);
    const std::shared_ptr<CrashDevice::State>& state = at_work.state;
    const Model& model = at_work.model;
    {
      const MutexLock guard(state->mutex);
      state->flushes_to_failure = 1 + random() % 6;
      state->losing = random();
    }
    if (!at_work.fails()) continue;
    ++failed;
    SectorMedium medium = at_work.end();
    for (const bool is_cached : {true, false}) {
      INFO("in memory " << is_cached);
      if (!is_cached) medium.forget();
      const auto after = std::make_shared<CrashDevice::State>(medium);
      {
        auto survivor = opened(after);
        const auto lock = survivor->lock("after");
        REQUIRE(lock);
        check_survivors(*survivor, model);
        survivor->abandon();
      }
      // What was found is what stays: not what memory alone had.
      std::vector<std::string> found;
      for (const bool forgets : {false, true}) {
        if (forgets) {
          const MutexLock guard(after->mutex);
          after->medium.forget();
        }
        const auto again = opened(after);
        const auto lock = again->lock("again");
        REQUIRE(lock);
        std::vector<std::string> there;
        const std::vector<std::string> names = *again->list("");
        for (const std::string& name : names) {
          there.push_back(name);
          there.push_back(contents(**again->open(name)));
        }
        if (forgets) {
          REQUIRE((there == found));
          lost += 1;
          check_room(*again);
        }
        found = std::move(there);
      }
    }
  }
  CHECK(failed >= 100);
  CHECK(lost == 2 * failed);
}

}  // namespace cffs::test
