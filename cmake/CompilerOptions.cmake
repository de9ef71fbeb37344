# Warnings are errors: the tree builds clean with GCC 12 and clang 14.
option(CFFS_TESTS "Build the test suites" ON)
set(CFFS_SANITIZE "" CACHE STRING "Sanitizers, for instance address,undefined or thread")

find_program(CCACHE ccache)
if(CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE})
endif()

add_library(cffs_options INTERFACE)
target_compile_options(cffs_options INTERFACE -Wall -Wextra -Wconversion -Wshadow -Werror)
target_compile_definitions(cffs_options INTERFACE _FILE_OFFSET_BITS=64 CFFS_VERSION="${PROJECT_VERSION}")
target_include_directories(cffs_options INTERFACE ${PROJECT_SOURCE_DIR})
if(CFFS_SANITIZE)
  target_compile_options(cffs_options INTERFACE -fsanitize=${CFFS_SANITIZE} -fno-omit-frame-pointer
                                                -fno-sanitize-recover=all)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # GCC 12 sees uninitialised members in the standard library's regex once it is instrumented.
    target_compile_options(cffs_options INTERFACE -Wno-maybe-uninitialized)
  endif()
  target_link_options(cffs_options INTERFACE -fsanitize=${CFFS_SANITIZE})
endif()
