// What users do, with the programs that they do it with. Each step is timed as a whole: the program's start is in it, on all
// targets alike.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <random>

#include "bench/suite/source_tree.h"

namespace cffs::bench {
namespace {

// The tree as work/source, for who writes to it, work/source.tar and work/source.tar.gz. Made once.
Status prepare_source(Session& session) {
  const std::string source = session.work() + "/source";
  if (::access((session.work() + "/source.tar.gz").c_str(), F_OK) == 0) return {};
  (void)::mkdir(source.c_str(), 0755);
  CFFS_TRY(const std::string tree, source_directory(session));
  CFFS_TRY_VOID(run({"cp", "-a", tree + "/.", source}));
  CFFS_TRY_VOID(run({"tar", "-cf", session.work() + "/source.tar", "-C", source, "."}));
  return run({"tar", "-czf", session.work() + "/source.tar.gz", "-C", source, "."});
}

// One step, timed; `files` is what its rate is counted in.
Status step(Session& session, Rig& rig, const std::string& name, const std::string& line,
            const std::string& below, std::uint64_t operations = 1) {
  Phase phase(session, rig, name);
  CFFS_TRY_VOID(run_shell(line, rig.directory() + (below.empty() ? "" : "/" + below)));
  phase.finish(operations);
  return {};
}

Status need(const std::string& program) {
  if (is_installed(program)) return {};
  return fail(
      Error::usage(program + " is not installed; scripts/install_packages.sh installs what benchmarks need"));
}

Status run_source_tree(Session& session, Rig& rig) {
  CFFS_TRY_VOID(prepare_source(session));
  CFFS_TRY_VOID(step(session, rig, "untar", "tar -xzf " + session.work() + "/source.tar.gz", ""));
  CFFS_TRY_VOID(rig.settle());
  CFFS_TRY_VOID(rig.cool());
  CFFS_TRY_VOID(step(session, rig, "grep", "grep -r 'no such pattern anywhere' . ; test $? = 1", ""));
  CFFS_TRY_VOID(rig.cool());
  CFFS_TRY_VOID(
      // 2: it warns, of a name that ends with .gz already
      step(session, rig, "gzip",
           "find . -type f -print0 | xargs -0 sh -c 'gzip -1 -f -q \"$@\"; s=$?; test $s = 0 || test $s = 2' "
           "sh",
           ""));
  return {};
}

// A small project of its own: headers that include each other, sources that include some, a Makefile with dependencies.
Status make_project(const std::string& directory, std::uint64_t sources) {
  (void)::mkdir(directory.c_str(), 0755);
  std::mt19937_64 random(3);
  const std::uint64_t headers = std::max<std::uint64_t>(2, sources / 2);
  for (std::uint64_t h = 0; h < headers; ++h) {
    std::ofstream out(fmt::format("{}/h{}.h", directory, h));
    out << "#pragma once\n";
    if (h > 0) out << fmt::format("#include \"h{}.h\"\n", random() % h);
    for (int i = 0; i < 40; ++i)
      out << fmt::format("static inline int h{}_{}(int x) {{ return x * {} + {}; }}\n", h, i, i + 1,
                         random() % 97);
  }
  std::string objects;
  std::ofstream makefile(directory + "/Makefile");
  makefile << "all: program\n%.o: %.c\n\t$(CC) -O0 -MMD -c $< -o $@\n-include $(wildcard *.d)\n";
  for (std::uint64_t c = 0; c < sources; ++c) {
    std::ofstream out(fmt::format("{}/c{}.c", directory, c));
    const std::uint64_t a = random() % headers;
    out << fmt::format("#include <stdio.h>\n#include \"h{}.h\"\nint c{}(int x) {{ return h{}_{}(x); }}\n", a,
                       c, a, c % 40);
    objects += fmt::format(" c{}.o", c);
  }
  std::ofstream main_file(directory + "/main.c");
  main_file << "int c0(int); int main(void) { return c0(0) > 1000; }\n";
  makefile << "program: main.o" << objects << "\n\t$(CC) $^ -o $@\nclean:\n\trm -f *.o *.d program\n";
  makefile.close();
  if (!makefile) return fail(EIO, directory + "/Makefile");
  return {};
}

Status run_git(Session& session, Rig& rig) {
  const std::string origin = session.work() + "/origin.git";
  if (::access(origin.c_str(), F_OK) != 0) {
    const std::string source = session.work() + "/source";
    CFFS_TRY_VOID(run_shell(
        "rm -rf .git && git init -q -b main . && git -c user.name=b -c user.email=b@b add -A -f && "
        "git -c user.name=b -c user.email=b@b commit -qm one && for f in $(ls -p | grep -v / | head -20); do "
        "echo >> $f; done; "
        "git -c user.name=b -c user.email=b@b commit -qam two --allow-empty && git clone -q --bare . " +
            origin + " && rm -rf .git",
        source));
  }
  const std::string git = "git -c safe.directory='*' ";
  CFFS_TRY_VOID(step(session, rig, "git clone", git + "clone -q " + origin + " clone", ""));
  CFFS_TRY_VOID(step(session, rig, "git status", git + "status --porcelain", "clone"));
  CFFS_TRY_VOID(
      step(session, rig, "git checkout", git + "checkout -q HEAD~1 && " + git + "checkout -q main", "clone"));
  CFFS_TRY_VOID(rig.settle());
  CFFS_TRY_VOID(rig.cool());
  return step(session, rig, "git status, cold", git + "status --porcelain", "clone");
}

// What a package manager does: many archives unpacked side by side, each into a directory of its own.
Status run_packages(Session& session, Rig& rig) {
  const std::string packages = session.work() + "/packages";
  const std::uint64_t count = session.number("packages");
  if (::access(packages.c_str(), F_OK) != 0) {
    CFFS_TRY_VOID(
        run_shell(fmt::format("mkdir packages && find source -type f | sort > files && split -d -a 4 -n l/{} "
                              "files packages/list. && cd packages && "
                              "for l in list.*; do tar -czf pkg.${{l#list.}}.tgz -C .. -T $l; rm $l; done",
                              count),
                  session.work()));
  }
  return step(session, rig, "unpack packages",
              "mkdir node_modules && ls " + packages +
                  " | xargs -P 4 -I{} sh -c 'mkdir node_modules/{} && tar -xzf " + packages +
                  "/{} -C node_modules/{}'",
              "", count);
}

Status run_maildir(Session& session, Rig& rig) {
  replay::Target& target = rig.target();
  for (const char* directory : {"Maildir", "Maildir/tmp", "Maildir/new", "Maildir/cur"})
    CFFS_TRY_VOID(must(target.mkdir(directory, 0755), directory));
  std::mt19937_64 random(session.seed());
  std::string mail(32768, 'm');
  Phase phase(session, rig, "maildir delivery");
  Lane& lane = phase.lane();
  for (std::uint64_t i = 0; i < session.number("mails"); ++i) {
    const std::string name = fmt::format("{}.M{}.host", 1000000 + i, i);
    const std::uint64_t size = 1024 + random() % 16384;
    CFFS_TRY_VOID(must(lane.time("delivery",
                                 [&] {
                                   const std::int64_t file =
                                       target.open("Maildir/tmp/" + name, O_WRONLY | O_CREAT | O_EXCL, 0600);
                                   if (file < 0) return file;
                                   std::int64_t n = whole(
                                       target.write(file, 0, std::span<const char>(mail).first(size)), size);
                                   if (n >= 0) n = target.fsync(file, false);
                                   (void)target.close(file);
                                   if (n >= 0)
                                     n = target.rename("Maildir/tmp/" + name, "Maildir/new/" + name, 0);
                                   return n;
                                 }),
                       name));
  }
  phase.finish();
  return {};
}

Status run_web_serving(Session& session, Rig& rig) {
  CFFS_TRY_VOID(need("nginx"));
  CFFS_TRY_VOID(need("wrk"));
  const std::string work = session.work() + "/nginx";
  (void)::mkdir(work.c_str(), 0755);
  const unsigned port = 20000 + static_cast<unsigned>(::getpid()) % 20000;
  {
    std::ofstream config(work + "/nginx.conf");
    config << "worker_processes 1; pid " << work << "/pid; error_log " << work
           << "/error.log; daemon off; user root;\n"
           << "events { worker_connections 512; }\nhttp { access_log off; sendfile on; client_body_temp_path "
           << work << "; proxy_temp_path " << work << "; fastcgi_temp_path " << work << "; uwsgi_temp_path "
           << work << "; scgi_temp_path " << work << ";\n server { listen 127.0.0.1:" << port << "; root "
           << rig.directory() << "; } }\n";
    std::ofstream script(work + "/paths.lua");
    script << "local paths = {}\nfor line in io.lines('" << work
           << "/paths') do paths[#paths + 1] = line end\n"
           << "math.randomseed(1)\nrequest = function() return wrk.format('GET', paths[math.random(#paths)]) "
              "end\n";
  }
  CFFS_TRY_VOID(run_shell(
      "find . -type f -path './tree/*' | sed 's/^.//' | grep -v '[^A-Za-z0-9_./+-]' > " + work + "/paths",
      rig.directory()));
  CFFS_TRY_VOID(rig.cool());
  CFFS_TRY(Server nginx, Server::start({"nginx", "-c", work + "/nginx.conf", "-p", work}));
  constexpr int kTries = 100;
  for (int i = 0; i < kTries; ++i) {
    if (run_shell(fmt::format("bash -c 'exec 3<>/dev/tcp/127.0.0.1/{}' 2>/dev/null", port), work)) break;
    ::usleep(50'000);
  }
  for (const char* state : {"cold", "warm"}) {
    Phase phase(session, rig, fmt::format("nginx, {}", state));
    CFFS_TRY_VOID(run_shell(
        fmt::format("wrk -c 16 -t 1 -d {} -s {}/paths.lua --latency http://127.0.0.1:{} > {}/wrk.out",
                    session.number("seconds"), work, port, work),
        work));
    std::ifstream out(work + "/wrk.out");
    double requests = 0, errors = 0;
    for (std::string line; std::getline(out, line);) {
      const std::size_t at = line.find(" requests in ");
      if (at != std::string::npos) requests = std::strtod(line.c_str(), nullptr);
      if (line.find("Non-2xx") != std::string::npos)
        errors += std::strtod(line.substr(line.rfind(' ') + 1).c_str(), nullptr);
      // "  Socket errors: connect 0, read 3, write 0, timeout 0": what is late is an answer, what broke off is none.
      double connect = 0, read = 0, write = 0;
      const std::size_t broke = line.find("Socket errors:");
      if (broke != std::string::npos &&
          std::sscanf(line.c_str() + broke, "Socket errors: connect %lf, read %lf, write %lf", &connect,
                      &read, &write) == 3)
        errors += connect + read + write;
    }
    if (requests == 0 || errors > 0)
      return fail(Error::usage(
          fmt::format("nginx answered {:.0f} requests, {:.0f} of them with an error", requests, errors)));
    phase.finish(static_cast<std::uint64_t>(requests));
  }
  nginx.stop();
  return {};
}

Status run_programs(Session& session, Rig& rig) {
  CFFS_TRY_VOID(prepare_source(session));
  const std::string source = session.work() + "/source", tar = session.work() + "/source.tar";
  std::string wanted = session.text("only");
  const auto wants = [&](const char* name) {
    return wanted.empty() || ("," + wanted + ",").find("," + std::string(name) + ",") != std::string::npos;
  };
  if (wants("tar")) {
    CFFS_TRY_VOID(step(session, rig, "tar in", "mkdir tree && tar -xf " + tar + " -C tree", ""));
  } else {
    CFFS_TRY_VOID(run_shell("mkdir tree && tar -xf " + tar + " -C tree", rig.directory()));
  }
  CFFS_TRY_VOID(rig.settle());
  struct Cold {
    const char* group;
    const char* name;
    std::string line;
  };
  const std::vector<Cold> cold{
      {"tar", "tar out", "test \"$( { { tar -cf - tree; echo $? >&3; } | cat > /dev/null; } 3>&1 )\" = 0"},
      {"find", "find", "find tree -newer /proc/version > /dev/null"},
      {"grep", "grep -r", "grep -r 'no such pattern anywhere' tree; test $? = 1"},
      {"du", "du", "du -s tree > /dev/null"},
      {"ls", "ls -lR", "ls -lR tree > /dev/null"}};
  for (const Cold& c : cold) {
    if (!wants(c.group)) continue;
    CFFS_TRY_VOID(rig.cool());
    CFFS_TRY_VOID(step(session, rig, c.name, c.line, ""));
  }
  if (wants("rsync")) {
    CFFS_TRY_VOID(need("rsync"));
    CFFS_TRY_VOID(step(session, rig, "rsync", "rsync -a " + source + "/ copy/", ""));
    CFFS_TRY_VOID(step(session, rig, "rsync again", "rsync -a " + source + "/ copy/", ""));
  }
  if (wants("packages")) CFFS_TRY_VOID(run_packages(session, rig));
  if (wants("git")) CFFS_TRY_VOID(run_git(session, rig));
  if (wants("make")) {
    CFFS_TRY_VOID(make_project(rig.directory() + "/project", session.number("sources")));
    CFFS_TRY_VOID(step(session, rig, "make", "make -j2", "project", session.number("sources")));
    CFFS_TRY_VOID(step(session, rig, "make, nothing to do", "make -j2", "project"));
    CFFS_TRY_VOID(step(session, rig, "make, a header changed", "touch h0.h && make -j2", "project"));
    CFFS_TRY_VOID(step(session, rig, "make clean", "make clean", "project"));
  }
  if (wants("maildir")) CFFS_TRY_VOID(run_maildir(session, rig));
  if (wants("nginx")) CFFS_TRY_VOID(run_web_serving(session, rig));
  if (wants("rm")) {
    CFFS_TRY_VOID(rig.cool());
    CFFS_TRY_VOID(step(session, rig, "rm -rf", "rm -rf tree", ""));
  }
  return {};
}

}  // namespace

std::vector<Benchmark> program_benchmarks() {
  const std::vector<std::string> all{"ext4", "xfs", "btrfs", "passthrough", "none", "directory"};
  const Parameter tree = source_tree_parameter();
  Benchmark source;
  source.name = "source-tree";
  source.title = "untar, grep and gzip of a source tree";
  source.source = "TableFS report, Fig. 5 (Linux 3.0.1, no memory limit)";
  source.parameters = {tree};
  source.targets = all;
  source.needs_mount = true;
  source.run = run_source_tree;
  Benchmark programs;
  programs.name = "programs";
  programs.title = "tar, find, grep, du, ls, rsync, packages, git, make, maildir, nginx, rm";
  programs.source = "everyday work";
  programs.parameters = {
      tree,
      {"only", "some of: tar, find, grep, du, ls, rsync, packages, git, make, maildir, nginx, rm", "", "",
       ""},
      {"packages", "archives to unpack", "5", "20", "1000"},
      {"sources", "files of the project that is built", "4", "40", "400"},
      {"mails", "delivered, each with fsync", "20", "500", "10000"},
      {"seconds", "that nginx is asked", "1", "3", "30"}};
  programs.targets = {"ext4", "passthrough", "directory"};
  programs.needs_mount = true;
  programs.run = run_programs;
  return {source, programs};
}

}  // namespace cffs::bench
