#include "replay/spark/spark_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>

namespace cffs::replay {
namespace {

// Writing to who has ended is an error here, no signal. Of this thread alone, as long as it lives.
class NoPipeSignal {
 public:
  NoPipeSignal() {
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    ::pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~NoPipeSignal() {
    const timespec now{};
    while (::sigtimedwait(&pipe_, nullptr, &now) > 0) {
    }
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  NoPipeSignal(const NoPipeSignal&) = delete;
  NoPipeSignal& operator=(const NoPipeSignal&) = delete;

 private:
  sigset_t pipe_{}, before_{};
};

// The one that runs, for a handler of signals, which has no other way to it.
std::atomic<pid_t> running{0};
std::atomic<int> running_input{-1};
static_assert(std::atomic<pid_t>::is_always_lock_free && std::atomic<int>::is_always_lock_free);

// It takes up to ten seconds to end what it has started.
constexpr int kEndTenths = 120;

// For handlers of signals too.
void wait_for(pid_t pid) {
  for (int tenths = 0; ::waitpid(pid, nullptr, WNOHANG) == 0; ++tenths) {
    if (tenths == kEndTenths) ::kill(-pid, SIGKILL);
    (void)::poll(nullptr, 0, 100);
  }
}

}  // namespace

Result<std::unique_ptr<SparkProcess>> SparkProcess::start(const SparkOptions& options, const std::string& log,
                                                          const std::string& scratch) {
  std::array<int, 2> down{}, up{};
  if (::pipe2(down.data(), O_CLOEXEC) != 0) return fail(errno, "pipe");
  FileDescriptor its_input(down[0]), to(down[1]);
  if (::pipe2(up.data(), O_CLOEXEC) != 0) return fail(errno, "pipe");
  FileDescriptor from(up[0]), its_output(up[1]);
  FileDescriptor errors(::open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (!errors) return fail(errno, log);
  const std::string python = options.place + "/bin/python";
  std::array<std::string, 4> words{python, "-B", options.program, scratch};
  std::array<char*, 5> argv{words[0].data(), words[1].data(), words[2].data(), words[3].data(), nullptr};
  const pid_t pid = ::fork();
  if (pid < 0) return fail(errno, "fork");
  if (pid == 0) {
    (void)::setsid();
    ::dup2(its_input.get(), STDIN_FILENO);
    ::dup2(its_output.get(), STDOUT_FILENO);
    ::dup2(errors.get(), STDERR_FILENO);
    ::execv(python.c_str(), argv.data());
    ::_exit(127);
  }
  std::unique_ptr<SparkProcess> process(new SparkProcess());
  process->pid_ = pid;
  process->to_ = std::move(to);
  running_input.store(process->to_.get());
  running.store(pid);
  process->from_.reset(::fdopen(from.get(), "r"));
  if (!process->from_) return fail(errno, "fdopen");
  (void)from.release();
  return process;
}

SparkProcess::~SparkProcess() {
  running_input.store(-1);
  to_.reset();
  // It ends by itself when it sees that; Spark's own end is not worth a long wait.
  from_.reset();
  if (pid_ > 0) wait_for(pid_);
  running.store(0);
}

void SparkProcess::end_running() {
  if (const int input = running_input.exchange(-1); input >= 0) ::close(input);
  if (const pid_t pid = running.load(); pid > 0) wait_for(pid);
}

Result<nlohmann::json> SparkProcess::ask(const nlohmann::json& question,
                                         const std::function<void(const std::string&)>& on_progress) {
  const NoPipeSignal quiet;
  const std::string line = question.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  for (std::size_t at = 0; at < line.size();) {
    const ssize_t n = ::write(to_.get(), line.data() + at, line.size() - at);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) break;  // it has ended; what it said before is there to read
    at += static_cast<std::size_t>(n);
  }
  char* text = nullptr;
  std::size_t room = 0;
  const auto freed = [](char** t) { std::free(*t); };
  const std::unique_ptr<char*, decltype(freed)> owner(&text, freed);
  while (::getline(&text, &room, from_.get()) > 0) {
    nlohmann::json answer = nlohmann::json::parse(text, nullptr, false);
    if (!answer.is_object()) continue;  // a library's word
    if (answer.contains("problem")) return fail(Error::usage(answer["problem"].get<std::string>()));
    if (!answer.contains("step")) return answer;
    if (on_progress) on_progress(answer["step"].get<std::string>());
  }
  int status = 0;
  if (::waitpid(pid_, &status, 0) == pid_) {
    running.store(0);
    pid_ = -1;
  }
  return fail(
      Error::usage("Spark's program ended before its answer; --spark-log=FILE keeps what it said, and less "
                   "memory is asked "
                   "for with --spark-conf=spark.driver.memory=1g"));
}

}  // namespace cffs::replay
