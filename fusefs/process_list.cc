#include "fusefs/process_list.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <filesystem>

#include "core/base/readable_text.h"

namespace cffs {

std::string of_process(pid_t process, const std::string& what) {
  return "/proc/" + std::to_string(process) + "/" + what;
}

std::vector<std::string> names_in(const std::string& directory) {
  std::vector<std::string> names;
  std::error_code error;
  for (std::filesystem::directory_iterator it(directory, error), end; !error && it != end;
       it.increment(error))
    names.push_back(it->path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<pid_t> all_processes() {
  std::vector<pid_t> processes;
  for (const std::string& name : names_in("/proc")) {
    if (name.find_first_not_of("0123456789") == std::string::npos) processes.push_back(std::stoi(name));
  }
  std::sort(processes.begin(), processes.end());
  return processes;
}

std::string command_of(pid_t process) {
  constexpr std::size_t kLongest = 60;
  const auto content = [process](const char* name) {
    return readable_text(of_process(process, name)).value_or("");
  };
  std::string command = content("cmdline");
  if (command.empty()) command = content("comm");  // a thread of the kernel, or a process that has ended
  while (!command.empty() && (command.back() == '\0' || command.back() == '\n')) command.pop_back();
  for (char& c : command) {
    if (c == '\0') c = ' ';
    if (static_cast<unsigned char>(c) < ' ' || c == '\x7f') c = '?';
  }
  if (command.size() > kLongest) command.replace(kLongest - 3, std::string::npos, "...");
  return command;
}

std::string target_of(const std::string& link) {
  std::array<char, PATH_MAX> buffer{};
  const ssize_t n = ::readlink(link.c_str(), buffer.data(), buffer.size());
  return n > 0 ? std::string(buffer.data(), static_cast<std::size_t>(n)) : std::string();
}

}  // namespace cffs
