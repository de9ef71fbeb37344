// Recordings of a whole machine: lines of fatrace (paths shortened; the file without a name is its manual's), of opensnoop.bt in the
// columns that its documentation shows.
#include <catch2/catch.hpp>
#include <fstream>

#include "replay/analysis/analysis.h"
#include "replay/import/load_trace.h"
#include "replay/logs/fatrace_events.h"
#include "replay/logs/opensnoop_line.h"
#include "tests/unit/temporary_directory.h"

namespace cffs::replay::test {
namespace {

using Kind = FileCall::Kind;

const std::string kFatrace =
    "17:58:27.682912 mkdir(3275): CO+ /srv/src\n"
    "17:58:27.683594 bash(3259): +   /srv/src\n"
    "17:58:27.683594 bash(3259): CWO /srv/src/a1.h\n"
    "17:58:27.690504 unknown(3277): RCO /srv/src/a1.h\n"
    "17:58:27.690504 unknown(3277): RCO /srv/src/a b/f1\n"
    "17:58:27.698401 cat(3279): O   /srv/src/a1.h\n"
    "17:58:27.698649 cat(3279): RC  /srv/src/a1.h\n"
    "17:58:27.698649 cat(3279): RCO /srv/src/a b/f1\n"
    "17:58:27.706417 cat(3281): O   /srv/src/a1.h\n"
    "17:58:27.706529 cat(3281): R   /srv/src/a1.h\n"
    "17:58:27.706567 cat(3281): C   /srv/src/a1.h\n"
    "17:58:27.706741 cat(3281): RCO /srv/src/a b/f1\n"
    "17:58:27.710721 mv(3282): <>  /srv/src\n"
    "17:58:27.714508 rm(3283): D   /srv/src\n"
    "17:58:27.718708 ls(3284): O   /srv/src\n"
    "17:58:27.718761 ls(3284): RC  /srv/src\n"
    "17:58:27.723810 cp(3285): CW  device 8:2 inode 658203\n";

std::string opensnoop() {
  std::string text =
      "Attaching 3 probes...\nTracing open syscalls... Hit Ctrl-C to end.\nPID    COMM               FD ERR "
      "PATH\n";
  for (const char* pid : {"2570 ", "25706", "25707"}) {
    text += pid;
    text += "  ls                  3   0 /etc/ld.so.cache\n";
    text += pid;
    text += "  ls                  3   0 /lib/x86_64-linux-gnu/libc.so.6\n";
    text += pid;
    text += "  snmpd              -1   2 /sys/class/net/lo/device/vendor\n";
  }
  return text;
}

Result<Analysis> analysed(const std::string& text, const std::string& below = {}) {
  const cffs::test::TemporaryDirectory directory;
  const std::string file = directory.path + "/recording";
  std::ofstream(file) << text;
  AnalysisOptions options;
  options.reader.below = below;
  return analyse({file}, options, {});
}

}  // namespace

TEST_CASE("fatrace tells a read once for each open, whoever the process is and however lines are merged") {
  FatraceEvents events;
  const auto kind = [&](std::string_view line) { return events.parse(line)->kind; };
  REQUIRE(kind("cat(7): O   /a") == Kind::other);
  REQUIRE(kind("cat(7): R   /a") == Kind::open);
  REQUIRE(kind("cat(7): R   /a") == Kind::other);
  REQUIRE(kind("cat(8): R   /a") == Kind::open);
  REQUIRE(kind("cat(7): C   /a") == Kind::other);
  REQUIRE(kind("cat(7): RCO /a") == Kind::open);
  REQUIRE(kind("cat(7): RO  /a") == Kind::open);
  REQUIRE(kind("cat(7): O   /a") == Kind::other);
  REQUIRE(kind("cat(7): R   /a") == Kind::open);
  REQUIRE(kind("cat(7): CWO /a") == Kind::other);
  REQUIRE(kind("cat(7): R   device 8:2 inode 658203") == Kind::other);
  const auto odd = events.parse("1795456707.690452 a (b): c(9): RC  /x y(1): R /z");
  REQUIRE(odd);
  REQUIRE(odd->process == 9);
  REQUIRE(odd->time_ms == 1795456707690);
  REQUIRE(odd->path == "/x y(1): R /z");
  for (const char* bad : {"cat(7): X   /a", "cat(x): R   /a", "cat(7): R   a", "cat(7): R", "", "cat(7)"}) {
    INFO(bad);
    REQUIRE(!events.parse(bad));
  }
}

TEST_CASE("fatrace's times go on behind midnight") {
  FatraceEvents events;
  const auto before = events.parse("23:59:59.900000 cat(7): RCO /a"),
             after = events.parse("00:00:00.100000 cat(7): RCO /b");
  REQUIRE(after->time_ms - before->time_ms == 200);
}

TEST_CASE("opensnoop's lines are taken apart by its columns") {
  const auto line = parse_opensnoop_line("25706  my own tool         3   0 /etc/a b");
  REQUIRE(line);
  REQUIRE(line->kind == Kind::open);
  REQUIRE(line->process == 25706);
  REQUIRE(line->path == "/etc/a b");
  const auto timed = parse_opensnoop_line("1.500000000   25706  ls                  3   0 /a");
  REQUIRE(timed);
  REQUIRE(timed->time_ms == 1500);
  REQUIRE(parse_opensnoop_line("1744   snmpd              -1   2 /a")->kind == Kind::other);
  for (const char* bad : {"25706  ls", "25706  ls                  x   0 /a",
                          "25706  ls                  3   0", "what is this", ""}) {
    INFO(bad);
    REQUIRE(!parse_opensnoop_line(bad));
  }
}

TEST_CASE("recordings of a whole machine are recognised and become groups") {
  const auto fatrace = analysed(kFatrace, "/srv");
  REQUIRE(fatrace);
  REQUIRE(fatrace->plan.inputs[0].format == "fatrace");
  REQUIRE(fatrace->plan.inputs[0].malformed == 0);
  REQUIRE(fatrace->plan.inputs[0].accesses == 7);  // two files by three processes, and a directory
  REQUIRE(fatrace->sessions.sessions == 4);
  REQUIRE(fatrace->plan.groups.size() == 1);
  REQUIRE(fatrace->plan.files[0].path == "src/a1.h");
  REQUIRE(fatrace->plan.files[1].path == "src/a b/f1");
  REQUIRE(fatrace->plan.files[2].path.empty());  // src: read as a directory is
  const auto opens = analysed(opensnoop());
  REQUIRE(opens);
  REQUIRE(opens->plan.inputs[0].format == "opensnoop");
  REQUIRE(opens->plan.inputs[0].malformed == 0);
  REQUIRE(opens->plan.inputs[0].accesses == 6);
  REQUIRE(opens->plan.groups.size() == 1);
  REQUIRE(opens->plan.groups[0].items.size() == 2);
}

TEST_CASE("garbage in a recording of a whole machine ends with file, line and cure") {
  for (const std::string& good : {kFatrace, opensnoop()}) {
    std::string text = good;
    for (int i = 0; i < 5; ++i) text += "no\033such line\n";
    const auto refused = analysed(text);
    REQUIRE(!refused);
    const std::string sentence = refused.error().message();
    INFO(sentence);
    REQUIRE(sentence.find("recording line ") != std::string::npos);
    REQUIRE(sentence.find("--max-bad") != std::string::npos);
    REQUIRE(sentence.find('\033') == std::string::npos);
  }
}

TEST_CASE("who wants to replay a recording of a whole machine is told what reads it") {
  const cffs::test::TemporaryDirectory directory;
  const std::string path = directory.path + "/work.fatrace";
  std::ofstream(path) << kFatrace;
  LoadReport report;
  const auto loaded = load_trace({path}, {}, report);
  REQUIRE_FALSE(loaded);
  CHECK(loaded.error().message().find("work.fatrace is a recording of fatrace") != std::string::npos);
  CHECK(loaded.error().message().find("cffs analyze") != std::string::npos);
}

}  // namespace cffs::replay::test
