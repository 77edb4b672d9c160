# The files that pip installs of this tree: the package flowtrain with the module of its loader, and, with LibTorch,
# the program in flowtrain/bin, its libraries in flowtrain/lib, the configurations in flowtrain/share, and for the
# environment the script that starts the program (python/program), its man page, and what completes its command lines.
set(libraries flowtrain_shared_loader)
install(TARGETS _core LIBRARY DESTINATION flowtrain)
if(FLOWTRAIN_TORCH_VERSION)
  include(InstallTexts)
  list(APPEND libraries flowtrain_shared_train flowtrain_torch)
  foreach(part flowtrain_cuda flowtrain_nccl)  # of a machine with nvcc
    if(TARGET ${part})
      list(APPEND libraries ${part})
    endif()
  endforeach()
  add_custom_target(program ALL DEPENDS flowtrain)
  install(TARGETS flowtrain RUNTIME DESTINATION flowtrain/bin)
  install(DIRECTORY configs DESTINATION flowtrain/share/flowtrain FILES_MATCHING PATTERN *.toml)
  install(PROGRAMS python/program DESTINATION ${SKBUILD_SCRIPTS_DIR} RENAME flowtrain)
  flowtrain_install_texts(${SKBUILD_DATA_DIR}/share)
endif()
install(TARGETS ${libraries} LIBRARY DESTINATION flowtrain/lib)
