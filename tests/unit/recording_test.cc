// Recordings with gaps: calls in another order, threads and redirections that nobody recorded, lists and lines that are odd.
#include <catch2/catch.hpp>
#include <fstream>

#include "replay/import/load_trace.h"
#include "replay/logs/line_reader.h"
#include "replay/logs/site_path.h"
#include "tests/unit/imported_trace.h"
#include "tests/unit/temporary_directory.h"

namespace cffs::replay::test {

using cffs::test::TemporaryDirectory;

TEST_CASE("of two threads that race the one that made a name comes first, though it was written later") {
  const Imported done = import(
      "10 1.000001 clone(child_stack=0x7f, flags=CLONE_VM|CLONE_FS|CLONE_FILES|CLONE_THREAD) = 11\n"
      "10 1.000002 mkdir(\"/r/a/b\", 0755) = -1 ENOENT (No such file or directory)\n"
      "11 1.000010 mkdir(\"/r/a\", 0755 <unfinished ...>\n"
      "10 1.000011 mkdir(\"/r/a/b\", 0755) = 0 <0.000020>\n"
      "10 1.000040 mkdir(\"/r/a\", 0755) = -1 EEXIST (File exists) <0.000010>\n"
      "10 1.000060 openat(AT_FDCWD, \"/r/a/b/f\", O_WRONLY|O_CREAT, 0644) = 3\n"
      "11 1.000070 <... mkdir resumed>) = 0\n"
      "10 1.000080 write(3, \"\"..., 5) = 5\n"
      "10 1.000090 close(3) = 0\n");
  REQUIRE(done.build.surprises == 0);
  REQUIRE(done.build.moved == 1);
  REQUIRE(done.build.supplied == 0);
  REQUIRE(done.trace.initial.empty());
  REQUIRE(words(done.trace) == List{"spawn 11", "mkdir a/b !", "mkdir a", "mkdir a/b", "mkdir a !",
                                    "open a/b/f", "write a/b/f 0+5", "close a/b/f"});
}

TEST_CASE("what began after another call had returned did not come before it") {
  const Imported done = import(
      "10 1.000001 mkdir(\"/r/a\", 0755) = -1 EEXIST (File exists) <0.000002>\n"
      "11 1.100000 rmdir(\"/r/a\") = 0 <0.000002>\n"
      "12 1.200000 mkdir(\"/r/a\", 0755) = 0 <0.000002>\n");
  REQUIRE(done.build.surprises == 0);
  REQUIRE(done.build.moved == 0);
  REQUIRE(done.trace.initial.size() == 1);
}

TEST_CASE("what succeeded when it was recorded succeeds, with what nobody recorded supplied") {
  std::string lines =
      "1 1.1 stat(\"/r/d\", 0x7f) = -1 ENOENT (No such file or directory)\n"
      "1 1.2 openat(AT_FDCWD</r>, \"made\", O_RDWR|O_CREAT|O_EXCL, 0644) = 3</r/made>\n"
      "1 1.3 read(3</r/made>, \"\"..., 100) = 7\n"
      "1 1.4 close(3</r/made>) = 0\n"
      "1 1.5 mkdir(\"/r/made\", 0755) = 0\n";
  for (int i = 0; i < 1000; ++i) lines += "1 2.0 mkdir(\"/r/d/" + std::to_string(i) + "\", 0755) = 0\n";
  const Imported done = import(lines);
  // The read of more than was written, the directory where a file was, the first directory below one that is not there.
  REQUIRE(done.build.surprises == 3);
  REQUIRE(done.build.supplied == 3);
  REQUIRE(done.trace.about.at("surprises") == "3");
  const List all = words(done.trace);
  REQUIRE(List(all.begin(), all.begin() + 9) == List{"stat d !", "open made", "truncate made",
                                                     "read made 0+7", "close made", "unlink made",
                                                     "mkdir made", "mkdir d", "mkdir d/0"});
}

TEST_CASE("threads whose clone was not recorded are known by the descriptors that they share") {
  const Imported done = import(
      "10 1.1 openat(AT_FDCWD, \"/r/early\", O_RDONLY) = 3</r/early>\n"
      "11 1.2 read(3</r/early>, \"\"..., 10) = 10\n"
      "10 1.3 read(3</r/early>, \"\"..., 10) = 4\n"
      "10 1.4 openat(AT_FDCWD, \"/r/late\", O_RDWR|O_CREAT|O_TRUNC, 0644) = 4</r/late>\n"
      "11 1.5 write(4</r/late>, \"\"..., 10) = 10\n"
      "10 1.6 write(4</r/late>, \"\"..., 10) = 5\n"
      "11 1.7 close(4</r/late>) = 0\n"
      "11 1.8 openat(AT_FDCWD, \"/r/late\", O_RDONLY) = 4</r/late>\n"
      "10 1.9 read(4</r/late>, \"\"..., 100) = 15\n"
      "10 2.0 close(4</r/late>) = 0\n"
      "10 2.1 close(3</r/early>) = 0\n");
  REQUIRE(done.build.surprises == 0);
  REQUIRE(words(done.trace) == List{"open early", "read early 0+10", "read early 10+4", "open late",
                                    "write late 0+10", "write late 10+5", "close late", "open late",
                                    "read late 0+15", "close late", "close early"});
}

TEST_CASE("processes whose forks were not recorded keep their own files of one number and path") {
  const Imported done = import(
      "10 1.1 openat(AT_FDCWD, \"/r/a\", O_RDONLY) = 3</r/a>\n"
      "11 1.2 openat(AT_FDCWD, \"/r/a\", O_RDONLY) = 3</r/a>\n"
      "10 1.3 read(3</r/a>, \"\"..., 10) = 10\n"
      "11 1.4 read(3</r/a>, \"\"..., 10) = 10\n"
      "11 1.5 close(3</r/a>) = 0\n"
      "10 1.6 read(3</r/a>, \"\"..., 10) = 2\n"
      "10 1.7 close(3</r/a>) = 0\n");
  REQUIRE(done.build.surprises == 0);
  REQUIRE(words(done.trace) ==
          List{"open a", "open a", "read a 0+10", "read a 0+10", "close a", "read a 10+2", "close a"});
}

TEST_CASE("children whose standard output is a file go on where the one before them stopped") {
  const Imported done = import(
      "1 1.1 openat(AT_FDCWD, \"/r/log\", O_WRONLY|O_CREAT|O_TRUNC, 0666) = 3</r/log>\n"
      "1 1.2 close(3</r/log>) = 0\n"
      "2 1.3 write(1</r/log>, \"\"..., 5) = 5\n"
      "2 1.4 +++ exited with 0 +++\n"
      "3 1.5 write(1</r/log>, \"\"..., 7) = 7\n"
      "4 1.6 write(2</r/log>, \"\"..., 2) = 2\n"
      "3 1.7 close(1</r/log>) = 0\n"
      "5 1.8 openat(AT_FDCWD, \"/r/log\", O_RDONLY) = 3</r/log>\n"
      "5 1.9 read(3</r/log>, \"\"..., 100) = 14\n"
      "4 2.0 write(2</r/log>, \"\"..., 1) = 1\n"
      "1 2.1 openat(AT_FDCWD, \"/r/log\", O_WRONLY|O_CREAT|O_APPEND, 0666) = 3</r/log>\n"
      "1 2.2 close(3</r/log>) = 0\n"
      "6 2.3 write(1</r/log>, \"\"..., 4) = 4\n");
  REQUIRE(done.build.surprises == 0);
  List written;
  for (const std::string& word : words(done.trace)) {
    if (word.starts_with("write")) written.push_back(word);
  }
  REQUIRE(written ==
          List{"write log 0+5", "write log 5+7", "write log 12+2", "write log 14+1", "write log 15+4"});
}

TEST_CASE("a directory that the list of the tree before leaves out is made") {
  const TemporaryDirectory dir;
  std::ofstream(dir.path + "/initial") << "f\t644\t5\t/r/a/b/f\t-\nd\t700\t0\t/r/a\t-\n";
  std::ofstream(dir.path + "/log")
      << "1 1.1 stat(\"/r/a/b/f\", {st_mode=S_IFREG|0644, st_size=5, ...}) = 0\n";
  LoadOptions options;
  options.below = "/r";
  options.initial = dir.path + "/initial";
  LoadReport report;
  const auto trace = load_trace({dir.path + "/log"}, options, report);
  REQUIRE(trace);
  REQUIRE(report.surprises == 0);
  REQUIRE(report.unlisted_parents == 1);
  REQUIRE(report.first_unlisted == "a/b");
  REQUIRE(trace->initial.size() == 3);
  REQUIRE(trace->initial[0].mode == 0700);
}

TEST_CASE("dot segments of a URL are walked, also where they are encoded") {
  REQUIRE(file_of_url_path("/a/../c.css") == "c.css");
  REQUIRE(file_of_url_path("/a/b/%2E%2e/c.css") == "a/c.css");
  REQUIRE(file_of_url_path("/../../c.css") == "c.css");
  REQUIRE(file_of_url_path("/a/b/..") == "a/index.html");
  REQUIRE(file_of_url_path("/a/.") == "a/index.html");
  REQUIRE(file_of_url_path("/..") == "index.html");
  REQUIRE(file_of_url_path("//a//..b") == "a/..b");
}

TEST_CASE("a line of 10 MB is one line") {
  const TemporaryDirectory dir;
  const std::string good = "h - - [01/Aug/1995:02:00:00 -0400] \"GET /a HTTP/1.0\" 200 5\n";
  std::ofstream(dir.path + "/log") << good << std::string(10'000'000, 'x') << "\n"
                                   << good << std::string(3'000'000, 'y');
  std::vector<std::size_t> lengths;
  REQUIRE(each_line(dir.path + "/log", [&](const std::string& line, std::uint64_t) -> Status {
    lengths.push_back(line.size());
    return {};
  }));
  REQUIRE(lengths == std::vector<std::size_t>{good.size() - 1, 1u << 20, good.size() - 1, 1u << 20});
}

TEST_CASE("a path that is longer than any is no file, in recordings and in web logs") {
  std::string path = "/r";
  while (path.size() < 100'000) path += "/a";
  const Imported done = import("1 1.1 mkdir(\"" + path + "\", 0755) = 0\n1 1.2 mkdir(\"/r/b\", 0755) = 0\n");
  CHECK(words(done.trace) == List{"mkdir b"});
  CHECK(done.build.outside == 1);
  const TemporaryDirectory dir;
  const std::string head = "1.2.3.4 - - [10/Oct/2000:13:55:36 -0700] \"GET ", tail = " HTTP/1.0\" 200 5\n";
  std::ofstream(dir.path + "/log") << head << path << tail << head << "/b" << tail;
  LoadReport report;
  const auto trace = load_trace({dir.path + "/log"}, LoadOptions(), report);
  REQUIRE(trace);
  CHECK(trace->initial.size() == 1);
  CHECK(report.passed_over == 1);
}

TEST_CASE("what a terminal would obey is not shown of a recording's lines") {
  const Imported done = import("1 1.1 mkdir(\"/r/b\", 0755) = 0\n\x1b]0;title\x07\n");
  REQUIRE(done.counts.samples.size() == 1);
  CHECK(done.counts.samples.front() == "line 2: \\x1b]0;title\\x07");
}

}  // namespace cffs::replay::test
