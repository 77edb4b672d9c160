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

# What plugins include: find_package(flowtrain), and link flowtrain::flowtrain, which brings the folders of the headers
# and of this LibTorch, and no library. Each header is compiled by itself where the tests are built.
file(GLOB public_headers CONFIGURE_DEPENDS pipeline/plugin.h sampling/*.hpp nets/*.h nets/*/*.h)
list(FILTER public_headers EXCLUDE REGEX "nets/(cornernet|diagnostics)/|nets/(list|names|parallel)\\.h")
list(APPEND public_headers ${CMAKE_SOURCE_DIR}/pipeline/schedules/schedule.h)
foreach(header core/error.h core/mistake.h core/mutex.h core/random.h core/registry.h core/text.h core/settings.h
               dataset.h images/pixel_rule.h order.h plugin_abi.h sampler.h)
  list(APPEND public_headers ${CMAKE_SOURCE_DIR}/sampling/${header})
endforeach()
foreach(header compute device/device hook hook_entries nonfinite_origin plan slab state step_flags ticket validator)
  list(APPEND public_headers ${CMAKE_SOURCE_DIR}/stages/${header}.h)
endforeach()
add_library(flowtrain_headers INTERFACE)
set_target_properties(flowtrain_headers PROPERTIES EXPORT_NAME flowtrain VERIFY_INTERFACE_HEADER_SETS ON)
target_compile_features(flowtrain_headers INTERFACE cxx_std_20)
target_sources(flowtrain_headers INTERFACE FILE_SET HEADERS BASE_DIRS ${CMAKE_SOURCE_DIR} FILES ${public_headers})
target_include_directories(flowtrain_headers SYSTEM INTERFACE ${TORCH_INCLUDE} ${TORCH_INCLUDE}/torch/csrc/api/include)
install(TARGETS flowtrain_headers EXPORT flowtrain FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/flowtrain)
install(EXPORT flowtrain NAMESPACE flowtrain:: FILE flowtrain-config.cmake DESTINATION lib/cmake/flowtrain)
if(BUILD_TESTING)
  add_custom_target(public_headers ALL DEPENDS flowtrain_headers_verify_interface_header_sets)
endif()

install(DIRECTORY configs/ DESTINATION ${CMAKE_INSTALL_DATADIR}/flowtrain/configs
        FILES_MATCHING PATTERN *.toml PATTERN *.py)
install(FILES README.md LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/flowtrain)
