#include "grouping/mining/sessions.h"

#include <algorithm>
#include <cstdlib>

namespace cffs::grouping {

bool Sessions::insert(Open& open, Item item) {
  constexpr std::size_t kMany = 32;
  if (open.items.size() < kMany) {
    if (std::find(open.items.begin(), open.items.end(), item) != open.items.end()) return false;
  } else {
    if (open.seen.empty()) open.seen.insert(open.items.begin(), open.items.end());
    if (!open.seen.insert(item).second) return false;
  }
  open.items.push_back(item);
  return true;
}

void Sessions::add(const Access& access) {
  if (added_++ % kSweepEvery == 0) close_idle(access.time_ms);
  if (open_.size() >= options_.most_open && !open_.contains(access.stream)) finish();
  auto [it, fresh] = open_.try_emplace(access.stream);
  Open& open = it->second;
  if (!fresh && std::abs(access.time_ms - open.last_ms) > options_.gap_ms) {
    close(open);
    open = {};
    fresh = true;
  }
  if (!fresh && options_.cut && open.items.size() >= options_.max_files) {
    close(open);
    open = {};
    fresh = true;
  }
  if (fresh) open.number = begun_++;
  open.last_ms = std::max(open.last_ms, access.time_ms);
  open.crawler = open.crawler || access.crawler;
  // One file more than allowed is enough to know that the session is too large.
  if (open.items.size() > options_.max_files) return;
  if (!insert(open, access.item)) ++counts_.repeats;
}

void Sessions::close(Open& open) {
  if (open.crawler) {
    ++counts_.apart_crawlers;
  } else if (open.items.size() > options_.max_files) {
    ++counts_.apart_too_large;
  } else {
    ++counts_.sessions;
    emit_(open.items);
  }
}

void Sessions::close_idle(std::int64_t now_ms) {
  std::vector<std::unordered_map<std::uint64_t, Open>::iterator> idle;
  for (auto it = open_.begin(); it != open_.end(); ++it) {
    // Twice the gap: a log may step back a little.
    if (now_ms - it->second.last_ms > 2 * options_.gap_ms) idle.push_back(it);
  }
  // The order of a hash map must not show.
  std::sort(idle.begin(), idle.end(),
            [](const auto& a, const auto& b) { return a->second.number < b->second.number; });
  for (const auto& it : idle) {
    close(it->second);
    open_.erase(it);
  }
}

void Sessions::finish() {
  std::vector<Open*> rest;
  for (auto& [stream, open] : open_) rest.push_back(&open);
  std::sort(rest.begin(), rest.end(), [](const Open* a, const Open* b) { return a->number < b->number; });
  for (Open* open : rest) close(*open);
  open_.clear();
}

}  // namespace cffs::grouping
