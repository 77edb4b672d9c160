# libflowtrain_cuda.so: the GPU's side of stages/device/device.h, and what brings LibTorch's CUDA libraries into the
# process. Nothing links it: the program opens it at run time when a config asks for a GPU, so one build serves both
# machines. FLOWTRAIN_CUDA is on where a working nvcc is found.
option(FLOWTRAIN_CUDA "Build the CUDA parts where nvcc is found" ON)
if(NOT FLOWTRAIN_CUDA)
  return()
endif()
if(FLOWTRAIN_SANITIZE)
  message(STATUS "CUDA parts: left out, as they do not run under sanitizers")
  set(FLOWTRAIN_CUDA OFF)
  return()
endif()

if(NOT CMAKE_CUDA_COMPILER AND NOT DEFINED ENV{CUDACXX})
  find_program(FLOWTRAIN_NVCC nvcc HINTS ENV CUDA_HOME ENV CUDA_PATH PATHS /usr/local/cuda PATH_SUFFIXES bin)
  if(FLOWTRAIN_NVCC)
    set(ENV{CUDACXX} ${FLOWTRAIN_NVCC})
  endif()
endif()
include(CheckLanguage)
check_language(CUDA)
if(NOT CMAKE_CUDA_COMPILER)
  message(STATUS "CUDA parts: left out, no working nvcc was found")
  set(FLOWTRAIN_CUDA OFF)
  return()
endif()
# Machine code for A100 and H100, and intermediate code that the driver compiles for what came after them.
if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
  set(CMAKE_CUDA_ARCHITECTURES 80-real 90)
endif()
set(CMAKE_CUDA_STANDARD 17)  # CMake 3.25 knows no later one for nvcc
set(CMAKE_CUDA_STANDARD_REQUIRED ON)
set(CMAKE_CUDA_RUNTIME_LIBRARY Shared)  # one runtime in the process: LibTorch's and ours
enable_language(CUDA)
find_package(CUDAToolkit REQUIRED)
message(STATUS "CUDA parts: ${CMAKE_CUDA_COMPILER}, architectures ${CMAKE_CUDA_ARCHITECTURES}")

file(GLOB _sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/stages/cuda/*.cu)
add_library(flowtrain_cuda SHARED ${_sources})
target_link_libraries(flowtrain_cuda PRIVATE CUDA::cudart)
# CMake takes the toolkit's folder for one that the loader searches anyway; where it is not, the run path helps.
set(_rpath ${FLOWTRAIN_TORCH_RPATH})
if(NOT SKBUILD)
  list(APPEND _rpath ${CUDAToolkit_LIBRARY_DIR})
endif()
set_target_properties(flowtrain_cuda PROPERTIES INSTALL_RPATH "${_rpath}")
# NVTX: names of what threads do, for NVIDIA's profilers. Headers alone, of the toolkit or of the Python package
# nvidia-nvtx beside torch.
find_path(NVTX_INCLUDE nvtx3/nvToolsExt.h HINTS ${CUDAToolkit_INCLUDE_DIRS} ${TORCH_ROOT}/../nvidia/cu13/include
          ${TORCH_ROOT}/../nvidia/nvtx/include)
if(NVTX_INCLUDE)
  target_sources(flowtrain_cuda PRIVATE ${CMAKE_SOURCE_DIR}/stages/cuda/ranges.cpp)
  target_include_directories(flowtrain_cuda SYSTEM PRIVATE ${NVTX_INCLUDE})
  message(STATUS "NVTX: ${NVTX_INCLUDE}/nvtx3/nvToolsExt.h")
else()
  message(STATUS "NVTX: left out, not found: nvtx3/nvToolsExt.h; -DNVTX_INCLUDE=/path names its folder")
endif()
if(EXISTS ${TORCH_ROOT}/lib/libtorch_cuda.so)
  # no-as-needed: nothing here calls them; that they are loaded is what registers CUDA with LibTorch.
  target_link_options(flowtrain_cuda PRIVATE LINKER:--no-as-needed LINKER:--allow-shlib-undefined)
  target_link_libraries(flowtrain_cuda PRIVATE ${TORCH_ROOT}/lib/libtorch_cuda.so ${TORCH_ROOT}/lib/libc10_cuda.so)
  # Kernels of ours for LibTorch's dispatcher, and its CUDA graphs: where these parts meet LibTorch.
  target_sources(flowtrain_cuda PRIVATE ${CMAKE_SOURCE_DIR}/stages/cuda/cornernet_ops.cpp
                 ${CMAKE_SOURCE_DIR}/stages/cuda/graph.cpp)
  target_link_libraries(flowtrain_cuda PRIVATE torch::torch)
else()
  message(STATUS "CUDA parts: this LibTorch has no CUDA libraries; the GPU will not be of use to nets")
endif()
include(Nccl)
