#include "cli/stop_signals.h"

#include <unistd.h>

namespace cffs::cli {
namespace {

std::atomic<bool> stop_signal_came{false};
std::atomic<int> stop_signal{0};
std::atomic<const std::string*> last_words{nullptr};
std::atomic<void (*)()> last_work{nullptr};
static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<int>::is_always_lock_free &&
              std::atomic<const std::string*>::is_always_lock_free &&
              std::atomic<void (*)()>::is_always_lock_free);

std::vector<std::pair<int, struct sigaction>> handle(const std::vector<int>& signals, void (*handler)(int)) {
  std::vector<std::pair<int, struct sigaction>> before;
  struct sigaction action {};
  action.sa_handler = handler;
  for (const int signal : signals) {
    struct sigaction old {};
    if (::sigaction(signal, &action, &old) == 0) before.emplace_back(signal, old);
  }
  return before;
}

void give_back(const std::vector<std::pair<int, struct sigaction>>& before) {
  for (const auto& [signal, action] : before) ::sigaction(signal, &action, nullptr);
}

void note_stop(int signal) {
  stop_signal.store(signal);
  stop_signal_came.store(true);
}

void say_and_end(int signal) {
  if (const std::string* const words = last_words.load(); words != nullptr)
    (void)!::write(STDERR_FILENO, words->data(), words->size());
  if (void (*const work)() = last_work.load(); work != nullptr) work();
  ::_exit(128 + signal);
}

}  // namespace

StopSignals::StopSignals(const std::vector<int>& signals) : before_(handle(signals, note_stop)) {}

StopSignals::~StopSignals() {
  if (!came()) give_back(before_);
}

std::vector<int> StopSignals::not_ignored(std::vector<int> signals) {
  std::erase_if(signals, [](int signal) {
    struct sigaction action {};
    return ::sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
  });
  return signals;
}

const std::atomic<bool>& StopSignals::flag() { return stop_signal_came; }
int StopSignals::exit_code() { return 128 + stop_signal.load(); }

// Over the line of progress, which a terminal shows just now.
EndingSignals::EndingSignals(const std::string& sentence, void (*first)())
    : text_((::isatty(STDERR_FILENO) == 1 ? "\r\033[K" : "") + ("cffs: " + sentence) + "\n") {
  last_words.store(&text_);
  last_work.store(first);
  before_ = handle(StopSignals::not_ignored(kStopSignals), say_and_end);
}

EndingSignals::~EndingSignals() {
  give_back(before_);
  last_words.store(nullptr);
  last_work.store(nullptr);
}

}  // namespace cffs::cli
