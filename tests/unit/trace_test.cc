// Traces: what strace's lines become, what is inferred, files, slices.
#include <fcntl.h>
#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <random>
#include <sstream>
#include <tuple>

#include "replay/import/load_trace.h"
#include "replay/import/record_command.h"
#include "replay/import/strace_import.h"
#include "replay/model/trace_slice.h"
#include "replay/play/make_tree.h"
#include "replay/play/player.h"
#include "replay/trace/trace_file.h"
#include "replay/trace/trace_summary.h"
#include "tests/unit/file_size_limit.h"
#include "tests/unit/imported_trace.h"
#include "tests/unit/temporary_directory.h"

namespace cffs::replay::test {
namespace {

using cffs::test::TemporaryDirectory;

}  // namespace

TEST_CASE("strace lines are taken apart in all their forms") {
  const auto full = parse_strace(
      R"(29755 1795228278.568819 openat(AT_FDCWD</proj/work>, "a, \"b\").h", O_RDONLY|O_CLOEXEC) = 3</proj/work/a> <0.000012>)");
  REQUIRE(full);
  REQUIRE(full->kind == StraceLine::Kind::call);
  REQUIRE(full->process == 29755);
  REQUIRE(full->time_ns == 1795228278568819000);
  REQUIRE(full->arguments.size() == 3);
  REQUIRE(quoted(full->arguments[1]) == R"(a, "b").h)");
  REQUIRE(open_flags(full->arguments[2]) == (O_RDONLY | O_CLOEXEC));
  REQUIRE(full->value() == 3);
  REQUIRE(full->duration_ns == 12000);
  REQUIRE(descriptor_of(full->result).path == "/proj/work/a");
  const auto odd = parse_strace(R"([pid  17] 12:00:01.5 read(3</a>b,(c)>, ""..., 80) = 80)");
  REQUIRE(odd);
  REQUIRE(odd->process == 17);
  REQUIRE(odd->time_ns == 43201500000000);
  REQUIRE(descriptor_of(odd->arguments[0]).path == "/a>b,(c)");
  REQUIRE(parse_strace(R"(fstat(3</x>(deleted), {st_mode=S_IFREG|0644, st_size=7, ...}) = 0)")
              ->arguments.size() == 2);
  REQUIRE(parse_strace(R"(1 access("/etc/x", R_OK) = -1 ENOENT (No such file or directory))")->value() ==
          -ENOENT);
  REQUIRE(!parse_strace("1 exit_group(0) = ?")->value());
  REQUIRE(parse_strace("1 1.5 +++ exited with 0 +++")->kind == StraceLine::Kind::exited);
  REQUIRE(parse_strace("1 --- SIGCHLD {si_signo=SIGCHLD} ---")->kind == StraceLine::Kind::other);
  REQUIRE(!full->relative);
  REQUIRE(!odd->relative);
  REQUIRE(parse_strace("1      0.000123 close(3) = 0")->relative);
  REQUIRE(parse_strace("1 read(3,  <unfinished ...>")->kind == StraceLine::Kind::unfinished);
  REQUIRE(parse_strace("1 <... read resumed> \"\", 5) = 5")->kind == StraceLine::Kind::resumed);
  for (const char* bad : {"", "words", "1 read(3", "1 read(3, \"x", "read(3) 5", "1 2 3", "<... resumed"}) {
    INFO(bad);
    REQUIRE(!parse_strace(bad));
  }
}

TEST_CASE("a recording is followed through forks, dups, exec, relative paths and lines cut in two") {
  const Imported done = import(
      "10 1.000001 openat(AT_FDCWD</r>, \"a\", O_RDWR|O_CREAT, 0644) = 3</r/a>\n"
      "10 1.000002 write(3</r/a>, \"\"..., 5) = 5\n"
      "10 1.000003 dup2(3</r/a>, 7) = 7</r/a>\n"
      "10 1.000004 close(3</r/a>) = 0\n"
      "10 1.000005 openat(AT_FDCWD</r>, \"secret\", O_WRONLY|O_CREAT|O_CLOEXEC, 0600) = 4</r/secret>\n"
      "10 1.000006 vfork( <unfinished ...>\n"
      "11 1.000007 lseek(7</r/a>, 1, SEEK_SET) = 1\n"
      "11 1.000008 chdir(\"d\") = 0\n"
      "11 1.000009 execve(\"/bin/true\", [\"true\"], 0x7ffd /* 3 vars */) = 0\n"
      "10 1.000010 <... vfork resumed>) = 11\n"
      "11 1.000011 read(7</r/a>,  <unfinished ...>\n"
      "10 1.000012 wait4(-1,  <unfinished ...>\n"
      "11 1.000013 <... read resumed>\"\"..., 4096) = 4\n"
      "11 1.000014 read(4, \"\", 9) = -1 EBADF (Bad file descriptor)\n"
      "11 1.000015 open(\"inside\", O_RDONLY) = -1 ENOENT (No such file or directory)\n"
      "11 1.000016 rename(\"../a\", \"b\") = 0\n"
      "11 1.000017 +++ exited with 0 +++\n"
      "10 1.000018 <... wait4 resumed>NULL, 0, NULL) = 11\n"
      "10 1.000019 pwrite64(7</r/d/b>, \"\"..., 3, 100) = 3\n"
      "10 1.000020 newfstatat(7</r/d/b>, \"\", {st_mode=S_IFREG|0644, st_size=103, ...}, AT_EMPTY_PATH) = 0\n"
      "10 1.000021 mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, 7</r/d/b>, 0) = 0x7f12\n"
      "10 1.000022 unlinkat(AT_FDCWD</r>, \"d\", AT_REMOVEDIR) = -1 ENOTEMPTY (Directory not empty)\n"
      "10 1.000023 socket(AF_INET, SOCK_STREAM, 0) = 9<socket:[5]>\n"
      "10 1.000024 write(9<socket:[5]>, \"\", 5) = 5\n"
      "what is this\n");
  REQUIRE(words(done.trace) == List{"open a", "write a 0+5", "open secret", "spawn 11", "read a 1+4",
                                    "open d/inside !", "rename a d/b", "reap 11", "write a 100+3", "stat a",
                                    "read a 0+103", "rmdir d !", "close secret", "close a"});
  REQUIRE(done.counts.malformed == 1);
  REQUIRE(done.build.surprises == 0);
  // The directory must have been there: it was entered and named in paths.
  REQUIRE(done.trace.initial.size() == 1);
  REQUIRE(done.trace.path(done.trace.initial[0].path) == "d");
  REQUIRE(done.trace.initial[0].kind == 'd');
}

TEST_CASE("the tree before is inferred from what was found") {
  const Imported done = import(
      "1 1.1 stat(\"/r/x/size\", {st_mode=S_IFREG|0640, st_size=17, ...}) = 0\n"
      "1 1.2 openat(AT_FDCWD</r>, \"read\", O_RDONLY) = 3</r/read>\n"
      "1 1.3 read(3</r/read>, \"\"..., 4096) = 4096\n"
      "1 1.4 read(3</r/read>, \"\"..., 4096) = 100\n"
      "1 1.5 openat(AT_FDCWD</r>, \"made\", O_WRONLY|O_CREAT|O_TRUNC, 0644) = 4</r/made>\n"
      "1 1.6 openat(AT_FDCWD</r>, \"no/way\", O_RDONLY) = -1 ENOENT (No such file or directory)\n"
      "1 1.7 mkdir(\"/r/old\", 0755) = -1 EEXIST (File exists)\n"
      "1 1.8 rename(\"/r/x\", \"/r/y\") = 0\n"
      "1 1.9 stat(\"/r/y/late\", {st_mode=S_IFREG|0644, st_size=3, ...}) = 0\n"
      "1 2.0 readlink(\"/r/link\", \"...\", 99) = 4\n"
      "1 2.1 stat(\"/other/place\", {st_mode=S_IFREG|0644, st_size=3, ...}) = 0\n");
  std::map<std::string, std::pair<char, std::uint64_t>> tree;
  for (const InitialEntry& e : done.trace.initial) tree[done.trace.path(e.path)] = {e.kind, e.size};
  REQUIRE(tree == std::map<std::string, std::pair<char, std::uint64_t>>{{"link", {'l', 0}},
                                                                        {"old", {'d', 0}},
                                                                        {"read", {'f', 4196}},
                                                                        {"x", {'d', 0}},
                                                                        {"x/late", {'f', 3}},
                                                                        {"x/size", {'f', 17}}});
  REQUIRE(done.build.surprises == 0);
  REQUIRE(done.build.outside == 1);
}

TEST_CASE("traces survive their files, whole, compressed and damaged") {
  const TemporaryDirectory directory;
  Trace trace;
  trace.about["root"] = "/r";
  trace.initial.push_back({trace.intern(std::string("odd\n\xff name")), 'f', 0600, 12345678901, {}});
  trace.initial.push_back({trace.intern("link"), 'l', 0777, 0, "target"});
  std::mt19937_64 random(5);
  for (int i = 0; i < 2000; ++i) {
    Operation o;
    o.time_ns = i * 1000;
    o.client = trace.client("c" + std::to_string(random() % 5));
    o.call = random() % 2 == 0 ? Call::stat : Call::rename;
    o.path = static_cast<PathId>(random() % 2);
    if (o.call == Call::rename) o.path2 = trace.intern("p" + std::to_string(random() % 50));
    o.result = random() % 3 == 0 ? -ENOENT : 0;
    o.offset = random() >> 2;
    o.mode = static_cast<std::uint32_t>(random());
    trace.operations.push_back(o);
  }
  const std::string file = directory.path + "/t.db";
  REQUIRE(write_trace(file, trace));
  REQUIRE(std::system(("xz -k " + file + " && zstd -q " + file).c_str()) == 0);
  for (const char* suffix : {"", ".xz", ".zst"}) {
    REQUIRE(is_trace_file(file + suffix));
    const auto again = read_trace(file + suffix);
    REQUIRE(again);
    REQUIRE(again->paths() == trace.paths());
    REQUIRE(again->clients() == trace.clients());
    REQUIRE(again->operations.size() == trace.operations.size());
    for (std::size_t i = 0; i < trace.operations.size(); ++i) {
      const Operation &a = trace.operations[i], &b = again->operations[i];
      REQUIRE(std::tie(a.time_ns, a.client, a.call, a.path, a.path2, a.result, a.offset, a.mode) ==
              std::tie(b.time_ns, b.client, b.call, b.path, b.path2, b.result, b.offset, b.mode));
    }
    REQUIRE(again->initial.size() == 2);
  }
  std::ofstream(directory.path + "/junk") << "SQLite format 3 but not really";
  REQUIRE(!read_trace(directory.path + "/junk"));
  REQUIRE(!read_trace(directory.path + "/missing"));
  REQUIRE(!write_trace(directory.path, trace));
  REQUIRE(std::system(("sqlite3 " + file + " \"UPDATE operations SET call='fly' WHERE id=7\"").c_str()) == 0);
  const auto damaged = read_trace(file);
  REQUIRE(!damaged);
  REQUIRE(damaged.error().message().find("operation 7 is 'fly'") != std::string::npos);
  REQUIRE(std::system(("sqlite3 " + file + " \"UPDATE operations SET call='stat', path=99999 WHERE id=7\"")
                          .c_str()) == 0);
  REQUIRE(!read_trace(file));
  for (const char* flaw :
       {"UPDATE operations SET call='stat', path=0 WHERE id=7; UPDATE paths SET path='../../etc/passwd' "
        "WHERE id=0",
        "UPDATE paths SET path='/etc/passwd' WHERE id=0", "UPDATE paths SET path='a/..' WHERE id=0",
        "UPDATE paths SET path='fine' WHERE id=0; UPDATE operations SET path=NULL WHERE call='rename'"}) {
    INFO(flaw);
    REQUIRE(std::system(("sqlite3 " + file + " \"" + flaw + "\"").c_str()) == 0);
    REQUIRE(!read_trace(file));
  }
  REQUIRE(std::system(("sqlite3 " + file +
                       " \"UPDATE operations SET call='stat', path=0, path2=NULL, handle=4000000000\"")
                          .c_str()) == 0);
  const auto renumbered = read_trace(file);
  REQUIRE(renumbered);
  REQUIRE(renumbered->operations[5].handle == 1);
  // Truncated anywhere, flipped anywhere: an error or a trace, never a crash.
  std::ifstream in(file, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  for (int i = 0; i < 200; ++i) {
    std::string broken = bytes;
    if (i % 2 == 0) broken.resize(random() % broken.size());
    for (int k = 0; k < 20 && !broken.empty(); ++k)
      broken[random() % broken.size()] = static_cast<char>(random());
    std::ofstream(directory.path + "/broken", std::ios::binary) << broken;
    (void)read_trace(directory.path + "/broken");
  }
}

TEST_CASE("a slice starts from the tree that the operations before it left") {
  const Imported done = import(
      "1 1.0 mkdir(\"/r/d\", 0755) = 0\n"
      "1 2.0 openat(AT_FDCWD</r>, \"d/f\", O_RDWR|O_CREAT|O_EXCL, 0644) = 3</r/d/f>\n"
      "1 3.0 write(3</r/d/f>, \"\"..., 10) = 10\n"
      "1 4.0 rename(\"/r/d\", \"/r/e\") = 0\n"
      "1 5.0 write(3</r/e/f>, \"\"..., 10) = 10\n"
      "1 6.0 close(3</r/e/f>) = 0\n"
      "1 7.0 unlink(\"/r/e/f\") = 0\n");
  SliceOptions options;
  options.from_s = 10;  // times without an epoch are those of -r, since the line before
  Trace part = slice(done.trace, options);
  REQUIRE(words(part) == List{"open e/f", "write e/f 10+10", "close e/f", "unlink e/f"});
  REQUIRE(part.initial.size() == 2);
  REQUIRE(part.path(part.initial[1].path) == "e/f");
  REQUIRE(part.initial[1].size == 10);
  options = {};
  options.below = "e";
  options.first = 5;
  part = slice(done.trace, options);
  REQUIRE(words(part) == List{"open f", "write f 10+10", "close f", "unlink f"});
  REQUIRE(part.about["root"] == "/r/e");
  options = {};
  options.from_s = 100;
  REQUIRE(slice(done.trace, options).operations.empty());
}

TEST_CASE("a call that another process interrupts is read like one that none does") {
  const Imported done = import(
      "1 1.0 openat(AT_FDCWD</r>, \"f\", O_WRONLY|O_CREAT|O_EXCL, 0644) = 3</r/f>\n"
      "1 1.0 close(3</r/f>) = 0\n"
      "1 1.0 openat(AT_FDCWD</r>, \"f\", O_RDONLY|O_PATH|O_DIRECTORY <unfinished ...>\n"
      "2 1.0 exit_group(0) = ?\n"
      "1 1.0 <... openat resumed>)             = -1 ENOTDIR (Not a directory)\n");
  REQUIRE(done.trace.operations.size() == 3);
  REQUIRE((done.trace.operations[2].flags & O_DIRECTORY) != 0);
  REQUIRE(done.build.surprises == 0);
}

TEST_CASE("a symbolic link that is opened itself, as tar does, is no surprise") {
  const Imported done = import(
      "1 1.0 symlink(\"README.md\", \"/r/README\") = 0\n"
      "1 1.0 openat(AT_FDCWD</r>, \"README\", O_RDONLY|O_NOFOLLOW|O_CLOEXEC|O_PATH) = 3</r/README>\n"
      "1 1.0 openat(AT_FDCWD</r>, \"README\", O_RDONLY|O_NOFOLLOW|O_CLOEXEC) = -1 ELOOP (Too many levels of "
      "symbolic links)\n"
      "1 1.0 close(3</r/README>) = 0\n");
  CHECK(done.build.surprises == 0);
  CHECK(done.trace.operations.size() == 4);
}

TEST_CASE("what comes from outside of the tree, or goes there, has a place of its own") {
  const char* const kCalls =
      "1 1.0 mkdir(\"/r/objects\", 0755) = 0\n"
      "1 1.0 link(\"/from/objects/a\", \"/r/objects/a\") = 0\n"
      "1 1.0 linkat(5</from/objects>, \"b\", AT_FDCWD</r>, \"objects/b\", 0) = 0\n"
      "1 1.0 stat(\"/r/objects/a\", {st_mode=S_IFREG|0444, st_size=700, ...}) = 0\n"
      "1 1.0 rename(\"/tmp/download\", \"/r/package\") = 0\n"
      "1 1.0 rename(\"/r/package\", \"/trash/package\") = 0\n"
      "1 1.0 rename(\"/trash/nothing\", \"/r/nothing\") = -1 EXDEV (Invalid cross-device link)\n";
  const List kWords = {
      "mkdir objects",  "link .outside/from/objects/a objects/a", "link .outside/from/objects/b objects/b",
      "stat objects/a", "rename .outside/tmp/download package",   "rename package .outside/trash/package"};
  const auto entry = [](const Trace& trace, const std::string& path) {
    for (const InitialEntry& e : trace.initial) {
      if (trace.path(e.path) == path) return e;
    }
    FAIL(path);
    return InitialEntry{};
  };
  const Imported done = import(kCalls);
  CHECK(words(done.trace) == kWords);
  CHECK(done.build.surprises == 0);
  CHECK(done.build.from_outside == 4);
  CHECK(done.build.outside == 1);
  CHECK(entry(done.trace, ".outside/from/objects/a").size == 700);
  CHECK(entry(done.trace, ".outside/trash").kind == 'd');
  // The same where the tree before is known: parents come first in it.
  TraceBuilder builder("/r");
  builder.know_initial({{builder.trace().intern("zebra"), 'f', 0644, 3, {}}});
  StraceImporter importer(builder, "/r");
  std::istringstream lines(kCalls);
  for (std::string line; std::getline(lines, line);) {
    if (line.find("st_size") == line.npos) importer.line(line, 1);
  }
  importer.finish();
  const std::uint64_t surprises = builder.counts().surprises;
  const Trace trace = builder.finish();
  CHECK(surprises == 0);
  CHECK(entry(trace, ".outside/tmp/download").kind == 'f');
  CHECK(trace.path(trace.initial.front().path) == ".outside");
  CHECK(trace.path(trace.initial.back().path) == "zebra");
}

TEST_CASE("a slice whose first operation is not its earliest is a trace like any other") {
  Imported done = import(
      "1 1.0 mkdir(\"/r/a\", 0755) = 0\n"
      "1 1.0 mkdir(\"/r/b\", 0755) = 0\n"
      "1 1.0 mkdir(\"/r/c\", 0755) = 0\n");
  done.trace.operations[1].time_ns = 5'000'000'000;  // as in a log that is written when requests end
  done.trace.operations[2].time_ns = 3'000'000'000;
  SliceOptions options;
  options.first = 2;
  const Trace part = slice(done.trace, options);
  REQUIRE(part.operations.size() == 2);
  REQUIRE(part.operations[0].time_ns == 2'000'000'000);
  REQUIRE(part.operations[1].time_ns == 0);
  const TemporaryDirectory directory;
  REQUIRE(write_trace(directory.path + "/part.db", part));
  REQUIRE(read_trace(directory.path + "/part.db"));
}

TEST_CASE("a child whose end is told before its parent's clone returns is one child") {
  const Imported done = import(
      "10 1.0 openat(AT_FDCWD</r>, \"a\", O_RDONLY) = 3</r/a>\n"
      "10 1.1 clone(child_stack=NULL, flags=SIGCHLD <unfinished ...>\n"
      "11 1.2 exit_group(0) = ?\n"
      "11 1.3 +++ exited with 0 +++\n"
      "10 1.4 <... clone resumed>) = 11\n"
      "10 1.5 close(3</r/a>) = 0\n"
      "10 1.6 mkdir(\"/r/d\", 0755) = 0\n");
  REQUIRE(words(done.trace) == List{"open a", "spawn 11", "close a", "mkdir d"});
}

TEST_CASE("a trace of which a part could not be written does not take its name") {
  const TemporaryDirectory directory;
  const std::string file = directory.path + "/t.db";
  Trace trace;
  trace.intern("earlier");
  REQUIRE(write_trace(file, trace));
  auto writer = TraceWriter::create(file);
  REQUIRE(writer);
  const auto more = [&](int operations) {
    for (int i = 0; i < operations; ++i) {
      Operation o;
      o.call = Call::stat;
      o.client = trace.client("c");
      o.path = trace.intern(std::string(200, 'p') + std::to_string(i));
      trace.operations.push_back(o);
    }
  };
  more(100);
  REQUIRE(writer->append(trace));
  more(50'000);
  const auto failed = [&] {
    const cffs::test::FileSizeLimit full(1 << 20);
    return writer->append(trace);
  }();
  REQUIRE_FALSE(failed);
  // There is room again: what came of the failed part nobody knows.
  CHECK_FALSE(writer->append(trace));
  const auto finished = writer->finish(trace);
  REQUIRE_FALSE(finished);
  CHECK(finished.error().message() == failed.error().message());
  const auto there = read_trace(file);
  REQUIRE(there);
  CHECK(there->operations.empty());
  CHECK(there->paths() == std::vector<std::string>{"earlier"});
}

TEST_CASE("a command is recorded with its children") {
  const TemporaryDirectory directory;
  std::ofstream(directory.path + "/before") << "hello";
  const auto recorded = record_command(
      {"/bin/sh", "-c",
       "cd " + directory.path + "; cat before > after; (echo more >> after) & wait; mv after b; exit 5"},
      directory.path);
  REQUIRE(recorded);
  REQUIRE(recorded->exit_code == 5);
  REQUIRE(recorded->report.surprises == 0);
  REQUIRE(recorded->trace.initial.size() == 1);
  const TraceSummary s = summary_of(recorded->trace);
  const auto calls = [&](Call call) { return s.calls[static_cast<std::size_t>(call)]; };
  REQUIRE(calls(Call::write).bytes == 10);
  REQUIRE(calls(Call::rename).calls == 1);
  REQUIRE(calls(Call::spawn).calls >= 2);
  REQUIRE(s.changes);
  REQUIRE(!record_command({"true"}, directory.path + "/missing"));
  REQUIRE(!record_command({"no-such-command"}, directory.path));
  REQUIRE(!record_command({directory.path}, directory.path));
  std::ofstream(directory.path + "/script") << "#!/no/such/interpreter\n";
  REQUIRE(::chmod((directory.path + "/script").c_str(), 0755) == 0);
  REQUIRE(!record_command({directory.path + "/script"}, directory.path));
}

TEST_CASE("files that a recorded process left open are closed when it ends, before its number comes again") {
  const TemporaryDirectory directory;
  const auto recorded = record_command(
      {"/bin/sh", "-c", "cd " + directory.path + "; sh -c 'exec 5>left; echo hello >&5'; cat left"},
      directory.path);
  REQUIRE(recorded);
  std::uint32_t written = kNoHandle;
  std::size_t closed = 0, read = 0;
  for (std::size_t i = 0; i < recorded->trace.operations.size(); ++i) {
    const Operation& o = recorded->trace.operations[i];
    if (o.call == Call::write) written = o.handle;
    if (o.call == Call::close && o.handle == written && written != kNoHandle) closed = i;
    if (o.call == Call::read && o.result == 6) read = i;
  }
  CHECK(closed > 0);
  CHECK(read > closed);
}

TEST_CASE("a directory that is moved into a recorded tree comes with what is in it") {
  const TemporaryDirectory directory;
  const std::string tree = directory.path + "/tree";
  REQUIRE(::mkdir(tree.c_str(), 0755) == 0);
  const auto recorded = record_command({"/bin/sh", "-c",
                                        "cd " + directory.path +
                                            "; mkdir -p new/sub; echo hello > new/sub/f; mv new tree/; ln "
                                            "tree/new/sub/f kept; cat tree/new/sub/f"},
                                       tree);
  REQUIRE(recorded);
  REQUIRE(recorded->exit_code == 0);
  CHECK(recorded->report.surprises == 0);
  CHECK(recorded->report.from_outside == 2);
  std::map<std::string, std::uint64_t> files;
  for (const InitialEntry& entry : recorded->trace.initial) {
    if (entry.kind == 'f') files.emplace(recorded->trace.path(entry.path), entry.size);
  }
  CHECK(files == std::map<std::string, std::uint64_t>{{".outside" + directory.path + "/new/sub/f", 6}});
}

TEST_CASE("what a file holds is recognised, and refused in a sentence where it is nothing known") {
  const TemporaryDirectory directory;
  const std::string file = directory.path + "/input";
  LoadReport report;
  std::ofstream(file) << "12\t1\topen\t3\t3\t/r/a\t-\tO_RDONLY\t-\n30\t1\tread\t5\t3\t/r/a\t-\t-\t-\n";
  auto trace = load_trace({file}, {}, report);
  REQUIRE(trace);
  REQUIRE(report.format == "calls");
  REQUIRE(trace->operations.size() == 3);
  std::ofstream(file) << "h - - [01/Aug/1995:00:00:00 -0400] \"GET /a HTTP/1.0\" 200 5\n";
  REQUIRE(load_trace({file}, {}, report));
  REQUIRE(report.format == "common");
  LoadOptions options;
  options.below = "/elsewhere";
  std::ofstream(file) << "1 1.0 mkdir(\"/r/d\", 0755) = 0\n";
  trace = load_trace({file}, options, report);
  REQUIRE(!trace);
  REQUIRE(trace.error().message().find("--below") != std::string::npos);
  std::ofstream(file) << "1 1.0 mkdir(\"/r/d\", 0755) = 0\nnonsense\nnonsense\n";
  REQUIRE(!load_trace({file}, {}, report));
  std::ofstream(file) << "nothing known\n";
  trace = load_trace({file}, {}, report);
  REQUIRE(!trace);
  REQUIRE(trace.error().message().find("--format") != std::string::npos);
  REQUIRE(!load_trace({directory.path + "/missing"}, {}, report));
}

namespace {

// Made a file, and read again.
Result<Trace> written_and_read(const Trace& trace) {
  const TemporaryDirectory directory;
  CFFS_TRY_VOID(write_trace(directory.path + "/t.db", trace));
  return read_trace(directory.path + "/t.db");
}

std::vector<std::int64_t> times_ms(const Trace& trace) {
  std::vector<std::int64_t> times;
  for (const Operation& o : trace.operations) times.push_back(o.time_ns / 1'000'000);
  return times;
}

Imported imported_files(const std::vector<std::string>& texts, Status* failed = nullptr) {
  const TemporaryDirectory directory;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    names.push_back(directory.path + "/s." + std::to_string(i + 1));
    std::ofstream(names.back()) << texts[i];
  }
  TraceBuilder builder("/r");
  Imported result;
  const Status done = import_strace(names, builder, result.counts, {});
  if (failed != nullptr) *failed = done;
  result.build = builder.counts();
  result.trace = builder.finish();
  return result;
}

}  // namespace

TEST_CASE("what no trace can hold is not in one that is made, and counted") {
  const Imported done = import(
      "1 1.0 openat(AT_FDCWD</r>, \"f\", O_RDWR|O_CREAT, 0644) = 3</r/f>\n"
      "1 1.1 truncate(\"/r/f\", 5764607523034234880) = -1 EFBIG (File too large)\n"
      "1 1.2 ftruncate(3</r/f>, 9223372036854775807) = -1 EFBIG (File too large)\n"
      "1 1.3 pwrite64(3</r/f>, \"\"..., 5, 9223372036854775800) = -1 EFBIG (File too large)\n"
      "1 1.4 stat(\"/r/huge\", {st_mode=S_IFREG|0644, st_size=9223372036854775807, ...}) = 0\n"
      "1 1.5 write(3</r/f>, \"\"..., 5) = 5\n"
      "1 1.6 close(3</r/f>) = 0\n");
  CHECK(words(done.trace) == List{"open f", "write f 0+5", "close f"});
  CHECK(done.build.too_large == 4);
  const auto again = written_and_read(done.trace);
  INFO((again ? std::string() : again.error().message()));
  CHECK(again);
}

TEST_CASE("a tree of files that no trace can hold is one without them") {
  TraceBuilder builder("/r");
  const PathId huge = builder.trace().intern("huge"), small = builder.trace().intern("small");
  builder.know_initial({{huge, 'f', 0644, std::uint64_t{1} << 63, {}}, {small, 'f', 0644, 5, {}}});
  const Trace trace = builder.finish();
  REQUIRE(trace.initial.size() == 1);
  CHECK(trace.path(trace.initial[0].path) == "small");
  CHECK(written_and_read(trace));
}

TEST_CASE("times of strace -r go on behind a call that another one interrupted") {
  const Imported done = import(
      "1 0.000000 mkdir(\"/r/a\", 0755) = 0\n"
      "1 1.000000 stat(\"/r/a\",  <unfinished ...>\n"
      "2 2.000000 mkdir(\"/r/b\", 0755) = 0\n"
      "1 3.000000 <... stat resumed>{st_mode=S_IFDIR|0755, st_size=3, ...}) = 0\n"
      "2 4.000000 mkdir(\"/r/c\", 0755) = 0\n");
  CHECK(words(done.trace) == List{"mkdir a", "mkdir b", "stat a", "mkdir c"});
  CHECK(times_ms(done.trace) == std::vector<std::int64_t>{0, 3000, 1000, 10000});
}

TEST_CASE("a recording with times of day goes on behind midnight") {
  const Imported done = import(
      "1 23:59:59.500000 mkdir(\"/r/a\", 0755) = 0\n"
      "1 00:00:01.500000 mkdir(\"/r/b\", 0755) = 0\n"
      "2 00:00:01.400000 mkdir(\"/r/d\", 0755) = 0\n"
      "1 23:59:59.500000 mkdir(\"/r/c\", 0755) = 0\n"
      "1 00:00:00.500000 mkdir(\"/r/e\", 0755) = 0\n");
  CHECK(times_ms(done.trace) == std::vector<std::int64_t>{0, 2000, 1900, 86400000, 86401000});
}

TEST_CASE("files of strace -ff with times of day are merged by day, and such of -r are refused") {
  const Imported done =
      imported_files({"23:59:58 mkdir(\"/r/a\", 0755) = 0\n00:00:02 mkdir(\"/r/d\", 0755) = 0\n",
                      "23:59:59 mkdir(\"/r/b\", 0755) = 0\n00:00:01 mkdir(\"/r/c\", 0755) = 0\n"});
  CHECK(words(done.trace) == List{"mkdir a", "mkdir b", "mkdir c", "mkdir d"});
  CHECK(times_ms(done.trace) == std::vector<std::int64_t>{0, 1000, 3000, 4000});
  // A process that was started behind midnight; and one half a day after the recording began.
  CHECK(words(imported_files({"23:59:58 mkdir(\"/r/a\", 0755) = 0\n00:00:02 mkdir(\"/r/c\", 0755) = 0\n",
                              "00:00:01 mkdir(\"/r/b\", 0755) = 0\n"})
                  .trace) == List{"mkdir a", "mkdir b", "mkdir c"});
  CHECK(words(imported_files({"23:59:58 mkdir(\"/r/a\", 0755) = 0\n", "00:00:01 mkdir(\"/r/b\", 0755) = 0\n"})
                  .trace) == List{"mkdir a", "mkdir b"});
  CHECK(words(imported_files({"01:00:00 mkdir(\"/r/a\", 0755) = 0\n14:00:02 mkdir(\"/r/c\", 0755) = 0\n",
                              "14:00:01 mkdir(\"/r/b\", 0755) = 0\n"})
                  .trace) == List{"mkdir a", "mkdir b", "mkdir c"});
  Status refused;
  (void)imported_files({"     0.000000 mkdir(\"/r/a\", 0755) = 0\n     0.000100 mkdir(\"/r/b\", 0755) = 0\n",
                        "     0.000000 mkdir(\"/r/c\", 0755) = 0\n     0.000100 mkdir(\"/r/d\", 0755) = 0\n"},
                       &refused);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().message().find("-r") != std::string::npos);
}

TEST_CASE("an offset of -1 is the file's own") {
  const Imported done = import(
      "1 1.0 openat(AT_FDCWD</r>, \"f\", O_RDWR|O_CREAT|O_TRUNC, 0644) = 3</r/f>\n"
      "1 1.1 pwritev2(3</r/f>, [{iov_base=\"\"..., iov_len=10}], 1, -1, 0) = 10\n"
      "1 1.2 pwritev2(3</r/f>, [{iov_base=\"\"..., iov_len=10}], 1, -1, 0) = 10\n"
      "1 1.3 preadv2(3</r/f>, [{iov_base=\"\"..., iov_len=10}], 1, 5, 0) = 10\n"
      "1 1.5 write(3</r/f>, \"\"..., 5) = 5\n");
  CHECK(words(done.trace) ==
        List{"open f", "write f 0+10", "write f 10+10", "read f 5+10", "write f 20+5", "close f"});
  CHECK(done.build.surprises == 0);
}

TEST_CASE("what is appended goes behind the end, whatever its offset") {
  const Imported done = import(
      "1 1.0 openat(AT_FDCWD</r>, \"f\", O_RDWR|O_CREAT|O_TRUNC, 0644) = 3</r/f>\n"
      "1 1.1 pwrite64(3</r/f>, \"\"..., 10, 0) = 10\n"
      "1 1.2 pwritev2(3</r/f>, [{iov_base=\"\"..., iov_len=5}], 1, 0, RWF_APPEND) = 5\n"
      "1 1.3 pwritev2(3</r/f>, [{iov_base=\"\"..., iov_len=5}], 1, -1, RWF_APPEND) = 5\n"
      "1 1.4 write(3</r/f>, \"\"..., 5) = 5\n"
      "1 1.5 openat(AT_FDCWD</r>, \"f\", O_WRONLY|O_APPEND) = 4</r/f>\n"
      "1 1.6 pwrite64(4</r/f>, \"\"..., 3, 0) = 3\n");
  CHECK(words(done.trace) == List{"open f", "write f 0+10", "write f 10+5", "write f 15+5", "write f 20+5",
                                  "open f", "write f 25+3", "close f", "close f"});
}

TEST_CASE("a slice is judged by its own surprises") {
  Trace trace = import(
                    "1 1.0 mkdir(\"/r/a\", 0755) = 0\n"
                    "1 1.1 mkdir(\"/r/b\", 0755) = 0\n")
                    .trace;
  for (const char* counted : {"surprises", "supplied_operations", "lines", "malformed_lines"})
    trace.about[counted] = "200";
  SliceOptions options;
  options.first = 2;
  const Trace part = slice(trace, options);
  CHECK(part.operations.size() == 1);
  CHECK(part.about.at("root") == "/r");
  for (const char* counted : {"surprises", "supplied_operations", "lines", "malformed_lines"})
    CHECK_FALSE(part.about.contains(counted));
}

TEST_CASE("a slice of a directory has what came into it, and not what left it") {
  const Imported done = import(
      "1 1.0 mkdir(\"/r/src\", 0755) = 0\n"
      "1 1.1 openat(AT_FDCWD</r>, \"tmp\", O_WRONLY|O_CREAT|O_EXCL, 0644) = 3</r/tmp>\n"
      "1 1.2 write(3</r/tmp>, \"\"..., 10) = 10\n"
      "1 1.3 close(3</r/tmp>) = 0\n"
      "1 1.4 rename(\"/r/tmp\", \"/r/src/f\") = 0\n"
      "1 1.5 stat(\"/r/src/f\", {st_mode=S_IFREG|0644, st_size=10, ...}) = 0\n"
      "1 1.6 link(\"/r/src/f\", \"/r/g\") = 0\n"
      "1 1.7 rename(\"/r/src/f\", \"/r/h\") = 0\n"
      "1 1.8 openat(AT_FDCWD</r>, \"src/f\", O_WRONLY|O_CREAT|O_EXCL, 0644) = 3</r/src/f>\n"
      "1 1.9 close(3</r/src/f>) = 0\n");
  REQUIRE(done.build.surprises == 0);
  for (const char* below : {"src", "src/", "/src", "./src//"}) {
    INFO(below);
    SliceOptions options;
    options.below = below;
    const Trace part = slice(done.trace, options);
    REQUIRE(part.operations.size() >= 4);
    CHECK(part.about.at("root") == "/r/src");
    const Schedule schedule = make_schedule(part, {});
    CHECK(schedule.left_out == 0);
    CHECK(schedule.unexplained == 0);
    const TemporaryDirectory directory;
    const auto target = make_directory_target(directory.path);
    REQUIRE(target);
    REQUIRE(make_tree(part, **target));
    const PlayReport report = Player(part, schedule, &**target).play({});
    INFO(report.first_problem);
    CHECK(report.problems() == 0);
    CHECK(written_and_read(part));
  }
}

TEST_CASE("a slice of a directory that comes by a rename has what came with it") {
  const Imported done = import(
      "1 1.0 mkdir(\"/r/new\", 0755) = 0\n"
      "1 1.1 openat(AT_FDCWD</r>, \"new/f\", O_WRONLY|O_CREAT|O_EXCL, 0644) = 3</r/new/f>\n"
      "1 1.2 close(3</r/new/f>) = 0\n"
      "1 1.3 rename(\"/r/new\", \"/r/src\") = 0\n"
      "1 1.4 unlink(\"/r/src/f\") = 0\n"
      "1 1.5 rename(\"/r/src\", \"/r/old\") = 0\n");
  SliceOptions options;
  options.below = "src";
  const Trace part = slice(done.trace, options);
  CHECK(words(part) == List{"unlink f"});
  const Schedule schedule = make_schedule(part, {});
  CHECK(schedule.unexplained == 0);
  CHECK(written_and_read(part));
}

TEST_CASE("what began before a slice and returned in it is in it") {
  const Imported done = import(
      "1 1.0 mkdir(\"/r/a\", 0755) = 0\n"
      "2 2.0 mkdir(\"/r/b\",  <unfinished ...>\n"
      "1 3.0 mkdir(\"/r/c\", 0755) = 0\n"
      "2 3.1 <... mkdir resumed>, 0755) = 0\n"
      "1 4.0 mkdir(\"/r/b/d\", 0755) = 0\n");
  REQUIRE(words(done.trace) == List{"mkdir a", "mkdir c", "mkdir b", "mkdir b/d"});
  SliceOptions options;
  options.from_s = 3;  // times without an epoch are those of -r: 0, 2, 5, 12.1 from the first operation on
  options.to_s = 20;
  const Trace part = slice(done.trace, options);
  CHECK(words(part) == List{"mkdir c", "mkdir b", "mkdir b/d"});
  for (const Operation& o : part.operations) CHECK(o.time_ns >= 0);
}

TEST_CASE("a path that looks like the end of a process is a path") {
  // Its second process ends without a word: what it had open is closed behind its last line.
  const Imported done =
      imported_files({"1 1.0 openat(AT_FDCWD</r>, \"a\", O_RDONLY|O_CREAT, 0644) = 3</r/a>\n"
                      "1 1.1 stat(\"/r/a +++ b\", 0x1) = -1 ENOENT (No such file or directory)\n"
                      "2 1.2 mkdir(\"/r/c\", 0755) = 0\n"});
  CHECK(words(done.trace) == List{"open a", "stat a +++ b !", "close a", "mkdir c"});
}

TEST_CASE("what comes from one place outside of the tree again and again is a file each time") {
  const char* const kMoves =
      "1 1.0 rename(\"/tmp/new\", \"/r/f\") = 0\n"
      "1 1.0 rename(\"/tmp/new\", \"/r/f\") = 0\n"
      "1 1.0 rename(\"/r/f\", \"/tmp/new\") = 0\n"
      "1 1.0 rename(\"/tmp/new\", \"/r/g\") = 0\n"
      "1 1.0 link(\"/tmp/new\", \"/r/h\") = 0\n";
  for (const bool known : {true, false}) {
    INFO("the tree before is known: " << known);
    TraceBuilder builder("/r");
    if (known) builder.know_initial({});
    StraceImporter importer(builder, "/r");
    std::istringstream lines(kMoves);
    for (std::string line; std::getline(lines, line);) importer.line(line);
    importer.finish();
    CHECK(builder.counts().surprises == 0);
    const Trace trace = builder.finish();
    const auto again = written_and_read(trace);
    INFO((again ? std::string() : again.error().message()));
    REQUIRE(again);
    const Schedule schedule = make_schedule(*again, {});
    CHECK(schedule.unexplained == 0);
    CHECK(schedule.left_out == 0);
  }
}

}  // namespace cffs::replay::test
