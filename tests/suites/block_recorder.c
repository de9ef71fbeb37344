// A disk whose every write is remembered: a FUSE file system with one file, `disk`, to be put under a loop device. What is written goes to IMAGE
// and, with every flush in between, to LOG, so that the disk can be made anew as a power cut at any moment would have left it
// (power_cuts.py). One request at a time: the order of the log is the order in which the requests were answered.
//
//   block_recorder IMAGE LOG MNT        ends when MNT is unmounted
//
// The log: records of u64 offset, u64 length, then that many bytes, little-endian; a flush has offset ~0 and length 0.
#define FUSE_USE_VERSION 314
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <fuse_lowlevel.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int image, record;
static const fuse_ino_t kDisk = 2;

static int attributes(fuse_ino_t ino, struct stat* st) {
  memset(st, 0, sizeof *st);
  st->st_ino = ino;
  st->st_nlink = 1;
  if (ino == FUSE_ROOT_ID) {
    st->st_mode = S_IFDIR | 0700;
    return 0;
  }
  struct stat below;
  if (ino != kDisk) return ENOENT;
  if (fstat(image, &below) != 0) return errno;
  st->st_mode = S_IFREG | 0600;
  st->st_size = below.st_size;
  return 0;
}

static void do_lookup(fuse_req_t req, fuse_ino_t parent, const char* name) {
  struct fuse_entry_param entry = {.ino = kDisk, .attr_timeout = 3600, .entry_timeout = 3600};
  const int failed = parent != FUSE_ROOT_ID || strcmp(name, "disk") != 0 ? ENOENT : attributes(kDisk, &entry.attr);
  if (failed) fuse_reply_err(req, failed);
  else fuse_reply_entry(req, &entry);
}

static void do_getattr(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info* fi) {
  (void)fi;
  struct stat st;
  const int failed = attributes(ino, &st);
  if (failed) fuse_reply_err(req, failed);
  else fuse_reply_attr(req, &st, 3600);
}

static void do_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info* fi) {
  (void)ino;
  fi->direct_io = 1;  // the loop device and the file system above keep what is worth keeping
  fuse_reply_open(req, fi);
}

static void do_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset, struct fuse_file_info* fi) {
  (void)ino, (void)fi;
  char* bytes = malloc(size);
  const ssize_t n = bytes == NULL ? -1 : pread(image, bytes, size, offset);
  if (n < 0) fuse_reply_err(req, EIO);
  else fuse_reply_buf(req, bytes, (size_t)n);
  free(bytes);
}

static int append(const void* bytes, size_t size) {
  for (size_t done = 0; done < size;) {
    const ssize_t n = write(record, (const char*)bytes + done, size - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno;
    done += (size_t)n;
  }
  return 0;
}

static void do_write(fuse_req_t req, fuse_ino_t ino, const char* bytes, size_t size, off_t offset, struct fuse_file_info* fi) {
  (void)ino, (void)fi;
  const uint64_t head[2] = {(uint64_t)offset, size};
  int failed = append(head, sizeof head);
  if (!failed) failed = append(bytes, size);
  if (!failed && pwrite(image, bytes, size, offset) != (ssize_t)size) failed = EIO;
  if (failed) fuse_reply_err(req, failed);
  else fuse_reply_write(req, size);
}

static void do_fsync(fuse_req_t req, fuse_ino_t ino, int data_only, struct fuse_file_info* fi) {
  (void)ino, (void)data_only, (void)fi;
  const uint64_t head[2] = {~(uint64_t)0, 0};
  fuse_reply_err(req, append(head, sizeof head));
}

int main(int argc, char** argv) {
  if (argc != 4) {
    fprintf(stderr, "usage: block_recorder IMAGE LOG MNT\n");
    return 2;
  }
  image = open(argv[1], O_RDWR | O_CLOEXEC);
  if (image < 0) return perror(argv[1]), 1;
  record = open(argv[2], O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600);
  if (record < 0) return perror(argv[2]), 1;
  static const struct fuse_lowlevel_ops operations = {
      .lookup = do_lookup, .getattr = do_getattr, .open = do_open, .read = do_read, .write = do_write, .fsync = do_fsync};
  char* words[] = {argv[0], "-ofsname=block_recorder", NULL};
  struct fuse_args arguments = FUSE_ARGS_INIT(2, words);
  struct fuse_session* session = fuse_session_new(&arguments, &operations, sizeof operations, NULL);
  if (session == NULL || fuse_set_signal_handlers(session) != 0 || fuse_session_mount(session, argv[3]) != 0) return 1;
  fuse_daemonize(0);
  const int done = fuse_session_loop(session);
  fuse_session_unmount(session);
  fuse_session_destroy(session);
  return done == 0 ? 0 : 1;
}
