// The special tokens that a tokeniser puts around a text.
#pragma once

#include <cstdint>
#include <vector>

namespace assay::data {

/// What is left of the post-processors for a single sequence.
struct PostProcessor {
  std::vector<int32_t> before;
  std::vector<int32_t> after;
};

}  // namespace assay::data
