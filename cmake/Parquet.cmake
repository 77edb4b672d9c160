# libflowtrain_parquet.so, which reads Parquet files by the C++ libraries of the Python package pyarrow. Nothing links
# it: it is opened with the first Parquet file. It is built where pyarrow is found: in FLOWTRAIN_PARQUET (CMake or
# environment: the package's folder, or the site-packages that hold it), in the folder of Python packages, or in the
# cache folder. The version is fixed, as each has libraries of another name.
set(_version 26.0.1)
set(FLOWTRAIN_PARQUET "" CACHE PATH
    "pyarrow ${_version}, or the site-packages that hold it: builds the reader of Parquet")
set_source_files_properties(datasets/tables/parquet_rows.cpp PROPERTIES
                            COMPILE_DEFINITIONS FLOWTRAIN_PYARROW_VERSION="${_version}")
if(SKBUILD OR FLOWTRAIN_FUZZ)
  return()
endif()
find_path(_pyarrow include/parquet/api/reader.h
          HINTS ${FLOWTRAIN_PARQUET} $ENV{FLOWTRAIN_PARQUET} ${FLOWTRAIN_PYTHON_PACKAGES}
                ${_cache}/flowtrain/pyarrow-${_version}
          PATH_SUFFIXES pyarrow NO_DEFAULT_PATH NO_CACHE)
if(NOT _pyarrow)
  if(FLOWTRAIN_PARQUET)
    message(FATAL_ERROR "FLOWTRAIN_PARQUET=${FLOWTRAIN_PARQUET} holds no pyarrow with include/parquet/api/reader.h")
  endif()
  return()
endif()
file(STRINGS ${_pyarrow}/include/arrow/util/config.h _found REGEX "ARROW_VERSION_STRING")
if(NOT _found MATCHES "\"${_version}\"")
  message(FATAL_ERROR "${_pyarrow} is not pyarrow ${_version}: "
                      "pip install --no-deps --target FOLDER pyarrow==${_version}")
endif()
message(STATUS "Parquet: ${_pyarrow}")

add_library(flowtrain_parquet SHARED parquet/reader.cpp)
target_include_directories(flowtrain_parquet SYSTEM PRIVATE ${_pyarrow}/include ${RAPIDJSON_INCLUDE_DIRS})
file(GLOB _libraries ${_pyarrow}/libarrow.so.* ${_pyarrow}/libparquet.so.*)
target_link_libraries(flowtrain_parquet PRIVATE ${_libraries})
set_target_properties(flowtrain_parquet PROPERTIES INSTALL_RPATH "$ORIGIN/flowtrain/pyarrow;${_pyarrow}")
add_dependencies(flowtrain_sampling flowtrain_parquet)
install(TARGETS flowtrain_parquet LIBRARY DESTINATION lib)
