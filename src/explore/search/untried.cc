#include "explore/search/untried.h"

namespace assay::explore {

int64_t Untried::At(int64_t place) const {
  const auto found = moved_.find(place);
  return found == moved_.end() ? place : found->second;
}

std::optional<int64_t> Untried::TakeAny() {
  while (next_ < size_) {
    const int64_t other = std::uniform_int_distribution<int64_t>(next_, size_ - 1)(random_);
    const int64_t position = At(other);
    moved_[other] = At(next_);
    moved_.erase(next_++);
    if (Take(position)) {
      return position;
    }
  }
  return std::nullopt;
}

}  // namespace assay::explore
