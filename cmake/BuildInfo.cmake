# flowtrain_build_info(target): lets the target include "build_info.h" (versions, as configured) and "revision.h" (the
# git revision, looked up at every build and written only when it changed, so that nothing is compiled for nothing).
find_package(Git QUIET)

function(flowtrain_build_info target)
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/build_info)
  configure_file(${CMAKE_SOURCE_DIR}/pipeline/base/telemetry/build_info.h.in ${folder}/build_info.h @ONLY)
  add_custom_target(${target}_revision
    COMMAND ${CMAKE_COMMAND} -DGIT=${GIT_EXECUTABLE} -DSOURCE=${CMAKE_SOURCE_DIR} -DHEADER=${folder}/revision.h
            -P ${CMAKE_SOURCE_DIR}/cmake/WriteRevision.cmake
    BYPRODUCTS ${folder}/revision.h
    COMMENT "" VERBATIM)
  add_dependencies(${target} ${target}_revision)
  target_include_directories(${target} PRIVATE ${folder})
endfunction()
