# Reading the standard library's headers was half of the time that a unit took; they are read once for all targets but cli,
# which has larger ones (-DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON: as often as they are included). Every unit includes what it
# uses all the same: the preset clang builds without.
set(standard_headers <algorithm> <array> <atomic> <chrono> <cstdint> <cstring> <filesystem> <fstream> <functional> <map> <memory>
    <mutex> <optional> <random> <set> <string> <string_view> <thread> <unordered_map> <vector>
    <boost/endian/conversion.hpp> <fmt/format.h> <tl/expected.hpp>)

add_library(cffs_precompiled OBJECT cmake/precompiled.cc)
target_link_libraries(cffs_precompiled PUBLIC cffs_options Boost::headers fmt::fmt tl::expected)
target_precompile_headers(cffs_precompiled PRIVATE ${standard_headers})

# A precompiled header fits only units with the same macros: what it links, they do.
function(cffs_precompile target)
  target_link_libraries(${target} PRIVATE $<BUILD_INTERFACE:Boost::headers> $<BUILD_INTERFACE:fmt::fmt> $<BUILD_INTERFACE:tl::expected>)
  target_precompile_headers(${target} REUSE_FROM cffs_precompiled)
endfunction()

# The presets release, asan-ubsan and tsan compile eight sources as one unit (CMAKE_UNITY_BUILD): half the time. So what is in an
# unnamed namespace has a name of its own within its target; sources that use a whole namespace stay by themselves.
function(cffs_compiled_alone)
  set_source_files_properties(${ARGN} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()
