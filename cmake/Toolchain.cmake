# Compiler and linker settings that hold for every target.
find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM)
  # The sloppiness is what ccache's manual asks for when a precompiled header is in use.
  set(
    CMAKE_CXX_COMPILER_LAUNCHER
    ${CMAKE_COMMAND}
    -E
    env
    CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
    CCACHE_BASEDIR=${CMAKE_SOURCE_DIR}
    ${CCACHE_PROGRAM}
  )
endif()

# Both link several times faster than the compiler's own choice.
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  find_program(LLD_PROGRAM NAMES ld.lld ld.lld-19)
  if(LLD_PROGRAM)
    add_link_options(-fuse-ld=lld)
  endif()
else()
  find_program(GOLD_PROGRAM ld.gold)
  if(GOLD_PROGRAM)
    add_link_options(-fuse-ld=gold)
  endif()
endif()

add_compile_options("$<$<COMPILE_LANGUAGE:C,CXX>:-Wall;-Wextra;-Wno-unused-parameter>")
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fpch-preprocess>)
endif()
if(ASSAY_SANITIZE OR ASSAY_BUILD_FUZZ)
  # What a sanitizer does not see: an element beyond the end of what is there, within the memory that was reserved.
  add_compile_definitions($<$<COMPILE_LANGUAGE:CXX>:_GLIBCXX_ASSERTIONS>)
endif()
if(ASSAY_SANITIZE)
  if(NOT ASSAY_SANITIZE MATCHES "^(address|thread)$")
    message(FATAL_ERROR "ASSAY_SANITIZE is '${ASSAY_SANITIZE}': say address (with undefined behaviour) or thread")
  endif()
  string(REPLACE "address" "address,undefined" _sanitizers ${ASSAY_SANITIZE})
  add_compile_definitions($<$<STREQUAL:${ASSAY_SANITIZE},thread>:ASSAY_SANITIZES_THREADS>)
  # A report ends the test: one that is only printed would pass.
  add_compile_options(-fsanitize=${_sanitizers} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${_sanitizers})
endif()
if(ASSAY_BUILD_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    message(
      FATAL_ERROR
      "ASSAY_BUILD_FUZZ needs clang for libFuzzer: use script/fuzz, or -DCMAKE_CXX_COMPILER=clang++-19"
    )
  endif()
  # Functions of NVML, which is loaded at run time, are called by types that stand in for its own.
  add_compile_options(
    -fsanitize=fuzzer-no-link,address,undefined
    -fno-sanitize=function
    -fno-sanitize-recover=undefined
    -fsanitize-ignorelist=${CMAKE_SOURCE_DIR}/cmake/sanitizer-ignorelist.txt
  )
  add_link_options(-fsanitize=address,undefined)
endif()
