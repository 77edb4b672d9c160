# torch::torch: LibTorch's headers and CPU libraries as an imported target.
# Looked for in this order: FLOWTRAIN_TORCH (CMake or environment: an unpacked LibTorch, a torch package's folder, or
# the site-packages above it), CMAKE_PREFIX_PATH, then the environment that a wheel is made in, and last the wheel that
# cmake/go puts into the cache folder.
# find_package(Torch) of the wheel is not used: it demands a whole CUDA toolkit.
set(FLOWTRAIN_TORCH_VERSION 2.11.0)
if(DEFINED ENV{XDG_CACHE_HOME})
  set(_cache $ENV{XDG_CACHE_HOME})
else()
  set(_cache $ENV{HOME}/.cache)
endif()
set(FLOWTRAIN_TORCH "" CACHE PATH "LibTorch: its folder, or the site-packages that hold a torch package")
string(REPLACE ":" ";" _environment "$ENV{CMAKE_PREFIX_PATH}")
set(_site "")
if(SKBUILD)
  execute_process(COMMAND ${Python_EXECUTABLE} -c "import sysconfig; print(sysconfig.get_path('platlib'))"
                  OUTPUT_VARIABLE _site OUTPUT_STRIP_TRAILING_WHITESPACE)
endif()
set(_hints ${FLOWTRAIN_TORCH} $ENV{FLOWTRAIN_TORCH} ${CMAKE_PREFIX_PATH} ${_environment} ${_site}
           ${_cache}/flowtrain/torch-${FLOWTRAIN_TORCH_VERSION})
find_path(TORCH_INCLUDE torch/csrc/api/include/torch/torch.h
          HINTS ${_hints} PATH_SUFFIXES include torch/include NO_DEFAULT_PATH NO_CACHE)
if(SKBUILD)  # other versions do not fit: the package then holds the loader alone
  set(_found none)
  if(EXISTS ${TORCH_INCLUDE}/torch/headeronly/version.h)
    file(STRINGS ${TORCH_INCLUDE}/torch/headeronly/version.h _found REGEX "^  \"")
    string(REGEX REPLACE "[ \"]" "" _found "${_found}")
  endif()
  if(NOT _found STREQUAL FLOWTRAIN_TORCH_VERSION)
    message(STATUS "LibTorch ${FLOWTRAIN_TORCH_VERSION} was not found (but ${_found}): the program is left out; "
                   "FLOWTRAIN_TORCH=/path/to/torch in the environment names one")
    unset(FLOWTRAIN_TORCH_VERSION)
    return()
  endif()
elseif(NOT TORCH_INCLUDE)
  message(FATAL_ERROR "LibTorch was not found. Run cmake/go build, or name yours: -DFLOWTRAIN_TORCH=/path/to/torch")
endif()
get_filename_component(TORCH_ROOT ${TORCH_INCLUDE} DIRECTORY)
message(STATUS "LibTorch: ${TORCH_ROOT}")

add_library(torch::torch INTERFACE IMPORTED)
target_include_directories(torch::torch SYSTEM INTERFACE ${TORCH_INCLUDE} ${TORCH_INCLUDE}/torch/csrc/api/include)
# c10d's Gloo backend: its header includes Gloo's, which no package has; see the file that they are made to include.
set(_gloo ${CMAKE_BINARY_DIR}/gloo_names/gloo)
foreach(header algorithm common/error context rendezvous/store transport/device)
  file(CONFIGURE OUTPUT ${_gloo}/${header}.h CONTENT "#include \"stages/torch/parallel/gloo_names.h\"\n")
endforeach()
target_include_directories(torch::torch SYSTEM INTERFACE ${CMAKE_BINARY_DIR}/gloo_names)
target_compile_definitions(torch::torch INTERFACE USE_C10D_GLOO)
# allow-shlib-undefined: libtorch_cpu of the CUDA wheel refers to CUDA libraries that its own run path provides.
target_link_libraries(torch::torch INTERFACE ${TORCH_ROOT}/lib/libtorch_cpu.so ${TORCH_ROOT}/lib/libc10.so)
target_link_options(torch::torch INTERFACE -Wl,--allow-shlib-undefined)
# In the build tree, too: where the two differ, CMake ends the build tree's with colons, to make room, and to the loader
# an empty entry is the folder in which somebody happens to be.
set(CMAKE_BUILD_WITH_INSTALL_RPATH ON)
set(CMAKE_INSTALL_RPATH "$ORIGIN/../lib;${TORCH_ROOT}/lib")
# The run path of what links LibTorch: first one beside an installed flowtrain, then that of this build, which packages
# leave out (RemoveBuildPaths). NVIDIA's Python packages, with the CUDA runtime, are beside LibTorch. The program of a
# wheel is told by FLOWTRAIN_TORCH.
set(FLOWTRAIN_TORCH_RPATH "$ORIGIN")
if(NOT SKBUILD)
  foreach(folder IN ITEMS "$ORIGIN/flowtrain/torch" "${TORCH_ROOT}")
    list(APPEND FLOWTRAIN_TORCH_RPATH "${folder}/lib" "${folder}/../nvidia/cu13/lib")
  endforeach()
endif()
