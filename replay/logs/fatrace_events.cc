#include "replay/logs/fatrace_events.h"

#include <algorithm>

#include "replay/logs/strace_line.h"
#include "replay/logs/words.h"

namespace cffs::replay {
namespace {

constexpr std::size_t kMostReading = 1u << 16;
constexpr std::size_t kLongestNumber = 21;  // with what opens it
constexpr std::int64_t kDay = 86'400'000'000'000;
constexpr std::string_view kLetters = "RWCO+D<>";

struct Event {
  std::uint64_t process = 0;
  std::string_view letters, object;
};

// "cat(3279): RC  /a"; the process's name may hold anything, "): " too: the first place that fits is it.
std::optional<Event> event_of(std::string_view line) {
  for (std::size_t end = line.find("): "); end != line.npos; end = line.find("): ", end + 1)) {
    // No further back than a number is long: a line may be a MiB of such places.
    const std::string_view near =
        line.substr(end - std::min(end, kLongestNumber), std::min(end, kLongestNumber));
    const std::size_t open = near.rfind('(');
    if (open == near.npos) continue;
    Event event;
    if (!whole_number(near.substr(open + 1), event.process)) continue;
    std::string_view rest = line.substr(end + 3);
    event.letters = rest.substr(0, rest.find(' '));
    if (event.letters.empty() || event.letters.find_first_not_of(kLetters) != line.npos) continue;
    // Letters are padded to three; what follows is the path to the line's end.
    rest.remove_prefix(std::min(rest.size(), std::max<std::size_t>(event.letters.size(), 3) + 1));
    if (!rest.starts_with('/') && !rest.starts_with("device ")) continue;
    event.object = rest;
    return event;
  }
  return {};
}

}  // namespace

std::optional<FileCall> FatraceEvents::parse(std::string_view line) {
  const auto event = event_of(line);
  if (!event) return {};
  FileCall call;
  call.process = event->process;
  const std::string_view first = line.substr(0, line.find(' '));
  if (std::int64_t ns = 0; strace_time(first, ns)) {
    if (ns + kDay / 2 < last_ns_) days_ns_ += kDay;
    last_ns_ = ns;
    call.time_ms = (ns + days_ns_) / 1'000'000;
  }
  const auto has = [&](char letter) { return event->letters.find(letter) != std::string_view::npos; };
  if (!event->object.starts_with('/')) return call;  // a file without a name
  std::pair<std::uint64_t, std::string> key{event->process, std::string(event->object)};
  const bool going_on = reading_.contains(key) && !has('O');
  if (has('R') && !going_on) {
    call.kind = FileCall::Kind::open;
    call.path = key.second;
  }
  if (has('C') || (has('O') && !has('R'))) {
    reading_.erase(key);
  } else if (has('R')) {
    if (reading_.size() >= kMostReading) reading_.clear();
    reading_.insert(std::move(key));
  }
  return call;
}

}  // namespace cffs::replay
