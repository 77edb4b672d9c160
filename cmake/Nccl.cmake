# libflowtrain_nccl.so: NCCL for processes that train together, each on its GPU (stages/nccl/). Opened at run time, as
# the CUDA parts are. NCCL itself is called by LibTorch's CUDA library; what is needed here are the headers that those
# of LibTorch's process group include.
set(_nvidia ${TORCH_ROOT}/../nvidia)  # Python packages that the torch wheel comes with
find_path(NCCL_INCLUDE nccl.h HINTS ${_nvidia}/nccl/include ${CUDAToolkit_INCLUDE_DIRS} ENV NCCL_HOME
          PATH_SUFFIXES include)
set(_missing "")
if(NOT NCCL_INCLUDE)
  list(APPEND _missing nccl.h)
endif()
foreach(header cublas_v2.h cusparse.h cusolverDn.h)
  string(MAKE_C_IDENTIFIER CUDA_${header} _found)
  find_path(${_found} ${header} HINTS ${CUDAToolkit_INCLUDE_DIRS} ${_nvidia}/cu13/include)
  if(NOT ${_found})
    list(APPEND _missing ${header})
  endif()
  list(APPEND _cuda_includes ${${_found}})
endforeach()
if(NOT EXISTS ${TORCH_ROOT}/lib/libtorch_cuda.so)
  list(APPEND _missing libtorch_cuda.so)
endif()
if(_missing)
  list(JOIN _missing ", " _missing)
  message(STATUS "NCCL: left out, not found: ${_missing}. Several processes on GPUs will use Gloo, by way of the CPU; "
                 "docs/install.md says where these come from, and -DNCCL_INCLUDE=/path names the folder of nccl.h")
  return()
endif()

file(GLOB _nccl_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/stages/nccl/*.cpp)
add_library(flowtrain_nccl SHARED ${_nccl_sources})
target_compile_definitions(flowtrain_nccl PRIVATE USE_C10D_NCCL)
list(REMOVE_DUPLICATES _cuda_includes)
target_include_directories(flowtrain_nccl SYSTEM PRIVATE ${NCCL_INCLUDE} ${_cuda_includes})
target_link_libraries(flowtrain_nccl PRIVATE torch::torch ${TORCH_ROOT}/lib/libtorch_cuda.so
                      ${TORCH_ROOT}/lib/libc10_cuda.so CUDA::cudart)
set_target_properties(flowtrain_nccl PROPERTIES INSTALL_RPATH "${_rpath}")
message(STATUS "NCCL: ${NCCL_INCLUDE}/nccl.h")
