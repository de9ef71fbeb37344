// What a benchmark is: a name, where it comes from, parameters with three sizes, and how it runs on one target.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "bench/rig/rig.h"

namespace cffs::bench {

class Session;

enum class Size { tiny, small, paper };  // seconds; a minute for all default targets; as published
const char* name_of(Size size);

struct Parameter {
  std::string name, help;
  std::string tiny, small, paper;
};

struct Benchmark {
  std::string name, title;
  std::string source;  // the figure or table that it repeats
  std::vector<Parameter> parameters;
  std::vector<std::string> targets;  // the default ones
  bool takes_objects = false;        // runs on a target that has objects alone
  bool only_reads = false;           // brings a tree in and writes nothing more: runs on images that are only read
  bool needs_mount = false;          // runs programs, which the library cannot serve
  // Once for each target and round, on a target that was just set up.
  std::function<Status(Session&, Rig&)> run;
  std::function<void(const Session&)>
      summary;  // printed at the end, where the publication has a table of its own
  std::vector<std::uint64_t> paper_memory;  // bytes, the limits of the published runs; empty: none
  std::vector<std::uint64_t> image_bytes;   // of each target's disk, by Size; empty: as usual
};

const std::vector<Benchmark>& benchmarks();
const Benchmark* find_benchmark(const std::string& name);

// By file: what they are made of.
std::vector<Benchmark> table_benchmarks();    // TableFS, create and query
std::vector<Benchmark> tree_benchmarks();     // readdir, fdtree
std::vector<Benchmark> mail_benchmarks();     // Postmark
std::vector<Benchmark> replay_benchmarks();   // the composite-file paper
std::vector<Benchmark> object_benchmarks();   // OBFS
std::vector<Benchmark> growth_benchmarks();   // one tree, at several sizes
std::vector<Benchmark> read_benchmarks();     // a tree, read cold in several orders
std::vector<Benchmark> old_disk_benchmarks();  // what moves many bytes on it
std::vector<Benchmark> program_benchmarks();  // what users do

}  // namespace cffs::bench
