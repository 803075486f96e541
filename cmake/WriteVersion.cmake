execute_process(
  COMMAND git -C ${SOURCE} describe --always --dirty --abbrev=12 --exclude=*
  OUTPUT_VARIABLE commit
  OUTPUT_STRIP_TRAILING_WHITESPACE
  ERROR_QUIET
)
if(NOT commit)
  set(commit unknown)
endif()
file(
  CONFIGURE
  OUTPUT ${OUTPUT}
  CONTENT
    [[
#pragma once
namespace assay {
inline constexpr char kVersion[] = "@VERSION@";
inline constexpr char kCommit[] = "@commit@";
inline constexpr char kTorchVersion[] = "@TORCH_VERSION@";
}  // namespace assay
]]
  @ONLY
)
