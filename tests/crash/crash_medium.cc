#include "tests/crash/crash_medium.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <set>

namespace cffs::test {
namespace {

constexpr std::uint64_t kSector = 512;  // what a device writes whole

std::string folder_of(const std::string& name) {
  const std::size_t slash = name.rfind('/');
  return slash == std::string::npos ? std::string() : name.substr(0, slash);
}

void put(std::string& bytes, std::uint64_t offset, std::string_view data) {
  if (bytes.size() < offset + data.size()) bytes.resize(offset + data.size());
  bytes.replace(offset, data.size(), data);
}

void apply(std::string& bytes, const CrashMedium::Change& change) {
  if (change.size) {
    bytes.resize(*change.size);
  } else {
    put(bytes, change.offset, change.data);
  }
}

}  // namespace

CrashMedium::CrashMedium(const CrashMedium& other) { *this = other; }

CrashMedium& CrashMedium::operator=(const CrashMedium& other) {
  if (this == &other) return *this;
  std::map<const Body*, BodyPtr> copies;
  const auto copy = [&copies](const BodyPtr& body) {
    BodyPtr& made = copies[body.get()];
    if (!made) made = std::make_shared<Body>(*body);
    return made;
  };
  live_.clear();
  durable_.clear();
  unsynced_.clear();
  for (const auto& [name, body] : other.live_) live_[name] = copy(body);
  for (const auto& [name, body] : other.durable_) durable_[name] = copy(body);
  for (const NameChange& change : other.unsynced_) {
    unsynced_.push_back({change.from, change.to, copy(change.body)});
  }
  return *this;
}

CrashMedium::BodyPtr CrashMedium::find(std::string_view name) const {
  const auto it = live_.find(name);
  return it == live_.end() ? nullptr : it->second;
}

void CrashMedium::apply(Names& names, const NameChange& change) {
  if (!change.from.empty()) names.erase(change.from);
  if (!change.to.empty()) names[change.to] = change.body;
}

CrashMedium::BodyPtr CrashMedium::create(std::string_view name) {
  unsynced_.push_back({{}, std::string(name), std::make_shared<Body>()});
  apply(live_, unsynced_.back());
  return unsynced_.back().body;
}

void CrashMedium::remove(std::string_view name) {
  unsynced_.push_back({std::string(name), {}, find(name)});
  apply(live_, unsynced_.back());
}

void CrashMedium::rename(std::string_view from, std::string_view to) {
  unsynced_.push_back({std::string(from), std::string(to), find(from)});
  apply(live_, unsynced_.back());
}

std::uint64_t CrashMedium::Body::held() const {
  return std::max<std::uint64_t>(live.size(), reserved) - holes.size() * kBlockBytes;
}

void CrashMedium::write(Body& body, std::uint64_t offset, std::string_view data) {
  put(body.live, offset, data);
  body.holes.erase(
      body.holes.lower_bound(offset / Body::kBlockBytes),
      body.holes.lower_bound((offset + data.size() + Body::kBlockBytes - 1) / Body::kBlockBytes));
  body.unsynced.push_back({offset, std::string(data), std::nullopt});
}

void CrashMedium::punch(Body& body, std::uint64_t offset, std::uint64_t length) {
  write(body, offset, std::string(length, '\0'));
  for (std::uint64_t block = (offset + Body::kBlockBytes - 1) / Body::kBlockBytes;
       (block + 1) * Body::kBlockBytes <= offset + length; ++block) {
    body.holes.insert(block);
  }
}

void CrashMedium::resize(Body& body, std::uint64_t size) {
  body.live.resize(size);
  body.holes.erase(body.holes.lower_bound(size / Body::kBlockBytes), body.holes.end());
  body.reserved = std::min(body.reserved, size);
  body.unsynced.push_back({0, {}, size});
}

// For each of the first `changes` the lowest index of those it hangs together with: changes of the same name, and those of
// the two names of a rename.
std::vector<std::size_t> CrashMedium::chains(std::size_t changes) const {
  std::vector<std::size_t> chain(changes);
  std::iota(chain.begin(), chain.end(), 0);
  std::map<std::string, std::size_t> last;  // of each name
  for (std::size_t i = 0; i < changes; ++i) {
    for (const std::string* name : {&unsynced_[i].from, &unsynced_[i].to}) {
      if (name->empty()) continue;
      const auto [it, fresh] = last.emplace(*name, i);
      if (!fresh) {
        const std::size_t a = std::min(chain[it->second], chain[i]);
        const std::size_t b = std::max(chain[it->second], chain[i]);
        std::replace(chain.begin(), chain.end(), b, a);
        it->second = i;
      }
    }
  }
  return chain;
}

void CrashMedium::sync(const BodyPtr& body) {
  for (const Change& change : body->unsynced) test::apply(body->durable, change);
  body->unsynced.clear();
  const auto created = std::find_if(unsynced_.begin(), unsynced_.end(), [&](const NameChange& change) {
    return change.body == body && change.from.empty();
  });
  if (created == unsynced_.end()) return;
  const auto at = static_cast<std::size_t>(created - unsynced_.begin());
  const std::vector<std::size_t> chain = chains(at + 1);
  std::vector<NameChange> left;
  for (std::size_t i = 0; i < unsynced_.size(); ++i) {
    if (i <= at && chain[i] == chain[at]) {
      apply(durable_, unsynced_[i]);
    } else {
      left.push_back(std::move(unsynced_[i]));
    }
  }
  unsynced_ = std::move(left);
}

void CrashMedium::lose(Body& body) {
  for (const Change& change : body.unsynced) {
    const std::uint64_t end = change.offset + change.data.size();
    body.durable.resize(change.size.value_or(std::max<std::uint64_t>(body.durable.size(), end)));
  }
  body.unsynced.clear();
}

void CrashMedium::sync_names() {
  for (const NameChange& change : unsynced_) apply(durable_, change);
  unsynced_.clear();
}

void CrashMedium::sync_everything() {
  sync_names();
  for (const auto& [name, body] : live_) {
    for (const Change& change : body->unsynced) test::apply(body->durable, change);
    body->unsynced.clear();
  }
}

CrashMedium::Names CrashMedium::names_that_survive(Random& random) const {
  Names names = durable_;
  const std::size_t n = unsynced_.size();
  const std::uint64_t how = random() % 3;
  const std::vector<std::size_t> chain = chains(n);
  // Those of a rename between two folders go with the chain of the one, and of the other, so folders are joined by it.
  std::map<std::string, std::string> folders;
  const std::function<std::string(std::string)> home = [&](std::string folder) {
    for (auto it = folders.find(folder); it != folders.end(); it = folders.find(folder)) folder = it->second;
    return folder;
  };
  for (const NameChange& change : unsynced_) {
    if (change.from.empty() || change.to.empty()) continue;
    const std::string a = home(folder_of(change.from)), b = home(folder_of(change.to));
    if (a != b) folders[a] = b;
  }
  std::map<std::string, std::size_t> ends;  // of each group: what comes from here on did not survive
  for (std::size_t i = 0; i < n; ++i) {
    std::string group;
    if (how == 1) group = home(folder_of(unsynced_[i].to.empty() ? unsynced_[i].from : unsynced_[i].to));
    if (how == 2) group = std::to_string(chain[i]);
    const auto [end, fresh] = ends.emplace(group, 0);
    if (fresh) end->second = random() % (n + 1);
    if (i < end->second) apply(names, unsynced_[i]);
  }
  return names;
}

std::string CrashMedium::what_survives(const Body& body, Random& random) {
  const std::size_t n = body.unsynced.size();
  if (n == 0) return body.durable;
  const std::uint64_t how = random() % 8;
  // How far the object's size and cuts have come; then, for each sector, how many of the writes.
  const std::size_t sized = how == 0 ? 0 : how == 1 ? n : random() % (n + 1);
  const std::uint64_t lost = 1 + random() % 6;  // of eight
  std::map<std::uint64_t, std::size_t> reached;
  const auto reached_by = [&](std::uint64_t sector) {
    const auto [it, fresh] = reached.emplace(sector, 0);
    if (!fresh) return it->second;
    const std::uint64_t die = random() % 8;
    if (how == 0 || (how > 2 && die < lost)) return it->second;
    return it->second = how == 1 || how == 2 || die != 7 ? n : random() % (n + 1);
  };
  std::string bytes = body.durable;
  std::uint64_t size = bytes.size();
  std::uint64_t never_cut = ~std::uint64_t{0};  // what lies behind a cut that did not survive is not written
  for (std::size_t i = 0; i < n; ++i) {
    const Change& change = body.unsynced[i];
    if (change.size) {
      if (i < sized) {
        bytes.resize(*change.size);
        size = *change.size;
      } else {
        never_cut = std::min(never_cut, *change.size);
      }
      continue;
    }
    const std::uint64_t end = change.offset + change.data.size();
    if (i < sized) size = std::max(size, end);
    for (std::uint64_t at = change.offset; at < end;) {
      const std::uint64_t next = std::min(end, (at / kSector + 1) * kSector);
      if (at < never_cut && i < reached_by(at / kSector)) {
        put(bytes, at, std::string_view(change.data).substr(at - change.offset, next - at));
      }
      at = next;
    }
  }
  bytes.resize(size);
  return bytes;
}

CrashMedium CrashMedium::cut(std::uint64_t seed) const {
  Random random(seed);
  CrashMedium after;
  std::map<const Body*, BodyPtr> bodies;
  for (const auto& [name, body] : names_that_survive(random)) {
    BodyPtr& survivor = bodies[body.get()];
    if (!survivor) {
      survivor = std::make_shared<Body>();
      survivor->live = survivor->durable = what_survives(*body, random);
    }
    after.live_[name] = after.durable_[name] = survivor;
  }
  return after;
}

std::size_t CrashMedium::fingerprint() const {
  std::size_t all = 0;
  const auto add = [&all](std::string_view text) {
    all = all * 1'000'003 + std::hash<std::string_view>{}(text);
  };
  for (const auto& [name, body] : live_) {
    add(name);
    add(body->live);
  }
  return all;
}

}  // namespace cffs::test
