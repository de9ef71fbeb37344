// Memoryviews of what a batch was read into.
#pragma once

#include <pybind11/pybind11.h>

#include <functional>
#include <string>

namespace cffs::python {

struct ReadBatch;

// A file that could not be read: its exception is raised, or in its place in the list.
enum class Problems { raised, returned };

// One for each file, in order; all hold the batch's memory. Contents that lie apart are taken out of the batch.
pybind11::list views_of(ReadBatch& batch, const std::function<std::string(std::size_t)>& path,
                        Problems problems);

void define_views(pybind11::module_& module);

}  // namespace cffs::python
