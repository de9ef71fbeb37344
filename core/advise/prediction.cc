#include "core/advise/prediction.h"

#include <algorithm>
#include <cmath>

#include "core/fs/spare_objects.h"

namespace cffs {
namespace {

// Fitted to imports of ten trees (docs/ADVISE.md).
constexpr double kTableCache = 32 * 1024.0 * 1024;
constexpr double kRowBytes = 46;      // of an entry in a table that LevelDB has compressed, beside its name
constexpr double kNameShare = 1.0;    // of a name's bytes
constexpr double kInlineShare = 0.8;  // of bytes in the table, where nothing says how they compress
constexpr std::uint64_t kTableFile = 2u << 20;
constexpr std::uint64_t kOwnObjects =
    11;  // superblock and its copy, lock, reserve, followers, catalogue, what LevelDB has beside tables
constexpr double kCatalogued = 66;                      // bytes of an entry in the catalogue, beside its name
constexpr std::uint64_t kCataloguedInline = 16u << 20;  // bytes of inline data there
constexpr std::uint64_t kReserve = 48u << 20;
constexpr std::uint64_t kNumbersOfAFolder = 10'000;

// An import, of what is in memory: what a medium costs beside what import_trial.h measures, where that could; else what it measured
// on 2 cores.
constexpr double kImport = 0.05, kStoredByte = 0.5e-9, kBlobByte = 0.6e-9, kBlob = 300e-6;
constexpr double kTriedFile = 12e-6, kTriedByte = 0.8e-9;

// FUSE: a file is two requests, and its bytes are copied twice more (docs/PERFORMANCE.md, "Against the floor").
constexpr double kFuseFile = 50e-6, kFuseByte = 1.5e-9, kFuseRandomFile = 150e-6;
constexpr double kFirst = 0.05, kFirstRequests = 60;  // of a mount
constexpr double kKernelFile = 12e-6;                 // of a file that the kernel reads itself
constexpr double kUnpackByte = 0.8e-9;                // where no sample was unpacked: 50 µs for 64 KiB
constexpr double kObjectRequest = 512 * 1024.0, kLargeRequest = 128 * 1024.0;
constexpr std::uint64_t kTableInMemory = 32u << 20;  // core/table reads that much when it is opened
constexpr double kFramePart = 64 * 1024.0;

std::uint64_t rounded(double quantity) {
  return static_cast<std::uint64_t>(std::llround(std::max(0.0, quantity)));
}

// What the device does and what the processors do overlap for the most part: the longer of the two, and half of the other.
double overlapped(double device_s, double processor_s) {
  return std::max(device_s, processor_s) + 0.5 * std::min(device_s, processor_s);
}

std::uint64_t folders_of(std::uint64_t objects, std::uint64_t numbers) {
  return objects == 0 ? 0 : 1 + std::min(objects, numbers / kNumbersOfAFolder + 1);
}

// docs/PERFORMANCE.md, "Memory", docs/COMPRESSION.md, "Memory": inodes, the table's cache, frames.
std::uint64_t daemon_bytes_of(const TreeSurvey& survey, const ImportOutline& outline, bool packed) {
  const double inodes = static_cast<double>(survey.inodes());
  const double known = std::min(inodes, 1e6) * 85 + std::min(inodes, 65'536.0) * 600;
  const double table =
      static_cast<double>(survey.entries()) * 110 + static_cast<double>(outline.inline_bytes);
  return rounded(15e6 + known + std::min(table, kTableCache) + (packed ? 40e6 : 0));
}

// Files that are not empty, and their bytes as far as they are allocated: holes cost nothing.
double read_files(const TreeSurvey& survey) {
  return static_cast<double>(survey.files - survey.sizes.classes[0].files);
}
double read_bytes(const TreeSurvey& survey) {
  return static_cast<double>(std::min(survey.bytes, survey.allocated_bytes));
}

class StoreModel {
 public:
  StoreModel(const TreeSurvey& survey, const ContentSample& sample, const std::vector<ImportPace>& paces,
             unsigned processors)
      : survey_(survey), sample_(sample), paces_(paces), processors_(processors) {}

  StorePrediction of(std::string name, const Compression& how, bool composites) const {
    StorePrediction p;
    p.name = std::move(name);
    p.compression = compression_text(how);
    p.outline = outline_import(survey_, usual_format(how), composites);
    const PackingEstimate* const packing = how.codec == Codec::stored ? nullptr : sample_.find(how.codec);
    if (packing != nullptr) {
      p.share = packing->share;
      p.uncertainty = packing->uncertainty;
    }
    const ImportOutline& o = p.outline;
    p.stored_bytes = rounded(static_cast<double>(o.composite_bytes) * p.share);
    p.rows = survey_.entries() + o.composites + o.chunks;
    p.table_bytes = table_bytes(o);
    p.objects = kOwnObjects - 1 + std::max<std::uint64_t>(1, (p.table_bytes + kTableFile - 1) / kTableFile) +
                o.composites + o.blobs;
    const std::uint64_t numbers = survey_.inodes() + o.composites;
    p.inodes = p.objects + 2 + SpareObjects::kHeld + 1 + folders_of(o.composites, numbers) +
               folders_of(o.blobs, numbers);
    p.object_bytes = p.stored_bytes + o.blob_bytes + p.table_bytes + catalogue_bytes(o);
    p.reserve_bytes = kReserve;
    p.import_s = import_s(p, packing);
    if (packing != nullptr)
      p.unpack_seconds_a_byte =
          packing->unpack_seconds_a_byte > 0 ? packing->unpack_seconds_a_byte : kUnpackByte;
    p.unpack_s = static_cast<double>(o.composite_bytes) * p.unpack_seconds_a_byte;
    p.daemon_bytes = daemon_bytes_of(survey_, o, packing != nullptr);
    return p;
  }

 private:
  std::uint64_t table_bytes(const ImportOutline& o) const {
    // LevelDB compresses with Snappy, which is as good as LZ4.
    const PackingEstimate* const lz4 = sample_.find(Codec::lz4);
    const double inline_share = lz4 != nullptr ? std::min(1.0, lz4->share * 1.1) : kInlineShare;
    return rounded(static_cast<double>(survey_.entries()) * kRowBytes +
                   static_cast<double>(survey_.name_bytes) * kNameShare + static_cast<double>(o.chunks) * 20 +
                   static_cast<double>(o.inline_bytes) * inline_share);
  }

  std::uint64_t catalogue_bytes(const ImportOutline& o) const {
    return rounded(static_cast<double>(survey_.entries()) * kCatalogued +
                   static_cast<double>(survey_.name_bytes)) +
           std::min(o.inline_bytes, kCataloguedInline);
  }

  double import_s(const StorePrediction& p, const PackingEstimate* packing) const {
    const ImportOutline& o = p.outline;
    const double blob_bytes = std::min(static_cast<double>(o.blob_bytes), read_bytes(survey_));
    const double beside = kImport + static_cast<double>(o.blobs) * kBlob + blob_bytes * kBlobByte +
                          static_cast<double>(p.stored_bytes + p.table_bytes) * kStoredByte;
    const double bytes = static_cast<double>(o.composite_bytes + o.inline_bytes);
    const Compression how = packing != nullptr ? packing->how : Compression{};
    for (const ImportPace& pace : paces_) {
      if (pace.how == how) return beside + bytes * pace.seconds_a_byte;
    }
    const double packed = packing != nullptr ? bytes * packing->seconds_a_byte : 0;
    return beside + static_cast<double>(survey_.entries()) * kTriedFile + bytes * kTriedByte +
           packed / std::max(1u, processors_);
  }

  const TreeSurvey& survey_;
  const ContentSample& sample_;
  const std::vector<ImportPace>& paces_;
  const unsigned processors_;
};

ReadPrediction read_directory(const TreeSurvey& survey, const Disk& disk) {
  const double files = read_files(survey), bytes = read_bytes(survey);
  const double directories = static_cast<double>(survey.directories.size());
  ReadPrediction p;
  p.requests = rounded(files + directories + bytes / kLargeRequest * 0.25);
  p.sweep_s = (files * disk.near_ms + directories * disk.directory_ms()) / 1000 +
              bytes / disk.bytes_per_second + files * kKernelFile;
  const double mean = files > 0 ? bytes / files : 0;
  p.random_files_s =  // its inode, then its data
      1 / (2 * disk.place_ms() / 1000 + mean / disk.bytes_per_second + kKernelFile);
  return p;
}

// A mount reads its table first, and single files until it knows what its readers want.
double first_s(const Disk& disk) { return kFirst + kFirstRequests * disk.place_ms() / 1000; }

ReadPrediction read_store(const TreeSurvey& survey, const StorePrediction& store, const Disk& disk) {
  const ImportOutline& o = store.outline;
  const double files = read_files(survey), bytes = read_bytes(survey);
  const bool packed = store.compression != "none";
  const double composites = static_cast<double>(o.composites),
               stored = static_cast<double>(store.stored_bytes);
  const double blob_bytes = std::min(static_cast<double>(o.blob_bytes), bytes);
  const double device_bytes = stored + static_cast<double>(store.table_bytes) + blob_bytes;
  // A blob is a file of the file system below, and costs what such a file costs.
  const double requests = stored / kObjectRequest + composites * (packed ? 2.0 : 1.0) +
                          static_cast<double>(store.table_bytes) / kObjectRequest * 2 +
                          static_cast<double>(o.blobs);
  // An arm has gone elsewhere meanwhile; less far, from blob to blob.
  const double places = disk.has_arm ? composites + static_cast<double>(o.blobs) / 2.4 : 0;
  ReadPrediction p;
  p.requests = rounded(requests);
  p.sweep_s = first_s(disk) + overlapped((requests * disk.near_ms + places * disk.place_ms()) / 1000 +
                                             device_bytes / disk.bytes_per_second,
                                         files * kFuseFile + bytes * kFuseByte + store.unpack_s);

  const double wanted = std::max(1.0, files * kRandomShare);
  const double blobs = files > 0 ? static_cast<double>(o.blobs) / files : 0;
  const double inlined = files > 0 ? static_cast<double>(o.inline_files) / files : 0;
  const double mean = files > 0 ? bytes / files : 0;
  // One request, since rows are in memory, and what lies beside them; of a packed member the whole frame.
  const double requests_each = store.table_bytes <= kTableInMemory ? 1 - inlined : 1;
  const double moved = packed ? std::max(mean, kFramePart / 2) * store.share : mean;
  double device_s = requests_each * disk.place_ms() / 1000 + moved / disk.bytes_per_second;
  if (disk.has_arm && composites > 0) {
    // Where several files of a composite are wanted it is read whole, after some single ones.
    const double of_one = wanted * static_cast<double>(o.members) / files / composites;
    const double whole_s = 4 * disk.place_ms() / 1000 + stored / composites / disk.bytes_per_second;
    const double part_s = whole_s / of_one + blobs * disk.place_ms() / 1000;
    // A mount finds out by trying: where whole composites do not pay, some of them were read all the same.
    if (of_one >= 1) device_s = part_s < device_s ? part_s : (device_s + std::min(part_s, 2 * device_s)) / 2;
  }
  const double unpacking = std::max(mean, kFramePart) * store.unpack_seconds_a_byte;
  p.random_files_s = 1 / (first_s(disk) / wanted * (disk.is_fast() ? 0 : 1) + device_s + kFuseRandomFile +
                          unpacking + mean * kFuseByte);
  return p;
}

}  // namespace

const StorePrediction* Prediction::store(std::string_view name) const {
  const auto at = std::find_if(stores.begin(), stores.end(), [&](const auto& s) { return s.name == name; });
  return at == stores.end() ? nullptr : &*at;
}

const DiskPrediction* Prediction::disk(std::string_view name) const {
  const auto at =
      std::find_if(disks.begin(), disks.end(), [&](const auto& d) { return d.disk.name == name; });
  return at == disks.end() ? nullptr : &*at;
}

std::uint64_t StorePrediction::bytes_deduped(const Duplicates& duplicates) const {
  if (outline.composites == 0) return object_bytes;
  return object_bytes - std::min(stored_bytes, rounded(static_cast<double>(duplicates.shared_bytes) * share));
}

double Prediction::sweep_gain(const DiskPrediction& on, const StorePrediction& of) const {
  const ReadPrediction& read = on.stores[static_cast<std::size_t>(&of - stores.data())];
  return read.sweep_s > 0 ? on.directory.sweep_s / read.sweep_s : 1;
}

double Prediction::random_gain(const DiskPrediction& on, const StorePrediction& of) const {
  const ReadPrediction& read = on.stores[static_cast<std::size_t>(&of - stores.data())];
  return on.directory.random_files_s > 0 ? read.random_files_s / on.directory.random_files_s : 1;
}

Prediction predict(const TreeSurvey& survey, const ContentSample& sample,
                   const std::vector<ImportPace>& paces, const std::vector<Disk>& disks,
                   unsigned processors) {
  const StoreModel model(survey, sample, paces, processors);
  Prediction p;
  p.processors = processors;
  p.stores.push_back(model.of("tablefs", {}, false));
  p.stores.push_back(model.of("plain", {}, true));
  for (const PackingEstimate& packing : sample.packings)
    p.stores.push_back(model.of(compression_text(packing.how), packing.how, true));
  for (const Disk& disk : disks) {
    DiskPrediction on{disk, read_directory(survey, disk), {}};
    for (const StorePrediction& store : p.stores) on.stores.push_back(read_store(survey, store, disk));
    p.disks.push_back(std::move(on));
  }
  return p;
}

}  // namespace cffs
