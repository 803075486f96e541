# libtorch out of the wheel in ASSAY_VENV, or out of Torch_DIR / CMAKE_PREFIX_PATH when the user names another one.
#
# Targets: `assay_fmt` (the fmt that torch ships, for everybody: a second fmt in one program is a trap) and
# `assay_torch` (libtorch itself, for engine/ only; every user shares one precompiled header).
set(ASSAY_CUDA AUTO CACHE STRING "Use CUDA devices: AUTO (where libtorch is a CUDA build), ON (required), OFF")
set_property(CACHE ASSAY_CUDA PROPERTY STRINGS AUTO ON OFF)
file(GLOB _wheel_cmake ${ASSAY_VENV}/lib/python3*/site-packages/torch/share/cmake)
list(APPEND CMAKE_PREFIX_PATH ${_wheel_cmake})
find_path(
  ASSAY_TORCH_CMAKE
  TorchConfigVersion.cmake
  HINTS ${Torch_DIR} ${CMAKE_PREFIX_PATH}
  PATH_SUFFIXES Torch share/cmake/Torch
  REQUIRED
)
mark_as_advanced(ASSAY_TORCH_CMAKE)
get_filename_component(TORCH_INSTALL_PREFIX ${ASSAY_TORCH_CMAKE}/../../.. ABSOLUTE)

set(ASSAY_WITH_CUDA OFF)
set(ASSAY_CUDA_KERNELS OFF)
if(EXISTS ${TORCH_INSTALL_PREFIX}/lib/libtorch_cuda.so)
  include(CudaTorch)
else()
  find_package(Torch 2.11 REQUIRED PATHS ${ASSAY_TORCH_CMAKE} NO_DEFAULT_PATH)
endif()
if(ASSAY_CUDA STREQUAL "ON" AND NOT ASSAY_WITH_CUDA)
  message(
    FATAL_ERROR
    "ASSAY_CUDA=ON, but the libtorch in ${TORCH_INSTALL_PREFIX} is no usable CUDA build: install one, or leave ASSAY_CUDA at AUTO"
  )
endif()
# An installed worker finds libtorch where it was built against it.
set(CMAKE_INSTALL_RPATH ${TORCH_INSTALL_PREFIX}/lib)
message(
  STATUS
  "libtorch ${Torch_VERSION} in ${TORCH_INSTALL_PREFIX}, CUDA: ${ASSAY_WITH_CUDA}, own CUDA kernels: ${ASSAY_CUDA_KERNELS}"
)

set(_fmt_dir ${CMAKE_BINARY_DIR}/include/fmt_only)
file(MAKE_DIRECTORY ${_fmt_dir})
file(CREATE_LINK ${TORCH_INSTALL_PREFIX}/include/fmt ${_fmt_dir}/fmt SYMBOLIC)
add_library(assay_fmt STATIC ${CMAKE_SOURCE_DIR}/src/fmt.cc)
target_include_directories(assay_fmt SYSTEM PUBLIC ${_fmt_dir})

add_library(assay_torch INTERFACE)
target_link_libraries(assay_torch INTERFACE ${TORCH_LIBRARIES} assay_fmt)
target_include_directories(assay_torch SYSTEM INTERFACE ${TORCH_INCLUDE_DIRS})
if(ASSAY_WITH_CUDA)
  target_compile_definitions(assay_torch INTERFACE ASSAY_WITH_CUDA=1)
endif()
if(ASSAY_CUDA_KERNELS)
  target_compile_definitions(assay_torch INTERFACE ASSAY_CUDA_KERNELS=1)
endif()
# libtorch's parallel_for is a template that runs on one thread unless its caller is compiled with OpenMP. The runtime
# is the one that libtorch itself loads: a second one would have threads of its own.
target_compile_options(assay_torch INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-fopenmp>)
file(GLOB _torch_openmp ${TORCH_INSTALL_PREFIX}/lib/libgomp*.so*)
if(_torch_openmp)
  list(GET _torch_openmp 0 _openmp_runtime)
else()
  find_package(OpenMP REQUIRED COMPONENTS CXX)
  set(_openmp_runtime OpenMP::OpenMP_CXX)
endif()
target_link_libraries(assay_torch INTERFACE ${_openmp_runtime})
# GCC 12 warns inside torch's own headers when they come through a precompiled header.
target_compile_options(assay_torch INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wno-unused-variable>)

# What is waiting to be instantiated at the end of a precompiled header is instantiated in every file that uses it, so
# it holds what most files need and no more.
add_library(assay_torch_pch OBJECT ${CMAKE_SOURCE_DIR}/src/precompiled.cc)
target_link_libraries(assay_torch_pch PUBLIC assay_torch)
target_precompile_headers(assay_torch_pch PRIVATE <ATen/ATen.h> <string> <vector> <functional>)
