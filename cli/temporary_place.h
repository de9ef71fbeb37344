// A directory for as long as a command needs one, and what those left that were killed: the next one takes it away.
//
// It is the caller's alone, locked (flock) while its command lives, and has a file that says so with the directory's number: a copy has
// another, and is a directory as others are. What is in it goes before that file. One that is empty was only just made, or is almost gone.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "core/base/error.h"
#include "core/object/file_descriptor.h"

namespace cffs::cli {

class TemporaryPlace {
 public:
  // FOLDER/NAME.XXXXXX. First takes away what killed ones of that name left in the folder.
  static Result<std::unique_ptr<TemporaryPlace>> make(const std::string& folder, std::string_view name);
  // With it goes what could not before, because somebody still wrote there.
  ~TemporaryPlace();
  TemporaryPlace(const TemporaryPlace&) = delete;
  TemporaryPlace& operator=(const TemporaryPlace&) = delete;

  const std::string& path() const { return path_; }
  // From any thread, before the process ends without the destructor.
  void remove() const;

 private:
  TemporaryPlace(std::string folder, std::string_view name, std::string path, FileDescriptor lock)
      : folder_(std::move(folder)), name_(name), path_(std::move(path)), lock_(std::move(lock)) {}

  const std::string folder_, name_, path_;
  const FileDescriptor lock_;
};

}  // namespace cffs::cli
