// Advice about trees: what a survey counts, also where a tree is hostile, and whether the model keeps what it promises on stores
// that are really made.
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <cmath>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <random>
#include <thread>

#include "core/advise/recommendation.h"
#include "core/base/clock.h"
#include "core/inspect/statistics.h"
#include "core/object/memory_store.h"
#include "core/transfer/directory_import.h"
#include "tests/unit/temporary_directory.h"

namespace cffs::advise_test {
namespace {

using test::TemporaryDirectory;

void make_file(const std::string& path, const std::string& content) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::ofstream(path, std::ios::binary) << content;
}

// Half words, half chance: it shrinks, but not to nothing.
std::string prose(std::mt19937& random, std::size_t bytes) {
  static const char* const kWords[] = {"composite", "store", "member", "group",
                                       "blob",      "row",   "table",  "extent"};
  std::string text;
  while (text.size() < bytes) {
    text += kWords[random() % 8];
    text += std::to_string(random() % 1000);
    text += ' ';
  }
  text.resize(bytes);
  return text;
}

std::string noise(std::mt19937& random, std::size_t bytes) {
  std::string text(bytes, '\0');
  for (char& c : text) c = static_cast<char>(random());
  return text;
}

TreeSurvey survey_of(const std::string& path, SurveyOptions options = {}) {
  auto survey = survey_tree(path, options);
  REQUIRE(survey);
  return std::move(*survey);
}

SampleOptions usual_sample() {
  SampleOptions options;
  options.ways = {{Codec::lz4, 0}, {Codec::zstd, 3}};
  options.seconds = 60;
  return options;
}

// A store in memory with all of a directory.
Statistics imported(const std::string& path, const Compression& how) {
  MemoryStore objects;
  REQUIRE(FileSystem::format(objects, usual_format(how), SystemClock()));
  FileSystemOptions options;
  options.background = false;
  auto fs = FileSystem::open(objects, options);
  REQUIRE(fs);
  {
    ImportTarget target(**fs, 2, {});
    REQUIRE(import_directory(path, target));
    const auto report = target.finish();
    REQUIRE(report);
    CHECK(report->failed == 0);
  }
  const auto statistics = collect_statistics(**fs);
  REQUIRE(statistics);
  REQUIRE((*fs)->close());
  return *statistics;
}

bool near(std::uint64_t predicted, std::uint64_t real, double within = 0.25) {
  const double p = static_cast<double>(predicted), r = static_cast<double>(real);
  return p >= r * (1 - within) - 1 && p <= r * (1 + within) + 1;
}

// Mounted over itself for the test's life, where that is allowed.
class BindMount {
 public:
  BindMount(const std::string& from, const std::string& at) : at_(at) {
    mounted_ = ::mount(from.c_str(), at.c_str(), nullptr, MS_BIND, nullptr) == 0;
  }
  ~BindMount() {
    if (mounted_) ::umount2(at_.c_str(), MNT_DETACH);
  }
  BindMount(const BindMount&) = delete;
  BindMount& operator=(const BindMount&) = delete;
  bool mounted() const { return mounted_; }

 private:
  const std::string at_;
  bool mounted_ = false;
};

}  // namespace

TEST_CASE("a survey counts files, names, sizes, ages and kinds", "[advise]") {
  const TemporaryDirectory made;
  make_file(made.path + "/a/one.TXT", std::string(100, 'x'));
  make_file(made.path + "/a/two.txt", std::string(5000, 'x'));
  make_file(made.path + "/b/empty", "");
  make_file(made.path + "/b/.hidden", "1");
  std::filesystem::create_hard_link(made.path + "/a/two.txt", made.path + "/b/again.txt");
  std::filesystem::create_symlink("nowhere", made.path + "/b/link");
  SurveyOptions options;
  options.now_s = std::time(nullptr) + 10 * 86'400;
  const TreeSurvey s = survey_of(made.path, options);
  CHECK(s.files == 4);
  CHECK(s.bytes == 5101);
  CHECK(s.further_names == 1);
  CHECK(s.symlinks == 1);
  CHECK(s.directories.size() == 3);
  CHECK(s.entries() == 8);
  CHECK(s.inodes() == 8);
  CHECK(s.largest_directory == 4);
  CHECK(s.sizes.classes[0].files == 1);
  CHECK(s.sizes.classes[1].files == 2);
  CHECK(s.sizes.classes[3] == Tally{1, 5000});
  CHECK(s.changed.classes[2].files == 4);  // ten days
  CHECK(s.extensions.at("txt") == Tally{2, 5100});
  CHECK(s.extensions.at("") == Tally{2, 1});
  CHECK(s.failed == 0);
}

TEST_CASE("what is no file and has several names is counted once", "[advise]") {
  const TemporaryDirectory made;
  std::filesystem::create_symlink("nowhere", made.path + "/link");
  REQUIRE(::mkfifo((made.path + "/pipe").c_str(), 0600) == 0);
  REQUIRE(::mkdir((made.path + "/d").c_str(), 0755) == 0);
  for (const std::string name : {"link", "pipe"})
    REQUIRE(::linkat(AT_FDCWD, (made.path + "/" + name).c_str(), AT_FDCWD, (made.path + "/d/" + name).c_str(),
                     0) == 0);
  const TreeSurvey s = survey_of(made.path, {});
  CHECK(s.symlinks == 1);
  CHECK(s.specials == 1);
  CHECK(s.further_names == 2);
  CHECK(s.inodes() == 4);
  CHECK(s.files == 0);
}

TEST_CASE("a survey of a hostile tree ends, follows nothing and opens no file", "[advise]") {
  const TemporaryDirectory made;
  make_file(made.path + "/dir/with\nnewline\x1b[31m", "abc");
  REQUIRE(::mkfifo((made.path + "/fifo").c_str(), 0600) == 0);
  const int socket = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  (made.path + "/socket").copy(address.sun_path, sizeof address.sun_path - 1);
  REQUIRE(::bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
  ::close(socket);
  std::filesystem::create_symlink(".", made.path + "/dir/round");
  std::filesystem::create_symlink("/", made.path + "/everything");
  {
    const int fd = ::open((made.path + "/sparse").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    const bool sparse = ::ftruncate(fd, off_t{1} << 40) == 0;
    ::close(fd);
    REQUIRE(sparse);
  }
  std::filesystem::create_directories(made.path + "/loop/inside");
  const BindMount loop(made.path + "/loop", made.path + "/loop/inside");

  const TreeSurvey s = survey_of(made.path);
  CHECK(s.files == 2);
  CHECK(s.symlinks == 2);
  CHECK(s.specials == 2);
  CHECK(s.bytes == (std::uint64_t{1} << 40) + 3);
  CHECK(s.allocated_bytes < 1u << 20);
  if (loop.mounted()) {
    CHECK(s.failed == 1);
    REQUIRE(s.problems.size() == 1);
    CHECK(s.problems[0].find("lies in itself") != std::string::npos);
  }

  // The rest of the way is as safe: the file of a terabyte is a blob, its pieces are compared with nobody's.
  const auto sample = sample_content(s, usual_format({Codec::zstd, 3}), usual_sample());
  REQUIRE(sample);
  CHECK(sample->files == 1);
  const auto duplicates = find_duplicates(s, {});
  REQUIRE(duplicates);
  CHECK(duplicates->files == 0);
  const Prediction p = predict(s, *sample, {}, modelled_disks(), 2);
  CHECK(p.store("plain")->outline.blobs == 1);
  CHECK(p.store("plain")->object_bytes > std::uint64_t{1} << 40);
  for (const DiskPrediction& disk : p.disks) CHECK(disk.directory.sweep_s < 10);  // holes are not read
}

TEST_CASE("what vanishes while a tree is surveyed is counted, and no failure", "[advise]") {
  const TemporaryDirectory made;
  for (int i = 0; i < 40; ++i) {
    for (int j = 0; j < 25; ++j)
      make_file(made.path + "/" + std::to_string(i) + "/" + std::to_string(j),
                "content " + std::to_string(j));
  }
  std::atomic<bool> begun{false};
  std::thread remover([&] {
    while (!begun) std::this_thread::yield();
    for (int i = 39; i >= 0; --i) std::filesystem::remove_all(made.path + "/" + std::to_string(i));
  });
  SurveyOptions options;
  options.workers = 2;
  options.on_progress = [&](std::uint64_t) {
    begun = true;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  };
  const TreeSurvey s = survey_of(made.path, options);
  remover.join();
  CHECK(s.failed == 0);
  CHECK(s.files <= 1000);
  // All of it is gone by now.
  const auto sample = sample_content(s, usual_format({Codec::zstd, 3}), usual_sample());
  REQUIRE(sample);
  CHECK(sample->files == 0);
  CHECK(sample->unreadable == s.files);
  REQUIRE(find_duplicates(s, {}));
  predict(s, *sample, {}, modelled_disks(), 2);
}

TEST_CASE("a directory that cannot be opened is named, and the rest is surveyed", "[advise]") {
  CHECK_FALSE(survey_tree("/nowhere/at/all", {}));
  if (::geteuid() != 0) return;
  const TemporaryDirectory made;
  make_file(made.path + "/open/file", "1");
  make_file(made.path + "/closed/file", "2");
  REQUIRE(::chmod((made.path + "/closed").c_str(), 0700) == 0);
  REQUIRE(::chmod(made.path.c_str(), 0755) == 0);
  // Nobody's threads have nobody's rights: the caller does the work alone.
  SurveyOptions options;
  options.workers = 1;
  REQUIRE(::seteuid(65534) == 0);
  const auto survey = survey_tree(made.path, options);
  REQUIRE(::seteuid(0) == 0);
  REQUIRE(survey);
  CHECK(survey->files == 1);
  CHECK(survey->failed == 1);
  REQUIRE(survey->problems.size() == 1);
  CHECK(survey->problems[0].find("closed") != std::string::npos);
}

TEST_CASE("a tree that is deeper than a path is long is surveyed to its ground", "[advise]") {
  const TemporaryDirectory made;
  constexpr std::uint64_t kLevels = 60;
  const std::string name(100, 'd');
  int at = ::open(made.path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  for (std::uint64_t i = 0; i < kLevels; ++i) {
    REQUIRE(::mkdirat(at, name.c_str(), 0700) == 0);
    const int below = ::openat(at, name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    ::close(at);
    at = below;
  }
  const int fd = ::openat(at, "file", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  REQUIRE(::write(fd, "deep", 4) == 4);
  ::close(fd);
  ::close(at);
  const TreeSurvey s = survey_of(made.path);
  CHECK(s.directories.size() == kLevels + 1);
  CHECK(s.files == 1);
  const auto sample = sample_content(s, usual_format({Codec::zstd, 3}), usual_sample());
  REQUIRE(sample);
  CHECK(sample->bytes == 4);
}

TEST_CASE("a survey stops when it is told to", "[advise]") {
  const TemporaryDirectory made;
  for (int i = 0; i < 50; ++i) make_file(made.path + "/" + std::to_string(i) + "/file", "1");
  SurveyOptions options;
  options.workers = 3;
  std::atomic<int> asked{0};
  options.go_on = [&] { return ++asked < 10; };
  CHECK(survey_of(made.path, options).files < 50);
}

TEST_CASE("what is there twice is found by what it holds", "[advise]") {
  const TemporaryDirectory made;
  std::mt19937 random(1);
  const std::string large = noise(random, 3u << 20);
  std::string other = large;
  other.back() = static_cast<char>(other.back() + 1);
  make_file(made.path + "/large", large);
  make_file(made.path + "/same", large);
  make_file(made.path + "/other", other);
  make_file(made.path + "/small", "abc");
  make_file(made.path + "/small too", "abd");
  make_file(made.path + "/alone", "abcdef");
  const TreeSurvey s = survey_of(made.path);
  const auto all = find_duplicates(s, {});
  REQUIRE(all);
  CHECK(all->whole);
  CHECK(all->candidates == 5);
  CHECK(all->files == 1);
  CHECK(all->bytes == large.size());

  // A part stands for the rest: 400 pairs of different sizes, of which a quarter are equal.
  const TemporaryDirectory many;
  for (std::size_t i = 0; i < 400; ++i) {
    make_file(many.path + "/a" + std::to_string(i), std::string(1000 + i, 'a'));
    make_file(many.path + "/b" + std::to_string(i), std::string(1000 + i, i % 4 == 0 ? 'a' : 'b'));
  }
  DuplicateOptions few;
  few.files = 300;
  const auto part = find_duplicates(survey_of(many.path), few);
  REQUIRE(part);
  CHECK_FALSE(part->whole);
  CHECK(part->compared <= 300);
  CHECK(part->files > 50);
  CHECK(part->files < 150);
}

TEST_CASE("predictions hold against stores that are made", "[advise]") {
  const TemporaryDirectory made;
  std::mt19937 random(7);
  for (int d = 0; d < 30; ++d) {
    for (int f = 0; f < 40; ++f) {
      const std::string path = made.path + "/dir" + std::to_string(d) + "/file" + std::to_string(f);
      if (d % 5 == 0) {
        make_file(path + ".png", noise(random, random() % 20'000));
      } else {
        make_file(path + ".txt", prose(random, random() % 30'000));
      }
    }
  }
  make_file(made.path + "/large.txt", prose(random, 3u << 20));
  make_file(made.path + "/very large.bin", noise(random, 34u << 20));
  make_file(made.path + "/empty", "");
  const TreeSurvey s = survey_of(made.path);
  // All of it, and a part.
  for (const std::uint64_t bytes : {std::uint64_t{192} << 20, std::uint64_t{9} << 20}) {
    SampleOptions options = usual_sample();
    options.bytes = bytes;
    const auto sample = sample_content(s, usual_format({Codec::zstd, 3}), options);
    REQUIRE(sample);
    CHECK(sample->whole == (bytes > 100u << 20));
    const auto paces = try_imports(s, *sample, {{}, {Codec::zstd, 3}}, {});
    REQUIRE(paces.size() == 2);
    for (const ImportPace& pace : paces) CHECK(pace.seconds_a_byte > 0);
    // What is a blob in a store that is not compressed is not timed as a member of it.
    if (sample->whole) CHECK(paces[1].bytes - paces[0].bytes == (3u << 20) + record_overhead(3u << 20, 9));
    const Prediction p = predict(s, *sample, paces, modelled_disks(), 2);
    CHECK(sample->find(Codec::zstd)->unpack_seconds_a_byte > 0);
    CHECK(p.store("zstd:3")->unpack_s > 0);
    CHECK(p.store("plain")->unpack_s == 0);
    Duplicates twice;
    twice.shared_bytes = 1u << 20;
    CHECK(p.store("plain")->bytes_deduped(twice) == p.store("plain")->object_bytes - twice.shared_bytes);
    CHECK(p.store("zstd:3")->bytes_deduped(twice) > p.store("zstd:3")->object_bytes - twice.shared_bytes);
    CHECK(p.store("tablefs")->bytes_deduped(twice) == p.store("tablefs")->object_bytes);
    for (const char* how : {"none", "lz4", "zstd:3"}) {
      INFO(how << ", of " << bytes << " bytes");
      const auto compression = parse_compression(how);
      REQUIRE(compression);
      const Statistics real = imported(made.path, *compression);
      const StorePrediction* const predicted = p.store(compression->codec == Codec::stored ? "plain" : how);
      REQUIRE(predicted != nullptr);
      INFO("stored " << predicted->stored_bytes << " and " << real.stored_bytes << ", table "
                     << predicted->table_bytes);
      CHECK(near(predicted->outline.composites, real.composites));
      CHECK(near(predicted->outline.composite_bytes, real.composite_bytes, 0.01));
      CHECK(predicted->outline.members == real.member_files);
      CHECK(predicted->outline.blobs == real.blobs);
      CHECK(predicted->outline.empty_files == real.empty_files);
      CHECK(near(predicted->stored_bytes, real.stored_bytes));
    }
  }
}

TEST_CASE("TableFS's layout is predicted, too", "[advise]") {
  const TemporaryDirectory made;
  for (std::size_t i = 0; i < 10; ++i)
    make_file(made.path + "/" + std::to_string(i), std::string(i * 1000, 'x'));
  const StoreFormat format = usual_format({});
  const ImportOutline o = outline_import(survey_of(made.path), format, false);
  CHECK(o.composites == 0);
  CHECK(o.empty_files == 1);
  CHECK(o.inline_files == 4);
  CHECK(o.inline_bytes == 10'000);
  CHECK(o.blobs == 5);
}

namespace {

// So many files of one size, as if they had been surveyed.
TreeSurvey made_up(std::uint64_t files, std::uint64_t size) {
  TreeSurvey s;
  s.root = "/nowhere";
  s.directories.emplace_back();
  for (std::uint64_t i = 0; i < files; ++i) {
    SurveyedFile file;
    file.size = size;
    s.directories[0].files.push_back(file);
    s.sizes.add(size, size);
    s.changed.add(100 * 86'400, size);
  }
  s.files = files;
  s.bytes = s.allocated_bytes = files * size;
  return s;
}

Recommendation advised(const TreeSurvey& s, const char* disk, double share) {
  ContentSample sample;
  sample.packings = {{{Codec::lz4, 0}, share * 1.3, 0, 2e-9, 0}, {{Codec::zstd, 3}, share, 0, 5e-9, 0}};
  const Prediction p = predict(s, sample, {}, modelled_disks(), 2);
  return recommend(s, p, {}, *p.disk(disk), nullptr);
}

bool says(const std::vector<Remark>& remarks, const std::string& code) {
  return std::any_of(remarks.begin(), remarks.end(), [&](const Remark& r) { return r.code == code; });
}

}  // namespace

TEST_CASE("many small files on a slow disk are what cffs is for, few large ones are not", "[advise]") {
  const Recommendation small = advised(made_up(20'000, 5'000), "hdd", 0.3);
  CHECK(small.worth == Worth::yes);
  CHECK(small.policy == "directory");
  CHECK(small.compression == "zstd:3");
  CHECK_FALSE(says(small.losses, "random_reads"));

  const Recommendation fast = advised(made_up(20'000, 5'000), "ssd", 0.95);
  CHECK(fast.worth != Worth::yes);
  CHECK(fast.compression == "none");
  CHECK(says(fast.losses, "random_reads"));
  CHECK(says(fast.against, "in_memory"));

  const Recommendation large = advised(made_up(200, 100u << 20), "hdd", 0.9);
  CHECK(large.worth == Worth::no);
  CHECK(says(large.against, "large_files"));
  CHECK(says(large.against, "few_files"));

  TreeSurvey busy = made_up(20'000, 5'000);
  busy.changed = {kAgeLimits, {}};
  busy.changed.add(60, busy.bytes);
  CHECK(says(advised(busy, "hdd", 0.3).against, "rewritten"));
}

TEST_CASE("a log decides the policy, if it is the tree's", "[advise]") {
  const TreeSurvey s = made_up(20'000, 5'000);
  ContentSample sample;
  sample.packings = {{{Codec::zstd, 3}, 0.3, 0, 5e-9, 0}};
  const Prediction p = predict(s, sample, {}, modelled_disks(), 2);
  LogFindings log{"none", 1, 10, 0.5, 0};
  const Recommendation by_log = recommend(s, p, {}, *p.disk("cloud"), &log);
  CHECK(by_log.policy == "none");
  CHECK(by_log.compression == "none");
  CHECK(&by_log.store(p) == p.store("tablefs"));
  log.missing = 0.9;
  const Recommendation of_another = recommend(s, p, {}, *p.disk("cloud"), &log);
  CHECK(of_another.policy == "directory");
  CHECK(says(of_another.against, "log_of_another_tree"));
}

TEST_CASE("a disk is told by how long pages and long reads take, and never as endlessly fast", "[advise]") {
  const Disk quick = disk_of_times(0.05, 0.55, 4096, 1 << 20);
  CHECK(quick.seek_ms == Approx(0.05));
  CHECK(quick.bytes_per_second == Approx(((1 << 20) - 4096) / 0.5e-3));
  CHECK_FALSE(quick.has_arm);
  CHECK(disk_of_times(8, 16, 4096, 1 << 20).has_arm);
  // On a busy disk pages may take as long as what is read at once, or longer.
  CHECK(disk_of_times(0.62, 0.5, 4096, 1 << 20).bytes_per_second < 1.01 * (1 << 20) / 0.125e-3);
  CHECK(disk_of_times(0.5, 0.5, 4096, 1 << 20).bytes_per_second > 1e9);
}

TEST_CASE("nothing at all is surveyed and predicted without a division by it", "[advise]") {
  const TemporaryDirectory made;
  const TreeSurvey s = survey_of(made.path);
  const auto sample = sample_content(s, usual_format({Codec::zstd, 3}), usual_sample());
  REQUIRE(sample);
  const auto duplicates = find_duplicates(s, {});
  REQUIRE(duplicates);
  CHECK_FALSE(measure_disk_below(s, [] { return true; }));
  const Prediction p = predict(s, *sample, {}, modelled_disks(), 2);
  CHECK(recommend(s, p, *duplicates, p.disks[0], nullptr).worth == Worth::no);
  for (const DiskPrediction& on : p.disks) {
    for (const StorePrediction& store : p.stores) CHECK(std::isfinite(p.sweep_gain(on, store)));
  }
}

TEST_CASE("large members are those that an import makes, and nobody reads one whole for a part", "[advise]") {
  const auto remark = [](const TreeSurvey& s) {
    for (const Remark& r : advised(s, "hdd", 0.3).losses) {
      if (r.code == "large_members") return r.text;
    }
    return std::string();
  };
  CHECK(remark(made_up(2000, 500'000)).empty());
  const std::string large = remark(made_up(50, 100u << 20));
  CHECK(large.starts_with("50 files of more than 1 MiB"));
  CHECK(large.find("whole at its first read") == std::string::npos);
  TreeSurvey noise = made_up(50, 100u << 20);
  for (SurveyedFile& file : noise.directories[0].files) file.shrinks = false;
  CHECK(remark(noise).empty());
}

TEST_CASE("who makes no composites is not told to share what is in them", "[advise]") {
  const TreeSurvey s = made_up(20'000, 5'000);
  const Prediction p = predict(s, {}, {}, modelled_disks(), 2);
  Duplicates half;
  half.files = 10'000;
  half.bytes = half.shared_bytes = s.bytes / 2;
  CHECK(recommend(s, p, half, *p.disk("hdd"), nullptr).dedupe);
  const LogFindings log{"none", 1, 10, 0.5, 0};
  const Recommendation by_log = recommend(s, p, half, *p.disk("hdd"), &log);
  CHECK(by_log.policy == "none");
  CHECK_FALSE(by_log.dedupe);
}

TEST_CASE("a survey whose memory runs out ends", "[advise]") {
  const TemporaryDirectory made;
  for (int i = 0; i < 200; ++i) make_file(made.path + "/" + std::to_string(i) + "/file", "1");
  for (int n = 1; n < 200; n += 13) {
    SurveyOptions options;
    options.workers = 3;
    std::atomic<int> told{0};
    options.on_progress = [&](std::uint64_t) {
      if (++told == n) throw std::bad_alloc();
    };
    CHECK_THROWS_AS(survey_tree(made.path, options), std::bad_alloc);
  }
}

TEST_CASE("files of one size are compared as long as there is time, and no longer", "[advise]") {
  const TemporaryDirectory made;
  constexpr int kFiles = 400;
  for (int i = 0; i < kFiles; ++i) make_file(made.path + "/" + std::to_string(i), "the same");
  const TreeSurvey s = survey_of(made.path);
  DuplicateOptions options;
  options.workers = 1;
  options.seconds = 0.1;
  options.go_on = [] {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    return true;
  };
  const auto found = find_duplicates(s, options);
  REQUIRE(found);
  CHECK(found->compared > 0);
  CHECK(found->compared < kFiles);
  CHECK_FALSE(found->whole);
  CHECK(found->files > kFiles / 2);
  CHECK(found->files < kFiles);
}

TEST_CASE("not all were compared where some could not be read", "[advise]") {
  const TemporaryDirectory made;
  for (int i = 0; i < 10; ++i) make_file(made.path + "/" + std::to_string(i), "the same");
  const TreeSurvey s = survey_of(made.path);
  std::filesystem::remove(made.path + "/5");
  const auto found = find_duplicates(s, {});
  REQUIRE(found);
  CHECK(found->compared == 9);
  CHECK_FALSE(found->whole);
}

}  // namespace cffs::advise_test
