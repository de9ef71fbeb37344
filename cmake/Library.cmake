# The engine as a library for others: find_package(cffs), cffs::core. Headers keep the paths that they have here.
include(CMakePackageConfigHelpers)

set_target_properties(cffs_core PROPERTIES EXPORT_NAME core)
set_target_properties(cffs_grouping PROPERTIES EXPORT_NAME grouping)
set_target_properties(cffs_options PROPERTIES EXPORT_NAME options)
install(TARGETS cffs_core cffs_grouping cffs_options EXPORT cffsTargets
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library)
install(DIRECTORY core grouping DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/cffs COMPONENT library FILES_MATCHING PATTERN "*.h")

set(package_directory ${CMAKE_INSTALL_LIBDIR}/cmake/cffs)
install(EXPORT cffsTargets NAMESPACE cffs:: DESTINATION ${package_directory} COMPONENT library)
configure_package_config_file(cmake/cffsConfig.cmake.in cffsConfig.cmake INSTALL_DESTINATION ${package_directory})
write_basic_package_version_file(cffsConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/cffsConfig.cmake ${PROJECT_BINARY_DIR}/cffsConfigVersion.cmake
        DESTINATION ${package_directory} COMPONENT library)
