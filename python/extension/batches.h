// Many files with one call, and whole epochs of them: see core/batch/batch_reader.h. What comes out are read-only memoryviews of the memory
// that the batch was read into, alive as long as one of them is.
#pragma once

#include <pybind11/pybind11.h>

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "core/batch/batch_reader.h"
#include "python/extension/names.h"
#include "python/extension/opened_store.h"

namespace cffs::python {

// What was read, before Python has seen it.
struct ReadBatch {
  std::shared_ptr<Buffer> buffer;
  std::vector<BatchReader::Content> contents;
};

// On any thread; inside of OpenedStore::run().
ReadBatch read_batch(OpenedStore& store, std::span<const FilePlace> files, const BatchReader::PathOf& path,
                     unsigned threads);

// The regular files below a directory, as they were when they were listed.
class Files {
 public:
  Files(std::shared_ptr<OpenedStore> store, std::string root, PlacedFiles files)
      : store_(std::move(store)),
        root_(std::move(root)),
        files_(std::move(files)),
        by_path_(files_.by_path()) {}

  std::size_t size() const { return files_.size(); }
  std::uint64_t bytes() const { return files_.bytes(); }
  const std::shared_ptr<OpenedStore>& store() const { return store_; }
  const std::string& root() const { return root_; }
  // Numbers here are of files in order of their paths: the same each time, as long as no name changes.
  const FilePlace& place(std::uint32_t number) const { return files_.place(by_path_[number]); }
  std::string path(std::uint32_t number) const { return files_.path(by_path_[number]); }
  // All paths, made once.
  const pybind11::list& paths();
  pybind11::list sizes() const;
  pybind11::list read(const pybind11::sequence& numbers, unsigned threads);

  // In which order an epoch goes through the files, and how they are cut into batches.
  struct Epoch {
    enum class Order { store, path, shuffled };
    Order order = Order::store;
    std::uint64_t seed = 0;
    std::uint64_t unit_bytes =
        256u << 10;  // of neighbours that a shuffle keeps together until a batch has them
    std::uint64_t batch_bytes = 1u << 20;
    std::uint32_t batch_files = 0;        // at most; 0: any number
    std::uint32_t shard = 0, shards = 1;  // of the units
  };
  struct Batch {
    std::vector<std::uint32_t> reading;   // numbers, in the order in which they lie
    std::vector<std::uint32_t> delivery;  // places in `reading`; empty: that order
  };
  std::vector<Batch> batches(const Epoch& epoch) const;

 private:
  std::vector<std::vector<std::uint32_t>> units(const Epoch& epoch) const;

  const std::shared_ptr<OpenedStore> store_;
  const std::string root_;
  const PlacedFiles files_;
  const std::vector<std::uint32_t> by_path_;
  std::optional<pybind11::list> paths_;
  mutable std::vector<std::uint32_t> as_they_lie_;  // numbers; once they were asked for, with the GIL
};

// Reads batch after batch by threads of its own, a few ahead of who takes them.
class BatchIterator {
 public:
  BatchIterator(std::shared_ptr<Files> files, std::vector<Files::Batch> batches, unsigned threads,
                unsigned ahead);
  ~BatchIterator();
  BatchIterator(const BatchIterator&) = delete;
  BatchIterator& operator=(const BatchIterator&) = delete;

  // (paths, views); StopIteration.
  pybind11::tuple next();
  void close();
  std::size_t size() const { return batches_.size(); }

 private:
  struct Done {
    std::optional<ReadBatch> batch;
    std::optional<Error> error;
  };
  void work();
  Done read(const Files::Batch& batch);

  const std::shared_ptr<Files> files_;
  const std::vector<Files::Batch> batches_;
  const unsigned ahead_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t taken_ = 0, begun_ = 0;
  bool ending_ = false;
  std::map<std::size_t, Done> done_;
  std::vector<std::thread> threads_;
};

void define_batches(pybind11::module_& module, StoreClass& store);

}  // namespace cffs::python
