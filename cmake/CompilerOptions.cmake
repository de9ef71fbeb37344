# What every target is compiled with, and a sentence for who asks for what cannot be.
option(CFFS_WERROR "Treat the warnings of GCC 12 to 14 and clang 14 to 19 as errors, as every preset does" OFF)
set(CFFS_SANITIZE "" CACHE STRING "Sanitizers, for instance address,undefined or thread")

if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  set(oldest 12)
  set(newest 14)
elseif(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  set(oldest 14)
  set(newest 19)
else()
  message(FATAL_ERROR "cffs is built with GCC 12 or clang 14, or later; ${CMAKE_CXX_COMPILER} is ${CMAKE_CXX_COMPILER_ID}. "
                      "Choose another with -DCMAKE_CXX_COMPILER=g++")
endif()
if(CMAKE_CXX_COMPILER_VERSION VERSION_LESS oldest)
  message(FATAL_ERROR "cffs is C++20 and needs GCC 12 or clang 14, or later; ${CMAKE_CXX_COMPILER} is ${CMAKE_CXX_COMPILER_ID} "
                      "${CMAKE_CXX_COMPILER_VERSION}. Choose another with -DCMAKE_CXX_COMPILER=g++-12")
endif()
# A later compiler has warnings that nobody here has seen yet; they must not stop who tries it.
string(REGEX MATCH "^[0-9]+" major "${CMAKE_CXX_COMPILER_VERSION}")
if(CFFS_WERROR AND major LESS_EQUAL newest)
  set(werror -Werror)
endif()

get_property(multi_config GLOBAL PROPERTY GENERATOR_IS_MULTI_CONFIG)
if(NOT multi_config)
  if(NOT CMAKE_BUILD_TYPE)
    set(CMAKE_BUILD_TYPE Release CACHE STRING "Release, RelWithDebInfo, MinSizeRel, Debug, or None for flags of your own" FORCE)
    message(STATUS "No build type given: Release")
  endif()
  # CMake takes any word, and builds without optimisation where it does not know it.
  string(TOUPPER "${CMAKE_BUILD_TYPE}" build_type)
  if(NOT build_type MATCHES "^(RELEASE|RELWITHDEBINFO|MINSIZEREL|DEBUG|NONE)$" AND "${CMAKE_CXX_FLAGS_${build_type}}" STREQUAL "")
    message(FATAL_ERROR "There is no build type '${CMAKE_BUILD_TYPE}'; there are Release, RelWithDebInfo, MinSizeRel, Debug, "
                        "and None for flags of your own")
  endif()
endif()

# Precompiled headers and a compiler cache together: ccache must not compare the header's date, nor macros that it uses.
find_program(CCACHE ccache)
mark_as_advanced(CCACHE)
if(CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros ${CCACHE})
endif()

add_library(cffs_options INTERFACE)
target_compile_features(cffs_options INTERFACE cxx_std_20)
# Warnings are this tree's business, not that of who links the installed library.
target_compile_options(cffs_options INTERFACE $<BUILD_INTERFACE:-Wall;-Wextra;-Wconversion;-Wshadow;-Wunused-const-variable;${werror}>)
if(CFFS_PYTHON)
  # The static library becomes a part of a shared one. One set of flags for all: a precompiled header fits no other. Once linked into the
  # program the linker takes the detours out again (docs/adr/0048-a-python-module.md).
  target_compile_options(cffs_options INTERFACE $<BUILD_INTERFACE:-fPIC;-fno-semantic-interposition>)
endif()
target_compile_definitions(cffs_options INTERFACE _FILE_OFFSET_BITS=64 CFFS_VERSION="${PROJECT_VERSION}")
target_include_directories(cffs_options INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>
                                                  $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/cffs>)
if(CFFS_SANITIZE)
  target_compile_options(cffs_options INTERFACE -fsanitize=${CFFS_SANITIZE} -fno-omit-frame-pointer
                                                -fno-sanitize-recover=all)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # GCC 12 sees uninitialised members in the standard library's regex once it is instrumented.
    target_compile_options(cffs_options INTERFACE -Wno-maybe-uninitialized)
  endif()
  target_link_options(cffs_options INTERFACE -fsanitize=${CFFS_SANITIZE})
endif()
