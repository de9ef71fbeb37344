// A regular file of a store that is open: what io.RawIOBase needs, by offset. Positions are Python's.
#pragma once

#include <pybind11/pybind11.h>

#include <atomic>
#include <memory>
#include <string>

#include "python/extension/opened_store.h"

namespace cffs::python {

struct OpenHow {
  bool read = false, write = false, create = false, exclusive = false, truncate = false, append = false;
  mode_t mode = 0666;
};

class OpenFile {
 public:
  static std::shared_ptr<OpenFile> open(const std::shared_ptr<OpenedStore>& store, const std::string& path,
                                        const OpenHow& how);
  ~OpenFile();
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  std::size_t read_into(std::uint64_t offset, const pybind11::buffer& into);
  pybind11::bytes read(std::uint64_t offset, std::size_t bytes);
  // Returns where the data ends; `offset` is not looked at where the file was opened to append.
  std::uint64_t write(std::uint64_t offset, const pybind11::buffer& data);
  std::uint64_t size();
  Attributes attributes();
  void truncate(std::uint64_t size);
  void sync();
  void close();

 private:
  OpenFile(std::shared_ptr<OpenedStore> store, std::string path, InodeId ino, bool append)
      : store_(std::move(store)), path_(std::move(path)), ino_(ino), append_(append) {}

  const std::shared_ptr<OpenedStore> store_;
  const std::string path_;
  const InodeId ino_;
  const bool append_;
  std::atomic<bool> closed_{false};
};

}  // namespace cffs::python
