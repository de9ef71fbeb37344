#include "replay/play/schedule.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <unordered_map>

namespace cffs::replay {
namespace {

using Position = std::pair<std::uint32_t, std::uint32_t>;  // thread, operations up to and including this one

// Clients by thread, the busiest first to the least busy thread.
std::vector<std::uint32_t> deal(const Trace& trace, unsigned threads) {
  std::vector<std::uint64_t> of_client(trace.clients().size());
  for (const Operation& o : trace.operations) ++of_client[o.client];
  std::vector<std::uint32_t> clients(of_client.size());
  std::iota(clients.begin(), clients.end(), 0u);
  std::stable_sort(clients.begin(), clients.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return of_client[a] > of_client[b]; });
  std::vector<std::uint64_t> load(threads);
  std::vector<std::uint32_t> thread_of(of_client.size());
  for (const std::uint32_t client : clients) {
    const auto least = std::min_element(load.begin(), load.end());
    *least += of_client[client];
    thread_of[client] = static_cast<std::uint32_t>(least - load.begin());
  }
  return thread_of;
}

// Who touched a thing last: the ones that may run together now, and those that they had to wait for.
struct Crowd {
  Touch::How how = Touch::How::shared;
  std::vector<Position> now, before;
};

void join(std::vector<Position>& crowd, Position position) {
  for (Position& p : crowd) {
    if (p.first == position.first) {
      p.second = position.second;
      return;
    }
  }
  crowd.push_back(position);
}

class Waits {
 public:
  Waits(unsigned threads, std::size_t clients) : known_(threads, std::vector<std::uint32_t>(threads)) {
    first_.resize(clients);
    last_.resize(clients);
  }

  // What operation number `position` (counted from 1) of a thread has to wait for; appended to `awaited`.
  std::uint32_t of(Position position, const std::vector<Touch>& touches, std::vector<Awaited>& awaited) {
    needed_.clear();
    for (const Touch& touch : touches) {
      Crowd& crowd = crowds_[touch.what];
      const bool together = touch.how == crowd.how && touch.how != Touch::How::exclusive;
      if (!together) {
        crowd.before = std::move(crowd.now);
        crowd.now.clear();
        crowd.how = touch.how;
      }
      for (const Position& p : crowd.before) need(p);
      join(crowd.now, position);
    }
    for (const Position& p : extra_) need(p);
    extra_.clear();
    std::uint32_t count = 0;
    for (const Position& p : needed_) {
      std::uint32_t& known = known_[position.first][p.first];
      if (p.first == position.first || known >= p.second) continue;
      known = p.second;
      awaited.push_back({p.first, p.second});
      ++count;
    }
    return count;
  }
  void wait_also(Position p) { extra_.push_back(p); }
  std::vector<Position>& first_of(std::uint32_t client) { return first_[client]; }
  Position& last_of(std::uint32_t client) { return last_[client]; }

 private:
  void need(const Position& p) {
    for (Position& known : needed_) {
      if (known.first == p.first) {
        known.second = std::max(known.second, p.second);
        return;
      }
    }
    needed_.push_back(p);
  }

  std::unordered_map<std::uint64_t, Crowd> crowds_;
  std::vector<std::vector<std::uint32_t>> known_;  // what a thread has waited for already
  std::vector<Position> needed_, extra_;
  std::vector<std::vector<Position>> first_;  // what a client's first operation has to wait for
  std::vector<Position> last_;                // a client's last operation so far
};

bool is_attribute_call(Call call) {
  return call == Call::getxattr || call == Call::setxattr || call == Call::listxattr ||
         call == Call::removexattr || call == Call::access;
}

}  // namespace

Schedule make_schedule(const Trace& trace, const ScheduleOptions& options) {
  Schedule schedule;
  const unsigned threads = std::max(1u, options.threads);
  schedule.threads.resize(threads);
  const std::vector<std::uint32_t> thread_of = deal(trace, threads);
  const auto root = trace.about.find("root");
  ModelTree model(ModelTree::Mode::replays, root == trace.about.end() ? "/" : root->second);
  for (const InitialEntry& entry : trace.initial) model.add(trace.path(entry.path), entry);
  Waits waits(threads, trace.clients().size());
  std::int64_t latest = 0, cut = 0;
  for (std::size_t i = 0; i < trace.operations.size(); ++i) {
    const Operation& o = trace.operations[i];
    const std::uint32_t thread = thread_of[o.client];
    std::vector<Step>& steps = schedule.threads[thread];
    const Position here{thread, static_cast<std::uint32_t>(steps.size())};
    if (o.time_ns > latest) {
      cut += std::max<std::int64_t>(0, o.time_ns - latest - options.longest_idle_ns);
      latest = o.time_ns;
    }
    if (o.call == Call::spawn) {
      // Everything that its parent did so far comes before the child.
      if (o.handle < trace.clients().size() && here.second > 0) waits.first_of(o.handle).push_back(here);
      continue;
    }
    if (o.call == Call::reap) {
      if (o.handle < trace.clients().size() && waits.last_of(o.handle).second > 0)
        waits.first_of(o.client).push_back(waits.last_of(o.handle));
      continue;
    }
    Step step;
    step.operation = static_cast<std::uint32_t>(i);
    step.start_ns = std::max<std::int64_t>(0, o.time_ns - cut);
    step.expected.first_segment = static_cast<std::uint32_t>(schedule.segments.size());
    const bool contents = options.contents && !schedule.too_many_segments;
    const Outcome outcome = model.apply(o, trace, i + 1, contents ? &schedule.segments : nullptr);
    const bool attribute = is_attribute_call(o.call);
    if (outcome.error == 0 && o.result < 0 && !attribute) {
      ++schedule.left_out;
      schedule.segments.resize(step.expected.first_segment);
      continue;
    }
    if (outcome.error != 0 && o.result >= 0 && !attribute) ++schedule.unexplained;
    if (schedule.segments.size() > options.most_segments) {
      schedule.too_many_segments = true;
      schedule.segments = {};
      step.expected.first_segment = 0;
    }
    step.expected.segments =
        static_cast<std::uint32_t>(schedule.segments.size()) - step.expected.first_segment;
    step.expected.error = outcome.error;
    step.expected.length = outcome.length;
    step.expected.checkable = outcome.checkable && outcome.error == 0;
    step.expected.compared = !attribute;
    schedule.handles = std::max(schedule.handles, o.handle);
    for (const Position& p : waits.first_of(o.client)) waits.wait_also(p);
    waits.first_of(o.client).clear();
    step.first_awaited = static_cast<std::uint32_t>(schedule.awaited.size());
    const Position mine{thread, here.second + 1};
    step.awaited = waits.of(mine, model.touches(), schedule.awaited);
    waits.last_of(o.client) = mine;
    schedule.waits += step.awaited;
    steps.push_back(step);
    ++schedule.operations;
  }
  if (schedule.too_many_segments) {
    for (std::vector<Step>& steps : schedule.threads) {
      for (Step& step : steps) step.expected.segments = 0;
    }
  }
  return schedule;
}

}  // namespace cffs::replay
