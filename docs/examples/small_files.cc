// The engine without a mount: makes a store in the directory named, writes small files into it, makes them durable and
// reads them back. Built by the CMakeLists.txt beside it.
#include <sys/stat.h>

#include <cstdio>
#include <string>

#include "core/fs/file_system.h"
#include "core/object/posix_store.h"

// Every call returns a value or an Error with an errno and a sentence; CFFS_TRY hands the error on.
cffs::Status write_and_read(const std::string& directory) {
  CFFS_TRY(const auto objects, cffs::PosixStore::open_directory(directory));
  CFFS_TRY_VOID(cffs::FileSystem::format(*objects, cffs::StoreFormat{}, cffs::SystemClock()));
  CFFS_TRY(const auto fs, cffs::FileSystem::open(*objects, cffs::FileSystemOptions{}));
  const cffs::Caller caller = cffs::Caller::privileged();
  for (int i = 0; i < 100; ++i) {
    CFFS_TRY(const auto file,
             fs->mknod(cffs::kRootInode, "note" + std::to_string(i), S_IFREG | 0644, 0, caller));
    CFFS_TRY_VOID(fs->write(file.ino, 0, cffs::as_bytes("what a small file says"), caller));
    fs->forget(file.ino, 1);  // mknod and lookup hand out a reference; it is given back here
  }
  CFFS_TRY_VOID(fs->sync());
  CFFS_TRY(const auto file, fs->lookup(cffs::kRootInode, "note42"));
  std::string text(file.size, '\0');
  CFFS_TRY_VOID(fs->read(file.ino, 0, cffs::as_writable_bytes(text)));
  std::printf("note42: %s\n", text.c_str());
  fs->forget(file.ino, 1);
  return fs->close();
}

int main(int argc, char** argv) {
  if (argc != 2) return std::fprintf(stderr, "usage: small_files DIRECTORY\n"), 2;
  const cffs::Status done = write_and_read(argv[1]);
  if (!done) return std::fprintf(stderr, "small_files: %s\n", done.error().message().c_str()), 1;
}
