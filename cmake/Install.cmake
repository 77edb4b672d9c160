# cmake --install build/release --prefix PREFIX: the program, its plugins and configs, and what plugin authors include.
# LibTorch stays where it is; the run path of what computes names it.
include(GNUInstallDirs)
install(TARGETS flowtrain RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(TARGETS flowtrain_torch LIBRARY DESTINATION lib)  # the program looks in ../lib
if(TARGET flowtrain_cuda)
  install(TARGETS flowtrain_cuda LIBRARY DESTINATION lib)  # the program looks in ../lib
endif()
if(TARGET flowtrain_nccl)
  install(TARGETS flowtrain_nccl LIBRARY DESTINATION lib)
endif()
install(TARGETS flowtrain_example_plugin LIBRARY DESTINATION lib/flowtrain/plugins)
install(FILES sampling/plugin_abi.h sampling/plugin.hpp DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/flowtrain/sampling)
install(DIRECTORY configs/ DESTINATION ${CMAKE_INSTALL_DATADIR}/flowtrain/configs FILES_MATCHING PATTERN *.toml PATTERN *.py)
install(FILES README.md LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/flowtrain)
