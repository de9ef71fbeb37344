// A store's directory that somebody else has prepared: nothing outside of it is read, changed or made, nobody waits for what
// is no file, and another user's is refused unless asked for.
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <fstream>

#include "core/object/posix_store.h"
#include "tests/unit/object_bytes.h"
#include "tests/unit/temporary_directory.h"

namespace cffs::test {
namespace {

using Create = ObjectStore::Create;
using Access = PosixStore::Access;
using Owners = PosixStore::Owners;
namespace fs = std::filesystem;

constexpr const char* kSecret = "only its owner's\n";
constexpr uid_t kStranger = 65534;

// A directory with a store in it, and beside it what a store must not reach.
struct Prepared {
  TemporaryDirectory top;
  std::string store = top.path + "/store";
  std::string outside = top.path + "/outside";
  std::string secret = outside + "/secret";
  Prepared() {
    fs::create_directory(store);
    fs::permissions(store, fs::perms::owner_all);
    fs::create_directory(outside);
    std::ofstream(secret) << kSecret;
  }
  std::unique_ptr<PosixStore> open(Access access = Access::read_write, Owners owners = Owners::own) const {
    return std::move(*PosixStore::open_directory(store, access, owners));
  }
  std::string secret_now() const {
    std::ifstream file(secret);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  // Nothing came, went or changed.
  bool outside_is_untouched() const {
    std::size_t names = 0;
    for ([[maybe_unused]] const auto& entry : fs::recursive_directory_iterator(outside)) ++names;
    return names == 1 && secret_now() == kSecret;
  }
};

bool refused(const Error& error) { return error.kind == ErrorKind::corruption && error.errno_value == EIO; }

// What must not happen through one name of a prepared store.
void check_refused(PosixStore& store, const std::string& name) {
  INFO(name);
  const auto opened = store.open(name);
  REQUIRE(!opened);
  REQUIRE(refused(opened.error()));
  for (const Create how : {Create::truncate, Create::keep}) {
    const auto created = store.create(name, how);
    REQUIRE(!created);
    REQUIRE(refused(created.error()));
  }
  REQUIRE(!store.create(name, Create::exclusive));
}

// In a process of its own, where the kernel says that it has no openat2.
int without_openat2(int reason, const std::function<bool()>& work) {
  const pid_t child = ::fork();
  if (child == 0) {
    std::array filter = {
        sock_filter BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        sock_filter BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat2, 0, 1),
        sock_filter BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | static_cast<unsigned>(reason)),
        sock_filter BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    const sock_fprog program{static_cast<unsigned short>(filter.size()), filter.data()};
    const bool set = ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
                     ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
    ::_exit(set && work() ? 0 : 1);
  }
  int status = -1;
  REQUIRE(::waitpid(child, &status, 0) == child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// The same questions to the kernel's own resolution and to ours.
bool resolves_beneath(const Prepared& prepared,
                      const std::function<FileDescriptor(const std::string&)>& open) {
  fs::create_directories(prepared.store + "/a/b");
  std::ofstream(prepared.store + "/a/b/file") << "x";
  fs::create_symlink(prepared.secret, prepared.store + "/a/link");
  fs::create_symlink("b", prepared.store + "/a/inner");
  fs::create_directory_symlink(prepared.outside, prepared.store + "/out");
  const auto gives = [&](const std::string& name, int reason) {
    errno = 0;
    const FileDescriptor fd = open(name);
    return reason == 0 ? static_cast<bool>(fd) : !fd && errno == reason;
  };
  return gives("a/b/file", 0) && gives("a/link", ELOOP) && gives("out/secret", ELOOP) &&
         gives("a/inner/file", ELOOP) && gives("../outside/secret", EXDEV) && gives(prepared.secret, EXDEV) &&
         gives("a/none", ENOENT) && gives("a/b/file/none", ENOTDIR);
}

}  // namespace

TEST_CASE("names lead nowhere but below the directory") {
  const Prepared prepared;
  const FileDescriptor root(::open(prepared.store.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const Beneath beneath(root.get());
  const bool components = GENERATE(false, true);
  REQUIRE(resolves_beneath(prepared, [&](const std::string& name) {
    return components ? open_by_components(root.get(), name, O_RDONLY | O_CLOEXEC)
                      : beneath.open(name, O_RDONLY | O_CLOEXEC);
  }));
}

TEST_CASE("a kernel without openat2, or one that forbids it, follows no links either") {
  const int reason = GENERATE(ENOSYS, EPERM);
  const Prepared prepared;
  REQUIRE(without_openat2(reason, [&] {
            const FileDescriptor root(::open(prepared.store.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
            const Beneath beneath(root.get());
            const auto store = PosixStore::open_directory(prepared.store);
            const bool works = store && (*store)->create("x/y/z", Create::exclusive) &&
                               (*store)->rename("x/y/z", "x/n/z") && (*store)->remove("x/n/z");
            return works && resolves_beneath(prepared, [&](const std::string& name) {
                     return beneath.open(name, O_RDONLY | O_CLOEXEC);
                   });
          }) == 0);
}

TEST_CASE("symbolic links in a store are refused, whatever is done with their names") {
  const Prepared prepared;
  const auto access = GENERATE(Owners::own, Owners::anybody);
  const auto store = prepared.open(Access::read_write, access);
  REQUIRE(store->create("blobs/0/5", Create::exclusive));
  fs::create_symlink(prepared.secret, prepared.store + "/blobs/0/6");
  fs::create_symlink(prepared.outside + "/new", prepared.store + "/blobs/0/7");
  fs::create_directory_symlink(prepared.outside, prepared.store + "/blobs/1");
  fs::create_directory_symlink(prepared.outside, prepared.store + "/composites");
  for (const char* name :
       {"blobs/0/6", "blobs/0/7", "blobs/1/secret", "composites/secret", "composites/0/8"}) {
    check_refused(*store, name);
  }
  REQUIRE(!prepared.open(Access::read_only)->open("blobs/0/6"));
  for (const char* name : {"blobs/1/secret", "composites/secret"}) {
    INFO(name);
    REQUIRE(!store->remove(name));
    REQUIRE(!store->rename(name, "blobs/0/9"));
    REQUIRE(!store->rename("blobs/0/5", name));
    REQUIRE(!store->exists(name));
  }
  REQUIRE(*store->list("blobs") ==
          std::vector<std::string>{"blobs/0/5", "blobs/0/6", "blobs/0/7", "blobs/1"});
  const auto elsewhere = store->list("composites");
  REQUIRE((!elsewhere || elsewhere->empty()));
  REQUIRE(store->remove("blobs/0/6"));  // the link itself
  REQUIRE(prepared.outside_is_untouched());

  fs::remove(prepared.store + "/lock");
  fs::create_symlink(prepared.secret, prepared.store + "/lock");
  REQUIRE(!store->lock("pid 1 on host"));
  REQUIRE(!store->lock_for_reading());
  REQUIRE(prepared.outside_is_untouched());
}

TEST_CASE("what is no regular file makes nobody wait") {
  const Prepared prepared;
  const auto owners = GENERATE(Owners::own, Owners::anybody);
  {
    const auto store = prepared.open();
    REQUIRE(store->create("blobs/0/5", Create::exclusive));
  }
  if (owners == Owners::anybody) fs::permissions(prepared.store + "/blobs", fs::perms::all);
  for (const char* name : {"/blobs/0/6", "/lock"}) {
    REQUIRE(::mkfifo((prepared.store + name).c_str(), 0600) == 0);
  }
  for (const auto access : {Access::read_write, Access::read_only}) {
    const auto store = prepared.open(access, owners);
    // Refused at once where others can write; where they cannot, whoever reads it is told, which costs nothing before.
    const auto object = store->open("blobs/0/6");
    if (owners == Owners::anybody) REQUIRE((!object && refused(object.error())));
    if (!object) continue;
    std::string bytes(10, 'x');
    for (const bool waits : {false, true}) {
      const auto read = waits ? Status((*object)->read_at(0, as_writable_bytes(bytes)).map([](auto) {}))
                              : Status((*object)->try_read_at(0, as_writable_bytes(bytes)).map([](auto) {}));
      REQUIRE((!read && refused(read.error())));
    }
    const auto info = (*object)->info();
    REQUIRE((!info && refused(info.error())));
  }
  REQUIRE(!prepared.open(Access::read_write, owners)->lock("pid 1 on host"));
}

TEST_CASE("a store of another user is refused unless asked for") {
  if (::geteuid() != 0) return;  // nobody else can give files away
  const Prepared prepared;
  {
    const auto store = prepared.open();
    for (const char* name : {"superblock", "table/000005.ldb", "blobs/0/5", "composites/0/6", "accesses/1"}) {
      REQUIRE(store->create(name, Create::exclusive));
    }
    REQUIRE(store->is_private());
  }
  const std::string strange = GENERATE("", "/superblock", "/table", "/table/000005.ldb", "/blobs", "/blobs/0",
                                       "/composites/0", "/accesses/1");
  INFO("given away: " << strange);
  REQUIRE(::lchown((prepared.store + strange).c_str(), kStranger, kStranger) == 0);
  for (const auto access : {Access::read_write, Access::read_only}) {
    const auto refusal = PosixStore::open_directory(prepared.store, access);
    REQUIRE(!refusal);
    REQUIRE(refusal.error().kind == ErrorKind::usage);
    REQUIRE(refusal.error().message().find(prepared.store + strange + " belongs to user 65534") !=
            std::string::npos);
    REQUIRE(refusal.error().message().find("--foreign-owner") != std::string::npos);
    const auto asked_for = PosixStore::open_directory(prepared.store, access, Owners::anybody);
    REQUIRE(asked_for);
    REQUIRE(!(*asked_for)->is_private());
  }
}

TEST_CASE("where others can make names, each file's owner counts") {
  if (::geteuid() != 0) return;
  const Prepared prepared;
  REQUIRE(prepared.open()->create("blobs/0/5", Create::exclusive));
  fs::permissions(prepared.store, fs::perms::all);
  const auto store = prepared.open();
  REQUIRE(!store->is_private());
  REQUIRE(store->open("blobs/0/5"));
  REQUIRE(store->create("blobs/0/6", Create::exclusive));
  fs::create_hard_link(prepared.secret, prepared.store + "/blobs/0/7");
  REQUIRE(::lchown((prepared.store + "/blobs/0/6").c_str(), kStranger, kStranger) == 0);
  check_refused(*store, "blobs/0/6");

  // In another's store a file of root's with a name elsewhere is root's business: it is neither read nor emptied.
  REQUIRE(::lchown(prepared.store.c_str(), kStranger, kStranger) == 0);
  const auto foreign = prepared.open(Access::read_write, Owners::anybody);
  check_refused(*foreign, "blobs/0/7");
  REQUIRE(foreign->open("blobs/0/5"));
  REQUIRE(prepared.secret_now() == kSecret);
}

}  // namespace cffs::test
