# A CUDA build of libtorch in TORCH_INSTALL_PREFIX, imported by hand: its own CMake files insist on the whole CUDA
# toolkit (cuFFT, NVTX, NVRTC, ...) in the version that it was made with, of which the engine needs the runtime alone.
#
# Sets what find_package(Torch) would, ASSAY_WITH_CUDA, and ASSAY_CUDA_KERNELS when nvcc can compile our own kernels.
include(${ASSAY_TORCH_CMAKE}/TorchConfigVersion.cmake)
set(Torch_VERSION ${PACKAGE_VERSION})
if(Torch_VERSION VERSION_LESS 2.11)
  message(FATAL_ERROR "libtorch in ${TORCH_INSTALL_PREFIX} is version ${Torch_VERSION}: install 2.11 or later")
endif()
set(_lib ${TORCH_INSTALL_PREFIX}/lib)
set(TORCH_INCLUDE_DIRS ${TORCH_INSTALL_PREFIX}/include ${TORCH_INSTALL_PREFIX}/include/torch/csrc/api/include)
# What these need in turn is found by their own run paths, and need not be on the machine that builds.
set(TORCH_LIBRARIES ${_lib}/libc10.so ${_lib}/libtorch_cpu.so -Wl,--allow-shlib-undefined)
if(ASSAY_CUDA STREQUAL "OFF")
  return()
endif()

# The runtime of the major version that libtorch was built for: of the wheels that torch's wheel depends on, or of a
# toolkit.
file(STRINGS ${_lib}/libc10_cuda.so _needed REGEX "libcudart[.]so[.][0-9]+")
string(REGEX MATCH "libcudart[.]so[.]([0-9]+)" _runtime "${_needed}")
set(_cuda_major ${CMAKE_MATCH_1})
cmake_path(GET TORCH_INSTALL_PREFIX PARENT_PATH _site)
set(
  _cuda_roots
  ${CUDAToolkit_ROOT}
  $ENV{CUDA_HOME}
  ${_site}/nvidia/cu${_cuda_major}
  ${_site}/nvidia/cuda_runtime
  /usr/local/cuda-${_cuda_major}
  /usr/local/cuda
)
foreach(_root IN LISTS _cuda_roots)
  file(GLOB _libraries ${_root}/lib/${_runtime} ${_root}/lib64/${_runtime})
  # The wheel of the runtime lacks the part of its headers that comes with the compiler's.
  if(_libraries AND EXISTS ${_root}/include/cuda_runtime_api.h AND EXISTS ${_root}/include/crt/host_defines.h)
    list(GET _libraries 0 _runtime_library)
    set(_cuda_include ${_root}/include)
    break()
  endif()
endforeach()
if(NOT _runtime_library)
  list(JOIN _cuda_roots ", " _looked)
  message(
    WARNING
    "libtorch is a build for CUDA ${_cuda_major}, but ${_runtime} with its headers is in none of ${_looked}: install nvidia-cuda-runtime and nvidia-cuda-crt beside torch, or name a toolkit with -DCUDAToolkit_ROOT=DIR"
  )
  return()
endif()
set(ASSAY_WITH_CUDA ON)
list(APPEND TORCH_INCLUDE_DIRS ${_cuda_include})
# The operations of libtorch_cuda register themselves when it is loaded; no symbol of ours asks for it.
list(
  APPEND TORCH_LIBRARIES
  ${_lib}/libc10_cuda.so
  ${_runtime_library}
  -Wl,--push-state,--no-as-needed,${_lib}/libtorch_cuda.so,--pop-state
)

include(CheckLanguage)
# Ampere, and Hopper with the code from which later GPUs compile their own.
set(CMAKE_CUDA_ARCHITECTURES 80-real 90 CACHE STRING "GPUs to compile kernels for, as CMake names them")
# The runtime is libtorch's: a second one in the same program would know nothing of its streams and allocations.
set(CMAKE_CUDA_RUNTIME_LIBRARY None)
# The highest that CMake 3.25 knows for nvcc.
set(CMAKE_CUDA_STANDARD 17)
check_language(CUDA)
if(NOT CMAKE_CUDA_COMPILER)
  message(STATUS "No nvcc: CUDA tensors take libtorch's own operations")
  return()
endif()
enable_language(CUDA)
if(
  CMAKE_CUDA_COMPILER_VERSION VERSION_LESS ${_cuda_major}
  OR CMAKE_CUDA_COMPILER_VERSION VERSION_GREATER_EQUAL "${_cuda_major}.99"
)
  message(
    STATUS
    "nvcc ${CMAKE_CUDA_COMPILER_VERSION} is not of CUDA ${_cuda_major}, as libtorch is: CUDA tensors take libtorch's own operations"
  )
  return()
endif()
set(ASSAY_CUDA_KERNELS ON)
