// The Python program that drives Spark, as a child process that is asked and answers in lines of JSON.
//
// It ends with this object: who asks no more closes its input, and what runs then is not waited for. It is a session of its own, so
// that it knows all that Spark has started, and a terminal's Ctrl-C comes to cffs alone, which has it end in order.
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <nlohmann/json.hpp>

#include "core/object/file_descriptor.h"
#include "replay/spark/spark_engine.h"

namespace cffs::replay {

class SparkProcess {
 public:
  // `log` gets its standard error; it removes `scratch` when it ends.
  static Result<std::unique_ptr<SparkProcess>> start(const SparkOptions& options, const std::string& log,
                                                     const std::string& scratch);
  // Ends the one that runs, if any, from a handler of signals: nothing of it may be used after that.
  static void end_running();
  ~SparkProcess();
  SparkProcess(const SparkProcess&) = delete;
  SparkProcess& operator=(const SparkProcess&) = delete;

  // Its answer. What it says of its progress on the way is passed on; a problem that it names is the error.
  Result<nlohmann::json> ask(const nlohmann::json& question,
                             const std::function<void(const std::string&)>& on_progress);

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  SparkProcess() = default;

  pid_t pid_ = -1;
  FileDescriptor to_;
  std::unique_ptr<std::FILE, Close> from_;
};

}  // namespace cffs::replay
