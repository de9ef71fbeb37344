// Making threads. The system may refuse one (a limit on processes, memory), and std::thread throws then, through whatever
// was about to make it: so threads are made here, and a refusal is a value.
#pragma once

#include <functional>
#include <string_view>
#include <thread>

#include "core/base/error.h"

namespace cffs {

// `name` is what the error says. EAGAIN, ENOMEM: the system has none to give.
Result<std::thread> make_thread(std::string_view name, std::function<void()> body);

// From now on this thread runs on that processor only, where the process may use it, else wherever it did. The threads that it
// makes run where it might have before.
void stay_on_processor(unsigned processor);

// For tests: the next `n` are made, those behind them refused with EAGAIN. Negative: as the system has them.
void allow_threads(int n);

}  // namespace cffs
