# cmake --install build/release --prefix PREFIX: the program, its libraries, plugins and configs, and what C++ programs
# and plugins include. LibTorch stays where it is; the run path of what computes names it. All else is found by paths
# from one file to another, so PREFIX may be moved.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
include(InstallTexts)
install(TARGETS flowtrain RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(TARGETS flowtrain_torch LIBRARY DESTINATION lib)  # opened by the libraries beside it
if(TARGET flowtrain_cuda)
  install(TARGETS flowtrain_cuda LIBRARY DESTINATION lib)  # likewise
endif()
if(TARGET flowtrain_nccl)
  install(TARGETS flowtrain_nccl LIBRARY DESTINATION lib)
endif()
install(TARGETS flowtrain_example_plugin LIBRARY DESTINATION lib/flowtrain/plugins)

# Public headers: flowtrain::loader's and flowtrain::train's, which include no other library's, and those of plugins,
# flowtrain::flowtrain, which brings the folders of LibTorch's headers, and no library: a plugin takes all symbols from
# the program that opens it. Each is compiled by itself where the tests are built; those of plugins, each of which reads
# LibTorch's anew, in tier nightly.
function(flowtrain_public_headers target scope)
  list(TRANSFORM ARGN PREPEND ${CMAKE_SOURCE_DIR}/)
  target_sources(${target} ${scope} FILE_SET HEADERS BASE_DIRS ${CMAKE_SOURCE_DIR} FILES ${ARGN})
  target_compile_features(${target} ${scope} cxx_std_20)
  set_target_properties(${target} PROPERTIES VERIFY_INTERFACE_HEADER_SETS ON)
  install(TARGETS ${target} EXPORT flowtrain LIBRARY DESTINATION lib
          FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/flowtrain)
endfunction()

flowtrain_public_headers(flowtrain_shared_loader PUBLIC
  pipeline/base/config/config.h pipeline/base/telemetry/drawing.h pipeline/engine/graph/graph.h
  pipeline/engine/loader/data_loader.h pipeline/engine/loader/epoch_cursor.h
  sampling/batches.h sampling/codecs/image.h sampling/core/error.h sampling/core/mistake.h sampling/core/mutex.h
  sampling/core/random.h
  sampling/core/registry.h sampling/core/settings.h sampling/core/text.h sampling/core/warning.h sampling/dataset.h
  sampling/dtype.h sampling/images/pixel_rule.h sampling/order.h sampling/plans/best_fit.h
  sampling/plans/bucketed_batches.h sampling/plans/lengths.h sampling/plans/packed_rows.h
  sampling/plans/size_plan.h sampling/plugin_abi.h sampling/sampler.h sampling/samplers/stored.h sampling/shown.h
  sampling/transform.h
  stages/trace/clock.h stages/device/device.h stages/device/stream_point.h stages/core/every.h stages/flight/flight.h
  stages/flight/format.h stages/loader/batch_planner.h stages/core/plan.h
  stages/loader/shape_plan.h stages/loader/slab.h stages/core/table_keys.h stages/core/ticket.h)
flowtrain_public_headers(flowtrain_shared_train PUBLIC
  nets/entries.h pipeline/library/train.h pipeline/base/schedules/schedule.h pipeline/engine/session/start_options.h
  stages/detection/detector.h stages/detection/detector_entries.h stages/hooks/hook.h stages/hooks/hook_entries.h
  stages/model/compute.h stages/model/nonfinite_origin.h stages/model/state.h stages/model/step_flags.h
  stages/model/validator.h stages/trace/histogram.h)
file(GLOB plugin_headers CONFIGURE_DEPENDS RELATIVE ${CMAKE_SOURCE_DIR}
     pipeline/plugin.h sampling/*.hpp nets/*.h nets/*/*.h stages/torch/detection/box_detector.h)
list(FILTER plugin_headers EXCLUDE REGEX "nets/(cornernet|diagnostics)/|nets/(entries|list|names|parallel)\\.h")
add_library(flowtrain_headers INTERFACE)
set_target_properties(flowtrain_headers PROPERTIES EXPORT_NAME flowtrain)
target_include_directories(flowtrain_headers SYSTEM INTERFACE
  "$<BUILD_INTERFACE:${TORCH_INCLUDE};${TORCH_INCLUDE}/torch/csrc/api/include>")
flowtrain_public_headers(flowtrain_headers INTERFACE ${plugin_headers})
if(BUILD_TESTING)
  add_custom_target(public_headers ALL DEPENDS flowtrain_shared_loader_verify_interface_header_sets
    flowtrain_shared_train_verify_interface_header_sets)
  add_custom_target(plugin_headers DEPENDS flowtrain_headers_verify_interface_header_sets)
endif()

set(package lib/cmake/flowtrain)
install(EXPORT flowtrain NAMESPACE flowtrain:: FILE flowtrain-targets.cmake DESTINATION ${package})
configure_package_config_file(cmake/flowtrain-config.cmake.in ${CMAKE_BINARY_DIR}/flowtrain-config.cmake
                              INSTALL_DESTINATION ${package})
write_basic_package_version_file(${CMAKE_BINARY_DIR}/flowtrain-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/flowtrain-config.cmake ${CMAKE_BINARY_DIR}/flowtrain-config-version.cmake
        DESTINATION ${package})

install(DIRECTORY configs/ DESTINATION ${CMAKE_INSTALL_DATADIR}/flowtrain/configs
        FILES_MATCHING PATTERN *.toml PATTERN *.py)
flowtrain_install_texts(${CMAKE_INSTALL_DATADIR})
install(FILES README.md CHANGELOG.md LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/flowtrain)
