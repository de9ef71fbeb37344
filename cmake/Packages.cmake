# Debian packages by CPack: `cmake --build build/release --target package`, or scripts/make_packages.sh, which looks at them as well.
# What install() puts down, by component:
#   command   cffs            the program, its pages, completions, the service
#   library   libcffs-dev     headers, static libraries, find_package(cffs)
#   python    python3-cffs    the module for the distribution's Python (python/CMakeLists.txt); where it is built (cmake/Python.cmake)
# libfuse is the distribution's, linked dynamically: dpkg-shlibdeps writes the dependency, so a package is for the Debian it was made on, which its version says.
set(CPACK_GENERATOR DEB)
set(CPACK_COMPONENTS_ALL command library)
# A module for another Python would be of no use in the distribution's directory of packages.
file(REAL_PATH "${CFFS_PYTHON_INTERPRETER}" interpreter)
file(REAL_PATH /usr/bin/python3 own_interpreter)
if(CFFS_PYTHON AND NOT SKBUILD AND interpreter STREQUAL own_interpreter AND Python3_VERSION VERSION_GREATER_EQUAL 3.11)
  list(APPEND CPACK_COMPONENTS_ALL python)
endif()
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_PACKAGE_NAME cffs)
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "FUSE file system for millions of small files")
set(CPACK_PACKAGE_VENDOR "The cffs project")
# Whoever makes them, as Debian's tools ask for it.
if(DEFINED ENV{DEBEMAIL})
  set(CPACK_PACKAGE_CONTACT "$ENV{DEBFULLNAME} <$ENV{DEBEMAIL}>")
  string(STRIP "${CPACK_PACKAGE_CONTACT}" CPACK_PACKAGE_CONTACT)
else()
  set(CPACK_PACKAGE_CONTACT "cffs maintainers <maintainers@cffs.example.org>")  # the domain of examples: nobody's
endif()
set(CPACK_PACKAGE_DIRECTORY ${PROJECT_BINARY_DIR}/packages)
# Absolute places and links are made below DESTDIR.
set(CPACK_SET_DESTDIR ON)
set(CPACK_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)

# 0.1.0-1~deb12: made for Debian 12.
set(suite "")
if(EXISTS /etc/os-release)
  file(STRINGS /etc/os-release lines REGEX "^(ID|VERSION_ID)=")
  foreach(line ${lines})
    string(REGEX REPLACE "^([A-Z_]+)=\"?([^\"]*)\"?$" "\\1;\\2" parts "${line}")
    list(GET parts 0 key)
    list(GET parts 1 os_${key})
  endforeach()
  if(os_ID STREQUAL "debian" AND os_VERSION_ID)
    set(suite "~deb${os_VERSION_ID}")
  elseif(os_ID AND os_VERSION_ID)
    set(suite "~${os_ID}${os_VERSION_ID}")
  endif()
endif()
set(CPACK_DEBIAN_PACKAGE_RELEASE "1${suite}")
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)

set(CPACK_DEBIAN_COMMAND_PACKAGE_NAME cffs)
set(CPACK_DEBIAN_COMMAND_PACKAGE_SECTION utils)
set(CPACK_DEBIAN_COMMAND_PACKAGE_DEPENDS fuse3)
# librados: of stores in Ceph pools; opened when one is asked for. The others: what cffs bench, trace and analyze run.
set(CPACK_DEBIAN_COMMAND_PACKAGE_SUGGESTS "librados2, strace, gnuplot-nox, nginx-light, graphviz")
set(CPACK_DEBIAN_COMMAND_PACKAGE_CONTROL_EXTRA ${PROJECT_SOURCE_DIR}/packaging/debian/postinst ${PROJECT_SOURCE_DIR}/packaging/debian/postrm)
set(CPACK_COMPONENT_COMMAND_DESCRIPTION
"cffs keeps groups of small files in composite files, and all names and
attributes in one LevelDB table, while every program still sees ordinary
files: a tree takes a fraction of the inodes, and reading it cold a fraction
of the device reads.

This package has the command cffs with its helpers for mount(8), a template
unit for systemd (cffs@.service), and completions for bash, zsh and fish.")
set(CPACK_DEBIAN_LIBRARY_PACKAGE_NAME libcffs-dev)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SHLIBDEPS OFF)
# What find_package(cffs) looks for (cmake/cffsConfig.cmake.in).
set(CPACK_DEBIAN_LIBRARY_PACKAGE_DEPENDS "libarchive-dev, libboost-dev, libexpected-dev, libleveldb-dev, liblz4-dev, libsnappy-dev, libsodium-dev, libsqlite3-dev, liburiparser-dev, libxml2-dev, libxxhash-dev, libzstd-dev, nlohmann-json3-dev, pkg-config, zlib1g-dev")
set(CPACK_COMPONENT_LIBRARY_DESCRIPTION
"cffs keeps groups of small files in composite files, and all names and
attributes in one LevelDB table.

This package has the engine as a static library, its headers, and what CMake
needs for find_package(cffs).")

# As dh_python3 writes them: an extension module is for one version of Python, and compiled to byte code by who installs it.
math(EXPR next_minor "${Python3_VERSION_MINOR} + 1")
set(CPACK_DEBIAN_PYTHON_PACKAGE_NAME python3-cffs)
set(CPACK_DEBIAN_PYTHON_PACKAGE_SECTION python)
set(CPACK_DEBIAN_PYTHON_PACKAGE_DEPENDS
    "python3 (<< ${Python3_VERSION_MAJOR}.${next_minor}), python3 (>= ${Python3_VERSION_MAJOR}.${Python3_VERSION_MINOR}~), python3:any")
set(CPACK_DEBIAN_PYTHON_PACKAGE_SUGGESTS "cffs, python3-fsspec")
set(CPACK_DEBIAN_PYTHON_PACKAGE_CONTROL_EXTRA ${PROJECT_SOURCE_DIR}/packaging/debian/python/postinst ${PROJECT_SOURCE_DIR}/packaging/debian/python/prerm)
set(CPACK_COMPONENT_PYTHON_DESCRIPTION
"cffs keeps groups of small files in composite files, and all names and
attributes in one LevelDB table.

This package has the module cffs for Python 3, which reads and writes stores
by the engine itself, without a mount: files as open() has them, many small
ones with one call, and cffs:// for fsspec.")

# What Debian wants of files, once they are installed below a directory and before they are packed.
set(CPACK_PRE_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/cmake/DebianFiles.cmake)
set(CPACK_CFFS_SOURCE_DIR ${PROJECT_SOURCE_DIR})
set(CPACK_CFFS_DEBIAN_VERSION "${PROJECT_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE}")
set(CPACK_CFFS_STRIP ${CMAKE_STRIP})
include(CPack)
