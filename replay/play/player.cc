#include "replay/play/player.h"

#include <algorithm>
#include <limits>
#include <thread>

#include "replay/play/player_thread.h"

namespace cffs::replay {

Player::Player(const Trace& trace, const Schedule& schedule, Target* target)
    : trace_(trace),
      schedule_(schedule),
      target_(target),
      progress_(schedule.threads.size()),
      handles_(std::size_t{schedule.handles} + 1, -1) {
  const auto root = trace.about.find("root");
  root_ = root == trace.about.end() ? "/" : root->second;
}

Player::~Player() { close_all(); }

void Player::close_all() {
  for (std::int64_t& handle : handles_) {
    if (handle >= 0 && target_ != nullptr) (void)target_->close(handle);
    handle = -1;
  }
}

PlayReport Player::play(const PlayOptions& options, std::uint64_t end) {
  std::vector<std::unique_ptr<Thread>> parts;
  for (std::uint32_t i = 0; i < schedule_.threads.size(); ++i)
    parts.push_back(std::make_unique<Thread>(*this, i, options, end));
  // Recorded time goes on where the last call of play() left it.
  std::int64_t first_ns = std::numeric_limits<std::int64_t>::max();
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::uint32_t at = progress_[i].done.load();
    if (at < schedule_.threads[i].size()) first_ns = std::min(first_ns, schedule_.threads[i][at].start_ns);
  }
  std::atomic<bool> go{false};
  std::atomic<std::int64_t> start{0};
  std::vector<std::thread> threads;
  for (auto& part : parts) {
    threads.emplace_back([&, p = part.get()] {
      go.wait(false);
      p->run(start.load(), first_ns);
    });
  }
  start.store(now_ns());
  go.store(true);
  go.notify_all();
  for (std::thread& thread : threads) thread.join();
  PlayReport total;
  total.seconds = static_cast<double>(now_ns() - start.load()) / 1e9;
  for (auto& part : parts) total.merge(part->report);
  return total;
}

}  // namespace cffs::replay
