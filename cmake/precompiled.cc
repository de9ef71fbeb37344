// Nothing: the target cffs_precompiled makes a precompiled header (cmake/Precompiled.cmake).
