#include "job/training_plan.h"

#include <charconv>
#include <limits>
#include <system_error>

namespace assay::job {

Result<int64_t> CheckpointedLayers(std::string_view text) {
  if (text == "off") {
    return 0;
  }
  if (text == "on") {
    return std::numeric_limits<int64_t>::max();
  }
  if (text == "auto") {
    return kAutoCheckpointing;
  }
  int64_t layers = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), layers);
  if (error != std::errc() || end != text.data() + text.size() || layers < 0) {
    return Status::InvalidArgument("gradient_checkpointing is '" + std::string(text) +
                                   "': it must be off, on, auto or a number of layers");
  }
  return layers;
}

}  // namespace assay::job
