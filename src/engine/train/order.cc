#include "engine/train/order.h"

#include <algorithm>
#include <numeric>
#include <random>
#include <utility>

namespace assay::engine {
namespace {

int64_t divide_up(int64_t value, int64_t divisor) {
  return (value + divisor - 1) / divisor;
}

/// Fisher-Yates over our own bounded draws: std::shuffle gives other results with other standard libraries.
std::vector<int64_t> permutation_of(int64_t size, uint64_t seed, uint64_t epoch) {
  std::vector<int64_t> indices(size);
  std::iota(indices.begin(), indices.end(), 0);
  std::seed_seq mixed{static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32), static_cast<uint32_t>(epoch),
                      static_cast<uint32_t>(epoch >> 32)};
  std::mt19937_64 generator(mixed);
  for (uint64_t left = indices.size(); left > 1; --left) {
    const auto drawn = static_cast<uint64_t>((static_cast<unsigned __int128>(generator()) * left) >> 64);
    std::swap(indices[left - 1], indices[drawn]);
  }
  return indices;
}

}  // namespace

RowOrder::RowOrder(const OrderOptions& options)
    : options_(options),
      batches_per_epoch_(divide_up(options.rows, options.batch_size)),
      steps_per_epoch_(divide_up(batches_per_epoch_, options.accumulation_steps)) {}

std::vector<std::vector<int64_t>> RowOrder::micro_batches(int64_t step) {
  const int64_t epoch = (step - 1) / steps_per_epoch_;
  const int64_t first_batch = (step - 1) % steps_per_epoch_ * options_.accumulation_steps;
  const int64_t end_batch = std::min(first_batch + options_.accumulation_steps, batches_per_epoch_);
  std::vector<std::vector<int64_t>> batches;
  for (int64_t batch = first_batch; batch < end_batch; ++batch) {
    const int64_t end = std::min((batch + 1) * options_.batch_size, options_.rows);
    std::vector<int64_t>& rows = batches.emplace_back();
    for (int64_t position = batch * options_.batch_size; position < end; ++position) {
      rows.push_back(row_at(epoch, position));
    }
  }
  return batches;
}

int64_t RowOrder::row_at(int64_t epoch, int64_t position) {
  if (!options_.shuffle) {
    return position;
  }
  if (permuted_epoch_ != epoch) {
    permutation_ = permutation_of(options_.rows, options_.seed, static_cast<uint64_t>(epoch));
    permuted_epoch_ = epoch;
  }
  return permutation_[position];
}

}  // namespace assay::engine
