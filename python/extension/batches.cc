#include "python/extension/batches.h"

#include <algorithm>
#include <numeric>

#include "core/base/thread.h"
#include "core/batch/group_members.h"
#include "python/extension/paths.h"
#include "python/extension/places.h"
#include "python/extension/views.h"

namespace cffs::python {
namespace py = pybind11;

ReadBatch read_batch(OpenedStore& store, std::span<const FilePlace> files, const BatchReader::PathOf& path,
                     unsigned threads) {
  const BatchPlan plan(files);
  ReadBatch batch;
  batch.buffer = store.buffers().get(plan.memory_bytes());
  const auto state = store.state();
  BatchReader reader(*state, files, plan, path);
  reader.ask();
  batch.contents = reader.read(batch.buffer->bytes(), threads);
  return batch;
}

// --- Files ---

const py::list& Files::paths() {
  if (!paths_) {
    py::list made(size());
    for (std::size_t i = 0; i < size(); ++i) made[i] = path_object(path(static_cast<std::uint32_t>(i)));
    paths_ = std::move(made);
  }
  return *paths_;
}

py::list Files::sizes() const {
  py::list made(size());
  for (std::size_t i = 0; i < size(); ++i) made[i] = place(static_cast<std::uint32_t>(i)).size;
  return made;
}

py::list Files::read(const py::sequence& numbers, unsigned threads) {
  std::vector<std::uint32_t> wanted;
  std::vector<FilePlace> places;
  // A sequence may make its items when it is asked for them (range, an array), and asking for a number may run anything: they are held.
  const py::tuple held(numbers);
  for (const py::handle item : held) {
    const Py_ssize_t number = PyNumber_AsSsize_t(item.ptr(), PyExc_IndexError);
    if (number == -1 && PyErr_Occurred() != nullptr) throw py::error_already_set();
    const auto count = static_cast<std::int64_t>(size());
    if (number < -count || number >= count) throw py::index_error("there is no file of this number");
    wanted.push_back(static_cast<std::uint32_t>(number < 0 ? number + count : number));
    places.push_back(place(wanted.back()));
  }
  const auto path_of = [&](std::size_t i) { return path(wanted[i]); };
  ReadBatch batch = store_->run(
      root_, [&](FileSystem&) -> Result<ReadBatch> { return read_batch(*store_, places, path_of, threads); });
  return views_of(batch, path_of, Problems::raised);
}

namespace {

// The same on every machine, which std::shuffle is not.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {  // splitmix64
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  template <typename T>
  void shuffle(std::vector<T>& items) {
    for (std::size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[next() % i]);
  }

 private:
  std::uint64_t state_;
};

}  // namespace

// Neighbours in one composite; a batch of its own order has no units but files.
std::vector<std::vector<std::uint32_t>> Files::units(const Epoch& epoch) const {
  std::vector<std::uint32_t> order(size());
  std::iota(order.begin(), order.end(), 0u);
  if (epoch.order != Epoch::Order::path) {
    if (as_they_lie_.empty()) {
      std::vector<std::uint32_t> number_of(size());
      for (std::uint32_t i = 0; i < size(); ++i) number_of[by_path_[i]] = i;
      as_they_lie_ = files_.as_they_lie();
      for (std::uint32_t& number : as_they_lie_) number = number_of[number];
    }
    order = as_they_lie_;
  }
  std::vector<std::vector<std::uint32_t>> made;
  std::uint64_t bytes = 0;
  CompositeId composite;
  for (const std::uint32_t number : order) {
    const FilePlace& file = place(number);
    const bool joins = !made.empty() && bytes + file.size <= epoch.unit_bytes &&
                       file.composite == composite && epoch.order != Epoch::Order::path;
    if (!joins) {
      made.emplace_back();
      bytes = 0;
    }
    made.back().push_back(number);
    bytes += file.size;
    composite = file.composite;
  }
  return made;
}

std::vector<Files::Batch> Files::batches(const Epoch& epoch) const {
  std::vector<std::vector<std::uint32_t>> all = units(epoch);
  Dice dice(epoch.seed);
  if (epoch.order == Epoch::Order::shuffled) dice.shuffle(all);
  std::vector<std::uint32_t> order;
  for (std::size_t i = epoch.shard; i < all.size(); i += epoch.shards)
    order.insert(order.end(), all[i].begin(), all[i].end());
  std::vector<Batch> made;
  std::uint64_t bytes = 0;
  for (const std::uint32_t number : order) {
    const std::uint64_t more = place(number).size;
    const bool full = made.empty() || bytes + more > epoch.batch_bytes ||
                      (epoch.batch_files != 0 && made.back().reading.size() >= epoch.batch_files);
    if (full && (made.empty() || !made.back().reading.empty())) {
      made.emplace_back();
      bytes = 0;
    }
    made.back().reading.push_back(number);
    bytes += more;
  }
  if (epoch.order == Epoch::Order::shuffled) {
    for (Batch& batch : made) {
      batch.delivery.resize(batch.reading.size());
      std::iota(batch.delivery.begin(), batch.delivery.end(), 0u);
      dice.shuffle(batch.delivery);
    }
  }
  return made;
}

// --- BatchIterator ---

BatchIterator::BatchIterator(std::shared_ptr<Files> files, std::vector<Files::Batch> batches,
                             unsigned threads, unsigned ahead)
    : files_(std::move(files)), batches_(std::move(batches)), ahead_(std::max(1u, ahead)) {
  (void)files_->paths();
  // Without a thread to be had, who asks for a batch reads it.
  for (unsigned i = 0; i < threads; ++i) {
    auto made = make_thread("a thread that reads batches", [this] { work(); });
    if (!made) break;
    threads_.push_back(std::move(*made));
  }
}

BatchIterator::~BatchIterator() {
  if (files_->store()->is_forked()) {
    (void)new std::vector<std::thread>(std::move(threads_));  // the parent's
  } else {
    close();
  }
}

void BatchIterator::close() {
  {
    const std::lock_guard guard(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  std::vector<std::thread> threads = std::move(threads_);
  threads_.clear();
  const py::gil_scoped_release without_gil;
  for (std::thread& thread : threads) thread.join();
  const std::lock_guard guard(mutex_);
  done_.clear();
}

BatchIterator::Done BatchIterator::read(const Files::Batch& batch) {
  std::vector<FilePlace> places;
  places.reserve(batch.reading.size());
  for (const std::uint32_t number : batch.reading) places.push_back(files_->place(number));
  Done done;
  try {
    OpenedStore& store = *files_->store();
    auto read = store.run_here([&](FileSystem&) -> Result<ReadBatch> {
      return read_batch(
          store, places, [&](std::size_t i) { return files_->path(batch.reading[i]); }, 1);
    });
    if (read) {
      done.batch = std::move(*read);
    } else {
      done.error = read.error();
    }
  } catch (const std::bad_alloc&) {
    done.error = Error::os(ENOMEM, "memory for a batch");
  }
  return done;
}

void BatchIterator::work() {
  std::unique_lock guard(mutex_);
  for (;;) {
    changed_.wait(guard, [&] { return ending_ || begun_ >= batches_.size() || begun_ < taken_ + ahead_; });
    if (ending_ || begun_ >= batches_.size()) return;
    const std::size_t number = begun_++;
    guard.unlock();
    Done done = read(batches_[number]);
    guard.lock();
    done_.emplace(number, std::move(done));
    changed_.notify_all();
  }
}

py::tuple BatchIterator::next() {
  if (files_->store()->is_forked()) raise_forked();
  Done done;
  std::size_t number = 0;
  {
    const py::gil_scoped_release without_gil;
    std::unique_lock guard(mutex_);
    if (taken_ >= batches_.size() || ending_) {
      number = batches_.size();
    } else if (threads_.empty()) {
      number = taken_++;
      guard.unlock();
      done = read(batches_[number]);
    } else {
      number = taken_++;
      changed_.notify_all();
      changed_.wait(guard, [&] { return ending_ || done_.contains(number); });
      if (auto found = done_.extract(number)) {
        done = std::move(found.mapped());
      } else {
        number = batches_.size();
      }
    }
  }
  if (number >= batches_.size()) throw py::stop_iteration();
  if (done.error) raise(*done.error, files_->root());
  const Files::Batch& batch = batches_[number];
  const auto path_of = [&](std::size_t i) { return files_->path(batch.reading[i]); };
  const py::list views = views_of(*done.batch, path_of, Problems::raised);
  const py::list& paths = files_->paths();
  py::list ordered_paths(views.size()), ordered_views(views.size());
  for (std::size_t i = 0; i < views.size(); ++i) {
    const std::size_t at = batch.delivery.empty() ? i : batch.delivery[i];
    PyObject* const path = PyList_GET_ITEM(paths.ptr(), static_cast<Py_ssize_t>(batch.reading[at]));
    PyObject* const view = PyList_GET_ITEM(views.ptr(), static_cast<Py_ssize_t>(at));
    Py_INCREF(path);
    Py_INCREF(view);
    PyList_SET_ITEM(ordered_paths.ptr(), static_cast<Py_ssize_t>(i), path);
    PyList_SET_ITEM(ordered_views.ptr(), static_cast<Py_ssize_t>(i), view);
  }
  return py::make_tuple(std::move(ordered_paths), std::move(ordered_views));
}

namespace {

py::list read_many(OpenedStore& store, const py::sequence& wanted, unsigned threads, bool return_errors) {
  std::vector<std::string> paths;
  if (PyUnicode_Check(wanted.ptr()) || PyBytes_Check(wanted.ptr()))
    throw py::type_error("read_many() takes a list of paths, not one path");
  const py::tuple held(wanted);  // as in Files::read
  for (const py::handle path : held) paths.push_back(path_bytes(path));
  std::vector<std::optional<Error>> missing(paths.size());
  const auto path_of = [&](std::size_t i) { return paths[i]; };
  ReadBatch batch = store.run(store.path(), [&](FileSystem&) -> Result<ReadBatch> {
    std::vector<FilePlace> places(paths.size());
    store.with_places([&](PlaceFinder& finder) {
      for (std::size_t i = 0; i < paths.size(); ++i) {
        auto place = finder.find(paths[i]);
        if (place) {
          places[i] = *place;
        } else {
          missing[i] = place.error();
        }
      }
    });
    ReadBatch read = read_batch(store, places, path_of, threads);
    for (std::size_t i = 0; i < paths.size(); ++i) {
      if (missing[i]) read.contents[i].error = missing[i];
    }
    return read;
  });
  return views_of(batch, path_of, return_errors ? Problems::returned : Problems::raised);
}

py::list read_group(OpenedStore& store, py::handle at) {
  const std::string path = path_bytes(at);
  std::vector<GroupMember> members;
  const auto path_of = [&](std::size_t i) { return members[i].path; };
  ReadBatch batch = store.run(path, [&](FileSystem&) -> Result<ReadBatch> {
    const auto state = store.state();
    CFFS_TRY(members, group_of(*state, path));
    std::vector<FilePlace> places;
    for (const GroupMember& member : members) places.push_back(member.place);
    return read_batch(store, places, path_of, 1);
  });
  const py::list views = views_of(batch, path_of, Problems::raised);
  py::list result(members.size());
  for (std::size_t i = 0; i < members.size(); ++i) {
    result[i] = py::make_tuple(path_object(members[i].path), views[i]);
  }
  return result;
}

Files::Epoch epoch_of(const std::string& order, std::uint64_t seed, std::uint64_t unit_bytes,
                      std::uint64_t batch_bytes, std::uint32_t batch_files, std::uint32_t shard,
                      std::uint32_t shards) {
  using Order = Files::Epoch::Order;
  if (order != "store" && order != "path" && order != "shuffle")
    throw py::value_error("order is 'store', 'path' or 'shuffle', not '" + order + "'");
  if (shards == 0 || shard >= shards) throw py::value_error("shard is (i, n) with 0 <= i < n");
  return {order == "store"  ? Order::store
          : order == "path" ? Order::path
                            : Order::shuffled,
          seed,
          unit_bytes,
          batch_bytes,
          batch_files,
          shard,
          shards};
}

}  // namespace

void define_batches(py::module_& module, StoreClass& store) {
  define_views(module);
  store.def("read_many", &read_many);
  store.def("read_group", &read_group);
  store.def("files", [](const std::shared_ptr<OpenedStore>& s, py::handle at) {
    const std::string root = path_bytes(at);
    PlacedFiles files = s->run(
        root, [&](FileSystem&) -> Result<PlacedFiles> { return PlacedFiles::below(*s->state(), root); });
    const py::gil_scoped_release without_gil;
    return std::make_shared<Files>(s, root, std::move(files));
  });
  py::class_<Files, std::shared_ptr<Files>>(module, "Files")
      .def("__len__", &Files::size)
      .def_property_readonly("bytes", &Files::bytes)
      .def_property_readonly("paths", [](Files& files) { return files.paths(); })
      .def_property_readonly("sizes", &Files::sizes)
      .def("read", &Files::read)
      .def("batches", [](const std::shared_ptr<Files>& files, const std::string& order, std::uint64_t seed,
                         std::uint64_t unit_bytes, std::uint64_t batch_bytes, std::uint32_t batch_files,
                         std::uint32_t shard, std::uint32_t shards, unsigned threads, unsigned ahead) {
        const auto epoch = epoch_of(order, seed, unit_bytes, batch_bytes, batch_files, shard, shards);
        if (files->store()->is_forked()) raise_forked();
        return std::make_shared<BatchIterator>(files, files->batches(epoch), threads, ahead);
      });
  py::class_<BatchIterator, std::shared_ptr<BatchIterator>>(module, "Batches")
      .def("__iter__", [](const std::shared_ptr<BatchIterator>& self) { return self; })
      .def("__next__", &BatchIterator::next)
      .def("__len__", &BatchIterator::size)
      .def("close", &BatchIterator::close);
}

}  // namespace cffs::python
