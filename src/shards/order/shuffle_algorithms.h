// One function an algorithm; shuffle.cc has checked what they are called with.
#pragma once

#include <cstdint>
#include <vector>

#include "shards/order/shuffle.h"

namespace assay::shards {

std::vector<uint32_t> ShuffleNaive(const ShuffleTask& task);
std::vector<uint32_t> ShufflePy1s(const ShuffleTask& task);
std::vector<uint32_t> ShufflePy1br(const ShuffleTask& task);
std::vector<uint32_t> ShufflePy1e(const ShuffleTask& task);
std::vector<uint32_t> ShufflePy2s(const ShuffleTask& task);

}  // namespace assay::shards
