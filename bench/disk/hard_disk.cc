#include "bench/disk/hard_disk.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>

namespace cffs::bench {
namespace {

// The mean of the square root of the distance between two random places of a disk of length 1.
constexpr double kMeanRoot = 8.0 / 15.0;
// How far ahead a drive reads into its memory.
constexpr std::uint64_t kReadAhead = 2u << 20;

std::int64_t ns(double value) { return static_cast<std::int64_t>(std::llround(value)); }

}  // namespace

HardDisk::HardDisk(const HardDiskProfile& profile, std::uint64_t bytes)
    : profile_(profile),
      bytes_(std::max<std::uint64_t>(bytes, 1)),
      rotation_ns_(60e9 / profile.rotations_per_minute),
      track_bytes_(profile.bytes_per_s * rotation_ns_ / 1e9),
      seek_factor_ns_((profile.access_s * 1e9 - rotation_ns_ / 2 - profile.settle_s * 1e9) / kMeanRoot) {}

std::int64_t HardDisk::transfer_ns(std::uint64_t bytes) const {
  return ns(static_cast<double>(bytes) / profile_.bytes_per_s * 1e9);
}

std::int64_t HardDisk::positioning_ns(std::int64_t now_ns, std::uint64_t offset) const {
  const double distance = std::abs(static_cast<double>(offset) - static_cast<double>(head_));
  double arrival = static_cast<double>(now_ns);
  if (distance > track_bytes_) {
    arrival += profile_.settle_s * 1e9 + seek_factor_ns_ * std::sqrt(distance / static_cast<double>(bytes_));
  }
  const double angle = std::fmod(static_cast<double>(offset), track_bytes_) / track_bytes_;
  const double here = std::fmod(arrival, rotation_ns_) / rotation_ns_;
  double wait = angle >= here ? angle - here : angle + 1 - here;
  // What follows at once without a gap catches the next sector; 1/1000 of a turn is 8 microseconds.
  if (wait > 0.999) wait = 0;
  return ns(arrival + wait * rotation_ns_) - now_ns;
}

std::int64_t HardDisk::read_cost_ns(std::int64_t now_ns, const DiskRequest& request) const {
  const std::int64_t command = ns(profile_.command_s * 1e9);
  const std::int64_t elsewhere =
      positioning_ns(now_ns, request.offset) + transfer_ns(request.length) + command;
  if (!streaming_ || request.offset < stream_from_) return elsewhere;
  // The head has been reading on: what it passed is in the drive's memory, what comes next needs no positioning.
  const std::int64_t passed_at =
      stream_from_ns_ + transfer_ns(request.offset + request.length - stream_from_);
  const std::int64_t to_host =
      ns(static_cast<double>(request.length) / profile_.cache_bytes_per_s * 1e9) + command;
  const std::int64_t full_at = stream_from_ns_ + transfer_ns(kReadAhead);  // the memory is full: it stops
  if (request.offset + request.length <= stream_from_ + kReadAhead)
    return std::max(passed_at - now_ns, to_host);
  if (now_ns <= full_at) return std::min(std::max(passed_at - now_ns, to_host), elsewhere);
  return elsewhere;
}

void HardDisk::complete(std::int64_t at_ns, std::uint64_t id) {
  done_.push_back({at_ns, id});
  std::push_heap(done_.begin(), done_.end(), std::greater<>());
}

bool HardDisk::in_memory(const DiskRequest& request) const {
  auto it = dirty_.upper_bound(request.offset);
  if (it == dirty_.begin()) return false;
  --it;
  return it->first <= request.offset && it->first + it->second >= request.offset + request.length;
}

void HardDisk::accept_write(std::int64_t now_ns, const DiskRequest& request) {
  std::uint64_t from = request.offset, to = request.offset + request.length;
  auto it = dirty_.upper_bound(from);
  if (it != dirty_.begin() && std::prev(it)->first + std::prev(it)->second >= from) --it;
  while (it != dirty_.end() && it->first <= to) {
    from = std::min(from, it->first);
    to = std::max(to, it->first + it->second);
    dirty_bytes_ -= it->second;
    it = dirty_.erase(it);
  }
  dirty_[from] = to - from;
  dirty_bytes_ += to - from;
  complete(
      now_ns +
          ns((profile_.command_s + static_cast<double>(request.length) / profile_.cache_bytes_per_s) * 1e9),
      request.id);
}

void HardDisk::accept_waiting_writes(std::int64_t now_ns) {
  // Writes behind a flush may come into memory before it is done: it then waits for them too, as drives have it.
  while (!writes_.empty() && dirty_bytes_ + writes_.front().request.length <= profile_.cache_bytes) {
    accept_write(now_ns, writes_.front().request);
    writes_.pop_front();
  }
}

void HardDisk::complete_flushes(std::int64_t now_ns) {
  if (!dirty_.empty() || !writes_.empty()) return;
  for (const Pending& flush : flushes_) complete(now_ns + ns(profile_.command_s * 1e9), flush.request.id);
  flushes_.clear();
}

void HardDisk::start_read(std::int64_t now_ns, std::size_t index) {
  const DiskRequest request = reads_[index].request;
  reads_.erase(reads_.begin() + static_cast<std::ptrdiff_t>(index));
  const std::int64_t cost = read_cost_ns(now_ns, request);
  const std::uint64_t end = request.offset + request.length;
  const bool of_stream = streaming_ && request.offset >= stream_from_ && end <= stream_from_ + kReadAhead &&
                         stream_from_ns_ + transfer_ns(end - stream_from_) <= now_ns + cost;
  if (of_stream && stream_from_ns_ + transfer_ns(end - stream_from_) < now_ns) {
    // From memory: the head is further on, and stays there; the read-ahead window moves with the reader.
    const std::uint64_t passed = static_cast<std::uint64_t>(static_cast<double>(now_ns - stream_from_ns_) *
                                                            profile_.bytes_per_s / 1e9);
    if (passed <= kReadAhead) {
      stream_from_ns_ += transfer_ns(request.offset - stream_from_);
      stream_from_ = request.offset;
    } else {  // it had stopped with a full memory, and goes on where it stopped as soon as there is room
      stream_from_ns_ = now_ns - transfer_ns(kReadAhead - (end - stream_from_));
      stream_from_ = end;
    }
  } else {
    streaming_ = true;
    stream_from_ = end;
    stream_from_ns_ = now_ns + cost;
  }
  head_ = end;
  busy_ = true;
  free_at_ns_ = now_ns + cost;
  complete(free_at_ns_, request.id);
}

// Brings the written run out that is nearest in time among the next ones in the direction of the sweep.
void HardDisk::start_bringing_out(std::int64_t now_ns) {
  constexpr int kLooks = 32;
  auto it = dirty_.lower_bound(head_);
  auto best = dirty_.end();
  std::int64_t best_cost = kNever;
  for (int i = 0; i < kLooks && i < static_cast<int>(dirty_.size()); ++i) {
    if (it == dirty_.end()) it = dirty_.begin();
    const std::int64_t cost = positioning_ns(now_ns, it->first);
    if (cost < best_cost) {
      best = it;
      best_cost = cost;
    }
    ++it;
  }
  busy_ = true;
  streaming_ = false;
  free_at_ns_ = now_ns + best_cost + transfer_ns(best->second);
  head_ = best->first + best->second;
  dirty_bytes_ -= best->second;
  dirty_.erase(best);
}

// Starts the next thing that the arm does. False: nothing to do.
bool HardDisk::start_next(std::int64_t now_ns) {
  accept_waiting_writes(now_ns);
  complete_flushes(now_ns);
  const bool must_write = !flushes_.empty() || !writes_.empty();
  // A flush does not starve: reads and the sweep take turns while somebody waits for it.
  const bool turn_to_write = must_write && !dirty_.empty() && read_last_;
  if (!reads_.empty() && !turn_to_write) {
    constexpr std::int64_t kPatience = 200'000'000;  // after that the oldest goes first
    std::size_t best = 0;
    std::int64_t best_cost = kNever;
    for (std::size_t i = 0; i < reads_.size(); ++i) {
      const bool waited = now_ns - reads_[i].arrived_ns > kPatience;
      const DiskRequest& read = reads_[i].request;
      // Until its first byte comes: a drive does not leave a stream for what is short.
      const std::int64_t cost = waited ? -kPatience : read_cost_ns(now_ns, read) - transfer_ns(read.length);
      if (cost < best_cost) {
        best = i;
        best_cost = cost;
      }
    }
    start_read(now_ns, best);
    read_last_ = true;
    return true;
  }
  if (dirty_.empty()) return false;
  start_bringing_out(now_ns);
  read_last_ = false;
  return true;
}

void HardDisk::submit(std::int64_t now_ns, const DiskRequest& request) {
  switch (request.kind) {
    case DiskRequest::Kind::read:
      if (in_memory(request)) {
        complete(now_ns + ns((profile_.command_s +
                              static_cast<double>(request.length) / profile_.cache_bytes_per_s) *
                             1e9),
                 request.id);
      } else {
        reads_.push_back({request, now_ns});
      }
      break;
    case DiskRequest::Kind::write:
      writes_.push_back({request, now_ns});
      accept_waiting_writes(now_ns);
      break;
    case DiskRequest::Kind::flush:
      flushes_.push_back({request, now_ns});
      break;
  }
  if (!busy_) (void)start_next(now_ns);
}

std::int64_t HardDisk::next_event_ns() const {
  std::int64_t next = busy_ ? free_at_ns_ : kNever;
  if (!done_.empty()) next = std::min(next, done_.front().at_ns);
  return next;
}

void HardDisk::advance(std::int64_t now_ns, std::vector<std::uint64_t>& completed) {
  while (busy_ && free_at_ns_ <= now_ns) {
    busy_ = false;
    (void)start_next(free_at_ns_);
  }
  while (!done_.empty() && done_.front().at_ns <= now_ns) {
    completed.push_back(done_.front().id);
    std::pop_heap(done_.begin(), done_.end(), std::greater<>());
    done_.pop_back();
  }
}

}  // namespace cffs::bench
