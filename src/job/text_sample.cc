#include "job/text_sample.h"

#include <cmath>

namespace assay::job {

Status CheckSample(const TextSample& sample) {
  if (sample.prompt_ids.empty()) {
    return Status::InvalidArgument("there is no prompt: a text goes on from one token at least");
  }
  if (sample.max_new_tokens < 1) {
    return Status::InvalidArgument("max_new_tokens is " + std::to_string(sample.max_new_tokens) +
                                   ": it must be 1 or more");
  }
  if (!(sample.temperature >= 0) || !std::isfinite(sample.temperature)) {
    return Status::InvalidArgument("temperature must be 0, which takes the likeliest token, or a positive number");
  }
  if (!(sample.top_p > 0 && sample.top_p <= 1) || sample.top_k < 0) {
    return Status::InvalidArgument("top_p must be above 0 and at most 1, top_k 0 or more");
  }
  return Status::Ok();
}

}  // namespace assay::job
