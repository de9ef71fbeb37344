#include "core/rados/pool.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <new>
#include <random>
#include <thread>

namespace cffs::rados {
namespace {

constexpr const char* kPatience = "15";  // seconds for a monitor to answer; Ceph's own default is 300

// One operation that was started: its buffer, and who is told.
struct Running {
  Running(Pool::Done to_tell, Pool::Read to_give, std::uint64_t room, const Pool& its_pool, std::string about)
      : done(std::move(to_tell)),
        read(std::move(to_give)),
        bytes(room, '\0'),
        pool(its_pool),
        what(std::move(about)) {
    pool.begin_callback();
  }
  ~Running() {
    if (read_op != nullptr) librados().release_read_op(read_op);
    done = nullptr;
    read = nullptr;
    pool.end_callback();
  }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

  Pool::Done done;
  Pool::Read read;
  std::string bytes;
  std::size_t got = 0;
  int read_code = 0;
  rados_read_op_t read_op = nullptr;
  const Pool& pool;
  std::string what;
};

void end_write(rados_completion_t completion, void* argument) {
  const std::unique_ptr<Running> running(static_cast<Running*>(argument));
  const int code = librados().aio_get_return_value(completion);
  if (code == -ESHUTDOWN) running->pool.shut_out();
  running->done(code < 0 ? -code : 0);
}

void end_read(rados_completion_t completion, void* argument) {
  const std::unique_ptr<Running> running(static_cast<Running*>(argument));
  const int code = librados().aio_get_return_value(completion);
  Result<std::string> answer = fail(ENOMEM);
  try {
    if (code < 0 && code != -ENOENT) answer = fail(running->pool.error(code, running->what));
    running->bytes.resize(code < 0 ? 0 : running->got);
    if (code >= 0 || code == -ENOENT) answer = std::move(running->bytes);
  } catch (const std::bad_alloc&) {  // librados knows no exceptions; whoever waits is told
  }
  running->read(std::move(answer));
}

// Starts what `submit` submits with a completion that ends in `end`; an operation that cannot be started ends at once.
template <typename Submit>
void launch(std::unique_ptr<Running> running, rados_callback_t end, const Submit& submit) {
  rados_completion_t completion = nullptr;
  Running* const argument = running.get();
  if (librados().aio_create_completion2(argument, end, &completion) != 0) {
    if (argument->read) return argument->read(fail(ENOMEM, argument->what));
    return argument->done(ENOMEM);
  }
  (void)running.release();  // the callback's from here on
  if (const int code = submit(completion, *argument); code < 0) {
    const std::unique_ptr<Running> back(argument);
    if (code == -ESHUTDOWN) back->pool.shut_out();
    if (back->read) {
      back->read(fail(back->pool.error(code, back->what)));
    } else {
      back->done(-code);
    }
  }
  librados().aio_release(completion);
}

}  // namespace

std::string random_text() {
  std::random_device random;
  return hexadecimal(random(), 8) + hexadecimal(random(), 8) + hexadecimal(random(), 8) +
         hexadecimal(random(), 8);
}

std::string hexadecimal(std::uint64_t number, unsigned digits) {
  std::string text;
  for (; number != 0 || text.size() < digits; number >>= 4)
    text.insert(text.begin(), "0123456789abcdef"[number & 15]);
  return text;
}

void WriteOperation::set_key(std::string_view key, std::string_view value) {
  const std::array<const char*, 1> keys{key.data()}, values{value.data()};
  const std::array<std::size_t, 1> key_lengths{key.size()}, value_lengths{value.size()};
  librados().write_op_omap_set2(op_, keys.data(), values.data(), key_lengths.data(), value_lengths.data(), 1);
}

void WriteOperation::remove_key(std::string_view key) {
  const std::array<const char*, 1> keys{key.data()};
  const std::array<std::size_t, 1> lengths{key.size()};
  librados().write_op_omap_rm_keys2(op_, keys.data(), lengths.data(), 1);
}

Result<std::shared_ptr<Pool>> Pool::connect(const RadosAddress& address) {
  const std::shared_ptr<Pool> pool(new Pool(address));
  CFFS_TRY_VOID(pool->begin());
  return pool;
}

Status Pool::begin() {
  CFFS_TRY_VOID(load_librados());
  const std::string user = "client." + (address_.id.empty() ? std::string("admin") : address_.id);
  const auto wrong = [&](const std::string& what) {
    return fail(Error::usage(address_.text() + ": " + what));
  };
  if (librados().create2(&cluster_, "ceph", user.c_str(), 0) < 0)
    return wrong("'" + user + "' is no name of a Ceph user");
  // What librados would print itself is said in one sentence here.
  for (const char* quiet : {"log_to_stderr", "err_to_stderr"})
    (void)librados().conf_set(cluster_, quiet, "false");
  if (librados().conf_read_file(cluster_, address_.conf.empty() ? nullptr : address_.conf.c_str()) < 0)
    return wrong(
        address_.conf.empty()
            ? "there is no /etc/ceph/ceph.conf; name a configuration file with :conf=FILE or CEPH_CONF"
            : address_.conf + " cannot be read as a configuration of Ceph");
  (void)librados().conf_parse_env(cluster_, nullptr);
  for (const char* quiet : {"log_to_stderr", "err_to_stderr"})
    (void)librados().conf_set(cluster_, quiet, "false");
  // How often it tells of watches; a watch lasts longer than several of these (ownership.cc).
  (void)librados().conf_set(cluster_, "objecter_tick_interval", "1");
  std::string patience(32, '\0');
  if (librados().conf_get(cluster_, "client_mount_timeout", patience.data(), patience.size()) == 0 &&
      std::atoi(patience.c_str()) == 300)
    (void)librados().conf_set(cluster_, "client_mount_timeout", kPatience);
  const int code = librados().connect(cluster_);
  if (code == -ETIMEDOUT)
    return wrong("no monitor of the cluster answers; is it up, and are its addresses right (mon_host)?");
  if (code == -ENOENT) return wrong("there is no keyring; see 'keyring' in the configuration");
  if (code == -EACCES || code == -EPERM)
    return wrong("the cluster refuses " + user + ": its key is wrong, or the keyring has none of that name");
  if (code == -EINVAL) return wrong("the configuration names no monitor that can be reached (mon_host)");
  if (code < 0) return fail(-code, address_.text() + ": connecting to the cluster");
  connected_ = true;
  const int opened = librados().ioctx_create(cluster_, address_.pool.c_str(), &io_);
  if (opened == -ENOENT)
    return wrong("the cluster has no pool '" + address_.pool + "'; see ceph osd pool ls");
  if (opened == -EPERM || opened == -EACCES) return wrong(user + " may not use pool '" + address_.pool + "'");
  if (opened < 0) return fail(-opened, address_.text() + ": opening the pool");
  librados().ioctx_set_namespace(io_, address_.pool_namespace.c_str());
  // A full pool is an error of who writes, not a wait for ever.
  librados().set_pool_full_try(io_);
  return {};
}

Pool::~Pool() {
  if (io_ != nullptr) {
    (void)librados().aio_flush(io_);
    librados().ioctx_destroy(io_);
  }
  if (cluster_ != nullptr) librados().shutdown(cluster_);
}

Error Pool::error(int code, const std::string& what) const {
  if (code == -ESHUTDOWN || is_shut_out()) {
    shut_out();
    return Error::os(ESHUTDOWN,
                     address_.text() + ": this user was shut out, somebody else took the store over");
  }
  // A pool's quota is its room.
  if (code == -EDQUOT) code = -ENOSPC;
  return Error::os(-code, address_.text() + (what.empty() ? "" : ": " + what));
}

Status Pool::run(const WriteOperation& operation, const std::string& object) const {
  const int code = librados().write_op_operate(operation.get(), io_, object.c_str(), nullptr, 0);
  if (code < 0) return fail(error(code, object));
  return {};
}

void Pool::start(const WriteOperation& operation, const std::string& object, Done done) const {
  auto running = std::make_unique<Running>(std::move(done), nullptr, 0, *this, object);
  launch(std::move(running), end_write, [&](rados_completion_t completion, Running&) {
    return librados().aio_write_op_operate(operation.get(), io_, completion, object.c_str(), nullptr, 0);
  });
}

void Pool::start_write(const std::string& object, std::uint64_t offset, std::string_view bytes,
                       Done done) const {
  auto running = std::make_unique<Running>(std::move(done), nullptr, 0, *this, object);
  launch(std::move(running), end_write, [&](rados_completion_t completion, Running&) {
    return librados().aio_write(io_, object.c_str(), completion, bytes.data(), bytes.size(), offset);
  });
}

void Pool::start_remove(const std::string& object, Done done) const {
  auto running = std::make_unique<Running>(std::move(done), nullptr, 0, *this, object);
  launch(std::move(running), end_write, [&](rados_completion_t completion, Running&) {
    return librados().aio_remove(io_, object.c_str(), completion);
  });
}

// A plain read may be answered before a write of the same object that was sent earlier and waits for its placement group.
void Pool::start_read(const std::string& object, std::uint64_t offset, std::uint64_t length,
                      Read done) const {
  auto running = std::make_unique<Running>(nullptr, std::move(done), length, *this, object);
  launch(std::move(running), end_read, [&](rados_completion_t completion, Running& to) {
    to.read_op = librados().create_read_op();
    librados().read_op_read(to.read_op, offset, length, to.bytes.data(), &to.got, &to.read_code);
    return librados().aio_read_op_operate(to.read_op, io_, completion, object.c_str(),
                                          LIBRADOS_OPERATION_ORDER_READS_WRITES);
  });
}

void Pool::wait_for_callbacks() const {
  while (callbacks_.load() != 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

std::string Pool::Stat::attribute(std::string_view name) const {
  for (const auto& [key, value] : attributes)
    if (key == name) return value;
  return {};
}

Result<Pool::Stat> Pool::stat(const std::string& object) const {
  const rados_read_op_t op = librados().create_read_op();
  Stat stat;
  time_t changed = 0;
  int stat_code = 0, attributes_code = 0;
  rados_xattrs_iter_t attributes = nullptr;
  librados().read_op_stat(op, &stat.size, &changed, &stat_code);
  librados().read_op_getxattrs(op, &attributes, &attributes_code);
  const int code = librados().read_op_operate(op, io_, object.c_str(), 0);
  librados().release_read_op(op);
  if (code >= 0 && attributes != nullptr) {
    const char *name = nullptr, *value = nullptr;
    std::size_t length = 0;
    while (librados().getxattrs_next(attributes, &name, &value, &length) == 0 && name != nullptr)
      stat.attributes.emplace_back(name, std::string(value, length));
  }
  if (attributes != nullptr) librados().getxattrs_end(attributes);
  if (code < 0) return fail(error(code, object));
  return stat;
}

Result<std::vector<std::pair<std::string, std::string>>> Pool::map(const std::string& object,
                                                                   const std::string& prefix) const {
  constexpr std::uint64_t kAtOnce = 1000;
  std::vector<std::pair<std::string, std::string>> pairs;
  std::string after;
  for (unsigned char more = 1; more != 0;) {
    const rados_read_op_t op = librados().create_read_op();
    rados_omap_iter_t found = nullptr;
    int pairs_code = 0;
    more = 0;
    librados().read_op_omap_get_vals2(op, after.c_str(), prefix.c_str(), kAtOnce, &found, &more, &pairs_code);
    const int code = librados().read_op_operate(op, io_, object.c_str(), 0);
    librados().release_read_op(op);
    const std::size_t before = pairs.size();
    while (code >= 0 && found != nullptr) {
      char *key = nullptr, *value = nullptr;
      std::size_t key_length = 0, value_length = 0;
      if (librados().omap_get_next2(found, &key, &value, &key_length, &value_length) != 0 || key == nullptr)
        break;
      pairs.emplace_back(std::string(key, key_length), std::string(value, value_length));
    }
    if (found != nullptr) librados().omap_get_end(found);
    if (code == -ENOENT) return pairs;
    if (code < 0) return fail(error(code, object));
    // A key with a zero byte ends the text that is asked for.
    if (pairs.size() == before || (!after.empty() && pairs.back().first <= after)) break;
    after = pairs.back().first;
  }
  return pairs;
}

Result<std::string> Pool::ask_monitors(const std::string& command) const {
  std::array<const char*, 1> words{command.c_str()};
  char *out = nullptr, *status = nullptr;
  std::size_t out_length = 0, status_length = 0;
  const int code =
      librados().mon_command(cluster_, words.data(), 1, "", 0, &out, &out_length, &status, &status_length);
  std::string answer(out == nullptr ? "" : out, out == nullptr ? 0 : out_length);
  if (out != nullptr) librados().buffer_free(out);
  if (status != nullptr) librados().buffer_free(status);
  if (code < 0) return fail(error(code, "asking the monitors"));
  return answer;
}

}  // namespace cffs::rados
