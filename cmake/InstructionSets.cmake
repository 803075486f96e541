# Kernels that are compiled once per instruction set and chosen at run time.

# GCC 12 sees uninitialised values inside its own AVX-512 intrinsics.
set(
  ASSAY_KERNEL_OPTIONS
  -O3
  -ffp-contract=fast
  -fno-math-errno
  -Wno-psabi
  -Wno-maybe-uninitialized
  -Wno-uninitialized
)
set(ASSAY_ISA_OPTIONS_portable)
set(ASSAY_ISA_OPTIONS_avx2 -mavx2 -mfma -mf16c)
set(
  ASSAY_ISA_OPTIONS_avx512
  ${ASSAY_ISA_OPTIONS_avx2}
  -mavx512f
  -mavx512bw
  -mavx512vl
  -mavx512dq
)
set(ASSAY_ISA_OPTIONS_avx512bf16 ${ASSAY_ISA_OPTIONS_avx512} -mavx512bf16)

# assay_isa_sources(<result> <stem> <instruction set>...)
#
# Sets <result> to <stem>_<instruction set>.cc for each set that this processor family has, compiled for that set. The
# precompiled header was made without these options, so these sources do without it.
function(assay_isa_sources result stem)
  set(sources)
  foreach(isa ${ARGN})
    if(NOT isa STREQUAL "portable" AND NOT CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
      continue()
    endif()
    list(APPEND sources ${stem}_${isa}.cc)
    set_source_files_properties(
      ${stem}_${isa}.cc
      PROPERTIES COMPILE_OPTIONS "${ASSAY_KERNEL_OPTIONS};${ASSAY_ISA_OPTIONS_${isa}}" SKIP_PRECOMPILE_HEADERS ON
    )
  endforeach()
  set(${result} ${sources} PARENT_SCOPE)
endfunction()

# assay_isa_dispatch(<source>): lets the source that chooses know that there are kernels for x86.
function(assay_isa_dispatch source)
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    set_source_files_properties(${source} PROPERTIES COMPILE_DEFINITIONS ASSAY_X86_KERNELS)
  endif()
endfunction()
