# cpack --config build/release/CPackConfig.cmake -B FOLDER: a package for Debian or Ubuntu with all that is installed.
# LibTorch is not in it: users name theirs (docs/install.md).
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME flowtrain)
set(CPACK_PACKAGE_CONTACT "the authors of flowtrain")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "training engine and data loader for images")
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION "A dataflow graph reads, decodes, augments and batches images ahead of the model.
The package has the program flowtrain, and libraries and headers for programs
in C++. Training needs LibTorch, which is not part of it; the data loader and
all commands that do not compute work without.")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
# They are opened at their first use: by a file on a server, by a recording that is no WAV file or has another rate.
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "libcurl4, libsndfile1, libsoxr0")
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${CMAKE_BINARY_DIR}/lib ${TORCH_ROOT}/lib ${CUDAToolkit_LIBRARY_DIR})
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_BINARY_DIR}/RemoveBuildPaths.cmake)
configure_file(${CMAKE_CURRENT_LIST_DIR}/RemoveBuildPaths.cmake.in ${CPACK_PRE_BUILD_SCRIPTS} @ONLY)
include(CPack)
