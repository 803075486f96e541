# assay_module(NAME [NOT_HOT] SOURCES a.cc ... [TESTS a_test.cc ...] [LINKS ...] [PRIVATE_LINKS ...])
#
# Declares the module in the current folder as the static library `NAME` (slashes become underscores) and its tests as
# `NAME_test`. A module's headers are visible to those that link it and to nobody else: each module gets an include
# root of its own that holds one link, so an include that breaks the module table of docs/design.md does not compile.
# NOT_HOT: nobody waits for this module's code, so it is compiled quickly, as tests outside the engine are.
function(assay_module name)
  cmake_parse_arguments(arg "NOT_HOT" "" "SOURCES;TESTS;LINKS;PRIVATE_LINKS;TEST_LINKS" ${ARGN})
  string(REPLACE "/" "_" target ${name})
  add_library(${target} STATIC ${arg_SOURCES})
  _assay_include_root(${name} ${target})
  target_link_libraries(${target} PUBLIC ${arg_LINKS} PRIVATE ${arg_PRIVATE_LINKS})
  if("${arg_LINKS}" MATCHES "assay_torch|engine_")
    assay_use_torch_header(${target})
  elseif(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    _assay_use_common_header(${target})
  endif()
  if(arg_NOT_HOT)
    assay_compile_quickly(${target})
  endif()
  if(ASSAY_BUILD_TESTS AND arg_TESTS)
    add_executable(${target}_test ${arg_TESTS})
    # Tests name their helpers alike: in one source, overloading could choose another file's.
    set_target_properties(${target}_test PROPERTIES UNITY_BUILD OFF)
    target_link_libraries(${target}_test PRIVATE ${target} ${arg_TEST_LINKS} GTest::gmock GTest::gtest_main)
    target_compile_definitions(${target}_test PRIVATE ASSAY_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
    if("${arg_LINKS}" MATCHES "assay_torch|engine_")
      assay_use_torch_test_header(${target}_test)
    else()
      _assay_use_test_header(${target}_test)
    endif()
    add_test(NAME ${name} COMMAND ${target}_test)
    # Waiting threads of OpenMP must not spin while another test runs on the same cores.
    set_tests_properties(
      ${name}
      PROPERTIES TIMEOUT 900 LABELS unit ENVIRONMENT OMP_WAIT_POLICY=passive
    )
  endif()
endfunction()

function(_assay_include_root name target)
  set(root ${CMAKE_BINARY_DIR}/include/${target})
  cmake_path(GET name PARENT_PATH parent)
  file(MAKE_DIRECTORY ${root}/${parent})
  file(CREATE_LINK ${CMAKE_CURRENT_SOURCE_DIR} ${root}/${name} SYMBOLIC)
  target_include_directories(${target} PUBLIC ${root})
endfunction()

# assay_compile_quickly(TARGET): half the time of a release build, which goes into optimising templates.
function(assay_compile_quickly target)
  target_compile_options(${target} PRIVATE $<$<AND:$<CONFIG:Release>,$<COMPILE_LANGUAGE:CXX>>:-Og>)
endfunction()

# _assay_header(NAME HEADERS ... [OPTIONS ...] [LINKS ...]): a precompiled header, for targets that are compiled alike.
function(_assay_header name)
  cmake_parse_arguments(arg "" "" "OPTIONS;HEADERS;LINKS" ${ARGN})
  if(TARGET ${name})
    return()
  endif()
  add_library(${name} OBJECT ${CMAKE_SOURCE_DIR}/src/precompiled.cc)
  target_link_libraries(${name} PUBLIC ${arg_LINKS})
  target_compile_options(${name} PRIVATE ${arg_OPTIONS})
  target_precompile_headers(${name} PRIVATE ${arg_HEADERS})
  set_target_properties(${name} PROPERTIES PCH_INSTANTIATE_TEMPLATES ON)
  # Else the header's time is part of it, and no compiler cache knows again what uses it.
  target_compile_options(${name} PRIVATE "$<$<COMPILE_LANG_AND_ID:CXX,Clang>:SHELL:-Xclang -fno-pch-timestamp>")
endfunction()

# Of modules without libtorch, where clang compiles them; GCC, which loads a precompiled header whole, gains nothing.
function(_assay_use_common_header target)
  _assay_header(
    assay_common_pch
    HEADERS
      <algorithm>
      <filesystem>
      <fmt/format.h>
      <fstream>
      <functional>
      <map>
      <memory>
      <nlohmann/json.hpp>
      <optional>
      <set>
      <string>
      <vector>
    LINKS assay_fmt nlohmann_json::nlohmann_json
  )
  target_precompile_headers(${target} REUSE_FROM assay_common_pch)
endfunction()

# Of tests without libtorch, half of whose compile time was gmock's headers. They are compiled as libraries are, with
# -fPIC, and in a fuzz build without the counters that steer a fuzzer.
function(_assay_use_test_header target)
  set(options $<$<COMPILE_LANGUAGE:CXX>:-fPIC>)
  if(ASSAY_BUILD_FUZZ)
    list(APPEND options $<$<COMPILE_LANGUAGE:CXX>:-fno-sanitize=fuzzer-no-link>)
  endif()
  _assay_header(assay_test_pch OPTIONS ${options} HEADERS <gmock/gmock.h> LINKS GTest::gmock)
  assay_compile_quickly(assay_test_pch)
  assay_compile_quickly(${target})
  target_compile_options(${target} PRIVATE ${options})
  target_precompile_headers(${target} REUSE_FROM assay_test_pch)
endfunction()

# assay_use_torch_header(TARGET): for targets that link libtorch, directly or through another engine module.
# The precompiled header is made with -fPIC; a program compiled with -fPIE alone could not use it.
function(assay_use_torch_header target)
  target_precompile_headers(${target} REUSE_FROM assay_torch_pch)
  target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-fPIC>)
endfunction()

# assay_use_torch_test_header(TARGET): likewise for tests and their programs, which are compiled quickly.
function(assay_use_torch_test_header target)
  set(options $<$<COMPILE_LANGUAGE:CXX>:-fPIC>)
  _assay_header(
    assay_torch_test_pch
    OPTIONS ${options}
    HEADERS <ATen/ATen.h> <string> <vector> <functional> <gmock/gmock.h>
    LINKS assay_torch GTest::gmock
  )
  assay_compile_quickly(assay_torch_test_pch)
  assay_compile_quickly(${target})
  target_compile_options(${target} PRIVATE ${options})
  target_precompile_headers(${target} REUSE_FROM assay_torch_test_pch)
endfunction()
