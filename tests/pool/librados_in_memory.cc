// librados's functions, those that core/rados calls, on a MemoryPool.
#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "tests/pool/memory_pool.h"

namespace cffs::test {
namespace {

using Kind = PoolMedium::Step::Kind;
using Operation = PoolMedium::Operation;

// Where whoever connects comes to.
std::shared_ptr<MemoryPool>& current() {
  static std::shared_ptr<MemoryPool> pool;
  return pool;
}

// rados_t, and rados_ioctx_t: there is one pool.
struct Client {
  std::shared_ptr<MemoryPool> pool;
  MemoryPool::ClientId id = 0;
};
Client& client_of(void* handle) { return *static_cast<Client*>(handle); }

struct Pairs {  // an iterator over attributes, or over a map
  std::vector<std::pair<std::string, std::string>> all;
  std::size_t next = 0;
};

struct ReadOperation {
  std::function<int(const PoolMedium::ObjectPtr&)> run = [](const auto&) { return 0; };
  void then(std::function<void(const PoolMedium::Object&)> part) {
    run = [before = std::move(run), part = std::move(part)](const PoolMedium::ObjectPtr& object) {
      if (const int code = before(object); code < 0) return code;
      part(*object);
      return 0;
    };
  }
};
ReadOperation& read_of(rados_read_op_t op) { return *static_cast<ReadOperation*>(op); }

struct Completion {
  rados_callback_t told = nullptr;
  void* argument = nullptr;
  Mutex mutex;
  CondVar ended;
  bool is_done CFFS_GUARDED_BY(mutex) = false;
  int code CFFS_GUARDED_BY(mutex) = 0;
  std::atomic<int> references{1};

  void let_go() {
    if (--references == 0) delete this;
  }
  void end(int with) {
    {
      const MutexLock guard(mutex);
      code = with;
      is_done = true;
      ended.notify_all();
    }
    if (told != nullptr) told(this, argument);
    let_go();
  }
};
Completion& started(rados_completion_t handle) {
  auto& completion = *static_cast<Completion*>(handle);
  ++completion.references;
  return completion;
}

int create2(rados_t* cluster, const char*, const char*, std::uint64_t) {
  *cluster = new Client{current(), current()->new_client()};
  return 0;
}
int conf_set(rados_t, const char*, const char*) { return 0; }
int conf_get(rados_t, const char*, char*, std::size_t) { return -ENOENT; }
int conf_read_file(rados_t, const char*) { return 0; }
int conf_parse_env(rados_t, const char*) { return 0; }
int connect(rados_t) { return 0; }
void shutdown(rados_t cluster) { delete &client_of(cluster); }
int ioctx_create(rados_t cluster, const char* pool, rados_ioctx_t* io) {
  if (std::strcmp(pool, "cffs") != 0) return -ENOENT;
  *io = cluster;
  return 0;
}
void ioctx_destroy(rados_ioctx_t) {}
void ioctx_set_namespace(rados_ioctx_t, const char*) {}
void set_pool_full_try(rados_ioctx_t) {}
int aio_flush(rados_ioctx_t) { return 0; }
int wait_for_latest_osdmap(rados_t) { return 0; }

// --- what monitors do

char* in_memory_of_theirs(const std::string& text, std::size_t* length) {
  auto* const copy = static_cast<char*>(std::malloc(text.size() + 1));
  std::memcpy(copy, text.c_str(), text.size() + 1);
  *length = text.size();
  return copy;
}
int mon_command(rados_t cluster, const char**, std::size_t, const char*, std::size_t, char** out,
                std::size_t* out_length, char**, std::size_t*) {
  *out = in_memory_of_theirs(client_of(cluster).pool->df(), out_length);
  return 0;
}
void buffer_free(char* buffer) { std::free(buffer); }
int blocklist_add(rados_t cluster, char* address, std::uint32_t) {
  client_of(cluster).pool->shut_out(std::strtoull(address, nullptr, 10));
  return 0;
}

// --- operations that change

Operation& steps_of(rados_write_op_t op) { return *static_cast<Operation*>(op); }
rados_write_op_t create_write_op() { return new Operation; }
void release_write_op(rados_write_op_t op) { delete &steps_of(op); }
void write_op_create(rados_write_op_t op, int exclusive, const char*) {
  steps_of(op).push_back(
      {exclusive == LIBRADOS_CREATE_EXCLUSIVE ? Kind::create_new : Kind::create, 0, 0, {}, {}});
}
void write_op_write(rados_write_op_t op, const char* bytes, std::size_t length, std::uint64_t offset) {
  steps_of(op).push_back({Kind::write, offset, 0, {}, std::string(bytes, length)});
}
void write_op_setxattr(rados_write_op_t op, const char* name, const char* value, std::size_t length) {
  steps_of(op).push_back({Kind::set_attribute, 0, 0, name, std::string(value, length)});
}
void write_op_rmxattr(rados_write_op_t op, const char* name) {
  steps_of(op).push_back({Kind::erase_attribute, 0, 0, name, {}});
}
void write_op_truncate(rados_write_op_t op, std::uint64_t offset) {
  steps_of(op).push_back({Kind::truncate, offset, 0, {}, {}});
}
void write_op_zero(rados_write_op_t op, std::uint64_t offset, std::uint64_t length) {
  steps_of(op).push_back({Kind::zero, offset, length, {}, {}});
}
void write_op_omap_set2(rados_write_op_t op, const char* const* keys, const char* const* values,
                        const std::size_t* key_lengths, const std::size_t* value_lengths, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    steps_of(op).push_back({Kind::set_key, 0, 0, std::string(keys[i], key_lengths[i]),
                            std::string(values[i], value_lengths[i])});
  }
}
void write_op_omap_rm_keys2(rados_write_op_t op, const char* const* keys, const std::size_t* lengths,
                            std::size_t count) {
  for (std::size_t i = 0; i < count; ++i)
    steps_of(op).push_back({Kind::erase_key, 0, 0, std::string(keys[i], lengths[i]), {}});
}
int write_op_operate(rados_write_op_t op, rados_ioctx_t io, const char* object, time_t*, int) {
  Client& client = client_of(io);
  return client.pool->change(client.id, object, steps_of(op));
}
int start(rados_ioctx_t io, const char* object, const Operation& operation, rados_completion_t handle) {
  Client& client = client_of(io);
  Completion& completion = started(handle);
  client.pool->start_change(client.id, object, operation, [&completion](int code) { completion.end(code); });
  return 0;
}
int aio_write_op_operate(rados_write_op_t op, rados_ioctx_t io, rados_completion_t completion,
                         const char* object, time_t*, int) {
  return start(io, object, steps_of(op), completion);
}
int aio_write(rados_ioctx_t io, const char* object, rados_completion_t completion, const char* bytes,
              std::size_t length, std::uint64_t offset) {
  return start(io, object, {{Kind::write, offset, 0, {}, std::string(bytes, length)}}, completion);
}
int aio_remove(rados_ioctx_t io, const char* object, rados_completion_t completion) {
  return start(io, object, {{Kind::remove, 0, 0, {}, {}}}, completion);
}

// --- operations that look

rados_read_op_t create_read_op() { return new ReadOperation; }
void release_read_op(rados_read_op_t op) { delete &read_of(op); }
void read_op_stat(rados_read_op_t op, std::uint64_t* size, time_t* time, int* code) {
  read_of(op).then([=](const PoolMedium::Object& object) {
    *size = object.bytes.size();
    *time = 0;
    *code = 0;
  });
}
void read_op_read(rados_read_op_t op, std::uint64_t offset, std::size_t length, char* buffer,
                  std::size_t* got, int* code) {
  read_of(op).then([=](const PoolMedium::Object& object) {
    *code = 0;
    *got = offset >= object.bytes.size() ? 0 : std::min<std::size_t>(length, object.bytes.size() - offset);
    if (*got > 0) std::memcpy(buffer, object.bytes.data() + offset, *got);
  });
}
void read_op_getxattrs(rados_read_op_t op, rados_xattrs_iter_t* found, int* code) {
  read_of(op).then([=](const PoolMedium::Object& object) {
    *code = 0;
    *found = new Pairs{{object.attributes.begin(), object.attributes.end()}, 0};
  });
}
void read_op_omap_get_vals2(rados_read_op_t op, const char* after, const char* prefix, std::uint64_t most,
                            rados_omap_iter_t* found, unsigned char* more, int* code) {
  read_of(op).then(
      [=, behind = std::string(after), only = std::string(prefix)](const PoolMedium::Object& object) {
        auto* const pairs = new Pairs;
        *code = 0;
        *more = 0;
        for (auto at = object.keys.upper_bound(behind); at != object.keys.end(); ++at) {
          if (!at->first.starts_with(only)) continue;
          if (pairs->all.size() == most) {
            *more = 1;
            break;
          }
          pairs->all.emplace_back(at->first, at->second);
        }
        *found = pairs;
      });
}
int read_op_operate(rados_read_op_t op, rados_ioctx_t io, const char* object, int) {
  Client& client = client_of(io);
  const auto [code, found] = client.pool->look(client.id, object);
  return code < 0 ? code : read_of(op).run(found);
}
int aio_read_op_operate(rados_read_op_t op, rados_ioctx_t io, rados_completion_t handle, const char* object,
                        int) {
  Client& client = client_of(io);
  Completion& completion = started(handle);
  // What is sent behind it is not seen by it.
  const auto [code, found] = client.pool->look(client.id, object);
  client.pool->later([&completion, &op = read_of(op), code = code, found = found] {
    completion.end(code < 0 ? code : op.run(found));
  });
  return 0;
}
int aio_stat(rados_ioctx_t io, const char* object, rados_completion_t handle, std::uint64_t* size,
             time_t* time) {
  Client& client = client_of(io);
  Completion& completion = started(handle);
  client.pool->later([&client, &completion, size, time, name = std::string(object)] {
    const auto [code, found] = client.pool->look(client.id, name);
    if (found) *size = found->bytes.size();
    if (found) *time = 0;
    completion.end(code);
  });
  return 0;
}
int next_pair(Pairs& pairs, const char** key, const char** value, std::size_t* key_length,
              std::size_t* length) {
  *key = *value = nullptr;
  *length = 0;
  if (pairs.next == pairs.all.size()) return 0;
  const auto& [name, text] = pairs.all[pairs.next++];
  *key = name.c_str();
  *value = text.data();
  *length = text.size();
  if (key_length != nullptr) *key_length = name.size();
  return 0;
}
int getxattrs_next(rados_xattrs_iter_t pairs, const char** name, const char** value, std::size_t* length) {
  return next_pair(*static_cast<Pairs*>(pairs), name, value, nullptr, length);
}
void getxattrs_end(rados_xattrs_iter_t pairs) { delete static_cast<Pairs*>(pairs); }
int omap_get_next2(rados_omap_iter_t pairs, char** key, char** value, std::size_t* key_length,
                   std::size_t* length) {
  return next_pair(*static_cast<Pairs*>(pairs), const_cast<const char**>(key),
                   const_cast<const char**>(value), key_length, length);
}
void omap_get_end(rados_omap_iter_t pairs) { delete static_cast<Pairs*>(pairs); }

// --- completions

int aio_create_completion2(void* argument, rados_callback_t told, rados_completion_t* handle) {
  auto* const completion = new Completion;
  completion->told = told;
  completion->argument = argument;
  *handle = completion;
  return 0;
}
void aio_release(rados_completion_t handle) { static_cast<Completion*>(handle)->let_go(); }
int aio_get_return_value(rados_completion_t handle) {
  auto& completion = *static_cast<Completion*>(handle);
  const MutexLock guard(completion.mutex);
  return completion.code;
}
int aio_wait_for_complete(rados_completion_t handle) {
  auto& completion = *static_cast<Completion*>(handle);
  const MutexLock guard(completion.mutex);
  while (!completion.is_done) completion.ended.wait(completion.mutex);
  return 0;
}

// --- locks and watches

int lock_exclusive(rados_ioctx_t io, const char* object, const char* name, const char* cookie, const char*,
                   timeval*, std::uint8_t flags) {
  Client& client = client_of(io);
  return client.pool->take_lock(client.id, object, name, cookie, {}, true, flags != 0);
}
int lock_shared(rados_ioctx_t io, const char* object, const char* name, const char* cookie, const char* tag,
                const char*, timeval*, std::uint8_t flags) {
  Client& client = client_of(io);
  return client.pool->take_lock(client.id, object, name, cookie, tag, false, flags != 0);
}
int unlock(rados_ioctx_t io, const char* object, const char* name, const char* cookie) {
  Client& client = client_of(io);
  return client.pool->drop_lock(object, name, client.id, cookie);
}
int break_lock(rados_ioctx_t io, const char* object, const char* name, const char* holder,
               const char* cookie) {
  const auto id = std::strtoull(holder + std::strlen("client."), nullptr, 10);
  return client_of(io).pool->drop_lock(object, name, id, cookie);
}
ssize_t list_lockers(rados_ioctx_t io, const char* object, const char* name, int* exclusive, char* tag,
                     std::size_t* tag_length, char* clients, std::size_t* clients_length, char* cookies,
                     std::size_t* cookies_length, char* addresses, std::size_t* addresses_length) {
  const MemoryPool::Lock lock = client_of(io).pool->lock_of(object, name);
  std::string all_clients, all_cookies, all_addresses;
  for (const auto& holder : lock.holders) {
    all_clients += "client." + std::to_string(holder.client) + '\0';
    all_cookies += holder.cookie + '\0';
    all_addresses += std::to_string(holder.client) + '\0';
  }
  const auto give = [](const std::string& text, char* out, std::size_t* room) {
    const bool fits = text.size() <= *room;
    if (fits) std::memcpy(out, text.data(), text.size());
    *room = text.size();
    return fits;
  };
  *exclusive = lock.is_exclusive ? 1 : 0;
  const bool fit = give(lock.tag + '\0', tag, tag_length) & give(all_clients, clients, clients_length) &
                   give(all_cookies, cookies, cookies_length) &
                   give(all_addresses, addresses, addresses_length);
  return fit ? static_cast<ssize_t>(lock.holders.size()) : -ERANGE;
}
int watch3(rados_ioctx_t io, const char* object, std::uint64_t* handle, rados_watchcb2_t told,
           rados_watcherrcb_t, std::uint32_t, void* argument) {
  Client& client = client_of(io);
  if (!client.pool->may_write(client.id)) return -EPERM;
  *handle = client.pool->watch(client.id, object, told, argument);
  return 0;
}
int unwatch2(rados_ioctx_t io, std::uint64_t handle) {
  client_of(io).pool->unwatch(handle);
  return 0;
}
int watch_check(rados_ioctx_t io, std::uint64_t) {
  Client& client = client_of(io);
  return client.pool->look(client.id, "").first == -ESHUTDOWN ? -ESHUTDOWN : 0;
}
int watch_flush(rados_t) { return 0; }

// The reply is a list of texts, each with a zero behind it.
int notify2(rados_ioctx_t io, const char* object, const char*, int, std::uint64_t, char** reply,
            std::size_t* length) {
  std::string texts;
  for (const std::string& text : client_of(io).pool->notify(object)) texts += text + '\0';
  *reply = in_memory_of_theirs(texts, length);
  return 0;
}
int notify_ack(rados_ioctx_t io, const char*, std::uint64_t notify_id, std::uint64_t, const char* text,
               int length) {
  client_of(io).pool->answer(notify_id, std::string(text, static_cast<std::size_t>(length)));
  return 0;
}
int decode_notify_response(char* reply, std::size_t length, notify_ack_t** acks, std::size_t* ack_count,
                           notify_timeout_t** timeouts, std::size_t* timeout_count) {
  const auto count = static_cast<std::size_t>(std::count(reply, reply + length, '\0'));
  *acks = new notify_ack_t[count + 1];
  *ack_count = count;
  char* at = reply;
  for (std::size_t i = 0; i < count; ++i) {
    (*acks)[i].payload = at;
    (*acks)[i].payload_len = std::strlen(at);
    at += std::strlen(at) + 1;
  }
  *timeouts = nullptr;
  *timeout_count = 0;
  return 0;
}
void free_notify_response(notify_ack_t* acks, std::size_t, notify_timeout_t*) { delete[] acks; }

}  // namespace

void MemoryPool::use() {
  current() = shared_from_this();
  static const rados::Librados functions = [] {
    rados::Librados all;
#define CFFS_LIBRADOS_IN_MEMORY(name) all.name = name;
    CFFS_LIBRADOS_FUNCTIONS(CFFS_LIBRADOS_IN_MEMORY)
#undef CFFS_LIBRADOS_IN_MEMORY
    return all;
  }();
  rados::use_librados(functions);
}

}  // namespace cffs::test
