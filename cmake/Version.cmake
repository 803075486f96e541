# Writes version.h with the project's version and the commit, anew at each build but only when it changed.
add_custom_target(
  assay_version_file
  COMMAND
    ${CMAKE_COMMAND} -DSOURCE=${CMAKE_SOURCE_DIR} -DOUTPUT=${CMAKE_BINARY_DIR}/include/version/version.h
    -DVERSION=${PROJECT_VERSION} -DTORCH_VERSION=${Torch_VERSION} -P ${CMAKE_SOURCE_DIR}/cmake/WriteVersion.cmake
  BYPRODUCTS ${CMAKE_BINARY_DIR}/include/version/version.h
  COMMENT "Writing version.h"
)
add_library(assay_version INTERFACE)
add_dependencies(assay_version assay_version_file)
target_include_directories(assay_version INTERFACE ${CMAKE_BINARY_DIR}/include/version)
