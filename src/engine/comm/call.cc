#include "engine/comm/call.h"

#include <fmt/format.h>

namespace assay::engine {

std::string_view to_string(CallKind kind) {
  constexpr std::string_view kNames[kCallKinds] = {"all_gather", "reduce_scatter", "all_reduce", "broadcast",
                                                   "barrier",    "send",           "recv"};
  return kNames[static_cast<int>(kind)];
}

std::string_view to_string(ReduceOp op) {
  constexpr std::string_view kNames[] = {"sum", "average", "max"};
  return kNames[static_cast<int>(op)];
}

std::string place_of(const Call& call) {
  const Call& named = call.named();
  const bool message = named.kind == CallKind::kSend || named.kind == CallKind::kRecv;
  return fmt::format("{} {} ({} of {})", message ? "message" : "collective", named.number, to_string(named.kind),
                     named.label);
}

}  // namespace assay::engine
